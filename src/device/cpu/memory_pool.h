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
#include "device/memory_report.h"
#include "device/size_classes.h"

namespace treadle::device {

class MemoryPool {
public:
    MemoryPool();
    // Throws Error(Memory) when the system has no more, after giving back what is cached.
    StorageRef allocate(std::size_t size_bytes);
    MemoryUse use() const;
    std::size_t release_cached();  // bytes that were given back
    static std::size_t free_bytes();

private:
    class Block;
    void give_back(Block* block) noexcept;
    Error failure(std::size_t size_bytes, std::size_t given_back_bytes) const;

    mutable std::mutex mutex_;
    std::array<std::vector<Block*>, kSizeClasses> free_;
    BlockList<Block> blocks_;
    MemoryUse use_;
    std::size_t total_bytes_;
};

}  // namespace treadle::device
