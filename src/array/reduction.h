// Reductions over one, several or all axes. Results are arrays (0-d for all axes): nothing waits for the device.
//
// The order of the additions depends on the shape and the device only, so results repeat exactly.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "array/array.h"

namespace treadle::array {

struct Reduction {
    std::string_view name;
    char typing;
    std::string_view start;
    std::string_view combine;
    std::string_view doc;
};
std::span<const Reduction> reductions();
const Reduction& reduction(std::string_view name);

// axes: nothing for all. dtype: type of computation and result, for sums. Throws Error(Argument) for an empty range
// without a start (min of nothing), Error(Index) for a bad axis.
Array reduce(const Reduction& reduction, const Array& array, const std::optional<std::vector<std::int64_t>>& axes,
             bool keep_dims, std::optional<DType> dtype);
Array mean(const Array& array, const std::optional<std::vector<std::int64_t>>& axes, bool keep_dims,
           std::optional<DType> dtype);

}  // namespace treadle::array
