// Runs blocks whose threads share memory, meet at barriers or wait for each other: all packets of a block in one
// thread. Packets that may wait have stacks of their own and take turns: each runs until it waits, the last to arrive
// at a barrier goes on at once and lets the others follow. Packets that have ended are not waited for, so no barrier
// can hang.
//
// Where blocks wait for each other (grid barriers, spinning), all blocks of a thread take turns, and the threads of a
// launch run side by side.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "base/kernel_abi.h"

namespace treadle::device {

class CpuKernel;

// Where the threads of one launch meet.
class Rendezvous {
public:
    explicit Rendezvous(int threads) : threads_(threads) {}
    void meet();
    void leave();  // this thread has no packets left

private:
    void release();

    std::mutex mutex_;
    std::condition_variable changed_;
    int threads_;
    int arrived_ = 0;
    std::uint64_t round_ = 0;
};

// grid: null where the kernel has no grid barriers.
void run_blocks(const CpuKernel& kernel, const std::uint64_t* params, const LaunchInfo& info, std::int64_t begin,
                std::int64_t end, Rendezvous* grid);

// Runs a whole grid whose blocks wait for each other on up to `threads` threads of its own.
void run_side_by_side(const CpuKernel& kernel, const std::uint64_t* params, const LaunchInfo& info, int threads);

// How many packets one thread of the host keeps waiting at once.
inline constexpr std::int64_t kMostWaiting = 8192;

}  // namespace treadle::device
