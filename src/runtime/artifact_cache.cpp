#include "runtime/artifact_cache.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hash.h"
#include "service/build_id.h"

namespace treadle::runtime {
namespace {

namespace fs = std::filesystem;

constexpr char kMagic[8] = {'T', 'R', 'D', 'L', 'K', 'R', 'N', '4'};
constexpr std::uint64_t kDefaultLimitBytes = std::uint64_t{1} << 30;

struct Header {
    char magic[8];
    std::uint32_t key_bytes;
    std::int32_t packet;
    std::int32_t param_slots;
    std::int32_t shared_bytes;
    std::uint8_t has_loops;
    std::uint8_t one_packet;
    std::uint8_t has_barriers;
    std::uint8_t lanes;
    std::uint8_t blocks_wait;
    std::uint8_t meets_grid;
    std::uint8_t whole_block;
    std::uint8_t reports;
    std::uint8_t coarse;
    std::uint8_t recurses;
    std::int32_t called_bytes;
    std::uint8_t shares_memory;
    std::uint8_t reserved[5];
    std::uint32_t text_bytes;
    double compile_ms;
    std::uint64_t object_bytes;
    std::uint64_t check;  // over everything before it and after it
};

std::uint64_t check_of(Header header, std::string_view rest) {
    header.check = 0;
    const std::string_view head(reinterpret_cast<const char*>(&header), sizeof header);
    return hash64(head) ^ (hash64(rest) * 0x9e3779b97f4a7c15ull);
}

// Spans only matter where faults are reported by line.
std::string without_spans(const std::string& program) {
    std::string text;
    text.reserve(program.size());
    bool quoted = false;
    for (std::size_t i = 0; i < program.size(); ++i) {
        if (program[i] == '"' && (i == 0 || program[i - 1] != '\\')) quoted = !quoted;
        if (!quoted && program[i] == '@') {
            while (i < program.size() && program[i] != ' ' && program[i] != ')') ++i;
            --i;
            continue;
        }
        text += program[i];
    }
    return text;
}

void write_type(std::string& text, const ArgType& type) {
    text += std::to_string(static_cast<int>(type.kind)) + ":" +
            (type.dtype == DType::Count ? "-" : std::string(name_of(type.dtype))) + ":" + std::to_string(type.rank) +
            ":" + std::to_string(static_cast<int>(type.layout)) + type.record + "(";
    for (const std::string& name : type.names) text += name + ",";
    for (const ArgType& item : type.items) write_type(text, item);
    text += ")";
}

std::optional<std::string> read_file(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) return std::nullopt;
    struct stat facts{};
    std::string bytes;
    bool good = fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) &&
                (facts.st_uid == geteuid() || facts.st_uid == 0) && facts.st_size < (off_t{1} << 30);
    if (good) {
        bytes.resize(static_cast<std::size_t>(facts.st_size));
        std::size_t at = 0;
        while (at < bytes.size()) {
            const ssize_t count = read(file, bytes.data() + at, bytes.size() - at);
            if (count <= 0) break;
            at += static_cast<std::size_t>(count);
        }
        good = at == bytes.size();
    }
    close(file);
    if (!good) return std::nullopt;
    return bytes;
}

struct Parsed {
    std::string key;
    Artifact artifact;
};

std::optional<Parsed> parse(const std::string& bytes) {
    Header header{};
    if (bytes.size() < sizeof header) return std::nullopt;
    std::memcpy(&header, bytes.data(), sizeof header);
    const std::string_view rest = std::string_view(bytes).substr(sizeof header);
    if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 ||
        rest.size() != header.key_bytes + header.text_bytes + header.object_bytes)
        return std::nullopt;
    if (header.check != check_of(header, rest)) return std::nullopt;
    Parsed parsed;
    parsed.key = rest.substr(0, header.key_bytes);
    parsed.artifact.texts = rest.substr(header.key_bytes, header.text_bytes);
    parsed.artifact.object = rest.substr(header.key_bytes + header.text_bytes);
    parsed.artifact.packet = header.packet;
    parsed.artifact.param_slots = header.param_slots;
    parsed.artifact.has_loops = header.has_loops != 0;
    parsed.artifact.one_packet = header.one_packet != 0;
    parsed.artifact.has_barriers = header.has_barriers != 0;
    parsed.artifact.whole_block = header.whole_block != 0;
    parsed.artifact.reports = header.reports != 0;
    parsed.artifact.coarse = header.coarse != 0;
    parsed.artifact.recurses = header.recurses != 0;
    parsed.artifact.called_bytes = header.called_bytes;
    parsed.artifact.shares_memory = header.shares_memory != 0;
    parsed.artifact.blocks_wait = header.blocks_wait != 0;
    parsed.artifact.meets_grid = header.meets_grid != 0;
    parsed.artifact.lanes = static_cast<Lanes>(header.lanes);
    parsed.artifact.shared_bytes = header.shared_bytes;
    parsed.artifact.compile_ms = header.compile_ms;
    return parsed;
}

std::string default_directory() {
    if (const char* asked = std::getenv("TREADLE_CACHE_DIR"); asked != nullptr && *asked != '\0') return asked;
    if (const char* base = std::getenv("XDG_CACHE_HOME"); base != nullptr && *base == '/')
        return std::string(base) + "/treadle";
    const char* home = std::getenv("HOME");
    return std::string(home != nullptr && *home != '\0' ? home : "/tmp") + "/.cache/treadle";
}

}  // namespace

namespace {

// Whether the kernel's code holds line numbers: for faults, and for threads that wait.
bool tells_lines(const CompileRequest& request) {
    if (request.options.bounds == Bounds::Raise || request.options.debug != DebugLevel::None) return true;
    for (const char* part : {"(builtin sync", "(builtin cg.", "(builtin atomic.", "(while ", "(raise "}) {
        if (request.program.find(part) != std::string::npos) return true;
    }
    return false;
}

}  // namespace

std::string cache_key(const CompileRequest& request, const std::string& target) {
    std::string key = "treadle " TREADLE_BUILD_ID " llvm " TREADLE_LLVM_VERSION " " + target + "\n";
    key += request.options.key() + "\n";
    for (const ArgType& type : request.args) write_type(key, type);
    // What a debugger is told names the file as well.
    for (std::size_t i = 0; i < request.sources.size() && request.options.debug != DebugLevel::None; ++i)
        key += "\n" + request.sources[i].file + ":" + std::to_string(request.sources[i].first_line);
    for (std::size_t i = 0; request.links != nullptr && i < request.links->size(); ++i) {
        const CodeImage& image = (*request.links)[i];
        key += "\nlink " + std::string(info(image.kind).text) + " " + hash_hex(image.data);
    }
    key += "\n" + (tells_lines(request) ? request.program : without_spans(request.program));
    return key;
}

ArtifactCache::ArtifactCache(std::string directory, bool writable)
    : directory_(std::move(directory)), writable_(writable) {}

std::string ArtifactCache::path_of(const std::string& key) const {
    const std::string hash = hash_hex(key);
    return directory_ + "/" + hash.substr(0, 2) + "/" + hash.substr(2) + ".tk";
}

std::optional<Artifact> ArtifactCache::find(const std::string& key) const {
    const std::string path = path_of(key);
    const auto bytes = read_file(path);
    if (!bytes) return std::nullopt;
    auto parsed = parse(*bytes);
    if (!parsed || parsed->key != key) return std::nullopt;
    if (writable_) utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);  // for the order of trim; may fail
    return std::move(parsed->artifact);
}

// The directory must be ours and closed to others: what lies in it is run.
bool ArtifactCache::prepare() {
    std::error_code error;
    fs::create_directories(directory_, error);
    struct stat facts{};
    if (lstat(directory_.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode) || facts.st_uid != geteuid()) return false;
    if ((facts.st_mode & 077) != 0 && chmod(directory_.c_str(), 0700) != 0) return false;
    return access(directory_.c_str(), W_OK) == 0;
}

std::string ArtifactCache::store(const std::string& key, const Artifact& artifact) {
    if (!writable_ || !prepare()) return "";
    const std::string path = path_of(key);
    const std::string folder = path.substr(0, path.rfind('/'));
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return "";
    Header header{};
    std::memcpy(header.magic, kMagic, sizeof kMagic);
    header.key_bytes = static_cast<std::uint32_t>(key.size());
    header.packet = artifact.packet;
    header.param_slots = artifact.param_slots;
    header.has_loops = artifact.has_loops;
    header.one_packet = artifact.one_packet;
    header.has_barriers = artifact.has_barriers;
    header.whole_block = artifact.whole_block;
    header.reports = artifact.reports;
    header.coarse = artifact.coarse;
    header.recurses = artifact.recurses;
    header.called_bytes = artifact.called_bytes;
    header.shares_memory = artifact.shares_memory;
    header.blocks_wait = artifact.blocks_wait;
    header.meets_grid = artifact.meets_grid;
    header.lanes = static_cast<std::uint8_t>(artifact.lanes);
    header.shared_bytes = artifact.shared_bytes;
    header.compile_ms = artifact.compile_ms;
    header.object_bytes = artifact.object.size();
    header.text_bytes = static_cast<std::uint32_t>(artifact.texts.size());
    const std::string rest = key + artifact.texts + artifact.object;
    header.check = check_of(header, rest);
    static std::atomic<int> number{0};
    const std::string temporary = folder + "/.new-" + std::to_string(getpid()) + "-" + std::to_string(number++);
    const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) return "";
    const std::string bytes = std::string(reinterpret_cast<const char*>(&header), sizeof header) + rest;
    const bool written = write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
    close(file);
    if (!written || rename(temporary.c_str(), path.c_str()) != 0) {
        unlink(temporary.c_str());
        return "";
    }
    // Looking through the directory costs, so it is done now and then.
    if (number % 64 == 1) trim(kDefaultLimitBytes);
    return path;
}

std::vector<ArtifactCache::Entry> ArtifactCache::list() const {
    std::vector<Entry> entries;
    std::error_code error;
    for (auto file = fs::recursive_directory_iterator(directory_, error); file != fs::recursive_directory_iterator();
         file.increment(error)) {
        if (error) break;
        if (file->path().extension() != ".tk") continue;
        struct stat facts{};
        if (lstat(file->path().c_str(), &facts) != 0) continue;
        entries.push_back({file->path().string(), "", static_cast<std::uint64_t>(facts.st_size), facts.st_mtime});
        const auto bytes = read_file(entries.back().path);
        const auto parsed = bytes ? parse(*bytes) : std::nullopt;
        if (parsed) entries.back().key = parsed->key;
    }
    return entries;
}

std::size_t ArtifactCache::clear() {
    std::size_t count = 0;
    for (const Entry& entry : list()) count += unlink(entry.path.c_str()) == 0;
    return count;
}

void ArtifactCache::trim(std::uint64_t limit_bytes) {
    std::vector<Entry> entries = list();
    std::uint64_t total = 0;
    for (const Entry& entry : entries) total += entry.size_bytes;
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return a.used_seconds < b.used_seconds; });
    for (const Entry& entry : entries) {
        if (total <= limit_bytes) return;
        if (unlink(entry.path.c_str()) == 0) total -= entry.size_bytes;
    }
}

ArtifactCache& user_cache() {
    static ArtifactCache cache(default_directory());
    return cache;
}

ArtifactCache& package_cache() {
    static ArtifactCache cache(
        [] {
            Dl_info own{};
            dladdr(reinterpret_cast<void*>(&cache_key), &own);
            const std::string path = own.dli_fname != nullptr ? own.dli_fname : "";
            return path.substr(0, path.rfind('/') + 1) + "_prefill";
        }(),
        std::getenv("TREADLE_PREFILL") != nullptr);
    return cache;
}

bool cache_enabled() {
    const char* setting = std::getenv("TREADLE_CACHE");
    return setting == nullptr || std::strcmp(setting, "0") != 0;
}

}  // namespace treadle::runtime
