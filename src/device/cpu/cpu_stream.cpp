#include "device/cpu/cpu_stream.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include <pthread.h>

#include "base/error.h"
#include "device/cpu/block_runner.h"

namespace treadle::device {
namespace {

constexpr double kInlineNs = 20'000;                         // work below this runs in the calling thread
constexpr double kUnknownThreadNs = 5;                       // of a kernel that has not run yet
constexpr double kChunkNs = 20'000;                          // what a worker takes at once, at least
constexpr std::int64_t kChunksPerWorker = 32;                // enough to balance uneven blocks
constexpr std::size_t kStreamBytes = std::size_t{48} << 20;  // arrays that no last-level cache share holds

constexpr std::size_t kMostPending = 1000;                         // launches
constexpr std::size_t kMostPendingBytes = std::size_t{128} << 20;  // of the arrays they work on

using Clock = std::chrono::steady_clock;

// Blocks that a worker takes at once: neighbours, so that workers do not touch the same lines in turn; whole rows of
// the grid where that is possible.
std::int64_t chunk_size(std::int64_t blocks, std::int64_t row, double block_ns, std::int64_t workers) {
    const auto least = static_cast<std::int64_t>(kChunkNs / std::max(block_ns, 1.0)) + 1;
    std::int64_t chunk = std::max(blocks / (workers * kChunksPerWorker), least);
    if (chunk > row) chunk = (chunk + row - 1) / row * row;
    return std::min(chunk, (blocks + workers - 1) / workers);
}

}  // namespace

namespace {

std::atomic<bool> forked{false};

}  // namespace

Scheduler::Scheduler(int threads) : pool(threads) {
    pthread_atfork(nullptr, nullptr, [] { forked = true; });
}

void Scheduler::check_process() {
    if (!forked.load(std::memory_order_relaxed)) return;
    throw_device_error(
        "CUDA_ERROR_NOT_INITIALIZED",
        "the device was used before this process was forked and cannot be used in the child; start processes with the "
        "'spawn' method, or first use Treadle after the fork");
}

void Scheduler::keep(std::exception_ptr fault) {
    const std::lock_guard lock(kept_mutex_);
    if (!kept_) kept_ = std::move(fault);
}

void Scheduler::throw_kept() {
    std::exception_ptr fault;
    {
        const std::lock_guard lock(kept_mutex_);
        std::swap(fault, kept_);
    }
    if (fault) std::rethrow_exception(fault);
}

// Its work is done: work holds its stream.
CpuStream::~CpuStream() {
    if (fault_) scheduler_.keep(std::move(fault_));
}

std::vector<StorageRef> CpuStream::keep(std::span<Storage* const> uses) {
    std::vector<StorageRef> keeps;
    keeps.reserve(uses.size());
    for (Storage* storage : uses) {
        storage->retain();
        keeps.emplace_back(storage);
    }
    return keeps;
}

// Programs that issue work faster than it runs wait here, so that the memory of finished work is used again.
void CpuStream::throttle(std::unique_lock<std::mutex>& lock, std::size_t bytes) {
    scheduler_.done.wait(lock, [&] {
        return queue_.empty() || (queue_.size() < kMostPending && pending_bytes_ + bytes <= kMostPendingBytes);
    });
}

void CpuStream::push(Item item) {
    pending_bytes_ += item.bytes;
    order_after_others();
    ++submitted_;
    queue_.push_back(std::move(item));
    pump();
}

// CUDA's legacy rule between the default stream and blocking streams.
void CpuStream::order_after_others() {
    if (this == scheduler_.default_stream) {
        for (const auto& weak : scheduler_.streams) {
            const auto stream = weak.lock();
            if (stream && stream.get() != this && stream->blocking_ && !stream->idle())
                wait_for(stream, stream->submitted_);
        }
    } else if (blocking_ && scheduler_.default_stream != nullptr && !scheduler_.default_stream->idle()) {
        wait_for(scheduler_.default_stream->self(), scheduler_.default_stream->submitted_);
    }
}

void CpuStream::wait_for(const std::shared_ptr<CpuStream>& other, std::uint64_t count) {
    if (other->completed_ >= count) return;
    // The count of waits is not part of completed_: only work is counted.
    queue_.push_back({0, {}, {}, other, count});
}

void CpuStream::pump() {
    while (!running_ && !queue_.empty()) {
        Item& head = queue_.front();
        if (head.work) {
            running_ = true;
            scheduler_.pool.submit([self = self()] {
                std::unique_lock lock(self->scheduler_.mutex);
                Item item = std::move(self->queue_.front());
                self->queue_.pop_front();
                lock.unlock();
                self->execute(std::move(item.work));
                item.keeps.clear();
                lock.lock();
                self->pending_bytes_ -= item.bytes;
                self->finished();
            });
            return;
        }
        if (head.other->completed_ < head.count) {
            head.other->waiters_.push_back(self());
            return;
        }
        queue_.pop_front();
    }
}

void CpuStream::finished() {
    running_ = false;
    ++completed_;
    const auto waiters = std::move(waiters_);
    waiters_.clear();
    pump();
    for (const auto& waiter : waiters) waiter->pump();
    scheduler_.done.notify_all();
}

void CpuStream::execute(std::function<void()> work) {
    try {
        work();
    } catch (...) {
        const std::lock_guard lock(scheduler_.mutex);
        if (!fault_) fault_ = std::current_exception();
    }
}

bool CpuStream::may_run_now() {
    if (!idle()) return false;
    order_after_others();
    return queue_.empty();
}

void CpuStream::run_kernel(const CpuKernel& kernel, const LaunchInfo& shape, const std::uint64_t* params, bool alone) {
    FaultSlot faults;
    LaunchInfo info = shape;
    info.fault = FaultSlot::report;
    info.fault_state = &faults;
    PrintBuffer printed(kernel.debug);
    info.print = PrintBuffer::print;
    info.print_state = &printed;
    const std::int64_t blocks = std::int64_t{info.grid[0]} * info.grid[1] * info.grid[2];
    const std::int64_t threads = std::int64_t{info.block[0]} * info.block[1] * info.block[2];
    const auto begin = Clock::now();
    const float known = kernel.thread_ns.load(std::memory_order_relaxed);
    std::int64_t workers = 1;
    if (kernel.blocks_wait) {
        workers = alone ? 1 : std::min<std::int64_t>(scheduler_.pool.size(), blocks);
        run_side_by_side(kernel, params, info, static_cast<int>(workers));
    } else if (alone) {
        kernel.run(params, info, 0, blocks);
    } else {
        const double thread_ns = known > 0 ? static_cast<double>(known) : kUnknownThreadNs;
        const std::int64_t chunk =
            chunk_size(blocks, info.grid[0], static_cast<double>(threads) * thread_ns, scheduler_.pool.size());
        workers = std::min<std::int64_t>(scheduler_.pool.size(), (blocks + chunk - 1) / chunk);
        scheduler_.pool.parallel_for(
            blocks, chunk, [&](std::int64_t first, std::int64_t last) { kernel.run(params, info, first, last); });
    }
    const double spent_ns =
        std::chrono::duration<double, std::nano>(Clock::now() - begin).count() * static_cast<double>(workers);
    const float each = static_cast<float>(spent_ns / static_cast<double>(std::max<std::int64_t>(1, blocks * threads)));
    kernel.thread_ns.store(known > 0 ? 0.75F * known + 0.25F * each : each, std::memory_order_relaxed);
    std::vector<Printed> lines = printed.take();
    if (!lines.empty()) {
        const std::lock_guard lock(scheduler_.mutex);
        std::move(lines.begin(), lines.end(), std::back_inserter(scheduler_.printed));
    }
    if (const std::exception_ptr error = faults.error(kernel.debug.get())) std::rethrow_exception(error);
}

// All packets of a grid that meets must be kept waiting at once.
void CpuStream::check_cooperative(const CpuKernel& kernel, const LaunchInfo& info) const {
    if (!kernel.meets_grid) return;
    const std::int64_t threads = std::int64_t{info.block[0]} * info.block[1] * info.block[2];
    const std::int64_t packets = (threads + kernel.packet - 1) / kernel.packet;
    const std::int64_t most = std::max<std::int64_t>(1, kMostWaiting / packets) * scheduler_.pool.size();
    const std::int64_t blocks = std::int64_t{info.grid[0]} * info.grid[1] * info.grid[2];
    if (blocks <= most) return;
    throw_device_error("CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
                       "[launch] a kernel with grid barriers runs at most " + std::to_string(most) + " blocks of " +
                           std::to_string(threads) + " threads at once, got " + std::to_string(blocks));
}

void CpuStream::launch(const Launch& launch) {
    Scheduler::check_process();
    auto kernel = std::static_pointer_cast<CpuKernel>(launch.kernel);
    LaunchInfo info{};
    std::copy_n(launch.block, 3, info.block);
    std::copy_n(launch.grid, 3, info.grid);
    info.shared_bytes = launch.shared_bytes;
    info.stream_barrier = launch.bytes >= kStreamBytes ? 0 : ~std::uint64_t{0};
    double threads = 1;
    for (int d = 0; d < 3; ++d) threads *= static_cast<double>(info.block[d]) * static_cast<double>(info.grid[d]);
    if (threads == 0) return;
    check_cooperative(*kernel, info);
    const float known = kernel->thread_ns.load(std::memory_order_relaxed);
    // A loop may run longer for other numbers than it did before.
    const bool is_known =
        known > 0 && (!kernel->has_loops || kernel->work_key.load(std::memory_order_relaxed) == launch.work_key);
    const bool is_small = is_known && threads * static_cast<double>(known) <= kInlineNs;
    kernel->work_key.store(launch.work_key, std::memory_order_relaxed);
    std::unique_lock lock(scheduler_.mutex);
    if (is_small && may_run_now()) {
        running_ = true;
        ++submitted_;
        lock.unlock();
        try {
            run_kernel(*kernel, info, launch.params.data(), true);
        } catch (...) {
            lock.lock();
            if (!fault_) fault_ = std::current_exception();
            lock.unlock();
        }
        lock.lock();
        finished();
        return;
    }
    throttle(lock, launch.bytes);
    push({launch.bytes,
          [this, kernel, info, params = std::vector<std::uint64_t>(launch.params.begin(), launch.params.end())] {
              run_kernel(*kernel, info, params.data(), false);
          },
          keep(launch.uses), nullptr, 0});
}

void CpuStream::copy(void* to, const void* from, std::size_t size_bytes, std::span<Storage* const> uses) {
    Scheduler::check_process();
    constexpr std::size_t kSmall = std::size_t{1} << 16;
    constexpr std::size_t kChunk = std::size_t{1} << 20;
    if (size_bytes == 0) return;
    std::unique_lock lock(scheduler_.mutex);
    if (size_bytes <= kSmall && may_run_now()) {
        std::memmove(to, from, size_bytes);
        return;
    }
    push({size_bytes,
          [this, to, from, size_bytes] {
              const auto count = static_cast<std::int64_t>((size_bytes + kChunk - 1) / kChunk);
              scheduler_.pool.parallel_for(count, 1, [&](std::int64_t first, std::int64_t last) {
                  const std::size_t begin = static_cast<std::size_t>(first) * kChunk;
                  const std::size_t end = std::min(static_cast<std::size_t>(last) * kChunk, size_bytes);
                  std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin, end - begin);
              });
          },
          keep(uses), nullptr, 0});
}

void CpuStream::host(std::function<void()> work, std::span<Storage* const> uses) {
    Scheduler::check_process();
    const std::lock_guard lock(scheduler_.mutex);
    push({0, std::move(work), keep(uses), nullptr, 0});
}

void CpuStream::record(const std::shared_ptr<Event>& event) {
    Scheduler::check_process();
    const auto own = std::static_pointer_cast<CpuEvent>(event);
    const std::lock_guard lock(scheduler_.mutex);
    own->stream_ = self();
    if (may_run_now()) {
        own->count_ = completed_;
        own->time_ = Clock::now();
        return;
    }
    push({0,
          [own, this] {
              const std::lock_guard guard(scheduler_.mutex);
              own->time_ = Clock::now();
          },
          {},
          nullptr,
          0});
    own->count_ = submitted_;
}

void CpuStream::wait(const std::shared_ptr<Event>& event) {
    Scheduler::check_process();
    const auto own = std::static_pointer_cast<CpuEvent>(event);
    const std::lock_guard lock(scheduler_.mutex);
    if (own->stream_ != nullptr && own->stream_.get() != this) wait_for(own->stream_, own->count_);
}

void CpuStream::drain() {
    Scheduler::check_process();
    std::unique_lock lock(scheduler_.mutex);
    const std::uint64_t goal = submitted_;
    scheduler_.done.wait(lock, [&] { return completed_ >= goal; });
}

bool CpuStream::drain_for(std::chrono::milliseconds limit) {
    Scheduler::check_process();
    std::unique_lock lock(scheduler_.mutex);
    const std::uint64_t goal = submitted_;
    return scheduler_.done.wait_for(lock, limit, [&] { return completed_ >= goal; });
}

void CpuStream::throw_fault() {
    std::exception_ptr fault;
    std::vector<Printed> lines;
    {
        const std::lock_guard lock(scheduler_.mutex);
        std::swap(fault, fault_);
        std::swap(lines, scheduler_.printed);
    }
    if (!lines.empty() && print_sink() != nullptr) print_sink()(lines);
    if (fault) std::rethrow_exception(fault);
}

void CpuStream::synchronize() {
    drain();
    throw_fault();
}

bool CpuStream::query() const {
    const std::lock_guard lock(scheduler_.mutex);
    return completed_ >= submitted_;
}

bool CpuEvent::query() const {
    const std::lock_guard lock(scheduler_.mutex);
    return stream_ == nullptr || stream_->completed_ >= count_;
}

void CpuEvent::synchronize() {
    Scheduler::check_process();
    std::unique_lock lock(scheduler_.mutex);
    if (stream_ == nullptr) return;
    const auto stream = stream_;
    const std::uint64_t goal = count_;
    scheduler_.done.wait(lock, [&] { return stream->completed_ >= goal; });
    lock.unlock();
    stream->throw_fault();
}

double CpuEvent::elapsed_ms(const Event& since) const {
    const auto& first = static_cast<const CpuEvent&>(since);
    const std::lock_guard lock(scheduler_.mutex);
    for (const CpuEvent* event : {&first, this}) {
        if (event->stream_ == nullptr)
            throw_device_error("CUDA_ERROR_INVALID_HANDLE", "[elapsed time] the event was never recorded");
        if (event->stream_->completed_ < event->count_)
            throw_device_error("CUDA_ERROR_NOT_READY", "[elapsed time] the event is not done yet");
    }
    return std::chrono::duration<double, std::milli>(time_ - first.time_).count();
}

}  // namespace treadle::device
