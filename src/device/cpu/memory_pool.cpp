#include "device/cpu/memory_pool.h"

#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>

#include <sys/mman.h>
#include <sys/sysinfo.h>

#include "base/error.h"
#include "device/size_classes.h"

namespace treadle::device {
namespace {

constexpr std::size_t kSlackBytes = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

void* take_memory(std::size_t size_bytes) {
    const bool large = size_bytes >= kHugePage;
    const std::size_t align = large ? kHugePage : 64;
    const std::size_t rounded = (size_bytes + kSlackBytes + align - 1) / align * align;
    void* memory = std::aligned_alloc(align, rounded);
    if (large && memory != nullptr) madvise(memory, rounded, MADV_HUGEPAGE);
    return memory;
}

}  // namespace

class MemoryPool::Block final : public Storage {
public:
    Block(MemoryPool& pool, void* data, std::size_t size_bytes, int size_class)
        : Storage(data, size_bytes), pool_(pool), size_class_(size_class) {}
    ~Block() override { std::free(data_); }

    int size_class() const { return size_class_; }
    void use_again(std::size_t size_bytes) {
        size_bytes_ = size_bytes;
        revive();
    }

private:
    void dispose() noexcept override { pool_.give_back(this); }

    MemoryPool& pool_;
    int size_class_;
};

MemoryPool::MemoryPool() {
    struct sysinfo system{};
    sysinfo(&system);
    total_bytes_ = system.totalram * system.mem_unit;
}

StorageRef MemoryPool::allocate(std::size_t size_bytes) {
    if (size_bytes > kLargestBlock) throw failure(size_bytes, 0);
    const int size_class = size_class_of(size_bytes);
    const std::size_t capacity = size_class_bytes(size_class);
    {
        const std::lock_guard lock(mutex_);
        auto& blocks = free_[static_cast<std::size_t>(size_class)];
        if (!blocks.empty()) {
            Block* block = blocks.back();
            blocks.pop_back();
            use_.used_bytes += capacity;
            use_.cached_bytes -= capacity;
            block->use_again(size_bytes);
            return StorageRef(block);
        }
    }
    void* memory = take_memory(capacity);
    if (memory == nullptr) {
        const std::size_t given_back = release_cached();
        memory = take_memory(capacity);
        if (memory == nullptr) throw failure(size_bytes, given_back);
    }
    auto* block = new Block(*this, memory, size_bytes, size_class);
    const std::lock_guard lock(mutex_);
    use_.used_bytes += capacity;
    blocks_.add(block);
    return StorageRef(block);
}

Error MemoryPool::failure(std::size_t size_bytes, std::size_t given_back_bytes) const {
    const std::lock_guard lock(mutex_);
    return out_of_memory(
        {"the host's memory", size_bytes, free_bytes(), total_bytes_, use_.used_bytes, given_back_bytes},
        blocks_.live());
}

// What the system could give, page cache included.
std::size_t MemoryPool::free_bytes() {
    std::ifstream facts("/proc/meminfo");
    std::string name;
    std::size_t kilobytes = 0;
    while (facts >> name >> kilobytes) {
        if (name == "MemAvailable:") return kilobytes << 10;
        facts.ignore(64, '\n');
    }
    return 0;
}

void MemoryPool::give_back(Block* block) noexcept {
    const std::size_t capacity = size_class_bytes(block->size_class());
    {
        const std::lock_guard lock(mutex_);
        use_.used_bytes -= capacity;
        if (use_.cached_bytes + capacity <= total_bytes_ / 4) {
            use_.cached_bytes += capacity;
            free_[static_cast<std::size_t>(block->size_class())].push_back(block);
            return;
        }
        blocks_.remove(block);
    }
    delete block;
}

MemoryUse MemoryPool::use() const {
    const std::lock_guard lock(mutex_);
    return use_;
}

std::size_t MemoryPool::release_cached() {
    std::vector<Block*> blocks;
    std::size_t given_back = 0;
    {
        const std::lock_guard lock(mutex_);
        for (auto& of_class : free_) {
            blocks.insert(blocks.end(), of_class.begin(), of_class.end());
            of_class.clear();
        }
        for (const Block* block : blocks) blocks_.remove(block);
        given_back = std::exchange(use_.cached_bytes, 0);
    }
    for (Block* block : blocks) delete block;
    return given_back;
}

}  // namespace treadle::device
