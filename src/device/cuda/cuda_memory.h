// The GPU's memory: freed blocks are kept by size class and used again at once, in the order of the streams.
//
// A block remembers the streams that used it since it was handed out. When it is handed out again, work on another
// stream waits for those first; the host never does.
#pragma once

#include <array>
#include <mutex>
#include <vector>

#include "device/cuda/driver.h"
#include "device/device.h"
#include "device/memory_report.h"
#include "device/size_classes.h"

namespace treadle::device::cuda {

class CudaDevice;

// Streams have bits of their own. Those for which there is none share one, and those of other GPUs another.
constexpr int kPeerSlot = 62;
constexpr int kSharedSlot = 63;
constexpr std::uint64_t kBitsOfSeveral = std::uint64_t{3} << kPeerSlot;

class CudaBlock final : public Storage {
public:
    CudaBlock(CudaDevice& device, CuPointer data, std::size_t size_bytes, int size_class);
    ~CudaBlock() override;

    int size_class() const { return size_class_; }
    void use_again(std::size_t size_bytes) {
        size_bytes_ = size_bytes;
        revive();
    }
    CudaDevice& device() const { return device_; }
    // Whether another GPU may still use it.
    bool was_lent() const { return (earlier_.load(std::memory_order_relaxed) >> kPeerSlot & 1) != 0; }
    // Streams, by their bits, that a stream has to wait for before it may use the block for the first time.
    std::uint64_t note_use(std::uint64_t stream);  // the streams to wait for
    void end_of_use();

private:
    void dispose() noexcept override;

    CudaDevice& device_;
    int size_class_;
    std::atomic<std::uint64_t> users_{0};    // streams, since the block was handed out
    std::atomic<std::uint64_t> earlier_{0};  // streams of its life before, where work may still run
};

class CudaMemory {
public:
    explicit CudaMemory(CudaDevice& device) : device_(device) {}
    StorageRef allocate(std::size_t size_bytes);
    void give_back(CudaBlock* block) noexcept;
    MemoryUse use() const;
    std::size_t free_bytes() const;
    std::size_t release_cached();  // bytes that were given back
    // Runs a call of the driver; where that needs memory, once more after giving back what is kept.
    CuResult with_memory(const std::function<CuResult()>& call);
    // What an allocation that failed is told. given_back_bytes: by this allocation.
    Error failure(std::size_t size_bytes, std::size_t given_back_bytes) const;

private:
    CudaDevice& device_;
    mutable std::mutex mutex_;
    std::array<std::vector<CudaBlock*>, kSizeClasses> free_;
    BlockList<CudaBlock> blocks_;
    MemoryUse use_;
};

}  // namespace treadle::device::cuda
