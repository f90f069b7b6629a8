#include "device/cuda/cuda_device.h"

#include <algorithm>

#include <pthread.h>

#include "base/error.h"
#include "device/cuda/cuda_kernel.h"
#include "device/cuda/cuda_stream.h"
#include "device/cuda/linker.h"

namespace treadle::device::cuda {
namespace {

constexpr int kSharedSlot = kStreamBits - 1;
constexpr int kKernelBits = 20;
constexpr unsigned kNonBlocking = 1;
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
        CuContext popped = nullptr;
        if (driver().ctx_push_current(device_.context()) != kSuccess) return;
        // Unlike blocks of the pool it is gone at once, and work may still use it.
        driver().ctx_synchronize();
        if (kind_ == SharedMemory::Managed) {
            driver().mem_free(reinterpret_cast<CuPointer>(data_));
        } else {
            driver().mem_free_host(data_);
        }
        driver().ctx_pop_current(&popped);
    }

private:
    CudaDevice& device_;
    SharedMemory kind_;
};

}  // namespace

CudaDevice::CudaDevice(int ordinal) : ordinal_(ordinal), memory_(*this), slots_(kStreamBits, nullptr) {
    const Driver& cu = driver();
    check(cu.device_get(&device_, ordinal), "cuDeviceGet");
    check(cu.device_primary_ctx_retain(&context_, device_), "cuDevicePrimaryCtxRetain");
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
    default_stream_ = std::make_shared<CudaStream>(*this, nullptr, 0, false);
    slots_[0] = default_stream_.get();
    streams_.emplace_back(default_stream_);
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
    CuResult result = kSuccess;
    if (kind == SharedMemory::Managed) {
        CuPointer pointer = 0;
        result = driver().mem_alloc_managed(&pointer, size, kAttachGlobal);
        memory = reinterpret_cast<void*>(pointer);
    } else {
        result = driver().mem_host_alloc(&memory, size, kPortableMapped);
    }
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

// The last bit is shared by all streams for which there is no other.
int CudaDevice::free_slot() {
    for (int slot = 1; slot < kSharedSlot; ++slot) {
        if (slots_[static_cast<std::size_t>(slot)] == nullptr) return slot;
    }
    return kSharedSlot;
}

std::shared_ptr<Stream> CudaDevice::create_stream(bool blocking) {
    check_process();
    const ContextScope scope(context_);
    const std::lock_guard lock(mutex_);
    const int slot = free_slot();
    CuStream raw = nullptr;
    check(driver().stream_create(&raw, blocking ? 0 : kNonBlocking, 0), "cuStreamCreateWithPriority");
    auto stream = std::make_shared<CudaStream>(*this, raw, slot, true);
    if (slot != kSharedSlot) slots_[static_cast<std::size_t>(slot)] = stream.get();
    std::erase_if(streams_, [](const auto& weak) { return weak.expired(); });
    streams_.push_back(stream);
    return stream;
}

void CudaDevice::leave(CudaStream& stream) noexcept {
    const std::lock_guard lock(mutex_);
    auto& slot = slots_[static_cast<std::size_t>(stream.slot())];
    if (slot == &stream) slot = nullptr;
}

std::shared_ptr<Stream> CudaDevice::stream_of(std::uint64_t handle) {
    check_process();
    if (handle <= 1) return default_stream_;
    const std::lock_guard lock(mutex_);
    for (const auto& weak : streams_) {
        if (auto stream = weak.lock(); stream != nullptr && stream->handle() == handle) return stream;
    }
    const int slot = free_slot();
    auto stream = std::make_shared<CudaStream>(*this, reinterpret_cast<CuStream>(handle), slot, false);
    if (slot != kSharedSlot) slots_[static_cast<std::size_t>(slot)] = stream.get();
    std::erase_if(streams_, [](const auto& weak) { return weak.expired(); });
    streams_.push_back(stream);
    return stream;
}

std::shared_ptr<Event> CudaDevice::create_event() {
    check_process();
    return std::make_shared<CudaEvent>(*this);
}

std::vector<std::shared_ptr<CudaStream>> CudaDevice::all_streams() {
    check_process();
    std::vector<std::shared_ptr<CudaStream>> streams;
    const std::lock_guard lock(mutex_);
    for (const auto& weak : streams_) {
        if (auto stream = weak.lock()) streams.push_back(std::move(stream));
    }
    return streams;
}

void CudaDevice::synchronize() {
    const auto streams = all_streams();
    {
        const ContextScope scope(context_);
        check(driver().ctx_synchronize(), "cuCtxSynchronize");
    }
    std::exception_ptr first;
    for (const auto& stream : streams) {
        try {
            stream->deliver();
        } catch (...) {
            if (!first) first = std::current_exception();
        }
    }
    if (first) std::rethrow_exception(first);
}

bool CudaDevice::wait_for(std::chrono::milliseconds limit) {
    const auto end = std::chrono::steady_clock::now() + limit;
    for (const auto& stream : all_streams()) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
        if (!stream->wait_for(std::max(left, std::chrono::milliseconds(0)))) return false;
    }
    return true;
}

void CudaDevice::order_after(CuStream stream, std::uint64_t streams) {
    for (const auto& other : all_streams()) {
        if ((streams >> other->slot() & 1) == 0 || other->raw() == stream) continue;
        order(other->raw(), stream);
    }
}

void CudaDevice::order(CuStream first, CuStream second) {
    constexpr unsigned kWithoutTime = 2;
    CuEvent event = nullptr;
    check(driver().event_create(&event, kWithoutTime), "cuEventCreate");
    check(driver().event_record(event, first), "cuEventRecord");
    check(driver().stream_wait_event(second, event, 0), "cuStreamWaitEvent");
    driver().event_destroy(event);
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
