#include "device/cpu/object_loader.h"

#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"

extern "C" {
// Conversions of half precision that compilers call where the processor has no instruction for them.
// NOLINTBEGIN(readability-identifier-naming): the names are the compilers'.
float __extendhfsf2(_Float16);
_Float16 __truncsfhf2(float);
_Float16 __truncdfhf2(double);
// NOLINTEND(readability-identifier-naming)
}

namespace treadle::device {
namespace {

// The only functions that generated code may call.
const std::map<std::string_view, void*>& host_symbols() {
#define TREADLE_HOST_FUNCTION(name, type) {#name, reinterpret_cast<void*>(static_cast<type>(name))}
    using Unary = double (*)(double);
    using UnaryF = float (*)(float);
    using Ternary = double (*)(double, double, double);
    using TernaryF = float (*)(float, float, float);
    static const std::map<std::string_view, void*> symbols = {
        {"memcpy", reinterpret_cast<void*>(std::memcpy)},
        {"memset", reinterpret_cast<void*>(std::memset)},
        {"memmove", reinterpret_cast<void*>(std::memmove)},
        TREADLE_HOST_FUNCTION(floor, Unary),
        TREADLE_HOST_FUNCTION(ceil, Unary),
        TREADLE_HOST_FUNCTION(trunc, Unary),
        TREADLE_HOST_FUNCTION(rint, Unary),
        TREADLE_HOST_FUNCTION(floorf, UnaryF),
        TREADLE_HOST_FUNCTION(ceilf, UnaryF),
        TREADLE_HOST_FUNCTION(truncf, UnaryF),
        TREADLE_HOST_FUNCTION(rintf, UnaryF),
        TREADLE_HOST_FUNCTION(fma, Ternary),
        TREADLE_HOST_FUNCTION(fmaf, TernaryF),
        {"__extendhfsf2", reinterpret_cast<void*>(__extendhfsf2)},
        {"__truncsfhf2", reinterpret_cast<void*>(__truncsfhf2)},
        {"__truncdfhf2", reinterpret_cast<void*>(__truncdfhf2)},
    };
#undef TREADLE_HOST_FUNCTION
    return symbols;
}

[[noreturn]] void malformed(const std::string& what) {
    throw_device_error("CUDA_ERROR_INVALID_IMAGE", "[load kernel] the object cannot be linked: " + what);
}

// The object's tables, with every offset checked against the bytes that are there.
class Object {
public:
    explicit Object(std::string_view bytes) : bytes_(bytes) {
        const auto& header = at<Elf64_Ehdr>(0);
        if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_machine != EM_X86_64 ||
            header.e_type != ET_REL)
            malformed("not an x86-64 object");
        for (std::size_t i = 0; i < header.e_shnum; ++i)
            sections.push_back(&at<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr)));
        for (const Elf64_Shdr* section : sections) {
            if (section->sh_type == SHT_SYMTAB) symbol_table = section;
        }
        if (symbol_table == nullptr || symbol_table->sh_link >= sections.size()) malformed("no symbols");
        if (header.e_shstrndx >= sections.size()) malformed("no section names");
        section_names_ = content(*sections[header.e_shstrndx]);
    }

    template <class T>
    const T& at(std::size_t offset) const {
        if (offset > bytes_.size() || sizeof(T) > bytes_.size() - offset) malformed("truncated");
        return *reinterpret_cast<const T*>(bytes_.data() + offset);
    }
    std::string_view content(const Elf64_Shdr& section) const {
        if (section.sh_offset > bytes_.size() || section.sh_size > bytes_.size() - section.sh_offset)
            malformed("truncated");
        return bytes_.substr(section.sh_offset, section.sh_size);
    }
    const Elf64_Sym& symbol(std::size_t index) const {
        return at<Elf64_Sym>(symbol_table->sh_offset + index * sizeof(Elf64_Sym));
    }
    std::string_view section_name(const Elf64_Shdr& section) const {
        if (section.sh_name >= section_names_.size()) malformed("bad name");
        return section_names_.data() + section.sh_name;
    }
    std::string bytes() const { return std::string(bytes_); }
    std::size_t symbol_count() const { return symbol_table->sh_size / sizeof(Elf64_Sym); }
    std::string_view name(const Elf64_Sym& symbol) const {
        const std::string_view names = content(*sections[symbol_table->sh_link]);
        if (symbol.st_name >= names.size()) malformed("bad name");
        return names.data() + symbol.st_name;
    }

    std::vector<const Elf64_Shdr*> sections;
    const Elf64_Shdr* symbol_table = nullptr;

private:
    std::string_view bytes_;
    std::string_view section_names_;
};

constexpr std::size_t kStubBytes = 16;  // jmp *[rip+2]; the address

class Linker {
public:
    explicit Linker(std::string_view bytes) : object_(bytes), offsets_(object_.sections.size(), kUnplaced) {}

    std::size_t layout() {
        std::size_t size = 0;
        for (std::size_t i = 0; i < object_.sections.size(); ++i) {
            const Elf64_Shdr& section = *object_.sections[i];
            if ((section.sh_flags & SHF_ALLOC) == 0 || section.sh_type == SHT_X86_64_UNWIND || section.sh_size == 0)
                continue;
            const std::size_t align = section.sh_addralign == 0 ? 1 : section.sh_addralign;
            size = (size + align - 1) / align * align;
            offsets_[i] = size;
            size += section.sh_size;
        }
        stubs_ = (size + kStubBytes - 1) / kStubBytes * kStubBytes;
        return stubs_ + host_symbols().size() * kStubBytes;
    }

    void link(char* memory) {
        memory_ = memory;
        for (std::size_t i = 0; i < object_.sections.size(); ++i) {
            if (offsets_[i] == kUnplaced || object_.sections[i]->sh_type == SHT_NOBITS) continue;
            const std::string_view content = object_.content(*object_.sections[i]);
            std::memcpy(memory + offsets_[i], content.data(), content.size());
        }
        for (const Elf64_Shdr* section : object_.sections) {
            if (section->sh_type != SHT_RELA || section->sh_info >= offsets_.size() ||
                offsets_[section->sh_info] == kUnplaced)
                continue;
            for (std::size_t i = 0; i < section->sh_size / sizeof(Elf64_Rela); ++i) {
                relocate(object_.at<Elf64_Rela>(section->sh_offset + i * sizeof(Elf64_Rela)), section->sh_info);
            }
        }
    }

    // .stack_sizes: for each function its address, 8 bytes, and the size of its frame in LEB128.
    StackSizes stack_sizes() const {
        StackSizes sizes;
        for (const Elf64_Shdr* section : object_.sections) {
            if (object_.section_name(*section) != ".stack_sizes") continue;
            const std::string_view content = object_.content(*section);
            std::size_t at = 0;
            while (at + 8 < content.size()) {
                at += 8;
                std::size_t size = 0;
                for (unsigned shift = 0; at < content.size(); shift += 7) {
                    const auto byte = static_cast<unsigned char>(content[at++]);
                    size |= static_cast<std::size_t>(byte & 0x7f) << shift;
                    if ((byte & 0x80) == 0) break;
                }
                sizes.all += size;
                sizes.largest = std::max(sizes.largest, size);
            }
        }
        return sizes;
    }

    // The object as a debugger wants it, its sections' headers telling where they are; empty without debug information.
    std::string debug_image() const {
        bool is_described = false;
        std::string image = object_.bytes();
        const std::size_t headers = object_.at<Elf64_Ehdr>(0).e_shoff;
        for (std::size_t i = 0; i < object_.sections.size(); ++i) {
            is_described = is_described || object_.section_name(*object_.sections[i]) == ".debug_line";
            if (offsets_[i] == kUnplaced) continue;
            const auto address = reinterpret_cast<Elf64_Addr>(memory_ + offsets_[i]);
            std::memcpy(image.data() + headers + i * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_addr), &address,
                        sizeof address);
        }
        return is_described ? image : std::string();
    }

    std::map<std::string, void*> exported() {
        std::map<std::string, void*> symbols;
        for (std::size_t i = 0; i < object_.symbol_count(); ++i) {
            const Elf64_Sym& symbol = object_.symbol(i);
            if (ELF64_ST_BIND(symbol.st_info) == STB_GLOBAL && symbol.st_shndx != SHN_UNDEF)
                symbols[std::string(object_.name(symbol))] = address_of(symbol);
        }
        return symbols;
    }

private:
    static constexpr std::size_t kUnplaced = ~std::size_t{0};

    char* address_of(const Elf64_Sym& symbol) {
        if (symbol.st_shndx == SHN_UNDEF) return stub(object_.name(symbol));
        if (symbol.st_shndx >= offsets_.size() || offsets_[symbol.st_shndx] == kUnplaced)
            malformed("symbol without a section");
        return memory_ + offsets_[symbol.st_shndx] + symbol.st_value;
    }

    // Host functions may lie further away than a relative call reaches.
    char* stub(std::string_view name) {
        const auto known = stub_of_.find(name);
        if (known != stub_of_.end()) return known->second;
        const auto host = host_symbols().find(name);
        if (host == host_symbols().end()) malformed("it calls '" + std::string(name) + "'");
        char* place = memory_ + stubs_ + stub_of_.size() * kStubBytes;
        static constexpr unsigned char kJump[] = {0xff, 0x25, 0x02, 0, 0, 0, 0x66, 0x90};
        std::memcpy(place, kJump, sizeof kJump);
        std::memcpy(place + sizeof kJump, &host->second, sizeof(void*));
        return stub_of_[host->first] = place;
    }

    void relocate(const Elf64_Rela& entry, std::size_t section) {
        if (entry.r_offset + 4 > object_.sections[section]->sh_size) malformed("relocation outside its section");
        char* place = memory_ + offsets_[section] + entry.r_offset;
        const char* target = address_of(object_.symbol(ELF64_R_SYM(entry.r_info))) + entry.r_addend;
        switch (ELF64_R_TYPE(entry.r_info)) {
            case R_X86_64_PC32:
            case R_X86_64_PLT32: {
                const auto distance = static_cast<std::int32_t>(target - place);
                std::memcpy(place, &distance, sizeof distance);
                break;
            }
            case R_X86_64_64: std::memcpy(place, &target, sizeof target); break;
            case R_X86_64_PC64: {
                const std::int64_t distance = target - place;
                std::memcpy(place, &distance, sizeof distance);
                break;
            }
            default: malformed("relocation type " + std::to_string(ELF64_R_TYPE(entry.r_info)));
        }
    }

    Object object_;
    std::vector<std::size_t> offsets_;
    std::size_t stubs_ = 0;
    char* memory_ = nullptr;
    std::map<std::string_view, char*> stub_of_;
};

}  // namespace

CodeBlock::CodeBlock(CodeBlock&& other) noexcept { *this = std::move(other); }

CodeBlock& CodeBlock::operator=(CodeBlock&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(size_bytes_, other.size_bytes_);
    std::swap(stack_sizes_, other.stack_sizes_);
    std::swap(symbols_, other.symbols_);
    std::swap(debugged_, other.debugged_);
    return *this;
}

CodeBlock::~CodeBlock() {
    debugged_ = {};  // before the code goes
    if (memory_ != nullptr) munmap(memory_, size_bytes_);
}

void* CodeBlock::symbol(const std::string& name) const {
    const auto found = symbols_.find(name);
    if (found == symbols_.end()) malformed("no symbol '" + name + "'");
    return found->second;
}

CodeBlock load_object(std::string_view bytes) {
    Linker linker(bytes);
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t size = (linker.layout() + page - 1) / page * page;
    CodeBlock block;
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        throw_device_error("CUDA_ERROR_OUT_OF_MEMORY",
                           "[load kernel] no memory for " + std::to_string(size) + " bytes of code");
    block.memory_ = memory;
    block.size_bytes_ = size;
    linker.link(static_cast<char*>(memory));
    block.symbols_ = linker.exported();
    block.stack_sizes_ = linker.stack_sizes();
    if (mprotect(memory, size, PROT_READ | PROT_EXEC) != 0)
        throw_device_error("CUDA_ERROR_OPERATING_SYSTEM", "[load kernel] mprotect failed");
    if (std::string image = linker.debug_image(); !image.empty()) block.debugged_ = RegisteredObject(std::move(image));
    return block;
}

}  // namespace treadle::device
