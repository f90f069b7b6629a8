#include "base/hash.h"

#define XXH_INLINE_ALL
#include <cstdio>

#include <xxhash.h>

namespace treadle {

std::string hash_hex(std::string_view bytes) {
    std::string text;
    for (const std::uint64_t seed : {0x7472656164ull, 0x6c656c6f6full}) {
        const XXH128_hash_t part = XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed);
        char digits[33];
        std::snprintf(digits, sizeof digits, "%016llx%016llx", static_cast<unsigned long long>(part.high64),
                      static_cast<unsigned long long>(part.low64));
        text += digits;
    }
    return text;
}

std::uint64_t hash64(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace treadle
