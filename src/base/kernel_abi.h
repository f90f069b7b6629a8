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

struct LaunchInfo {
    std::int32_t block[3];
    std::int32_t grid[3];
    FaultFunction fault;
    void* fault_state;
    std::uint64_t stream_barrier;  // 0: results are too large for the caches and may be stored past them; else all ones
};
static_assert(offsetof(LaunchInfo, grid) == 12 && offsetof(LaunchInfo, fault) == 24,
              "the code generator knows these offsets");

// Runs blocks [begin, end) in the order x fastest. params: 8-byte words: scalars as their bits, arrays as pointer,
// shape, strides.
using KernelFunction = void (*)(const std::uint64_t* params, const LaunchInfo* info, std::int64_t begin,
                                std::int64_t end);
inline constexpr const char* kKernelSymbol = "treadle_kernel";

}  // namespace treadle
