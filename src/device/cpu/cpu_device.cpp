#include "device/cpu/cpu_device.h"

#include <algorithm>
#include <cstdlib>

#include <sched.h>
#include <sys/sysinfo.h>

#include "base/cpu_target.h"
#include "base/error.h"
#include "device/cpu/cpu_stream.h"
#include "device/cpu/memory_pool.h"

namespace treadle::device {
namespace {

int usable_cores() {
    if (const char* asked = std::getenv("TREADLE_NUM_THREADS"); asked != nullptr && *asked != '\0') {
        char* end = nullptr;
        const long count = std::strtol(asked, &end, 10);
        if (*end != '\0' || count < 1 || count > 1024) {
            throw Error(ErrorKind::Argument,
                        "[TREADLE_NUM_THREADS] expected a number from 1 to 1024, got '" + std::string(asked) + "'");
        }
        return static_cast<int>(count);
    }
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) == 0) return std::max(1, CPU_COUNT(&cores));
    return 1;
}

}  // namespace

class CpuDevice final : public Device {
public:
    CpuDevice() : scheduler_(usable_cores()) {
        default_stream_ = std::make_shared<CpuStream>(scheduler_, true, 1);
        scheduler_.default_stream = default_stream_.get();
        scheduler_.streams.push_back(default_stream_);
        struct sysinfo system{};
        sysinfo(&system);
        attributes_.name = host_cpu_name();
        attributes_.multiprocessors = scheduler_.pool.size();
        attributes_.total_bytes = system.totalram * system.mem_unit;
        attributes_.target = host_target().cpu;
    }

    const Attributes& attributes() const override { return attributes_; }
    StorageRef allocate(std::size_t size_bytes) override {
        try {
            return memory_.allocate(size_bytes);
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::Memory) throw;
            // Work that has not run yet may hold what nobody else needs.
            for (const auto& stream : all_streams()) stream->drain();
            memory_.release_cached();
            return memory_.allocate(size_bytes);
        }
    }
    // All its memory is the host's.
    StorageRef allocate_shared(std::size_t size_bytes, SharedMemory) override { return allocate(size_bytes); }
    std::string code_key() const override { return host_target().key(); }
    void finish(Artifact&, const CodeImages&) override {}
    MemoryUse memory_use() const override { return memory_.use(); }
    std::size_t free_bytes() const override { return MemoryPool::free_bytes(); }
    void release_cached_memory() override { memory_.release_cached(); }

    std::shared_ptr<Kernel> load_kernel(const Artifact& artifact, std::shared_ptr<const KernelDebug> debug) override {
        return std::make_shared<CpuKernel>(artifact, std::move(debug));
    }

    std::shared_ptr<Stream> default_stream() override {
        Scheduler::check_process();
        return default_stream_;
    }

    std::shared_ptr<Stream> make_stream(bool blocking, int priority) override {
        default_stream();
        const std::lock_guard lock(scheduler_.mutex);
        auto stream = std::make_shared<CpuStream>(scheduler_, blocking, next_handle_++, priority);
        std::erase_if(scheduler_.streams, [](const auto& weak) { return weak.expired(); });
        scheduler_.streams.push_back(stream);
        return stream;
    }

    std::shared_ptr<Stream> stream_of(std::uint64_t handle) override {
        if (handle <= 1) return default_stream();
        if (handle == 2) {
            static thread_local std::shared_ptr<Stream> own;
            if (own == nullptr) own = create_stream(true);
            return own;
        }
        for (const auto& stream : all_streams()) {
            if (stream->handle() == handle) return stream;
        }
        throw_device_error("CUDA_ERROR_INVALID_HANDLE", "[stream] no stream has the handle " + std::to_string(handle));
    }

    std::shared_ptr<Event> create_event() override { return std::make_shared<CpuEvent>(scheduler_); }

    void synchronize() override {
        const auto streams = all_streams();
        for (const auto& stream : streams) stream->drain();
        for (const auto& stream : streams) stream->throw_fault();
        scheduler_.throw_kept();
    }

    bool wait_for(std::chrono::milliseconds limit) override {
        const auto end = std::chrono::steady_clock::now() + limit;
        for (const auto& stream : all_streams()) {
            const auto left =
                std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
            if (!stream->drain_for(std::max(left, std::chrono::milliseconds(0)))) return false;
        }
        return true;
    }

private:
    std::vector<std::shared_ptr<CpuStream>> all_streams() {
        Scheduler::check_process();
        std::vector<std::shared_ptr<CpuStream>> streams;
        const std::lock_guard lock(scheduler_.mutex);
        for (const auto& weak : scheduler_.streams) {
            if (auto stream = weak.lock()) streams.push_back(std::move(stream));
        }
        return streams;
    }

    MemoryPool memory_;
    Scheduler scheduler_;
    std::shared_ptr<CpuStream> default_stream_;
    std::uint64_t next_handle_ = 0x10;
    Attributes attributes_;
};

std::unique_ptr<Device> make_cpu_device() { return std::make_unique<CpuDevice>(); }

}  // namespace treadle::device
