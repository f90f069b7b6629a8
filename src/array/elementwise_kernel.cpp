#include "array/elementwise_kernel.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "array/tuning.h"
#include "array/views.h"
#include "base/error.h"
#include "base/float_bits.h"
#include "runtime/function.h"

namespace treadle::array {
namespace {

constexpr std::string_view kNames[] = {"x", "y", "z"};
constexpr std::int64_t kMostRows = 65535;  // a grid's y

std::string replaced(std::string text, std::string_view what, const std::string& with) {
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
        text.replace(at, what.size(), with);
    return text;
}

std::string body_of(const Operation& operation, DType type) {
    std::string body(operation.body);
    // bool's arithmetic is logic.
    if (is_bool(type) && operation.name == "multiply") body = "(bin & x y)";
    if (is_bool(type) && operation.name == "add") body = "(bin | x y)";
    if (operation.typing == 'k' && !is_float(type)) body = "x";
    if (operation.name == "sign" && !is_float(type))
        body = "(bin - (call (DTYPE) (cmp x > 0)) (call (DTYPE) (cmp x < 0)))";
    body = replaced(body, "MODULO", is_float(type) ? "(call (builtin fmod) x y)" : "(call (builtin truncmod) x y)");
    body = replaced(body, "RECIPROCAL",
                    is_float(type) || is_complex(type) ? "(bin / 1.0 x)" : "(call (builtin truncdiv) 1 x)");
    return replaced(body, "DTYPE", "builtin " + std::string(name_of(type)));
}

// Integer powers and float16 functions have bodies for the wide type only.
DType body_type(const Operation& operation, DType type) {
    if (operation.name == "power" && is_integer(type)) return is_unsigned(type) ? DType::UInt64 : DType::Int64;
    return type;
}

std::string index_text(int rank) {
    if (rank == 0) return "(tuple)";
    std::string text = rank == 1 ? "" : "(tuple";
    for (int i = 0; i < rank; ++i) text += (rank == 1 ? "i" : " i") + std::to_string(i);
    return text + (rank == 1 ? "" : ")");
}

// Threads run along the last dimension; the block's y and z coordinates count the rows of all others. Rows beyond the
// last one lie outside of the array, where nothing is written.
std::string index_statements(int rank) {
    if (rank == 0) return "";
    std::string text = "(set i" + std::to_string(rank - 1) + " (call (builtin grid) 1)) ";
    if (rank == 1) return text;
    text +=
        "(set row (bin + (bin * (call (builtin int64) (builtin blockIdx.z)) (call (builtin int64) (builtin "
        "gridDim.y))) (call (builtin int64) (builtin blockIdx.y)))) ";
    for (int axis = rank - 2; axis >= 0; --axis) {
        const std::string number = std::to_string(axis);
        const std::string extent = "(item (attr out shape) " + number + ")";
        text += "(set i" + number + " " + (axis == 0 ? "row" : "(bin % row " + extent + ")") + ") ";
        if (axis != 0) text += "(set row (bin // row " + extent + ")) ";
    }
    return text;
}

// Views of the same elements with as few dimensions as all strides allow, the longest dense one last.
void collapse(std::vector<Array>& views) {
    const Array& out = views.back();
    const auto rank = static_cast<std::size_t>(out.rank());
    if (rank <= 1) return;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < rank; ++i) {
        if (out.shape()[i] != 1) order.push_back(i);
    }
    const auto step = [](std::int64_t stride) { return stride < 0 ? -stride : stride; };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return step(out.strides()[a]) > step(out.strides()[b]); });
    std::vector<std::vector<std::size_t>> groups;
    for (const std::size_t axis : order) {
        bool joins = !groups.empty();
        for (const Array& view : views) {
            joins = joins && view.strides()[groups.back().back()] == view.strides()[axis] * view.shape()[axis];
        }
        if (!joins) groups.emplace_back();
        groups.back().push_back(axis);
    }
    for (Array& view : views) {
        Dims shape, strides;
        for (const auto& group : groups) {
            std::int64_t extent = 1;
            for (const std::size_t axis : group) extent *= view.shape()[axis];
            shape.push_back(extent);
            strides.push_back(view.strides()[group.back()]);
        }
        view = view.with(std::move(shape), std::move(strides));
    }
}

std::uint64_t scalar_bits(const Operand& operand, DType type) {
    if (is_float(type)) return float_bits(type, operand.real);
    if (is_bool(type)) return operand.kind == 'f' ? operand.real != 0 : operand.integer != 0;
    return static_cast<std::uint64_t>(operand.kind == 'f' ? static_cast<std::int64_t>(operand.real) : operand.integer);
}

struct FunctionTable {
    std::mutex mutex;
    std::unordered_map<std::uint64_t, std::unique_ptr<runtime::Function>> functions;
};

FunctionTable& table() {
    static FunctionTable* const functions = new FunctionTable;
    return *functions;
}

}  // namespace

std::string elementwise_program(const Operation& operation, const OperationTypes& types,
                                std::span<const DType> operand_types, unsigned scalars, int rank) {
    const DType wide = body_type(operation, types.compute);
    std::string params, loads;
    for (std::size_t i = 0; i < operand_types.size(); ++i) {
        const std::string name(kNames[i]);
        const bool is_scalar = (scalars >> i & 1) != 0;
        params += (is_scalar ? name : "a" + name) + " ";
        const bool is_condition = operation.typing == 'w' && i == 0;
        const DType type = is_condition ? DType::Bool : wide;
        std::string value = is_scalar ? name : "(item a" + name + " " + index_text(rank) + ")";
        if (operand_types[i] != type) value = "(call (builtin " + std::string(name_of(type)) + ") " + value + ")";
        if (value != name) loads += "(set " + name + " " + value + ") ";
    }
    std::string result = body_of(operation, wide);
    // Results pass through the type of the operation, so that a wider out shows the same numbers.
    if (wide != types.compute && types.result == types.compute)
        result = "(call (builtin " + std::string(name_of(types.compute)) + ") " + result + ")";
    return "(fn " + std::string(operation.name) + " (" + params + "out) " + index_statements(rank) + loads +
           "(set (item out " + index_text(rank) + ") " + result + "))";
}

namespace {

// What identifies the kernel of a call: everything its text depends on.
runtime::Function& function_for(const Operation& operation, const OperationTypes& types,
                                std::span<const DType> operand_types, unsigned scalars, int rank, DType out) {
    static_assert(kDTypeCount <= 16, "the key has four bits for each type");
    std::uint64_t key = static_cast<std::uint64_t>(&operation - operations().data());
    key = key << 4 | static_cast<std::uint64_t>(types.compute);
    key = key << 4 | static_cast<std::uint64_t>(types.result);
    for (const DType type : operand_types) key = key << 4 | static_cast<std::uint64_t>(type);
    key = (key << 3 | scalars) << 6 | static_cast<std::uint64_t>(rank);
    key = key << 4 | static_cast<std::uint64_t>(out);
    FunctionTable& functions = table();
    const std::lock_guard lock(functions.mutex);
    auto& entry = functions.functions[key];
    if (entry == nullptr) {
        CompileRequest request;
        request.program = elementwise_program(operation, types, operand_types, scalars, rank);
        request.options.strict_types = true;
        request.options.contract = false;
        entry = std::make_unique<runtime::Function>(std::string(operation.name), std::move(request));
    }
    return *entry;
}

void launch(runtime::Function& function, const runtime::Arguments& arguments, std::int64_t inner, std::int64_t rows) {
    runtime::LaunchShape shape;
    shape.block[0] = std::min(Tuning::of_device().block, (inner + 63) / 64 * 64);
    shape.grid[0] = (inner + shape.block[0] - 1) / shape.block[0];
    shape.grid[1] = std::min(rows, kMostRows);
    shape.grid[2] = (rows + kMostRows - 1) / kMostRows;
    function.launch_unchecked(shape, current_stream(), arguments);
}

}  // namespace

void run_elementwise(const Operation& operation, const OperationTypes& types, std::span<const Operand> operands,
                     const Array& out) {
    const std::int64_t size = out.size();
    if (size == 0) return;
    unsigned scalars = 0;
    DType operand_types[3];
    bool dense = out.is_c_contiguous();
    for (std::size_t i = 0; i < operands.size(); ++i) {
        const bool is_condition = operation.typing == 'w' && i == 0;
        const Array* array = operands[i].array;
        if (array == nullptr) scalars |= 1U << i;
        operand_types[i] = array != nullptr ? array->dtype() : is_condition ? DType::Bool : types.compute;
        dense = dense && (array == nullptr || (array->shape() == out.shape() && array->is_c_contiguous()));
    }
    static thread_local runtime::Arguments arguments;
    arguments.clear();
    const std::span<const DType> input_types(operand_types, operands.size());
    const auto add_scalar = [&](std::size_t i) {
        if (is_complex(operand_types[i])) {
            const DType part = part_of(operand_types[i]);
            arguments.add_complex(operand_types[i], scalar_bits(Operand(operands[i].real), part),
                                  scalar_bits(Operand(operands[i].imaginary), part));
            return;
        }
        arguments.add_scalar(operand_types[i], scalar_bits(operands[i], operand_types[i]));
    };
    if (dense) {
        // The usual case costs no views: everything is one row.
        const auto add = [&](const Array& array) {
            const std::int64_t stride = size_of(array.dtype());
            arguments.add_array(array.dtype(), 1, Layout::Dense, array.data(), &size, &stride, array.storage().get());
        };
        for (std::size_t i = 0; i < operands.size(); ++i) {
            if (operands[i].array == nullptr) {
                add_scalar(i);
            } else {
                add(*operands[i].array);
            }
        }
        add(out);
        launch(function_for(operation, types, input_types, scalars, 1, out.dtype()), arguments, size, 1);
        return;
    }
    std::vector<Array> views;
    views.reserve(4);
    for (const Operand& operand : operands) {
        if (operand.array != nullptr) views.push_back(broadcast_to(*operand.array, out.shape()));
    }
    views.push_back(out);
    collapse(views);
    const int rank = views.back().rank();
    std::size_t next = 0;
    for (std::size_t i = 0; i <= operands.size(); ++i) {
        if (i < operands.size() && operands[i].array == nullptr) {
            add_scalar(i);
            continue;
        }
        const Array& view = views[next++];
        arguments.add_array(view.dtype(), rank, view.layout(), view.data(), view.shape().data(), view.strides().data(),
                            view.storage().get());
    }
    const std::int64_t inner = rank == 0 ? 1 : views.back().shape().back();
    launch(function_for(operation, types, input_types, scalars, rank, out.dtype()), arguments, inner, size / inner);
}

}  // namespace treadle::array
