#include "device/cuda/cuda_memory.h"

#include <algorithm>
#include <utility>

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
    if (size_bytes > kLargestBlock) throw failure(size_bytes, 0);
    const ContextScope scope(device_.context());
    CuPointer memory = 0;
    CuResult result = driver().mem_alloc(&memory, capacity);
    if (result == kOutOfMemory) {
        const std::size_t given_back = release_cached();
        result = driver().mem_alloc(&memory, capacity);
        if (result == kOutOfMemory) throw failure(size_bytes, given_back);
    }
    check(result, "cuMemAlloc");
    auto* block = new CudaBlock(device_, memory, size_bytes, size_class);
    const std::lock_guard lock(mutex_);
    use_.used_bytes += capacity;
    blocks_.add(block);
    return StorageRef(block);
}

CuResult CudaMemory::with_memory(const std::function<CuResult()>& call) {
    const CuResult result = call();
    if (result != kOutOfMemory) return result;
    release_cached();
    return call();
}

Error CudaMemory::failure(std::size_t size_bytes, std::size_t given_back_bytes) const {
    MemoryState state;
    state.place = "GPU " + std::to_string(device_.index());
    state.asked_bytes = size_bytes;
    state.free_bytes = free_bytes();
    state.total_bytes = device_.attributes().total_bytes;
    state.given_back_bytes = given_back_bytes;
    const std::lock_guard lock(mutex_);
    state.used_bytes = use_.used_bytes;
    return out_of_memory(state, blocks_.live());
}

std::size_t CudaMemory::free_bytes() const {
    const ContextScope scope(device_.context());
    std::size_t available = 0;
    std::size_t total = 0;
    check(driver().mem_get_info(&available, &total), "cuMemGetInfo");
    return available;
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

std::size_t CudaMemory::release_cached() {
    std::vector<CudaBlock*> blocks;
    std::size_t given_back = 0;
    {
        const std::lock_guard lock(mutex_);
        for (auto& of_class : free_) {
            blocks.insert(blocks.end(), of_class.begin(), of_class.end());
            of_class.clear();
        }
        for (const CudaBlock* block : blocks) blocks_.remove(block);
        given_back = std::exchange(use_.cached_bytes, 0);
    }
    // The driver waits for the GPU whose memory it is, before it takes it.
    if (std::any_of(blocks.begin(), blocks.end(), [](const CudaBlock* block) { return block->was_lent(); }))
        device_.peers().wait_for_visitors();
    const ContextScope scope(device_.context());
    for (CudaBlock* block : blocks) delete block;
    return given_back;
}

}  // namespace treadle::device::cuda
