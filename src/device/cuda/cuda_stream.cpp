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

// Work given to second from now on comes after what first has. Events belong to the GPU of the stream that they are
// recorded in.
void order(const CudaDevice& device, CuStream first, const CudaDevice& later, CuStream second) {
    CuEvent event = nullptr;
    {
        const ContextScope scope(device.context());
        check(driver().event_create(&event, kEventWithoutTime), "cuEventCreate");
        check(driver().event_record(event, first), "cuEventRecord");
    }
    const ContextScope scope(later.context());
    check(driver().stream_wait_event(second, event, 0), "cuStreamWaitEvent");
    driver().event_destroy(event);
}

[[noreturn]] void refuse_peer(const CudaDevice& device, const CudaDevice& owner) {
    const std::string own = std::to_string(device.index());
    const std::string other = std::to_string(owner.index());
    const std::string way = device.peers().is_possible(owner.index())
                                ? "copy it, or let GPU " + own + " reach it: treadle.core.Device(" + other +
                                      ").memory_resource.peer_accessible_by = [" + own + "]"
                                : "copy it (GPU " + own + " cannot reach it)";
    throw_device_error("CUDA_ERROR_INVALID_VALUE", "[stream] expected memory of the stream's GPU " + own +
                                                       ", got an array on GPU " + other + ": " + way);
}

// The GPU whose pool an address is of; null for other memory.
const CudaDevice* owner_of(const void* address, std::span<Storage* const> uses) {
    for (const Storage* storage : uses) {
        const auto* begin = static_cast<const char*>(storage->data());
        if (storage->owner() != nullptr && address >= begin && address < begin + storage->size_bytes())
            return static_cast<const CudaDevice*>(storage->owner());
    }
    return nullptr;
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

void CudaStream::order_before(const CudaStream& later) const { order(device_, stream_, later.device_, later.stream_); }

// 1 is another name of the legacy default stream.
void CudaStream::order_with(std::uint64_t first, std::uint64_t second) const {
    const auto plain = [](std::uint64_t handle) { return handle == 1 ? 0 : handle; };
    if (plain(first) == plain(second)) return;
    order(device_, reinterpret_cast<CuStream>(first), device_, reinterpret_cast<CuStream>(second));
}

void CudaStream::wait_for_handle(std::uint64_t handle) { order_with(handle, this->handle()); }
void CudaStream::order_handle_after(std::uint64_t handle) { order_with(this->handle(), handle); }

void CudaStream::use(std::span<Storage* const> uses) {
    std::uint64_t others = 0;
    const std::uint64_t own = std::uint64_t{1} << slot_;
    for (Storage* storage : uses) {
        if (storage->owner() == nullptr) continue;
        auto& block = static_cast<CudaBlock&>(*storage);
        if (&block.device() == &device_) {
            others |= block.note_use(own);
            continue;
        }
        if (!device_.peers().is_enabled(block.device())) refuse_peer(device_, block.device());
        use_of_peer(block);
    }
    if (others != 0) device_.streams().order_after(*this, others);
}

void CudaStream::use_of_peer(CudaBlock& block) {
    device_.peers().visit(block.device());
    const std::uint64_t others = block.note_use(std::uint64_t{1} << kPeerSlot);
    if (others != 0) block.device().streams().order_after(*this, others);
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
    device_.context().note_launch(kernel.label, stream_);
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
    const auto start = [&] {
        return cu.launch_kernel(kernel.function, grid_x, extent(launch.grid, 1), extent(launch.grid, 2),
                                extent(launch.block, 0), extent(launch.block, 1), extent(launch.block, 2),
                                static_cast<unsigned>(shared), stream_, nullptr, extra);
    };
    CuResult result = start();
    // Local arrays get their memory when a kernel that has them first runs.
    if (result == kOutOfMemory) {
        device_.memory().release_cached();
        result = start();
    }
    // Only code that the kernel links has a limit of its own.
    const int threads = launch.block[0] * launch.block[1] * launch.block[2];
    if (result != kSuccess && threads > kernel.max_threads) {
        throw_device_error(error_name(result), "[launch] block: expected at most " +
                                                   std::to_string(kernel.max_threads) +
                                                   " threads, as the registers of the code that " + kernel.debug->name +
                                                   " links allow, got " + std::to_string(threads));
    }
    check(result, "cuLaunchKernel");
}

void CudaStream::copy(void* to, const void* from, std::size_t size_bytes, std::span<Storage* const> uses) {
    if (size_bytes == 0) return;
    SmallVector<Storage*, 4> own;
    for (Storage* storage : uses) {
        if (storage->owner() == nullptr || storage->owner() == &device_) {
            own.push_back(storage);
            continue;
        }
        // Copies reach every GPU. What the other one still does to its memory comes first.
        auto& block = static_cast<CudaBlock&>(*storage);
        block.device().streams().order_after_all(*this);
        use_of_peer(block);
    }
    const ContextScope scope(device_.context());
    use({own.begin(), own.size()});
    const CudaDevice* const target = owner_of(to, uses);
    const CudaDevice* const source = owner_of(from, uses);
    const auto into = reinterpret_cast<CuPointer>(to);
    const auto out_of = reinterpret_cast<CuPointer>(from);
    if (target != source && target != nullptr && source != nullptr) {
        target->context().check_usable();
        source->context().check_usable();
        check(
            driver().memcpy_peer_async(into, target->context().raw, out_of, source->context().raw, size_bytes, stream_),
            "cuMemcpyPeerAsync");
    } else {
        check(driver().memcpy_async(into, out_of, size_bytes, stream_), "cuMemcpyAsync");
    }
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
