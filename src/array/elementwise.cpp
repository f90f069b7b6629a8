#include "array/elementwise.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "array/elementwise_kernel.h"
#include "array/records.h"
#include "array/views.h"
#include "base/error.h"

namespace treadle::array {
namespace {

constexpr Operation kOperations[] = {
#define TREADLE_OPERATION(name, operands, typing, body, doc) {#name, operands, typing, body, doc},
#include "array/operations.def"
#undef TREADLE_OPERATION
};

[[noreturn]] void no_loop(const Operation& operation, DType type, const char* hint = "") {
    throw Error(ErrorKind::Type,
                "[" + std::string(operation.name) + "] not supported for type " + std::string(name_of(type)) + hint);
}

// What there is for complex numbers.
bool has_complex(const Operation& operation) {
    static constexpr std::string_view kNames[] = {
        "copy",  "positive",  "negative", "square",   "reciprocal", "add",  "subtract",  "multiply", "divide",
        "equal", "not_equal", "where",    "absolute", "real",       "imag", "conjugate", "power"};
    return std::find(std::begin(kNames), std::end(kNames), operation.name) != std::end(kNames) ||
           operation.typing == 'l';
}

DType float_for(DType type) {
    if (is_float(type) || is_complex(type)) return type;
    return size_of(type) == 1 ? DType::Float16 : size_of(type) == 2 ? DType::Float32 : DType::Float64;
}

// Operations that compute in floating point whatever they are given take any Python integer.
bool computes_in_floats(const Operation& operation) {
    return operation.typing == 'd' || operation.typing == 'f' || operation.typing == 'p';
}

bool fits(const Operand& weak, DType type) {
    const int bits = bits_of(type);
    if (weak.kind == 'h') return false;
    if (weak.kind == 'u') return type == DType::UInt64;
    if (!is_signed(type)) return weak.integer >= 0 && (bits == 64 || weak.integer < (std::int64_t{1} << bits));
    const std::int64_t most = bits == 64 ? INT64_MAX : (std::int64_t{1} << (bits - 1)) - 1;
    return weak.integer >= -most - 1 && weak.integer <= most;
}

[[noreturn]] void out_of_bounds(const Operand& weak, DType type, std::string_view operation) {
    const std::string number = weak.kind == 'i'   ? std::to_string(weak.integer)
                               : weak.kind == 'u' ? std::to_string(static_cast<std::uint64_t>(weak.integer))
                                                  : "beyond 64 bits";
    throw Error(ErrorKind::Overflow, "[" + std::string(operation) + "] Python integer " + number +
                                         " is out of bounds for " + std::string(name_of(type)));
}

// NEP 50: a Python number takes part with its kind only.
DType with_weak(DType type, const Operand& weak, const Operation& operation) {
    if (weak.kind == 'z' && !is_complex(type)) return promote(is_float(type) ? type : DType::Float64, DType::Complex64);
    if (weak.kind == 'b' || is_float(type) || is_complex(type)) return type;
    if (weak.kind == 'f') return DType::Float64;
    if (is_bool(type)) return weak.kind == 'u' ? DType::UInt64 : DType::Int64;
    if (fits(weak, type) || computes_in_floats(operation)) return type;
    // Comparisons with a number outside the type are answered exactly, in a type that holds both.
    if (operation.typing == 'c') return weak.kind == 'i' && type != DType::UInt64 ? DType::Int64 : DType::Float64;
    out_of_bounds(weak, type, operation.name);
}

DType common_type(const Operation& operation, std::span<const Operand> operands) {
    const bool floats = operation.typing == 'f' || operation.typing == 'p';
    DType type = DType::Count;
    for (const Operand& operand : operands) {
        if (operand.array == nullptr) continue;
        // Each operand's float type first, then the larger: arctan2 of int8 and uint8 is float16.
        const DType own = floats ? float_for(operand.array->dtype()) : operand.array->dtype();
        type = type == DType::Count ? own : promote(type, own);
    }
    if (type == DType::Count) {
        type = DType::Bool;
        for (const Operand& operand : operands) {
            if (operand.kind == 'z') return DType::Complex128;
            if (operand.kind == 'f' || operand.kind == 'h') type = DType::Float64;
            if (operand.kind == 'i' && !is_float(type)) type = DType::Int64;
            if (operand.kind == 'u' && !is_float(type)) type = DType::UInt64;
        }
        return type;
    }
    for (const Operand& operand : operands) {
        if (operand.array == nullptr) type = with_weak(type, operand, operation);
    }
    return type;
}

bool same_view(const Array& a, const Array& b) {
    return a.data() == b.data() && a.shape() == b.shape() && a.strides() == b.strides() && a.dtype() == b.dtype();
}

}  // namespace

std::span<const Operation> operations() { return kOperations; }

const Operation& operation(std::string_view name) {
    for (const Operation& row : kOperations) {
        if (row.name == name) return row;
    }
    throw Error(ErrorKind::Argument,
                "[elementwise] expected the name of an operation, got '" + std::string(name) + "'");
}

OperationTypes result_types(const Operation& operation, std::span<const Operand> operands) {
    const DType type =
        operation.typing == 'w' ? common_type(operation, operands.subspan(1)) : common_type(operation, operands);
    if (is_complex(type) && !has_complex(operation)) no_loop(operation, type);
    switch (operation.typing) {
        case 'r': return {type, part_of(type)};
        case 'a': return {type, operation.name == "absolute" ? part_of(type) : type};
        case 'n':
            if (is_bool(type))
                no_loop(operation, type,
                        operation.name == "subtract" ? ": use the bitwise_xor, the ^ operator, or logical_xor" : "");
            return {type, type};
        case 'm': {
            const DType number = is_bool(type) ? DType::Int8 : type;
            return {number, number};
        }
        case 'd':
            return is_float(type) || is_complex(type) ? OperationTypes{type, type}
                                                      : OperationTypes{DType::Float64, DType::Float64};
        case 'f': return {float_for(type), float_for(type)};
        case 'c': return {type, DType::Bool};
        case 'b':
            if (is_float(type)) no_loop(operation, type);
            return {type, type};
        case 'i': {
            if (is_float(type)) no_loop(operation, type);
            const DType whole = is_bool(type) ? DType::Int8 : type;
            return {whole, whole};
        }
        case 'l': return {DType::Bool, DType::Bool};
        case 'p': return {float_for(type), DType::Bool};
        default: return {type, type};
    }
}

device::StorageRef new_storage(const Dims& shape, std::int64_t item_bytes, std::optional<DType> dtype, Sharing shared) {
    std::int64_t bytes = item_bytes;
    for (const std::int64_t extent : shape) {
        if (extent < 0)
            throw Error(ErrorKind::Argument, "[empty] shape: expected no negative dimensions, got " + to_string(shape));
        if (__builtin_mul_overflow(bytes, extent, &bytes))
            throw Error(ErrorKind::Argument, "[empty] shape: the array is too large: " + to_string(shape));
    }
    // Blocks have room for a number behind any pointer, not for a record.
    const auto size_bytes = static_cast<std::size_t>(dtype ? bytes : std::max(bytes, item_bytes));
    device::Device& device = device::current_device();
    device::counters().add(device::Count::Allocations);
    device::counters().add(device::Count::AllocatedBytes, size_bytes);
    device::StorageRef storage = shared ? device.allocate_shared(size_bytes, *shared) : device.allocate(size_bytes);
    device::Contents contents{item_bytes, !dtype, dtype.value_or(DType::UInt8), static_cast<int>(shape.size()), {}};
    std::copy_n(shape.begin(), std::min<std::size_t>(shape.size(), device::Contents::kMostShown), contents.shape);
    storage->describe(contents);
    return storage;
}

Array empty(const Dims& shape, DType dtype, Sharing shared) {
    device::StorageRef storage = new_storage(shape, size_of(dtype), dtype, shared);
    auto* data = static_cast<char*>(storage->data());
    return {std::move(storage), data, dtype, shape, dense_strides(shape, dtype)};
}

namespace {

// A number beyond int64 lies above every signed integer, also above those that round up to it in floating point.
void put_beyond_integers(std::span<Operand> operands) {
    for (const Operand& operand : operands) {
        if (operand.array != nullptr && is_float(operand.array->dtype())) return;
    }
    for (Operand& operand : operands) {
        if (operand.kind == 'u') operand.real = __builtin_inf();
    }
}

}  // namespace

Array elementwise(const Operation& operation, std::span<const Operand> given, const Array* out) {
    std::array<Operand, 3> copies = {false, false, false};
    std::span<const Operand> operands = given;
    if (static_cast<std::size_t>(operation.operands) != operands.size()) {
        throw Error(ErrorKind::Type, "[" + std::string(operation.name) + "] expected " +
                                         std::to_string(operation.operands) + " operands, got " +
                                         std::to_string(operands.size()));
    }
    const OperationTypes types = result_types(operation, operands);
    if (operation.typing == 'c' && types.compute == DType::Float64) {
        std::copy(given.begin(), given.end(), copies.begin());
        put_beyond_integers(std::span(copies).first(given.size()));
        operands = std::span<const Operand>(copies).first(given.size());
    }
    std::array<const Array*, 3> arrays{};
    std::size_t count = 0;
    for (const Operand& operand : operands) {
        if (operand.array != nullptr) arrays[count++] = operand.array;
    }
    Dims shape = count == 1 ? arrays[0]->shape() : broadcast_shapes({arrays.data(), count}, operation.name.data());
    if (out == nullptr) {
        const Array result = empty(shape, types.result);
        run_elementwise(operation, types, operands, result);
        return result;
    }
    if (!(out->shape() == shape)) {
        throw Error(ErrorKind::Argument, "[" + std::string(operation.name) + "] out: expected shape " +
                                             to_string(shape) + ", got " + to_string(out->shape()));
    }
    const bool narrows = (is_float(types.result) && !is_float(out->dtype()) && !is_complex(out->dtype())) ||
                         (is_complex(types.result) && !is_complex(out->dtype())) ||
                         (!is_bool(types.result) && is_bool(out->dtype()));
    if (narrows) {
        throw Error(ErrorKind::Type, "[" + std::string(operation.name) + "] out: cannot cast " +
                                         std::string(name_of(types.result)) + " to " +
                                         std::string(name_of(out->dtype())));
    }
    // Other overlaps than element on element would read what was written before.
    bool overlaps = false;
    for (std::size_t i = 0; i < count; ++i) {
        overlaps = overlaps || (arrays[i]->storage().get() == out->storage().get() && out->storage() &&
                                !same_view(*arrays[i], *out));
    }
    if (overlaps) {
        const Array aside = empty(shape, out->dtype());
        run_elementwise(operation, types, operands, aside);
        copy_into(*out, aside);
    } else {
        run_elementwise(operation, types, operands, *out);
    }
    return *out;
}

Array empty_like(const Dims& shape, const Array& elements) {
    return elements.record() != nullptr ? empty_records(shape, elements.record()) : empty(shape, elements.dtype());
}

void copy_into(const Array& to, const Array& from) {
    if (to.record() != nullptr || from.record() != nullptr) return copy_records(to, from);
    const Array source = from.shape() == to.shape() ? from : broadcast_to(from, to.shape());
    if (source.storage().get() == to.storage().get() && to.storage() && !same_view(source, to)) {
        const Array aside = empty(source.shape(), source.dtype());
        copy_into(aside, source);
        copy_into(to, aside);
        return;
    }
    if (source.dtype() == to.dtype() && source.is_c_contiguous() && to.is_c_contiguous()) {
        device::Storage* uses[] = {to.storage().get(), source.storage().get()};
        device::Stream& stream = current_stream();
        stream.count(device::Count::BytesOnDevice, static_cast<std::uint64_t>(to.size_bytes()));
        stream.copy(to.data(), source.data(), static_cast<std::size_t>(to.size_bytes()), uses);
        return;
    }
    if (is_complex(source.dtype()) && !is_complex(to.dtype()) && !is_bool(to.dtype())) {
        throw Error(ErrorKind::Type, "[copy] cannot cast " + std::string(name_of(source.dtype())) + " to " +
                                         std::string(name_of(to.dtype())) + ": take its real or imag part, or abs");
    }
    const Operand operands[] = {source};
    run_elementwise(operation("copy"), {source.dtype(), source.dtype()}, operands, to);
}

void fill(const Array& to, const Operand& value) {
    if (value.kind == 'z' && !is_complex(to.dtype()))
        throw Error(ErrorKind::Type, "[fill] cannot cast complex128 to " + std::string(name_of(to.dtype())));
    const bool whole = value.kind == 'i' || value.kind == 'u' || value.kind == 'h';
    if (whole && is_integer(to.dtype()) && !fits(value, to.dtype())) out_of_bounds(value, to.dtype(), "fill");
    // The value is computed in the type of the array, as NumPy's fill does.
    const Operand operands[] = {value};
    run_elementwise(operation("copy"), {to.dtype(), to.dtype()}, operands, to);
}

Array contiguous_copy(const Array& array) {
    Array result = empty_like(array.shape(), array);
    copy_into(result, array);
    return result;
}

Array astype(const Array& array, DType dtype) {
    Array result = empty(array.shape(), dtype);
    copy_into(result, array);
    return result;
}

}  // namespace treadle::array
