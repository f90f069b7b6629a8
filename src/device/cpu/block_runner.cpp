#include "device/cpu/block_runner.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "device/cpu/cpu_kernel.h"
#include "device/cpu/fiber.h"

namespace treadle::device {
namespace {

constexpr std::size_t kHostStackBytes = 8 * 1024;  // for what a kernel calls: reports of faults
constexpr std::size_t kSharedAlign = 128;
constexpr std::size_t kSharedSlack = 1024;  // bytes behind shared memory that masked accesses may read
constexpr std::int64_t kNobody = 0;
constexpr std::int64_t kGiveUp = 1;

using Clock = std::chrono::steady_clock;

// Seconds for which a thread may spin while nothing else happens.
double patience() {
    static const double seconds = [] {
        const char* asked = std::getenv("TREADLE_WATCHDOG");
        const double value = asked != nullptr ? std::atof(asked) : 0;
        return value > 0 ? value : 30.0;
    }();
    return seconds;
}

struct Block {
    BlockContext context;  // first: kernels hand it back
    std::size_t alive;     // packets that have not ended
    std::size_t arrived;   // of them, those that wait at a barrier
    std::uint64_t round;   // counts barriers
    std::int64_t line;     // of the barrier at which packets wait
    std::int64_t totals[2];
};

struct Packet {
    std::int32_t x, y, z;
    Block* block;
    bool started;
    bool ended;
    std::uint64_t arrived_in;  // the round of its block in which it arrived at a barrier; 0: in none
    std::uint64_t grid_round;  // the same for the grid
    void* stack_pointer;
};

// The state of one host thread.
class Runner {
public:
    void run(const CpuKernel& kernel, const std::uint64_t* params, const LaunchInfo& info, std::int64_t begin,
             std::int64_t end, Rendezvous* grid) {
        kernel_ = &kernel;
        params_ = params;
        info_ = &info;
        grid_ = grid;
        gave_up_ = false;
        list_places();
        waits_ = kernel.blocks_wait || (kernel.has_barriers && places_.size() > 1);
        const bool has_stacks = waits_ || kernel.recurses;
        std::int64_t at_once = 1;
        if (kernel.blocks_wait) {
            at_once = std::max<std::int64_t>(1, kMostWaiting / static_cast<std::int64_t>(places_.size()));
            at_once = std::min(at_once, end - begin);
        }
        prepare_memory(static_cast<std::size_t>(at_once));
        if (has_stacks) {
            const std::size_t packets = places_.size() * static_cast<std::size_t>(at_once);
            stacks_.prepare(waits_ ? packets : kTurns, kernel.stack_bytes + kHostStackBytes);
        }
        for (std::int64_t block = begin; block < end; block += at_once) {
            set_blocks(block, std::min(at_once, end - block));
            if (has_stacks) {
                run_together();
            } else {
                for (current_ = 0; current_ < packets_.size(); ++current_) call(packets_[current_]);
            }
        }
    }

    // A packet arrives at a barrier, or spins; gives the stack to go on with.
    void* arrive(BlockContext* context, std::int64_t line, std::int64_t count, const std::int64_t** stack) {
        if (count == kSpins) return spin(line, stack);
        if (count == kMeetsGrid) return meet_grid(line, stack);
        Block& block = *reinterpret_cast<Block*>(context);
        std::int64_t& total = block.totals[block.round % 2];  // of this round: the next one has the other place
        if (block.arrived == 0) {
            block.line = line;
            total = 0;
        } else if (line != block.line) {
            report(block, kPartedInBlock, line, block.line);
        }
        total += count;
        *stack = &total;
        if (++block.arrived == block.alive) {
            release(block);
            return stack;
        }
        Packet& from = packets_[current_];
        from.arrived_in = block.round;
        from.stack_pointer = stack;
        return next_stack();
    }

private:
    struct Place {
        std::int32_t x, y, z;
    };

    void list_places() {
        places_.clear();
        if (kernel_->whole_block) {
            places_.push_back({0, 0, 0});
            return;
        }
        const auto [bx, by, bz] = info_->block;
        const std::int32_t width = kernel_->packet;
        const bool rows = kernel_->lanes == Lanes::Rows;
        const std::int32_t length = rows ? bx : bx * by * bz;
        for (std::int32_t z = 0; z < (rows ? bz : 1); ++z) {
            for (std::int32_t y = 0; y < (rows ? by : 1); ++y) {
                for (std::int32_t x = 0; x < length; x += width) places_.push_back({x, y, z});
            }
        }
    }

    void prepare_memory(std::size_t blocks) {
        const auto needed = static_cast<std::size_t>(kernel_->shared_bytes + info_->shared_bytes) + kSharedSlack;
        shared_stride_ = (needed + kSharedAlign - 1) / kSharedAlign * kSharedAlign;
        if (shared_stride_ * blocks <= shared_bytes_) return;
        shared_memory_.reset();
        shared_bytes_ = shared_stride_ * blocks;
        shared_memory_.reset(static_cast<char*>(::operator new(shared_bytes_, std::align_val_t{kSharedAlign})));
    }

    void set_blocks(std::int64_t first, std::int64_t count) {
        const std::int64_t gx = info_->grid[0];
        const std::int64_t gy = info_->grid[1];
        blocks_.resize(static_cast<std::size_t>(count));
        packets_.clear();
        for (std::size_t i = 0; i < blocks_.size(); ++i) {
            const std::int64_t number = first + static_cast<std::int64_t>(i);
            Block& block = blocks_[i];
            block.context = {{static_cast<std::int32_t>(number % gx), static_cast<std::int32_t>(number / gx % gy),
                              static_cast<std::int32_t>(number / gx / gy)},
                             0,
                             number,
                             shared_memory_.get() + i * shared_stride_,
                             treadle_barrier,
                             this};
            block.alive = places_.size();
            block.arrived = 0;
            block.round = 1;
            for (const Place& place : places_)
                packets_.push_back({place.x, place.y, place.z, &block, false, false, 0, 0, nullptr});
        }
    }

    void call(const Packet& packet) {
        kernel_->packet_function(params_, info_, &packet.block->context, packet.x, packet.y, packet.z);
    }

    void run_together() {
        alive_ = packets_.size();
        at_grid_ = 0;
        grid_round_ = 1;
        current_ = 0;
        treadle_switch_stack(&own_stack_pointer_, begin(packets_[0]));
    }

    void* begin(Packet& packet) {
        packet.started = true;
        auto number = static_cast<std::size_t>(&packet - packets_.data());
        if (!waits_) number %= kTurns;
        return stacks_.begin(number, [](void* runner) { static_cast<Runner*>(runner)->live(); }, this);
    }

    // The life of a packet on its stack.
    void live() {
        call(packets_[current_]);
        Packet& packet = packets_[current_];
        packet.ended = true;
        idle_since_ = Clock::time_point{};
        --alive_;
        Block& block = *packet.block;
        if (--block.alive != 0 && block.arrived == block.alive) release(block);
        if (alive_ != 0 && at_grid_ == alive_) release_grid();
        void* left = nullptr;
        treadle_switch_stack(&left, alive_ == 0 ? own_stack_pointer_ : next_stack());
    }

    void release(Block& block) {
        block.arrived = 0;
        ++block.round;
        idle_since_ = Clock::time_point{};
    }

    void release_grid() {
        at_grid_ = 0;
        ++grid_round_;
        if (grid_ != nullptr) grid_->meet();
        idle_since_ = Clock::time_point{};
    }

    bool can_run(const Packet& packet) const {
        return !packet.ended && packet.arrived_in != packet.block->round && packet.grid_round != grid_round_;
    }

    // Of the next packet that can run.
    void* next_stack() {
        const std::size_t from = current_;
        do {
            if (++current_ == packets_.size()) current_ = 0;
            if (current_ == from && !can_run(packets_[current_])) break_stall();
        } while (!can_run(packets_[current_]));
        Packet& to = packets_[current_];
        return to.started ? to.stack_pointer : begin(to);
    }

    // Some wait at barriers of their blocks for others that wait for the whole grid.
    void break_stall() {
        for (Block& block : blocks_) {
            if (block.arrived == 0) continue;
            report(block, kPartedInBlock, block.line, grid_line_);
            release(block);
        }
    }

    void* meet_grid(std::int64_t line, const std::int64_t** stack) {
        *stack = &kNobody;
        grid_line_ = line;
        if (++at_grid_ == alive_) {
            release_grid();
            return stack;
        }
        Packet& from = packets_[current_];
        from.grid_round = grid_round_;
        from.stack_pointer = stack;
        return next_stack();
    }

    // A thread that looks again and again for what another does lets the others run. Where nothing happens for long, it
    // is told to end.
    void* spin(std::int64_t line, const std::int64_t** stack) {
        *stack = gave_up_ ? &kGiveUp : &kNobody;
        if (gave_up_) return stack;
        if (++spins_ % 1024 == 0) {
            const auto now = Clock::now();
            if (idle_since_ == Clock::time_point{}) idle_since_ = now;
            if (std::chrono::duration<double>(now - idle_since_).count() > patience()) {
                report(*packets_[current_].block, kSpinsForEver, line, static_cast<std::int64_t>(patience()));
                gave_up_ = true;
            }
            std::this_thread::yield();
        }
        packets_[current_].stack_pointer = stack;
        return next_stack();
    }

    void report(const Block& block, std::int64_t what, std::int64_t line, std::int64_t other) {
        const Packet& packet = packets_[current_];
        const std::int64_t row = packet.y + std::int64_t{packet.z} * info_->block[1];
        const std::int64_t thread = packet.x + (kernel_->lanes == Lanes::Rows ? row * info_->block[0] : 0);
        info_->fault(info_, line, what, other, nullptr, 0, block.context.number, thread);
    }

    struct Free {
        void operator()(char* memory) const { ::operator delete(memory, std::align_val_t{kSharedAlign}); }
    };

    // Packets that run one after the other need a stack to be on and one to go to.
    static constexpr std::size_t kTurns = 2;

    const CpuKernel* kernel_ = nullptr;
    bool waits_ = false;  // packets, for each other
    const std::uint64_t* params_ = nullptr;
    const LaunchInfo* info_ = nullptr;
    Rendezvous* grid_ = nullptr;
    std::vector<Place> places_;  // of a block's packets
    std::vector<Block> blocks_;
    std::vector<Packet> packets_;
    std::size_t current_ = 0;
    std::size_t alive_ = 0;
    std::size_t at_grid_ = 0;
    std::uint64_t grid_round_ = 1;
    std::int64_t grid_line_ = 0;
    std::uint64_t spins_ = 0;
    bool gave_up_ = false;  // nobody is waited for any more
    Clock::time_point idle_since_;
    void* own_stack_pointer_ = nullptr;
    Stacks stacks_;
    std::unique_ptr<char, Free> shared_memory_;
    std::size_t shared_bytes_ = 0;
    std::size_t shared_stride_ = 0;
};

}  // namespace

extern "C" void* treadle_arrive(BlockContext* context, std::int64_t line, std::int64_t count,
                                const std::int64_t** stack) {
    return static_cast<Runner*>(context->runner)->arrive(context, line, count, stack);
}

void Rendezvous::meet() {
    std::unique_lock lock(mutex_);
    if (++arrived_ == threads_) {
        release();
        return;
    }
    const std::uint64_t round = round_;
    changed_.wait(lock, [&] { return round_ != round; });
}

void Rendezvous::leave() {
    const std::lock_guard lock(mutex_);
    if (--threads_ != 0 && arrived_ == threads_) release();
}

void Rendezvous::release() {
    arrived_ = 0;
    ++round_;
    changed_.notify_all();
}

void run_blocks(const CpuKernel& kernel, const std::uint64_t* params, const LaunchInfo& info, std::int64_t begin,
                std::int64_t end, Rendezvous* grid) {
    static thread_local Runner runner;
    runner.run(kernel, params, info, begin, end, grid);
}

void run_side_by_side(const CpuKernel& kernel, const std::uint64_t* params, const LaunchInfo& info, int threads) {
    const std::int64_t blocks = std::int64_t{info.grid[0]} * info.grid[1] * info.grid[2];
    const std::int64_t parts = std::min<std::int64_t>(threads, blocks);
    Rendezvous grid(static_cast<int>(parts));
    const auto run = [&](std::int64_t part) {
        run_blocks(kernel, params, info, blocks * part / parts, blocks * (part + 1) / parts, &grid);
        grid.leave();
    };
    std::vector<std::thread> others;
    for (std::int64_t part = 1; part < parts; ++part) others.emplace_back(run, part);
    run(0);
    for (std::thread& other : others) other.join();
}

}  // namespace treadle::device
