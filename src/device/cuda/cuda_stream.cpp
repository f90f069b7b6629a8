#include "device/cuda/cuda_stream.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "base/small_vector.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_event.h"

namespace treadle::device::cuda {
namespace {

std::uint64_t patience_ns() {
    static const std::uint64_t limit = [] {
        const char* given = std::getenv("TREADLE_WATCHDOG");
        const double seconds = given != nullptr && *given != '\0' ? std::atof(given) : 30;
        return static_cast<std::uint64_t>(seconds * 1e9);
    }();
    return limit;
}

}  // namespace

bool poll(std::chrono::milliseconds limit, const std::function<bool()>& done) {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    auto pause = std::chrono::microseconds(20);
    while (!done()) {
        const auto spent = Clock::now() - begin;
        if (spent > limit) return false;
        if (spent < std::chrono::microseconds(200)) continue;
        std::this_thread::sleep_for(pause);
        pause = std::min(2 * pause, std::chrono::microseconds(500));
    }
    return true;
}

CudaStream::CudaStream(CudaDevice& device, CuStream stream, int slot, bool owned, std::shared_ptr<StreamReport> report)
    : device_(device), stream_(stream), slot_(slot), owned_(owned), report_(std::move(report)) {}

CudaStream::~CudaStream() {
    const CleanupScope scope(device_.context());
    if (!scope) return;
    device_.streams().leave(*this);
    // Work in flight goes on.
    if (owned_) driver().stream_destroy(stream_);
}

std::uint64_t CudaStream::handle() const { return reinterpret_cast<std::uint64_t>(stream_); }

// Work given to second from now on comes after what first has. 1 is another name of the legacy default stream.
void CudaStream::order(CuStream first, CuStream second) const {
    const auto plain = [](CuStream stream) { return reinterpret_cast<std::uint64_t>(stream) == 1 ? nullptr : stream; };
    if (plain(first) == plain(second)) return;
    const ContextScope scope(device_.context());
    CudaDevice::order(first, second);
}

void CudaStream::wait_for_handle(std::uint64_t handle) { order(reinterpret_cast<CuStream>(handle), stream_); }
void CudaStream::order_handle_after(std::uint64_t handle) { order(stream_, reinterpret_cast<CuStream>(handle)); }

void CudaStream::use(std::span<Storage* const> uses) {
    std::uint64_t others = 0;
    const std::uint64_t own = std::uint64_t{1} << slot_;
    for (Storage* storage : uses) {
        if (storage->owner() == &device_) {
            others |= static_cast<CudaBlock*>(storage)->note_use(own);
        } else if (storage->owner() != nullptr) {
            throw_device_error("CUDA_ERROR_INVALID_VALUE",
                               "[stream] expected memory of the stream's GPU, got an array on another GPU: copy it");
        }
    }
    if (others != 0) device_.streams().order_after(stream_, others);
}

// All blocks of a grid that meets must be on the GPU at once.
void CudaStream::check_cooperative(const CudaKernel& kernel, const Launch& launch, std::size_t shared_bytes) const {
    const int threads = launch.block[0] * launch.block[1] * launch.block[2];
    int at_once = 0;
    check(driver().occupancy(&at_once, kernel.function, threads, shared_bytes),
          "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    const std::int64_t most = std::int64_t{at_once} * device_.attributes().multiprocessors;
    const std::int64_t blocks = std::int64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
    if (blocks <= most) return;
    throw_device_error("CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
                       "[launch] a kernel with grid barriers runs at most " + std::to_string(most) + " blocks of " +
                           std::to_string(threads) + " threads at once, got " + std::to_string(blocks));
}

void CudaStream::launch(const Launch& launch) {
    const auto& kernel = static_cast<const CudaKernel&>(*launch.kernel);
    const std::int64_t blocks = std::int64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
    if (blocks == 0) return;
    const Driver& cu = driver();
    const ContextScope scope(device_.context());
    use(launch.uses);
    LaunchTail tail{};
    tail.grid_x = static_cast<std::uint64_t>(launch.grid[0]);
    if (kernel.reports || kernel.meets_grid) {
        tail.report = report_->memory(stream_);
        tail.launch = device_.next_launch(kernel.number);
        tail.scratch = report_->scratch();
        tail.patience_ns = patience_ns();
    }
    SmallVector<std::uint64_t, 64> words(launch.params.size() + kTailWords);
    std::copy(launch.params.begin(), launch.params.end(), words.begin());
    std::memcpy(words.begin() + launch.params.size(), &tail, sizeof tail);
    const std::size_t shared =
        static_cast<std::size_t>(launch.shared_bytes) + (static_cast<std::size_t>(kernel.shared_bytes) + 63) / 64 * 64;
    auto grid_x = static_cast<unsigned>(launch.grid[0]);
    if (kernel.coarse) grid_x = (grid_x + kCoarse - 1) / kCoarse;
    const auto extent = [](const std::int32_t* dims, int d) { return static_cast<unsigned>(dims[d]); };
    if (kernel.meets_grid) {
        check_cooperative(kernel, launch, shared);
        SmallVector<void*, 64> places(words.size());
        for (std::size_t i = 0; i < words.size(); ++i) places[i] = &words[i];
        check(cu.launch_cooperative_kernel(kernel.function, grid_x, extent(launch.grid, 1), extent(launch.grid, 2),
                                           extent(launch.block, 0), extent(launch.block, 1), extent(launch.block, 2),
                                           static_cast<unsigned>(shared), stream_, places.begin()),
              "cuLaunchCooperativeKernel");
        return;
    }
    std::size_t size_bytes = 8 * words.size();
    void* extra[] = {reinterpret_cast<void*>(1), words.begin(), reinterpret_cast<void*>(2), &size_bytes, nullptr};
    check(cu.launch_kernel(kernel.function, grid_x, extent(launch.grid, 1), extent(launch.grid, 2),
                           extent(launch.block, 0), extent(launch.block, 1), extent(launch.block, 2),
                           static_cast<unsigned>(shared), stream_, nullptr, extra),
          "cuLaunchKernel");
}

void CudaStream::copy(void* to, const void* from, std::size_t size_bytes, std::span<Storage* const> uses) {
    if (size_bytes == 0) return;
    SmallVector<Storage*, 4> own;
    for (Storage* storage : uses) {
        const Device* owner = storage->owner();
        if (owner == nullptr || owner == &device_) {
            own.push_back(storage);
            continue;
        }
        // Memory of another GPU: what that one still does to it comes first, and nothing is noted there to wait for us.
        const ContextScope scope(static_cast<const CudaDevice*>(owner)->context());
        check(driver().ctx_synchronize(), "cuCtxSynchronize");
    }
    const ContextScope scope(device_.context());
    use({own.begin(), own.size()});
    check(
        driver().memcpy_async(reinterpret_cast<CuPointer>(to), reinterpret_cast<CuPointer>(from), size_bytes, stream_),
        "cuMemcpyAsync");
}

void CudaStream::host(std::function<void()> work, std::span<Storage* const> uses) {
    struct Call {
        std::function<void()> work;
        std::vector<StorageRef> keeps;
        std::shared_ptr<StreamReport> report;
    };
    auto call = std::make_unique<Call>();
    call->work = std::move(work);
    call->report = report_;
    for (Storage* storage : uses) {
        storage->retain();
        call->keeps.emplace_back(storage);
    }
    const ContextScope scope(device_.context());
    use(uses);
    const auto run = [](void* data) {
        const std::unique_ptr<Call> own(static_cast<Call*>(data));
        try {
            own->work();
        } catch (...) {
            own->report->keep(std::current_exception());
        }
    };
    check(driver().launch_host_func(stream_, run, call.get()), "cuLaunchHostFunc");
    call.release();
}

void CudaStream::record(const std::shared_ptr<Event>& event) {
    const ContextScope scope(device_.context());
    auto& own = static_cast<CudaEvent&>(*event);
    check(driver().event_record(own.raw(), stream_), "cuEventRecord");
    own.recorded = true;
    own.stream = std::static_pointer_cast<CudaStream>(shared_from_this());
}

void CudaStream::wait(const std::shared_ptr<Event>& event) {
    const ContextScope scope(device_.context());
    const auto& own = static_cast<const CudaEvent&>(*event);
    if (own.recorded) check(driver().stream_wait_event(stream_, own.raw(), 0), "cuStreamWaitEvent");
}

bool CudaStream::query() const {
    const ContextScope scope(device_.context());
    const CuResult result = driver().stream_query(stream_);
    if (result == kNotReady) return false;
    check(result, "cuStreamQuery");
    return true;
}

bool CudaStream::wait_for(std::chrono::milliseconds limit) {
    return poll(limit, [&] { return query(); });
}

int CudaStream::priority() const {
    const ContextScope scope(device_.context());
    int value = 0;
    check(driver().stream_get_priority(stream_, &value), "cuStreamGetPriority");
    return value;
}

bool CudaStream::is_blocking() const {
    const ContextScope scope(device_.context());
    unsigned flags = 0;
    check(driver().stream_get_flags(stream_, &flags), "cuStreamGetFlags");
    return (flags & kNonBlocking) == 0;
}

void CudaStream::synchronize() {
    {
        const ContextScope scope(device_.context());
        check(driver().stream_synchronize(stream_), "cuStreamSynchronize");
    }
    report_->deliver(stream_);
}

}  // namespace treadle::device::cuda
