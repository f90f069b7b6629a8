// The CPU device's memory: freed blocks are kept by size class and used again, because fresh pages cost more than most
// kernels.
//
// Blocks are 64-byte aligned (2 MiB for large ones, with huge pages) and have 64 readable bytes behind their end, so
// that the first element of an empty view at the end of a block can be read.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <vector>

#include "device/device.h"
#include "device/size_classes.h"

namespace treadle::device {

class MemoryPool {
public:
    MemoryPool();
    // Throws Error(Memory) when the system has no more, after giving back what is cached.
    StorageRef allocate(std::size_t size_bytes);
    MemoryUse use() const;
    void release_cached();

private:
    class Block;
    void give_back(Block* block) noexcept;

    mutable std::mutex mutex_;
    std::array<std::vector<Block*>, kSizeClasses> free_;
    MemoryUse use_;
    std::size_t cache_limit_bytes_;
};

}  // namespace treadle::device
