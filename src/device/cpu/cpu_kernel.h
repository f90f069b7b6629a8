// A loaded kernel of the CPU device, and the record of faults during one launch.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>

#include "base/kernel_abi.h"
#include "device/cpu/object_loader.h"
#include "device/device.h"

namespace treadle::device {

class CpuKernel final : public Kernel {
public:
    CpuKernel(const Artifact& artifact, std::shared_ptr<const KernelDebug> debug);

    // Runs blocks [begin, end), in this thread.
    void run(const std::uint64_t* params, const LaunchInfo& info, std::int64_t begin, std::int64_t end) const;

    Lanes lanes = Lanes::Line;
    bool whole_block = false;
    bool has_barriers = false;
    bool blocks_wait = false;
    bool meets_grid = false;
    bool recurses = false;
    std::size_t stack_bytes = 0;  // that one packet needs
    KernelFunction function = nullptr;
    PacketFunction packet_function = nullptr;  // set where function is not
    // Running estimate of the time of one thread, by which launches are judged small; 0: unknown.
    mutable std::atomic<float> thread_ns{0};
    mutable std::atomic<std::uint64_t> work_key{0};  // of the launch that was timed last

private:
    CodeBlock code_;
};

// Gathers what the threads of a launch print. LaunchInfo::print_state points to one.
class PrintBuffer {
public:
    explicit PrintBuffer(const std::shared_ptr<const KernelDebug>& kernel) : kernel_(kernel) {}
    static void print(const LaunchInfo* info, std::int64_t text, std::int64_t block, std::int64_t thread,
                      std::uint64_t mask, const std::uint64_t* words, std::int64_t values, std::int64_t lanes);
    // In the order of blocks and threads.
    std::vector<Printed> take();

private:
    std::mutex mutex_;
    const std::shared_ptr<const KernelDebug>& kernel_;  // which outlives its launch
    std::vector<Printed> lines_;
};

// Holds the first fault of a launch. LaunchInfo::fault_state points to one.
class FaultSlot {
public:
    static void report(const LaunchInfo* info, std::int64_t line, std::int64_t axis, std::int64_t index,
                       const std::int64_t* shape, std::int64_t rank, std::int64_t block, std::int64_t thread);
    // The error as the user sees it: kernel, file and line, block, thread, index and extent. Null when nothing
    // happened.
    std::exception_ptr error(const KernelDebug* debug) const;

private:
    std::mutex mutex_;
    std::optional<FaultRecord> first_;
};

}  // namespace treadle::device
