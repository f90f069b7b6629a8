// What the host knows of a launch when a kernel is compiled for it; the compiler specialises on these.
#pragma once

#include <array>
#include <cstdint>

namespace treadle {

// What is known of an array's strides.
enum class Layout : std::uint8_t {
    Any,         // strides are run-time values
    Dense,       // C-contiguous
    InnerDense,  // the last stride is the element size
    InnerZero,   // the last stride is zero: one element broadcast along the last axis
};

// What happens to an index outside an array.
enum class Bounds : std::uint8_t {
    Guard,  // reads give zero, writes do nothing
    Raise,  // as Guard, and the first fault is reported
    Off,    // not tested
};

// How the threads of a block map to the lanes of a packet.
enum class Lanes : std::uint8_t {
    Line,  // blocks of one dimension
    Rows,  // several dimensions, x long enough to fill packets
    Flat,  // several dimensions, packets run over the linear thread index
};

// What a debugger is told of the machine code.
enum class DebugLevel : std::uint8_t {
    None,
    Lines,
    Full,  // and the variables
};

// Threads of a block in x, y and z; zeros where a kernel is compiled for any.
using BlockDims = std::array<std::int32_t, 3>;

}  // namespace treadle
