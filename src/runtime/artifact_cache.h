// Compiled kernels on disk: one file for each key, found by the key's 256-bit hash, with the key inside.
//
// A file is written under a temporary name and renamed, so that processes can share a directory; one that is damaged,
// has another key or belongs to another user is ignored and compiled anew. A directory that cannot be written still
// serves what it holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "service/compiler_service.h"

namespace treadle::runtime {

// The full key of a request: compiler build, LLVM, what the device's code depends on, program, types and options.
std::string cache_key(const CompileRequest& request, const std::string& target);

class ArtifactCache {
public:
    explicit ArtifactCache(std::string directory, bool writable = true);

    std::optional<Artifact> find(const std::string& key) const;
    // Returns the file, or "" where nothing could be written.
    std::string store(const std::string& key, const Artifact& artifact);
    std::string path_of(const std::string& key) const;
    const std::string& directory() const { return directory_; }

    struct Entry {
        std::string path;
        std::string key;
        std::uint64_t size_bytes;
        std::int64_t used_seconds;  // since the epoch
    };
    std::vector<Entry> list() const;
    std::size_t clear();
    // Removes the longest unused files until at most limit_bytes remain.
    void trim(std::uint64_t limit_bytes);

private:
    bool prepare();

    std::string directory_;
    bool writable_;
};

// TREADLE_CACHE_DIR, else XDG_CACHE_HOME/treadle, else ~/.cache/treadle. TREADLE_CACHE=0 turns the cache off.
ArtifactCache& user_cache();
// What was built with the package; read only.
ArtifactCache& package_cache();
bool cache_enabled();

}  // namespace treadle::runtime
