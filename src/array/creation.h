// Arrays from nothing: ranges, and random numbers from a counter-based generator (Philox 4x32-10), which gives the same
// numbers on every device and for every shape of the launch.
#pragma once

#include <cstdint>
#include <string_view>

#include "array/array.h"

namespace treadle::array {

Array arange(double start, double step, std::int64_t start_integer, std::int64_t step_integer, std::int64_t count,
             DType dtype);
Array linspace(double start, double stop, std::int64_t count, bool endpoint, DType dtype);

// The state of a generator: a key and how many numbers were drawn. Not thread-safe by itself.
struct Generator {
    std::uint64_t seed = 0;
    std::uint64_t drawn = 0;
};
// kind: "uniform" in [low, high), "normal" with mean low and deviation high, "integers" in [low, low + range).
Array random(Generator& generator, std::string_view kind, const Dims& shape, DType dtype, double low, double high);
Array random_integers(Generator& generator, const Dims& shape, DType dtype, std::int64_t low, std::uint64_t range);

}  // namespace treadle::array
