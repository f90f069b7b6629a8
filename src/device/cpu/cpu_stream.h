// Streams of the CPU device: queues of work that runs in order on the device's thread pool.
//
// Work that is small and has nothing before it runs at once in the calling thread. The default stream follows CUDA's
// legacy rules: its work waits for all earlier work on blocking streams, and theirs for its.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>

#include "base/thread_pool.h"
#include "device/cpu/cpu_kernel.h"
#include "device/device.h"

namespace treadle::device {

class CpuStream;
class CpuEvent;

// What all streams of the device share: the lock over their queues, and the pool.
class Scheduler {
public:
    explicit Scheduler(int threads);

    // Throws in a process that was forked after the device was first used: the pool's threads did not come along.
    static void check_process();
    // Faults of streams that were given up before anybody waited for them; the device's next wait throws one.
    void keep(std::exception_ptr fault);
    void throw_kept();

    std::mutex mutex;
    std::condition_variable done;
    std::vector<std::weak_ptr<CpuStream>> streams;
    std::vector<Printed> printed;  // by kernels, and not shown yet
    CpuStream* default_stream = nullptr;
    ThreadPool pool;

private:
    std::mutex kept_mutex_;  // of its own: streams may end while the other is held
    std::exception_ptr kept_;
};

class CpuStream final : public Stream {
public:
    CpuStream(Scheduler& scheduler, bool blocking, std::uint64_t handle, int priority = 0)
        : scheduler_(scheduler), blocking_(blocking), handle_(handle), priority_(priority) {}
    ~CpuStream() override;

    void launch(const Launch& launch) override;
    void copy(void* to, const void* from, std::size_t size_bytes, std::span<Storage* const> uses) override;
    void host(std::function<void()> work, std::span<Storage* const> uses) override;
    void record(const std::shared_ptr<Event>& event) override;
    void wait(const std::shared_ptr<Event>& event) override;
    void synchronize() override;
    bool query() const override;
    bool wait_for(std::chrono::milliseconds limit) override { return drain_for(limit); }
    std::uint64_t handle() const override { return handle_; }
    // Kept, and without effect: all cores take part in every stream's work.
    int priority() const override { return priority_; }
    bool is_blocking() const override { return blocking_; }
    // Waits without throwing what kernels reported.
    void drain();
    bool drain_for(std::chrono::milliseconds limit);
    void throw_fault();

private:
    std::shared_ptr<CpuStream> self() { return std::static_pointer_cast<CpuStream>(shared_from_this()); }

    friend class CpuEvent;
    friend class CpuDevice;
    struct Item {
        std::size_t bytes = 0;       // of the arrays that it works on
        std::function<void()> work;  // empty: wait for stream and count
        std::vector<StorageRef> keeps;
        std::shared_ptr<CpuStream> other;
        std::uint64_t count = 0;
    };

    // Called with the lock held.
    void push(Item item);
    void throttle(std::unique_lock<std::mutex>& lock, std::size_t bytes);
    void order_after_others();
    void wait_for(const std::shared_ptr<CpuStream>& other, std::uint64_t count);
    void pump();
    bool idle() const { return queue_.empty() && !running_; }
    bool may_run_now();
    void finished();

    void execute(std::function<void()> work);
    void check_cooperative(const CpuKernel& kernel, const LaunchInfo& info) const;
    void run_kernel(const CpuKernel& kernel, const LaunchInfo& shape, const std::uint64_t* params, bool alone);
    static std::vector<StorageRef> keep(std::span<Storage* const> uses);

    Scheduler& scheduler_;
    bool blocking_;
    std::uint64_t handle_;
    int priority_;
    std::deque<Item> queue_;
    bool running_ = false;
    std::size_t pending_bytes_ = 0;
    std::uint64_t submitted_ = 0;
    std::uint64_t completed_ = 0;
    std::vector<std::shared_ptr<CpuStream>> waiters_;
    std::exception_ptr fault_;
};

class CpuEvent final : public Event {
public:
    explicit CpuEvent(Scheduler& scheduler) : scheduler_(scheduler) {}
    bool query() const override;
    void synchronize() override;
    double elapsed_ms(const Event& since) const override;

private:
    friend class CpuStream;
    Scheduler& scheduler_;
    std::shared_ptr<CpuStream> stream_;
    std::uint64_t count_ = 0;
    std::chrono::steady_clock::time_point time_;
};

}  // namespace treadle::device
