// New views of the same memory: nothing here moves data or depends on it.
#pragma once

#include <optional>
#include <vector>

#include "array/array.h"

namespace treadle::array {

// One item of an index expression.
struct Index {
    enum class Kind { Integer, Slice, NewAxis, Ellipsis };
    Kind kind = Kind::Integer;
    std::int64_t start = 0;  // Integer: the index
    std::int64_t stop = 0;
    std::int64_t step = 1;
    bool has_start = true;
    bool has_stop = true;
};

// Throws Error(Index) for an integer outside its dimension or too many items, Error(Argument) for a step of zero.
Array index(const Array& array, const std::vector<Index>& items);
Array transpose(const Array& array, const std::vector<std::int64_t>& axes);  // empty: reversed
Array broadcast_to(const Array& array, const Dims& shape);
Array expand_dims(const Array& array, std::int64_t axis);
Array squeeze(const Array& array, std::optional<std::int64_t> axis);
// A view where strides allow it. shape may hold one -1. Throws Error(Argument) when the sizes differ.
std::optional<Array> reshape_view(const Array& array, Dims shape);
Dims resolve_shape(const Array& array, Dims shape);
// The shape to which all broadcast; throws Error(Argument) naming the shapes that do not fit.
Dims broadcast_shapes(std::span<const Array* const> arrays, const char* operation);

}  // namespace treadle::array
