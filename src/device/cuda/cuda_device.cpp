#include "device/cuda/cuda_device.h"

#include <algorithm>

#include <pthread.h>

#include "base/error.h"
#include "device/cuda/cuda_event.h"
#include "device/cuda/cuda_kernel.h"
#include "device/cuda/cuda_stream.h"
#include "device/cuda/linker.h"

namespace treadle::device::cuda {
namespace {

constexpr int kKernelBits = 20;
constexpr unsigned kAttachGlobal = 1;
constexpr unsigned kPortableMapped = 3;

std::atomic<bool> forked{false};

void check_process() {
    if (!forked.load(std::memory_order_relaxed)) return;
    throw_device_error(
        "CUDA_ERROR_NOT_INITIALIZED",
        "the device was used before this process was forked and cannot be used in the child; start processes with the "
        "'spawn' method, or first use Treadle after the fork");
}

class SharedStorage final : public Storage {
public:
    SharedStorage(CudaDevice& device, void* data, std::size_t size_bytes, SharedMemory kind)
        : Storage(data, size_bytes, nullptr, kind == SharedMemory::Managed ? Place::Managed : Place::Host),
          device_(device),
          kind_(kind) {}
    ~SharedStorage() override {
        const CleanupScope scope(device_.context());
        if (!scope) return;
        // Unlike blocks of the pool it is gone at once, and work may still use it.
        driver().ctx_synchronize();
        if (kind_ == SharedMemory::Managed) {
            driver().mem_free(reinterpret_cast<CuPointer>(data_));
        } else {
            driver().mem_free_host(data_);
        }
    }

private:
    CudaDevice& device_;
    SharedMemory kind_;
};

}  // namespace

CudaDevice::CudaDevice(int ordinal)
    : ordinal_(ordinal), context_(ordinal), memory_(*this), peers_(*this), streams_(*this) {
    const Driver& cu = driver();
    check(cu.device_get(&device_, ordinal), "cuDeviceGet");
    check(cu.device_primary_ctx_retain(&context_.raw, device_), "cuDevicePrimaryCtxRetain");
    char name[256] = {};
    check(cu.device_get_name(name, sizeof name, device_), "cuDeviceGetName");
    check(cu.device_total_mem(&attributes_.total_bytes, device_), "cuDeviceTotalMem");
    attributes_.name = name;
    attributes_.max_threads_per_block = attribute(1);
    for (int d = 0; d < 3; ++d) attributes_.max_block[d] = attribute(2 + d);
    for (int d = 0; d < 3; ++d) attributes_.max_grid[d] = attribute(5 + d);
    attributes_.shared_bytes_per_block = attribute(8);
    attributes_.warp_size = attribute(10);
    attributes_.multiprocessors = attribute(16);
    attributes_.pci[1] = attribute(33);
    attributes_.pci[2] = attribute(34);
    attributes_.pci[0] = attribute(50);
    attributes_.compute_major = attribute(75);
    attributes_.compute_minor = attribute(76);
    attributes_.shared_bytes_per_block_optin = attribute(97);
    attributes_.cuda_capability = 10 * attributes_.compute_major + attributes_.compute_minor;
    attributes_.target = "sm_" + std::to_string(attributes_.cuda_capability);
    {
        const ContextScope scope(context_);
        int* const range = attributes_.stream_priorities;
        check(cu.ctx_get_stream_priority_range(&range[0], &range[1]), "cuCtxGetStreamPriorityRange");
    }
    default_stream_ = streams_.add(nullptr, false);
    static std::once_flag once;
    std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { forked = true; }); });
}

int CudaDevice::attribute(int number) const {
    int value = 0;
    check(driver().device_get_attribute(&value, number, device_), "cuDeviceGetAttribute");
    return value;
}

std::string CudaDevice::code_key() const {
    return attributes_.target + " driver " + std::to_string(driver_state().version);
}

void CudaDevice::finish(Artifact& artifact, const CodeImages& links) {
    LinkRequest request{{{CodeKind::Ptx, std::move(artifact.object), "kernel"}}, attributes_.target, {}};
    for (const CodeImage& link : links) {
        request.nvjitlink = request.nvjitlink || info(link.kind).driver < 0;
        request.images.push_back(link);
    }
    try {
        artifact.object = link(request).code;
    } catch (const Error& error) {
        TREADLE_CHECK(error.kind() != ErrorKind::Compile || artifact.needs_links || !links.empty(),
                      "the driver refuses our PTX: " + std::string(error.what()));
        throw;
    }
}

StorageRef CudaDevice::allocate(std::size_t size_bytes) {
    check_process();
    return memory_.allocate(size_bytes);
}

StorageRef CudaDevice::allocate_shared(std::size_t size_bytes, SharedMemory kind) {
    check_process();
    const ContextScope scope(context_);
    const std::size_t size = std::max<std::size_t>(size_bytes, 1);
    void* memory = nullptr;
    const CuResult result = memory_.with_memory([&] {
        if (kind == SharedMemory::Pinned) return driver().mem_host_alloc(&memory, size, kPortableMapped);
        CuPointer pointer = 0;
        const CuResult managed = driver().mem_alloc_managed(&pointer, size, kAttachGlobal);
        memory = reinterpret_cast<void*>(pointer);
        return managed;
    });
    if (result == kOutOfMemory)
        throw Error(ErrorKind::Memory, "CUDA_ERROR_OUT_OF_MEMORY: cannot allocate " + std::to_string(size_bytes) +
                                           " bytes of memory that host and device reach");
    check(result, "cuMemHostAlloc");
    return StorageRef(new SharedStorage(*this, memory, size_bytes, kind));
}

std::shared_ptr<Kernel> CudaDevice::load_kernel(const Artifact& artifact, std::shared_ptr<const KernelDebug> debug) {
    check_process();
    return std::make_shared<CudaKernel>(*this, artifact, std::move(debug));
}

std::shared_ptr<Stream> CudaDevice::default_stream() {
    check_process();
    return default_stream_;
}

std::shared_ptr<Stream> CudaDevice::make_stream(bool blocking, int priority) {
    check_process();
    const ContextScope scope(context_);
    CuStream raw = nullptr;
    check(driver().stream_create(&raw, blocking ? 0 : kNonBlocking, priority), "cuStreamCreateWithPriority");
    return streams_.add(raw, true);
}

std::shared_ptr<Stream> CudaDevice::stream_of(std::uint64_t handle) {
    check_process();
    if (handle <= 1) return default_stream_;
    const ContextScope scope(context_);
    return streams_.find(reinterpret_cast<CuStream>(handle));
}

std::shared_ptr<Event> CudaDevice::create_event() {
    check_process();
    return std::make_shared<CudaEvent>(*this);
}

bool CudaDevice::has_peer_access(const Device& other) const {
    return peers_.is_enabled(static_cast<const CudaDevice&>(other));
}

void CudaDevice::set_peer_access(const Device& other, bool enabled) {
    check_process();
    const auto& peer = static_cast<const CudaDevice&>(other);
    if (enabled) {
        peers_.enable(peer);
    } else {
        peers_.disable(peer);
    }
}

void CudaDevice::synchronize() {
    check_process();
    const auto streams = streams_.alive();
    const std::uint64_t mark = streams_.mark();
    const ContextScope scope(context_);
    check(driver().ctx_synchronize(), "cuCtxSynchronize");
    std::exception_ptr first;
    const auto deliver = [&](StreamReport& report, CuStream stream) {
        try {
            report.deliver(stream);
        } catch (...) {
            if (!first) first = std::current_exception();
        }
    };
    for (const auto& report : streams_.take_reports(mark)) deliver(*report, nullptr);
    for (const auto& stream : streams) deliver(*stream->report(), stream->raw());
    if (first) std::rethrow_exception(first);
}

bool CudaDevice::wait_for(std::chrono::milliseconds limit) {
    check_process();
    const auto end = std::chrono::steady_clock::now() + limit;
    const auto left = [&] {
        const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
        return std::max(time, std::chrono::milliseconds(0));
    };
    for (const auto& stream : streams_.alive()) {
        if (!stream->wait_for(left())) return false;
    }
    const ContextScope scope(context_);
    return poll(left(), [&] { return streams_.left_work_is_done(); });
}

std::uint64_t CudaDevice::next_launch(int kernel) {
    return (++launches_ << kKernelBits) | static_cast<std::uint64_t>(kernel);
}

int CudaDevice::register_kernel(std::shared_ptr<const KernelDebug> debug) {
    const std::lock_guard lock(mutex_);
    kernels_.push_back(std::move(debug));
    return static_cast<int>(kernels_.size() - 1) & ((1 << kKernelBits) - 1);
}

std::shared_ptr<const KernelDebug> CudaDevice::kernel_of(std::uint64_t launch) const {
    const std::lock_guard lock(mutex_);
    return kernels_.at(launch & ((1 << kKernelBits) - 1));
}

CudaDevice& current_gpu(const char* what) {
    Device& device = current_device();
    if (device.attributes().cuda_capability == 0)
        throw Error(ErrorKind::Unsupported, "[" + std::string(what) + "] needs a GPU: " + gpu_problem());
    return static_cast<CudaDevice&>(device);
}

}  // namespace treadle::device::cuda
