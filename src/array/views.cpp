#include "array/views.h"

#include <algorithm>

#include "base/error.h"

namespace treadle::array {
namespace {

std::int64_t clamp_bound(std::int64_t bound, std::int64_t extent, std::int64_t low, std::int64_t high) {
    if (bound < 0) bound += extent;
    return std::clamp(bound, low, high);
}

}  // namespace

Array index(const Array& array, const std::vector<Index>& items) {
    const auto rank = static_cast<std::size_t>(array.rank());
    std::size_t used = 0;
    std::size_t ellipses = 0;
    for (const Index& item : items) {
        used += item.kind == Index::Kind::Integer || item.kind == Index::Kind::Slice;
        ellipses += item.kind == Index::Kind::Ellipsis;
    }
    if (used > rank) {
        throw Error(ErrorKind::Index, "too many indices for array: array is " + std::to_string(rank) +
                                          "-dimensional, but " + std::to_string(used) + " were indexed");
    }
    if (ellipses > 1) throw Error(ErrorKind::Index, "an index can only have a single ellipsis ('...')");
    Dims shape, strides;
    std::int64_t offset = 0;
    std::size_t axis = 0;
    const auto keep = [&](std::size_t count) {
        for (std::size_t i = 0; i < count; ++i, ++axis) {
            shape.push_back(array.shape()[axis]);
            strides.push_back(array.strides()[axis]);
        }
    };
    for (const Index& item : items) {
        if (item.kind == Index::Kind::NewAxis) {
            shape.push_back(1);
            strides.push_back(0);
            continue;
        }
        if (item.kind == Index::Kind::Ellipsis) {
            keep(rank - used);
            continue;
        }
        const std::int64_t extent = array.shape()[axis];
        const std::int64_t stride = array.strides()[axis];
        if (item.kind == Index::Kind::Integer) {
            if (item.start < -extent || item.start >= extent) {
                throw Error(ErrorKind::Index, "index " + std::to_string(item.start) + " is out of bounds for axis " +
                                                  std::to_string(axis) + " with size " + std::to_string(extent));
            }
            offset += (item.start < 0 ? item.start + extent : item.start) * stride;
        } else {
            if (item.step == 0) throw Error(ErrorKind::Argument, "slice step cannot be zero");
            const bool up = item.step > 0;
            const std::int64_t low = up ? 0 : -1;
            const std::int64_t high = up ? extent : extent - 1;
            const std::int64_t start =
                item.has_start ? clamp_bound(item.start, extent, low, high) : (up ? 0 : extent - 1);
            const std::int64_t stop = item.has_stop ? clamp_bound(item.stop, extent, low, high) : (up ? extent : -1);
            const std::int64_t span = up ? stop - start : start - stop;
            const std::int64_t step = up ? item.step : -item.step;
            const std::int64_t length = span > 0 ? (span - 1) / step + 1 : 0;
            if (length > 0) offset += start * stride;
            shape.push_back(length);
            strides.push_back(stride * item.step);
        }
        ++axis;
    }
    keep(rank - axis);
    return array.with(std::move(shape), std::move(strides), offset);
}

Array transpose(const Array& array, const std::vector<std::int64_t>& axes) {
    const auto rank = static_cast<std::size_t>(array.rank());
    Dims shape(rank), strides(rank);
    if (!axes.empty() && axes.size() != rank) {
        throw Error(ErrorKind::Argument,
                    "[transpose] axes: expected " + std::to_string(rank) + " axes, got " + std::to_string(axes.size()));
    }
    std::vector<bool> seen(rank, false);
    for (std::size_t i = 0; i < rank; ++i) {
        const auto from =
            axes.empty() ? rank - 1 - i : static_cast<std::size_t>(normal_axis(axes[i], array.rank(), "transpose"));
        if (seen[from])
            throw Error(ErrorKind::Argument, "[transpose] axes: axis " + std::to_string(from) + " is repeated");
        seen[from] = true;
        shape[i] = array.shape()[from];
        strides[i] = array.strides()[from];
    }
    return array.with(std::move(shape), std::move(strides));
}

Array broadcast_to(const Array& array, const Dims& shape) {
    Dims strides(shape.size(), 0);
    const std::size_t rank = array.shape().size();
    bool fits = rank <= shape.size();
    for (std::size_t i = 0; fits && i < rank; ++i) {
        const std::size_t to = shape.size() - rank + i;
        if (array.shape()[i] == shape[to]) {
            strides[to] = array.strides()[i];
        } else {
            fits = array.shape()[i] == 1;
        }
    }
    if (!fits)
        throw Error(ErrorKind::Argument, "[broadcast_to] expected a shape that broadcasts to " + to_string(shape) +
                                             ", got " + to_string(array.shape()));
    return array.with(shape, std::move(strides));
}

Array expand_dims(const Array& array, std::int64_t axis) {
    const auto at = static_cast<std::size_t>(normal_axis(axis, array.rank() + 1, "expand_dims"));
    Dims shape = array.shape(), strides = array.strides();
    shape.insert(at, 1);
    strides.insert(at, 0);
    return array.with(std::move(shape), std::move(strides));
}

Array squeeze(const Array& array, std::optional<std::int64_t> axis) {
    Dims shape, strides;
    const int chosen = axis ? normal_axis(*axis, array.rank(), "squeeze") : -1;
    if (chosen >= 0 && array.shape()[static_cast<std::size_t>(chosen)] != 1) {
        throw Error(ErrorKind::Argument, "[squeeze] axis: expected an axis of length 1, got axis " +
                                             std::to_string(chosen) + " of shape " + to_string(array.shape()));
    }
    for (int i = 0; i < array.rank(); ++i) {
        const auto at = static_cast<std::size_t>(i);
        if (axis ? i == chosen : array.shape()[at] == 1) continue;
        shape.push_back(array.shape()[at]);
        strides.push_back(array.strides()[at]);
    }
    return array.with(std::move(shape), std::move(strides));
}

Dims resolve_shape(const Array& array, Dims shape) {
    std::int64_t known = 1;
    std::int64_t* open = nullptr;
    for (std::int64_t& extent : shape) {
        if (extent == -1 && open == nullptr) {
            open = &extent;
        } else if (extent < 0) {
            throw Error(
                ErrorKind::Argument,
                "[reshape] shape: expected at most one -1 and no other negative number, got " + to_string(shape));
        } else {
            known *= extent;
        }
    }
    const std::int64_t size = array.size();
    if (open != nullptr && known != 0 && size % known == 0) {
        *open = size / known;
        known *= *open;
    }
    if (known != size || (open != nullptr && *open < 0)) {
        throw Error(ErrorKind::Argument,
                    "cannot reshape array of size " + std::to_string(size) + " into shape " + to_string(shape));
    }
    return shape;
}

std::optional<Array> reshape_view(const Array& array, Dims shape) {
    shape = resolve_shape(array, std::move(shape));
    if (array.is_c_contiguous()) return array.with(shape, dense_strides(shape, array.item_bytes()));
    // Match runs of old axes with runs of new axes of the same size; inside a run the old axes must be nested densely.
    Dims strides(shape.size(), array.item_bytes());
    std::size_t old_axis = 0, new_axis = 0;
    const std::size_t old_rank = array.shape().size();
    while (old_axis < old_rank && new_axis < shape.size()) {
        std::int64_t old_size = array.shape()[old_axis], new_size = shape[new_axis];
        std::size_t old_end = old_axis + 1, new_end = new_axis + 1;
        while (old_size != new_size) {
            if (old_size < new_size) {
                old_size *= array.shape()[old_end++];
            } else {
                new_size *= shape[new_end++];
            }
        }
        for (std::size_t i = old_axis; i + 1 < old_end; ++i) {
            if (array.strides()[i] != array.strides()[i + 1] * array.shape()[i + 1]) return std::nullopt;
        }
        std::int64_t step = array.strides()[old_end - 1];
        for (std::size_t i = new_end; i-- > new_axis;) {
            strides[i] = step;
            step *= shape[i];
        }
        old_axis = old_end;
        new_axis = new_end;
    }
    return array.with(std::move(shape), std::move(strides));
}

Dims broadcast_shapes(std::span<const Array* const> arrays, const char* operation) {
    std::size_t rank = 0;
    for (const Array* array : arrays) rank = std::max(rank, array->shape().size());
    Dims result(rank, 1);
    for (const Array* array : arrays) {
        const std::size_t skip = rank - array->shape().size();
        for (std::size_t i = skip; i < rank; ++i) {
            const std::int64_t extent = array->shape()[i - skip];
            if (extent == result[i] || extent == 1) continue;
            if (result[i] != 1) {
                std::string shapes;
                for (const Array* one : arrays) shapes += " " + to_string(one->shape());
                throw Error(ErrorKind::Argument, "[" + std::string(operation) +
                                                     "] operands could not be broadcast together with shapes" + shapes);
            }
            result[i] = extent;
        }
    }
    return result;
}

}  // namespace treadle::array
