#include "base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>

namespace treadle {

ThreadPool::ThreadPool(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

ThreadPool::~ThreadPool() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::submit(std::function<void()> task) {
    {
        const std::lock_guard lock(mutex_);
        tasks_.push_back(std::move(task));
        ++waiting_tasks_;
    }
    // All of them: the first task of a launch brings more at once, and waking takes longer than looking.
    wake_.notify_all();
}

void ThreadPool::work() {
    std::unique_lock lock(mutex_);
    while (true) {
        // Launches come in rows: looking out a little while costs less than being woken.
        if (tasks_.empty() && !stopping_) {
            lock.unlock();
            const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(60);
            while (waiting_tasks_.load(std::memory_order_relaxed) == 0 && std::chrono::steady_clock::now() < end)
                std::this_thread::yield();
            lock.lock();
        }
        if (tasks_.empty() && !stopping_) wake_.wait(lock);
        if (tasks_.empty() && !stopping_) continue;
        if (tasks_.empty()) return;
        const std::function<void()> task = std::move(tasks_.front());
        tasks_.pop_front();
        --waiting_tasks_;
        lock.unlock();
        task();
        lock.lock();
    }
}

void ThreadPool::parallel_for(std::int64_t count, std::int64_t chunk,
                              const std::function<void(std::int64_t, std::int64_t)>& body) {
    struct Job {
        std::atomic<std::int64_t> next{0};
        std::atomic<std::int64_t> finished{0};
    };
    const auto job = std::make_shared<Job>();
    // Late helpers find nothing to do and never touch body, which lives only as long as this call.
    const auto run = [job, count, chunk, &body] {
        while (true) {
            const std::int64_t begin = job->next.fetch_add(chunk, std::memory_order_relaxed);
            if (begin >= count) return;
            const std::int64_t end = std::min(begin + chunk, count);
            body(begin, end);
            job->finished.fetch_add(end - begin, std::memory_order_release);
        }
    };
    const std::int64_t chunks = (count + chunk - 1) / chunk;
    const std::int64_t helpers = std::min<std::int64_t>(size() - 1, chunks - 1);
    for (std::int64_t i = 0; i < helpers; ++i) submit(run);
    run();
    while (job->finished.load(std::memory_order_acquire) < count) std::this_thread::yield();
}

}  // namespace treadle
