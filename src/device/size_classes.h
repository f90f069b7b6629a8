// Sizes in which pools hand out memory: four classes for each power of two, so that at most a fifth of a block is
// unused.
#pragma once

#include <bit>
#include <cstddef>

namespace treadle::device {

inline constexpr int kSizeClasses = 4 * 48;
inline constexpr std::size_t kSmallestBlock = 64;
inline constexpr std::size_t kLargestBlock = std::size_t{1} << 46;

inline int size_class_of(std::size_t size_bytes) {
    const std::size_t size = size_bytes < kSmallestBlock ? kSmallestBlock : size_bytes;
    const auto log = static_cast<int>(std::bit_width(size - 1)) - 1;
    const std::size_t base = std::size_t{1} << log;
    const std::size_t quarter = base / 4;
    return 4 * log + static_cast<int>((size - base + quarter - 1) / quarter) - 1;
}

inline std::size_t size_class_bytes(int index) {
    const std::size_t base = std::size_t{1} << (index / 4);
    return base + base / 4 * static_cast<std::size_t>(index % 4 + 1);
}

}  // namespace treadle::device
