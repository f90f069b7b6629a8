#include "device/cuda/cuda_stream.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "base/small_vector.h"
#include "device/cuda/cuda_device.h"
#include "device/reports.h"

namespace treadle::device::cuda {
namespace {

constexpr unsigned kMappedHostMemory = 2;

std::uint64_t patience_ns() {
    static const std::uint64_t limit = [] {
        const char* given = std::getenv("TREADLE_WATCHDOG");
        const double seconds = given != nullptr && *given != '\0' ? std::atof(given) : 30;
        return static_cast<std::uint64_t>(seconds * 1e9);
    }();
    return limit;
}

}  // namespace

CudaStream::CudaStream(CudaDevice& device, CuStream stream, int slot, bool owned)
    : device_(device), stream_(stream), slot_(slot), owned_(owned) {}

CudaStream::~CudaStream() {
    const Driver& cu = driver();
    CuContext popped = nullptr;
    if (cu.ctx_push_current(device_.context()) != kSuccess) return;
    // Its bit is given to another stream, and its report to the system: both must be out of use.
    if (owned_) cu.stream_synchronize(stream_);
    device_.leave(*this);
    if (report_ != nullptr) cu.mem_free_host(report_);
    if (scratch_ != 0) cu.mem_free(scratch_);
    if (owned_) cu.stream_destroy(stream_);
    cu.ctx_pop_current(&popped);
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
    if (others != 0) device_.order_after(stream_, others);
}

DeviceReport* CudaStream::report() {
    const std::lock_guard lock(mutex_);
    if (report_ == nullptr) {
        void* memory = nullptr;
        check(driver().mem_host_alloc(&memory, sizeof(DeviceReport), kMappedHostMemory), "cuMemHostAlloc");
        std::memset(memory, 0, offsetof(DeviceReport, prints));
        report_ = static_cast<DeviceReport*>(memory);
        check(driver().mem_alloc(&scratch_, sizeof(DeviceScratch)), "cuMemAlloc");
        check(driver().memset_async(scratch_, 0, sizeof(DeviceScratch), stream_), "cuMemsetD8Async");
    }
    return report_;
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
        tail.report = report();
        tail.launch = device_.next_launch(kernel.number);
        tail.scratch = reinterpret_cast<DeviceScratch*>(scratch_);
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
    const CuResult result = cu.launch_kernel(kernel.function, grid_x, extent(launch.grid, 1), extent(launch.grid, 2),
                                             extent(launch.block, 0), extent(launch.block, 1), extent(launch.block, 2),
                                             static_cast<unsigned>(shared), stream_, nullptr, extra);
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
        CudaStream* stream;
    };
    auto call = std::make_unique<Call>();
    call->work = std::move(work);
    call->stream = this;
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
            const std::lock_guard lock(own->stream->mutex_);
            if (!own->stream->fault_) own->stream->fault_ = std::current_exception();
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

// Most work ends soon: asking costs less than being woken up.
bool CudaStream::wait_for(std::chrono::milliseconds limit) {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    auto pause = std::chrono::microseconds(20);
    while (!query()) {
        const auto spent = Clock::now() - begin;
        if (spent > limit) return false;
        if (spent < std::chrono::microseconds(200)) continue;
        std::this_thread::sleep_for(pause);
        pause = std::min(2 * pause, std::chrono::microseconds(500));
    }
    return true;
}

void CudaStream::synchronize() {
    {
        const ContextScope scope(device_.context());
        check(driver().stream_synchronize(stream_), "cuStreamSynchronize");
    }
    deliver();
}

std::vector<Printed> CudaStream::take_lines() {
    std::vector<std::pair<std::uint64_t, Printed>> found;
    const std::uint64_t end = std::min<std::uint64_t>(report_->print_cursor, DeviceReport::kPrintWords);
    constexpr std::uint64_t kHead = sizeof(PrintLine) / 8;
    for (std::uint64_t at = 0; at + kHead <= end;) {
        PrintLine line{};
        std::memcpy(&line, report_->prints + at, sizeof line);
        const std::uint64_t count = line.text_and_values & 0xffffffff;
        if (at + kHead + count > end) break;
        const std::uint64_t* values = report_->prints + at + kHead;
        found.emplace_back(line.launch, Printed{device_.kernel_of(line.launch),
                                                static_cast<std::int64_t>(line.text_and_values >> 32),
                                                static_cast<std::int64_t>(line.block),
                                                static_cast<std::int64_t>(line.thread),
                                                {values, values + count}});
        at += kHead + count;
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
        if (a.first != b.first) return a.first < b.first;
        return a.second.block != b.second.block ? a.second.block < b.second.block : a.second.thread < b.second.thread;
    });
    std::vector<Printed> lines;
    for (auto& [launch, line] : found) lines.push_back(std::move(line));
    return lines;
}

void CudaStream::deliver() {
    std::vector<Printed> lines;
    std::exception_ptr fault;
    {
        const std::lock_guard lock(mutex_);
        std::swap(fault, fault_);
        if (report_ != nullptr && report_->print_cursor != 0) {
            lines = take_lines();
            if (report_->print_cursor > DeviceReport::kPrintWords && !fault)
                fault = std::make_exception_ptr(
                    Error(ErrorKind::Memory, "kernels printed more between two waits than the " +
                                                 std::to_string(DeviceReport::kPrintWords * 8 >> 20) +
                                                 " MiB that are kept for it: later lines are lost"));
            // Taken lines are over: what is left of them is not to be read again.
            std::memset(report_->prints, 0,
                        8 * std::min<std::uint64_t>(report_->print_cursor, DeviceReport::kPrintWords));
            report_->print_cursor = 0;
        }
        if (report_ != nullptr && report_->launch != 0) {
            const std::shared_ptr<const KernelDebug> debug = device_.kernel_of(report_->launch);
            FaultRecord record{report_->line, report_->axis, report_->index, report_->rank, {}, {}, {}};
            std::copy_n(report_->shape, FaultRecord::kMostAxes, record.shape);
            std::copy_n(report_->block, 3, record.block);
            std::copy_n(report_->thread, 3, record.thread);
            if (!fault) fault = fault_error(record, debug.get());
            report_->launch = 0;
            const ContextScope scope(device_.context());
            constexpr std::size_t kFaults = offsetof(DeviceScratch, fault_launch);
            check(driver().memset_async(scratch_ + kFaults, 0, sizeof(DeviceScratch) - kFaults, stream_),
                  "cuMemsetD8Async");
        }
    }
    if (!lines.empty() && print_sink() != nullptr) print_sink()(lines);
    if (fault) std::rethrow_exception(fault);
}

CudaEvent::CudaEvent(CudaDevice& device) : device_(device) {
    const ContextScope scope(device.context());
    check(driver().event_create(&event_, 0), "cuEventCreate");
}

CudaEvent::~CudaEvent() { driver().event_destroy(event_); }

bool CudaEvent::query() const {
    const ContextScope scope(device_.context());
    const CuResult result = driver().event_query(event_);
    if (result == kNotReady) return false;
    check(result, "cuEventQuery");
    return true;
}

void CudaEvent::synchronize() {
    {
        const ContextScope scope(device_.context());
        check(driver().event_synchronize(event_), "cuEventSynchronize");
    }
    // Faults and prints are taken where no kernel writes any.
    const std::shared_ptr<CudaStream> from = stream.lock();
    if (from != nullptr && from->query()) from->deliver();
}

double CudaEvent::elapsed_ms(const Event& since) const {
    const auto& first = static_cast<const CudaEvent&>(since);
    const ContextScope scope(device_.context());
    for (const CudaEvent* event : {&first, this}) {
        if (!event->recorded)
            throw_device_error("CUDA_ERROR_INVALID_HANDLE", "[elapsed time] the event was never recorded");
        if (!event->query()) throw_device_error("CUDA_ERROR_NOT_READY", "[elapsed time] the event is not done yet");
    }
    float milliseconds = 0;
    check(driver().event_elapsed_time(&milliseconds, first.event_, event_), "cuEventElapsedTime");
    return static_cast<double>(milliseconds);
}

}  // namespace treadle::device::cuda
