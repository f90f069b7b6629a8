#include "device/cpu/block_runner.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "device/cpu/cpu_kernel.h"
#include "device/cpu/fiber.h"

namespace treadle::device {
namespace {

constexpr std::size_t kHostStackBytes = 8 * 1024;  // for what a kernel calls: reports of faults
constexpr std::size_t kSharedSlack = 64;              // bytes behind shared memory that masked accesses may read

struct Packet {
    std::int32_t x, y, z;
    bool started;
    bool ended;
    std::uint64_t arrived_in;  // the round in which it arrived at a barrier; 0: at none
    void* stack_pointer;
};

// The state of one worker thread; its block context is what kernels see of it.
class Runner {
public:
    void run(const CpuKernel& kernel, const std::uint64_t* params, const LaunchInfo& info, std::int64_t begin,
             std::int64_t end) {
        kernel_ = &kernel;
        params_ = params;
        info_ = &info;
        list_packets();
        const std::size_t shared = static_cast<std::size_t>(kernel.shared_bytes + info.shared_bytes) + kSharedSlack;
        if (shared > shared_bytes_) {
            shared_memory_.reset(static_cast<char*>(::operator new(shared, std::align_val_t{128})));
            shared_bytes_ = shared;
        }
        context_.shared = shared_memory_.get();
        context_.barrier = treadle_barrier;
        const bool together = kernel.has_barriers && packets_.size() > 1;
        if (together) stacks_.prepare(packets_.size(), kernel.stack_bytes + kHostStackBytes);
        for (std::int64_t block = begin; block < end; ++block) {
            set_block(block);
            if (together) {
                run_together();
            } else {
                alive_ = 1;
                arrived_ = 0;
                for (const Packet& packet : packets_) call(packet);
            }
        }
    }

    // A packet arrives at a barrier; gives the stack to go on with.
    void* arrive(std::int64_t line, std::int64_t count, const std::int64_t** stack) {
        std::int64_t& total = totals_[round_ % 2];  // of this round: the next one has the other place
        if (arrived_ == 0) {
            line_ = line;
            total = 0;
        } else if (line != line_) {
            report_parted(line);
        }
        total += count;
        *stack = &total;
        if (++arrived_ == alive_) {
            release();
            return stack;
        }
        Packet& from = packets_[current_];
        from.arrived_in = round_;
        from.stack_pointer = stack;
        return next_stack();
    }

private:
    void list_packets() {
        packets_.clear();
        const auto [bx, by, bz] = info_->block;
        const std::int32_t width = kernel_->packet;
        const bool rows = kernel_->lanes == Lanes::Rows;
        const std::int32_t length = rows ? bx : bx * by * bz;
        for (std::int32_t z = 0; z < (rows ? bz : 1); ++z) {
            for (std::int32_t y = 0; y < (rows ? by : 1); ++y) {
                for (std::int32_t x = 0; x < length; x += width) packets_.push_back({x, y, z, false, false, 0, nullptr});
            }
        }
    }

    void set_block(std::int64_t block) {
        const std::int64_t gx = info_->grid[0];
        const std::int64_t gy = info_->grid[1];
        context_.index[0] = static_cast<std::int32_t>(block % gx);
        context_.index[1] = static_cast<std::int32_t>(block / gx % gy);
        context_.index[2] = static_cast<std::int32_t>(block / gx / gy);
        context_.number = block;
    }

    void call(const Packet& packet) {
        kernel_->packet_function(params_, info_, &context_, packet.x, packet.y, packet.z);
    }

    void run_together() {
        for (Packet& packet : packets_) packet.started = packet.ended = false, packet.arrived_in = 0;
        alive_ = packets_.size();
        arrived_ = 0;
        round_ = 1;
        current_ = 0;
        treadle_switch_stack(&own_stack_pointer_, begin(packets_[0]));
    }

    void* begin(Packet& packet) {
        packet.started = true;
        const auto number = static_cast<std::size_t>(&packet - packets_.data());
        return stacks_.begin(number, [](void* runner) { static_cast<Runner*>(runner)->live(); }, this);
    }

    // The life of a packet on its stack.
    void live() {
        call(packets_[current_]);
        packets_[current_].ended = true;
        --alive_;
        if (alive_ != 0 && arrived_ == alive_) release();
        void* left = nullptr;
        treadle_switch_stack(&left, alive_ == 0 ? own_stack_pointer_ : next_stack());
    }

    void release() {
        arrived_ = 0;
        ++round_;
    }

    // Of the next packet that can run.
    void* next_stack() {
        do {
            if (++current_ == packets_.size()) current_ = 0;
        } while (packets_[current_].ended || packets_[current_].arrived_in == round_);
        Packet& to = packets_[current_];
        return to.started ? to.stack_pointer : begin(to);
    }

    void report_parted(std::int64_t line) {
        info_->fault(info_, line, kPartedInBlock, line_, nullptr, 0, context_.number, 0);
    }

    struct Free {
        void operator()(char* memory) const { ::operator delete(memory, std::align_val_t{128}); }
    };

    BlockContext context_{};
    const CpuKernel* kernel_ = nullptr;
    const std::uint64_t* params_ = nullptr;
    const LaunchInfo* info_ = nullptr;
    std::vector<Packet> packets_;
    std::size_t current_ = 0;
    std::size_t alive_ = 0;    // packets that have not ended
    std::size_t arrived_ = 0;  // of them, those that wait
    std::uint64_t round_ = 1;  // counts barriers
    std::int64_t line_ = 0;    // of the barrier at which packets wait
    std::int64_t totals_[2] = {};
    void* own_stack_pointer_ = nullptr;
    Stacks stacks_;
    std::unique_ptr<char, Free> shared_memory_;
    std::size_t shared_bytes_ = 0;
};

}  // namespace

// The context is the runner's first member.
extern "C" void* treadle_arrive(BlockContext* context, std::int64_t line, std::int64_t count, const std::int64_t** stack) {
    return reinterpret_cast<Runner*>(context)->arrive(line, count, stack);
}

void run_blocks(const CpuKernel& kernel, const std::uint64_t* params, const LaunchInfo& info, std::int64_t begin,
                std::int64_t end) {
    static thread_local Runner runner;
    runner.run(kernel, params, info, begin, end);
}

}  // namespace treadle::device
