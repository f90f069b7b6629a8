// Every reduction is brought to the form [outer, length, inner] and runs in a few launches of the kernels of
// reduction_kernel.h. Long reductions are cut into parts whose results are reduced again.
#include "array/reduction.h"

#include <algorithm>
#include <bit>

#include "array/elementwise.h"
#include "array/reduction_kernel.h"
#include "array/tuning.h"
#include "array/views.h"
#include "base/error.h"
#include "runtime/function.h"

namespace treadle::array {
namespace {

constexpr Reduction kReductions[] = {
#define TREADLE_REDUCTION(name, typing, start, combine, doc) {#name, typing, start, combine, doc},
#include "array/reductions.def"
#undef TREADLE_REDUCTION
};

struct State {
    Array values;
    Array indices;  // of argmin and argmax
};

using Walk = ReductionForm::Walk;

// Kernels along the length know nothing of the last axis, which has one element.
void add(runtime::Arguments& arguments, const Array& whole, const ReductionForm& form) {
    const Dims& shape = whole.shape();
    const Dims& strides = whole.strides();
    const bool flat = form.walk != Walk::Columns;
    const Array array = flat ? whole.with({shape[0], shape[1]}, {strides[0], strides[1]}) : whole;
    arguments.add_array(array.dtype(), array.rank(), array.layout(), array.data(), array.shape().data(),
                        array.strides().data(), array.storage().get());
}

State rows_of(const State& state, std::int64_t first, std::int64_t count) {
    const auto cut = [&](const Array& array) {
        if (array.data() == nullptr) return array;
        Dims shape = array.shape();
        shape[0] = count;
        return array.with(shape, array.strides(), first * array.strides()[0]);
    };
    return {cut(state.values), cut(state.indices)};
}

void launch(const ReductionForm& form, const State& input, const State& result, std::int64_t part,
            std::int64_t threads) {
    const Dims& shape = input.values.shape();
    runtime::Arguments arguments;
    add(arguments, input.values, form);
    if (form.with_indices) add(arguments, input.indices, form);
    add(arguments, result.values, form);
    if (form.reduction->typing == 'i') add(arguments, result.indices, form);
    arguments.add_scalar(DType::Int64, static_cast<std::uint64_t>(part));
    const std::int64_t parts = std::max<std::int64_t>(1, (shape[1] + part - 1) / part);
    runtime::LaunchShape launch;
    launch.grid[1] = shape[0];
    launch.block[0] = threads;
    if (form.walk == Walk::Columns) {
        launch.grid[0] = (shape[2] + threads - 1) / threads;
        launch.grid[2] = parts;
    } else {
        launch.grid[0] = parts;
    }
    reduction_function(form).launch_unchecked(launch, current_stream(), arguments);
}

// One round over views [outer, length, inner]; returns [outer, parts, inner] (lanes: parts * threads in the middle).
State run(const ReductionForm& form, const State& input, std::int64_t part, std::int64_t threads) {
    constexpr std::int64_t kMostRows = 65535;  // a grid's y
    const Dims& shape = input.values.shape();
    const std::int64_t parts = std::max<std::int64_t>(1, (shape[1] + part - 1) / part);
    const Dims result_shape = {shape[0], form.walk == Walk::Lanes ? parts * threads : parts, shape[2]};
    State result{empty(result_shape, form.output), {}};
    if (form.reduction->typing == 'i') result.indices = empty(result_shape, DType::Int64);
    for (std::int64_t row = 0; row < shape[0]; row += kMostRows) {
        const std::int64_t count = std::min(kMostRows, shape[0] - row);
        launch(form, rows_of(input, row, count), rows_of(result, row, count), part, threads);
    }
    return result;
}

// [outer, length, 1] -> [1, length, outer]: threads along the rows.
State rows_as_columns(const State& state) {
    const auto turn = [](const Array& array) {
        if (array.data() == nullptr) return array;
        return array.with({1, array.shape()[1], array.shape()[0]}, {0, array.strides()[1], array.strides()[0]});
    };
    return {turn(state.values), turn(state.indices)};
}

// Runs rounds until one is left, whose type is that of the result.
class Rounds {
public:
    Rounds(const Reduction& reduction, Array view, DType compute)
        : state_{std::move(view), {}},
          form_{&reduction, Walk::Columns, false, state_.values.dtype(), compute, compute} {}

    std::int64_t outer() const { return state_.values.shape()[0]; }
    std::int64_t length() const { return state_.values.shape()[1]; }
    std::int64_t inner() const { return state_.values.shape()[2]; }

    void round(Walk walk, std::int64_t part, std::int64_t threads) {
        form_.walk = walk;
        state_ = run(form_, state_, part, threads);
        form_.with_indices = form_.reduction->typing == 'i';
        form_.input = form_.compute;
    }
    State last(Walk walk, DType output, std::int64_t threads) {
        if (walk == Walk::Columns && inner() == 1) state_ = rows_as_columns(state_);
        form_.walk = walk;
        form_.output = output;
        if (walk == Walk::Columns) threads = std::min<std::int64_t>(threads, (state_.values.shape()[2] + 63) / 64 * 64);
        return run(form_, state_, std::max<std::int64_t>(1, length()), threads);
    }

private:
    State state_;
    ReductionForm form_;
};

State reduce_on_cpu(Rounds rounds, DType output, const Tuning& tuning) {
    constexpr std::int64_t kPart = 1 << 16;  // elements that one block of the lanes kernel reduces
    const std::int64_t lanes = tuning.lanes;
    const std::int64_t block = std::min<std::int64_t>(1024, (rounds.inner() + 63) / 64 * 64);
    if (rounds.inner() == 1 && rounds.length() >= 4 * lanes) {
        rounds.round(Walk::Lanes, kPart, lanes);
    } else if (rounds.outer() * rounds.inner() <= 4096 && rounds.length() > 8192) {
        rounds.round(Walk::Columns, 4096, block);
    }
    // Many partial results of few rows once more along the lanes.
    if (rounds.inner() == 1 && rounds.outer() < 16 && rounds.length() >= 64 * lanes)
        rounds.round(Walk::Lanes, kPart, lanes);
    return rounds.last(Walk::Columns, output, 1024);
}

// A row is reduced by blocks whose threads combine what they have; columns have a thread each, and where those are few,
// they are cut into parts first.
State reduce_on_gpu(Rounds rounds, DType output, const Tuning& tuning) {
    constexpr std::int64_t kShortRow = 64;
    constexpr std::int64_t kElementsPerThread = 16;
    if (rounds.inner() == 1 && rounds.length() >= kShortRow) {
        const auto threads_for = [](std::int64_t length) {
            const auto wanted = std::bit_ceil(static_cast<std::uint64_t>(length + 7) / 8);
            return std::clamp<std::int64_t>(static_cast<std::int64_t>(wanted), 32, kReductionThreads);
        };
        const std::int64_t threads = threads_for(rounds.length());
        const std::int64_t most = std::max<std::int64_t>(1, tuning.blocks / rounds.outer());
        const std::int64_t step = threads * kElementsPerThread;
        const std::int64_t parts = std::min(most, (rounds.length() + step - 1) / step);
        if (parts > 1) {
            const std::int64_t part = (rounds.length() + parts - 1) / parts;
            rounds.round(Walk::Block, (part + threads - 1) / threads * threads, threads);
        }
        return rounds.last(Walk::Block, output, threads_for(rounds.length()));
    }
    constexpr std::int64_t kBlock = 256;
    while (rounds.outer() * rounds.inner() < tuning.blocks * kBlock / 2 && rounds.length() > 256)
        rounds.round(Walk::Columns, std::max<std::int64_t>(64, (rounds.length() + 4095) / 4096), kBlock);
    return rounds.last(Walk::Columns, output, kBlock);
}

State reduce_middle(const Reduction& reduction, Array view, DType compute, DType output) {
    const Tuning& tuning = Tuning::of_device();
    Rounds rounds(reduction, std::move(view), compute);
    return tuning.gpu ? reduce_on_gpu(std::move(rounds), output, tuning)
                      : reduce_on_cpu(std::move(rounds), output, tuning);
}

// The view [outer, length, inner] with the reduced axes in the middle; copies where strides do not allow it.
Array middle_view(const Array& array, const std::vector<bool>& reduced) {
    const auto rank = static_cast<std::size_t>(array.rank());
    std::size_t first = rank, last = 0;
    for (std::size_t i = 0; i < rank; ++i) {
        if (!reduced[i]) continue;
        first = std::min(first, i);
        last = i + 1;
    }
    bool together = true;
    for (std::size_t i = first; i < last; ++i) together = together && reduced[i];
    Dims shape = {1, 1, 1};
    if (together) {
        for (std::size_t i = 0; i < rank; ++i) shape[i < first ? 0 : i < last ? 1 : 2] *= array.shape()[i];
        if (const auto view = reshape_view(array, shape)) return *view;
        return contiguous_copy(array).with(shape, dense_strides(shape, array.dtype()));
    }
    std::vector<std::int64_t> order;
    for (const bool wanted : {false, true}) {
        for (std::size_t i = 0; i < rank; ++i) {
            if (reduced[i] == wanted) order.push_back(static_cast<std::int64_t>(i));
        }
    }
    for (std::size_t i = 0; i < rank; ++i) shape[reduced[i] ? 1 : 0] *= array.shape()[i];
    return contiguous_copy(transpose(array, order)).with(shape, dense_strides(shape, array.dtype()));
}

}  // namespace

std::span<const Reduction> reductions() { return kReductions; }

const Reduction& reduction(std::string_view name) {
    for (const Reduction& row : kReductions) {
        if (row.name == name) return row;
    }
    throw Error(ErrorKind::Argument, "[reduce] expected the name of a reduction, got '" + std::string(name) + "'");
}

Array reduce(const Reduction& reduction, const Array& array, const std::optional<std::vector<std::int64_t>>& axes,
             bool keep_dims, std::optional<DType> dtype) {
    // Sums and products of truth values are truth values.
    if (dtype && is_bool(*dtype) && reduction.typing == 's')
        return reduce(array::reduction(reduction.start == "1" ? "all" : "any"), array, axes, keep_dims, {});
    const auto rank = static_cast<std::size_t>(array.rank());
    std::vector<bool> reduced(rank, !axes);
    for (const std::int64_t axis : axes.value_or(std::vector<std::int64_t>{})) {
        const auto at = static_cast<std::size_t>(normal_axis(axis, array.rank(), reduction.name.data()));
        if (reduced[at])
            throw Error(ErrorKind::Argument,
                        "[" + std::string(reduction.name) + "] axis: axis " + std::to_string(axis) + " is repeated");
        reduced[at] = true;
    }
    Dims shape;
    std::int64_t length = 1;
    for (std::size_t i = 0; i < rank; ++i) {
        if (reduced[i]) length *= array.shape()[i];
        if (!reduced[i] || keep_dims) shape.push_back(reduced[i] ? 1 : array.shape()[i]);
    }
    DType output = array.dtype();
    if ((is_complex(output) || (dtype && is_complex(*dtype))) && reduction.typing != 's')
        throw Error(ErrorKind::Type,
                    "[" + std::string(reduction.name) + "] not supported for type " + std::string(name_of(output)));
    if (reduction.typing == 's' && !is_float(output) && !is_complex(output))
        output = is_unsigned(output) ? DType::UInt64 : DType::Int64;
    if (reduction.typing == 'l') output = DType::Bool;
    if (dtype) output = *dtype;
    // Sums of half precision are kept in single precision until the end.
    const DType compute = is_half(output) ? DType::Float32 : reduction.typing == 'i' ? array.dtype() : output;
    if (length == 0 && reduction.start == "first" && element_count(shape) != 0) {
        throw Error(ErrorKind::Argument,
                    "[" + std::string(reduction.name) + "] zero-size array has no smallest or largest element");
    }
    if (element_count(shape) == 0) return empty(shape, reduction.typing == 'i' ? DType::Int64 : output);
    if (length == 0) {
        const Array result = empty(shape, output);
        fill(result, Operand(std::int64_t{reduction.start == "1" || reduction.start == "true"}));
        return result;
    }
    const State state =
        reduce_middle(reduction, middle_view(array, reduced), compute, reduction.typing == 'i' ? compute : output);
    const Array& result = reduction.typing == 'i' ? state.indices : state.values;
    return result.with(shape, dense_strides(shape, result.dtype()));
}

Array mean(const Array& array, const std::optional<std::vector<std::int64_t>>& axes, bool keep_dims,
           std::optional<DType> dtype) {
    const DType type =
        dtype.value_or(is_float(array.dtype()) || is_complex(array.dtype()) ? array.dtype() : DType::Float64);
    const DType compute = is_half(type) ? DType::Float32 : type;
    Array total = reduce(reduction("sum"), array, axes, keep_dims, compute);
    // Of a whole type, the sum is, and the mean is cut off.
    if (!is_float(type) && !is_complex(type)) total = astype(total, DType::Float64);
    const double count = total.size() == 0 ? 0 : static_cast<double>(array.size()) / static_cast<double>(total.size());
    const Operand operands[] = {total, Operand(count)};
    const Array result = elementwise(operation("divide"), operands);
    return result.dtype() == type ? result : astype(result, type);
}

}  // namespace treadle::array
