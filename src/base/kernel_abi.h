// What a compiled CPU kernel and the CPU device agree on. The code generator uses the offsets of these fields.
#pragma once

#include <cstddef>
#include <cstdint>

namespace treadle {

struct LaunchInfo;

// The first fault of a launch; written once.
struct FaultRecord {
    static constexpr int kMostAxes = 8;  // of the shape that is kept for the message
    std::int64_t line;
    std::int64_t axis;
    std::int64_t index;
    std::int64_t rank;
    std::int64_t shape[kMostAxes];
    std::int32_t block[3];
    std::int32_t thread[3];
};

// Called by a kernel for a lane whose index lies outside. shape has rank extents; block and thread are linear indices.
using FaultFunction = void (*)(const LaunchInfo* info, std::int64_t line, std::int64_t axis, std::int64_t index,
                               const std::int64_t* shape, std::int64_t rank, std::int64_t block, std::int64_t thread);

// What the axis of a fault holds when it is no index: threads of a block that did not meet at one barrier. index is
// then the line of the branch on which they parted (0: none is known), or of the other barrier.
inline constexpr std::int64_t kPartedInPacket = -1;
inline constexpr std::int64_t kPartedInBlock = -2;
// A thread spun in vain; line is that of the loop, index the seconds.
inline constexpr std::int64_t kSpinsForEver = -3;

// The thread raised an exception; index is its number among the kernel's texts.
inline constexpr std::int64_t kRaised = -4;

// A function called itself more often than kMostCalls, one call inside the other; index is that number.
inline constexpr std::int64_t kTooDeep = -5;
inline constexpr std::int32_t kMostCalls = 1000;  // as Python allows

// Called by a packet that prints. words: for each of `values` values one word of each lane; mask: the lanes that print.
using PrintFunction = void (*)(const LaunchInfo* info, std::int64_t text, std::int64_t block, std::int64_t thread,
                               std::uint64_t mask, const std::uint64_t* words, std::int64_t values, std::int64_t lanes);

struct LaunchInfo {
    std::int32_t block[3];
    std::int32_t grid[3];
    FaultFunction fault;
    void* fault_state;
    std::uint64_t stream_barrier;  // 0: results are too large for the caches and may be stored past them; else all ones
    std::int64_t shared_bytes;     // of arrays sized by the launch
    PrintFunction print;
    void* print_state;
};
static_assert(offsetof(LaunchInfo, grid) == 12 && offsetof(LaunchInfo, fault) == 24,
              "the code generator knows these offsets");

// Runs blocks [begin, end) in the order x fastest. params: 8-byte words: scalars as their bits, arrays as pointer,
// shape, strides.
using KernelFunction = void (*)(const std::uint64_t* params, const LaunchInfo* info, std::int64_t begin,
                                std::int64_t end);
inline constexpr const char* kKernelSymbol = "treadle_kernel";

// Kernels whose threads share memory or meet at barriers are compiled as one packet of a block; the device runs the
// packets of a block together, each on a stack of its own where there are barriers.
struct BlockContext {
    std::int32_t index[3];
    std::int32_t reserved;
    std::int64_t number;  // of the block, x fastest
    char* shared;
    // Returns when all threads of the block that have not ended are there, with the sum of their counts. line: of the
    // barrier. With kMeetsGrid it waits for all threads of the grid. With kSpins it lets other threads run and gives 0,
    // or something else where the thread should give up.
    std::int64_t (*barrier)(BlockContext* context, std::int64_t line, std::int64_t count);
    void* runner;  // the device's
};
inline constexpr std::int64_t kSpins = -1;
inline constexpr std::int64_t kMeetsGrid = -2;

static_assert(offsetof(BlockContext, number) == 16 && offsetof(BlockContext, barrier) == 32,
              "the code generator knows these offsets");

// x, y, z: thread indices of the packet's first lane; with Lanes::Flat x is its linear index.
using PacketFunction = void (*)(const std::uint64_t* params, const LaunchInfo* info, BlockContext* context,
                                std::int32_t x, std::int32_t y, std::int32_t z);
inline constexpr const char* kPacketSymbol = "treadle_packet";

}  // namespace treadle
