#include "device/cuda/cuda_memory.h"

#include <algorithm>

#include "base/error.h"
#include "device/cuda/cuda_device.h"

namespace treadle::device::cuda {

CudaBlock::CudaBlock(CudaDevice& device, CuPointer data, std::size_t size_bytes, int size_class)
    : Storage(reinterpret_cast<void*>(data), size_bytes, &device), device_(device), size_class_(size_class) {}

// Waits for the work that uses it: the driver sees to that.
CudaBlock::~CudaBlock() { driver().mem_free(reinterpret_cast<CuPointer>(data_)); }

std::uint64_t CudaBlock::note_use(std::uint64_t stream) {
    const bool several = (stream & kBitsOfSeveral) != 0;
    if (!several && (users_.load(std::memory_order_relaxed) & stream) != 0) return 0;
    users_.fetch_or(stream, std::memory_order_relaxed);
    const std::uint64_t earlier = earlier_.load(std::memory_order_relaxed);
    return several ? earlier : earlier & ~stream;
}

void CudaBlock::end_of_use() {
    // Who used it has waited for those before.
    const std::uint64_t users = users_.exchange(0, std::memory_order_relaxed);
    if (users != 0) earlier_.store(users, std::memory_order_relaxed);
}

void CudaBlock::dispose() noexcept { device_.memory().give_back(this); }

CuPointer CudaMemory::take(std::size_t size_bytes) {
    const ContextScope scope(device_.context());
    CuPointer memory = 0;
    const CuResult result = driver().mem_alloc(&memory, size_bytes);
    if (result == kOutOfMemory) return 0;
    check(result, "cuMemAlloc");
    return memory;
}

StorageRef CudaMemory::allocate(std::size_t size_bytes) {
    const int size_class = size_class_of(std::min(size_bytes, kLargestBlock));
    const std::size_t capacity = size_class_bytes(size_class);
    {
        const std::lock_guard lock(mutex_);
        auto& blocks = free_[static_cast<std::size_t>(size_class)];
        if (!blocks.empty()) {
            CudaBlock* block = blocks.back();
            blocks.pop_back();
            use_.used_bytes += capacity;
            use_.cached_bytes -= capacity;
            block->use_again(size_bytes);
            return StorageRef(block);
        }
    }
    CuPointer memory = size_bytes <= kLargestBlock ? take(capacity) : 0;
    if (memory == 0 && size_bytes <= kLargestBlock) {
        release_cached();
        memory = take(capacity);
    }
    const std::lock_guard lock(mutex_);
    if (memory == 0) {
        throw Error(ErrorKind::Memory, "CUDA_ERROR_OUT_OF_MEMORY: cannot allocate " + std::to_string(size_bytes) +
                                           " bytes of " + std::to_string(device_.attributes().total_bytes) + "; " +
                                           std::to_string(use_.used_bytes) + " bytes are in use by arrays");
    }
    use_.used_bytes += capacity;
    return StorageRef(new CudaBlock(device_, memory, size_bytes, size_class));
}

void CudaMemory::give_back(CudaBlock* block) noexcept {
    const std::size_t capacity = size_class_bytes(block->size_class());
    block->end_of_use();
    const std::lock_guard lock(mutex_);
    use_.used_bytes -= capacity;
    use_.cached_bytes += capacity;
    free_[static_cast<std::size_t>(block->size_class())].push_back(block);
}

MemoryUse CudaMemory::use() const {
    const std::lock_guard lock(mutex_);
    return use_;
}

void CudaMemory::release_cached() {
    std::vector<CudaBlock*> blocks;
    {
        const std::lock_guard lock(mutex_);
        for (auto& of_class : free_) {
            blocks.insert(blocks.end(), of_class.begin(), of_class.end());
            of_class.clear();
        }
        use_.cached_bytes = 0;
    }
    // The driver waits for the GPU whose memory it is, before it takes it.
    if (std::any_of(blocks.begin(), blocks.end(), [](const CudaBlock* block) { return block->was_lent(); }))
        device_.peers().wait_for_visitors();
    const ContextScope scope(device_.context());
    for (CudaBlock* block : blocks) delete block;
}

}  // namespace treadle::device::cuda
