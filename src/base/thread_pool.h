// A fixed set of worker threads with one queue, and loops shared between them.
//
// Ours rather than a library's, because launch cost is what counts here: a loop is one atomic counter, the thread that
// starts it works on it at once, and the others join while there is something left.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace treadle {

class ThreadPool {
public:
    explicit ThreadPool(int threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int size() const { return static_cast<int>(threads_.size()); }
    void submit(std::function<void()> task);

    // Runs body(begin, end) over [0, count) in chunks, in increasing order of begin; returns when all is done. body
    // must not throw.
    void parallel_for(std::int64_t count, std::int64_t chunk,
                      const std::function<void(std::int64_t, std::int64_t)>& body);

private:
    void work();

    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<std::function<void()>> tasks_;
    std::atomic<int> waiting_tasks_{0};  // what idle workers look at before they sleep
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace treadle
