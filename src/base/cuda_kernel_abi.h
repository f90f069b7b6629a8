// What a compiled GPU kernel and the CUDA device agree on. The code generator uses the offsets of these fields.
//
// Every parameter is one word of 8 bytes: scalars as their bits, arrays as pointer, shape, strides. Behind them come
// the words of LaunchTail.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/kernel_abi.h"

namespace treadle {

// What kernels tell the host, in memory that both reach; one for each stream.
struct DeviceReport {
    static constexpr std::size_t kPrintWords = std::size_t{1} << 18;

    std::uint64_t launch;  // that the fault belongs to; 0: there is none
    std::int64_t line;
    std::int64_t axis;
    std::int64_t index;
    std::int64_t rank;
    std::int64_t shape[FaultRecord::kMostAxes];
    std::int32_t block[3];
    std::int32_t thread[3];      // right behind it
    std::uint64_t print_cursor;  // words taken; more than there are where lines were lost
    // Lines, each PrintLine and then its values.
    std::uint64_t prints[kPrintWords];
};

static_assert(offsetof(DeviceReport, thread) == offsetof(DeviceReport, block) + 12);

struct PrintLine {
    std::uint64_t launch;
    std::uint64_t text_and_values;  // text << 32 | number of values
    std::uint64_t block;            // linear
    std::uint64_t thread;           // linear
};

// What the threads of a stream's kernels share among themselves, in the GPU's memory.
struct DeviceScratch {
    std::uint32_t meeting;       // where the blocks of a grid meet; any value to begin with
    std::uint32_t lock;          // held by who writes the report's fault
    std::uint64_t fault_launch;  // whose fault is in the report; 0: none
    std::uint64_t fault_thread;  // which thread's: number of the block << 32 | number in the block
};

struct LaunchTail {
    DeviceReport* report;
    std::uint64_t launch;  // tells launches apart, in their order
    std::uint64_t grid_x;  // of the program's grid; a block of the device may run several of its blocks
    DeviceScratch* scratch;
    std::uint64_t patience_ns;  // of threads that wait for another
};
inline constexpr std::size_t kTailWords = sizeof(LaunchTail) / 8;

// Of a thread's stack, where kernels call functions that call themselves: what the device sets aside beside the local
// arrays of two calls, and what it needs for the frame of the last call and the report of its being too deep.
inline constexpr std::int64_t kDeviceStackBytes = 16 * 1024;
inline constexpr std::int64_t kLastCallBytes = 2 * 1024;

inline constexpr const char* kDeviceEntry = "treadle_kernel";
// How many blocks of the program's grid a block of the device runs in kernels made for large grids. These should still
// fill the GPU twice over.
inline constexpr int kCoarse = 4;
inline constexpr std::int64_t kCoarseThreadsPerMultiprocessor = 4096;

}  // namespace treadle
