// 256-bit content hashes for cache keys: two 128-bit xxHash values with different seeds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace treadle {

// Returns the hash as 64 hexadecimal digits.
std::string hash_hex(std::string_view bytes);
std::uint64_t hash64(std::string_view bytes);

}  // namespace treadle
