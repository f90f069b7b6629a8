// Every reduction is brought to the form [outer, length, inner] and runs in one or two launches of one of two kernels:
//   columns  a thread runs down one column (fixed outer and inner index); lanes lie along inner
//   lanes    the threads of a packet run along the length side by side and leave one partial result each
// Long reductions are cut into parts whose results are reduced again.
#include "array/reduction.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "array/elementwise.h"
#include "array/views.h"
#include "base/cpu_target.h"
#include "base/error.h"
#include "runtime/function.h"

namespace treadle::array {
namespace {

constexpr Reduction kReductions[] = {
#define TREADLE_REDUCTION(name, typing, start, combine, doc) {#name, typing, start, combine, doc},
#include "array/reductions.def"
#undef TREADLE_REDUCTION
};

constexpr std::int64_t kPart = 1 << 16;  // elements that one block of the lanes kernel reduces

// One way to run a kernel: which form, the element types, and whether indices come with the values (second round of
// argmin).
struct Form {
    const Reduction* reduction;
    bool lanes;
    bool with_indices;
    DType input;
    DType compute;
    DType output;

    auto key() const { return std::tuple(reduction, lanes, with_indices, input, compute, output); }
    bool operator<(const Form& other) const { return key() < other.key(); }
};

std::string converted(DType type, const std::string& text) {
    return "(call (builtin " + std::string(name_of(type)) + ") " + text + ")";
}

// Statements that take element r into the state: acc, and at for the index reductions.
std::string step_text(const Form& form, const std::string& r) {
    const std::string place = form.lanes ? "(tuple o " + r + ")" : "(tuple o " + r + " i)";
    const std::string element = "(item a " + place + ")";
    std::string text = "(set x " + converted(form.compute, element) + ") ";
    if (form.reduction->typing != 'i') return text + "(set acc " + std::string(form.reduction->combine) + ") ";
    text += "(set j " + (form.with_indices ? "(item ia " + place + ")" : r) + ") ";
    const std::string nan = "(and (cmp x != x) (cmp acc == acc))";
    const std::string tie = "(and (or (cmp x == acc) (and (cmp x != x) (cmp acc != acc))) (cmp j < at))";
    text += "(set better (or " + std::string(form.reduction->combine) + " " + nan + " " + tie + ")) ";
    return text + "(set acc (call (builtin select) better x acc)) (set at (call (builtin select) better j at)) ";
}

// A loop that takes the elements at place, a text in terms of k, into the state. Sums of floats are added in runs of
// 64, whose totals are added up: rounding errors grow with the length of a run and the number of runs, not with their
// product.
std::string loop_text(const Form& form, const std::string& begin, const std::string& end, const std::string& step,
                      const std::string& place) {
    const auto loop = [](const std::string& name, const std::string& from, const std::string& to, const std::string& by,
                         const std::string& body) {
        return "(for " + name + " (call (builtin range) " + from + " " + to + " " + by + ") (do " + body + ")) ";
    };
    const std::string one = step_text(form, place);
    if (!is_float(form.compute) || form.reduction->typing != 's') return loop("k", begin, end, step, one);
    const std::string run = step == "1" ? "64" : "(bin * " + step + " 64)";
    const std::string neutral = converted(form.compute, std::string(form.reduction->start));
    std::string combine(form.reduction->combine);
    combine.replace(combine.find(" x)"), 3, " acc)");
    combine.replace(combine.find("acc"), 3, "total");
    return "(set total acc) " +
           loop("b", begin, end, run,
                "(set acc " + neutral + ") " +
                    loop("k", "b", "(call (builtin min) (bin + b " + run + ") " + end + ")", step, one) +
                    "(set total " + combine + ")") +
           "(set acc total) ";
}

std::string program_of(const Form& form) {
    const bool indexed = form.reduction->typing == 'i';
    const std::string first_place = form.lanes ? "(tuple o begin)" : "(tuple o begin i)";
    const std::string first = "(item a " + first_place + ")";
    std::string start(form.reduction->start);
    start = start == "first" ? converted(form.compute, first) : converted(form.compute, start);
    std::string text = "(fn " + std::string(form.reduction->name) + " (a " + (form.with_indices ? "ia " : "") + "out " +
                       (indexed ? "iout " : "") + "part) ";
    text += form.lanes ? "(set p (call (builtin int64) (builtin blockIdx.x))) (set t (call (builtin int64) (builtin "
                         "threadIdx.x))) "
                       : "(set p (call (builtin int64) (builtin blockIdx.z))) (set i (call (builtin grid) 1)) ";
    text += "(set o (call (builtin int64) (builtin blockIdx.y))) ";
    text += "(set begin (bin * p part)) (set end (call (builtin min) (bin + begin part) (item (attr a shape) 1))) ";
    text += "(set acc " + start + ") ";
    if (indexed) text += form.with_indices ? "(set at (item ia " + first_place + ")) " : "(set at (bin + begin 0)) ";
    std::string place = "p";
    if (form.lanes) {
        // Whole rows of the packet without a test, then the rest.
        text +=
            "(set step (call (builtin int64) (builtin blockDim.x))) (set whole (bin - end (bin % (bin - end begin) "
            "step))) ";
        text += loop_text(form, "begin", "whole", "step", "(bin + k t)");
        text += "(if (cmp (bin + whole t) < end) (do " + step_text(form, "(bin + whole t)") + ") (do)) ";
        place = "(bin + (bin * p step) t)";
    } else {
        text += loop_text(form, "begin", "end", "1", "k");
    }
    const std::string target = "(tuple o " + place + (form.lanes ? ")" : " i)");
    text += "(set (item out " + target + ") acc)";
    if (indexed) text += " (set (item iout " + target + ") at)";
    return text + ")";
}

runtime::Function& function_of(const Form& form) {
    static std::mutex mutex;
    static auto* const functions = new std::map<Form, std::unique_ptr<runtime::Function>>;
    const std::lock_guard lock(mutex);
    auto& entry = (*functions)[form];
    if (entry == nullptr) {
        CompileRequest request;
        request.program = program_of(form);
        request.options.strict_types = true;
        request.options.contract = false;
        entry = std::make_unique<runtime::Function>(std::string(form.reduction->name), std::move(request));
    }
    return *entry;
}

struct State {
    Array values;
    Array indices;  // of argmin and argmax
};

// The lanes kernel knows nothing of the last axis, which has one element.
void add(runtime::Arguments& arguments, const Array& whole, const Form& form) {
    const Dims& shape = whole.shape();
    const Dims& strides = whole.strides();
    const Array array = form.lanes ? whole.with({shape[0], shape[1]}, {strides[0], strides[1]}) : whole;
    arguments.add_array(array.dtype(), array.rank(), array.layout(), array.data(), array.shape().data(),
                        array.strides().data(), array.storage().get());
}

// One launch over views [outer, length, inner]; returns [outer, parts, inner] (lanes: parts * lanes in the middle).
State run(Form form, const State& input, std::int64_t part) {
    const Dims& shape = input.values.shape();
    const std::int64_t parts = std::max<std::int64_t>(1, (shape[1] + part - 1) / part);
    const std::int64_t lanes = form.lanes ? host_target().vector_bytes() : 1;
    const Dims result_shape = {shape[0], parts * lanes, shape[2]};
    State result{empty(result_shape, form.output), {}};
    runtime::Arguments arguments;
    add(arguments, input.values, form);
    if (form.with_indices) add(arguments, input.indices, form);
    add(arguments, result.values, form);
    if (form.reduction->typing == 'i') {
        result.indices = empty(result_shape, DType::Int64);
        add(arguments, result.indices, form);
    }
    arguments.add_scalar(DType::Int64, static_cast<std::uint64_t>(part));
    runtime::LaunchShape launch;
    launch.grid[1] = shape[0];
    if (form.lanes) {
        launch.block[0] = lanes;
        launch.grid[0] = parts;
    } else {
        launch.block[0] = std::min<std::int64_t>(1024, (shape[2] + 63) / 64 * 64);
        launch.grid[0] = (shape[2] + launch.block[0] - 1) / launch.block[0];
        launch.grid[2] = parts;
    }
    function_of(form).launch_unchecked(launch, current_stream(), arguments);
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

State reduce_middle(const Reduction& reduction, Array view, DType compute, DType output) {
    State state{std::move(view), {}};
    Form form{&reduction, false, false, state.values.dtype(), compute, compute};
    const auto next = [&](State result) {
        form.with_indices = reduction.typing == 'i';
        form.input = form.compute;
        form.lanes = false;
        return result;
    };
    const std::int64_t lanes = host_target().vector_bytes();
    if (state.values.shape()[2] == 1 && state.values.shape()[1] >= 4 * lanes) {
        form.lanes = true;
        state = next(run(form, state, kPart));
    } else if (state.values.shape()[0] * state.values.shape()[2] <= 4096 && state.values.shape()[1] > 8192) {
        state = next(run(form, state, 4096));
    }
    // Many partial results of few rows once more along the lanes.
    if (state.values.shape()[2] == 1 && state.values.shape()[0] < 16 && state.values.shape()[1] >= 64 * lanes) {
        form.lanes = true;
        state = next(run(form, state, kPart));
    }
    if (state.values.shape()[2] == 1) state = rows_as_columns(state);
    form.output = output;
    return run(form, state, std::max<std::int64_t>(1, state.values.shape()[1]));
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
    const DType compute = output == DType::Float16 ? DType::Float32 : reduction.typing == 'i' ? array.dtype() : output;
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
    const DType compute = type == DType::Float16 ? DType::Float32 : type;
    const Array total = reduce(reduction("sum"), array, axes, keep_dims, compute);
    const double count = total.size() == 0 ? 0 : static_cast<double>(array.size()) / static_cast<double>(total.size());
    const Operand operands[] = {total, Operand(count)};
    const Array result = elementwise(operation("divide"), operands);
    return type == compute ? result : astype(result, type);
}

}  // namespace treadle::array
