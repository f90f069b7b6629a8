// What an expression of the kernel language denotes while it is lowered: a run-time scalar, or something known at
// compile time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "frontend/record.h"
#include "ir/ir.h"

namespace treadle::frontend {

using ir::ValueId;

struct Builtin;  // a row of builtins.def

struct Entity {
    enum class Kind : std::uint8_t {
        None,
        Scalar,
        Literal,
        Tuple,
        Array,
        Builtin,
        Type,
        Function,
        External,  // a function that is linked to the kernel; names: abi, result, parameters
        String,
        Slice,
        Group,
        Method,
        TupleType,
        Complex,
        Record  // in memory: an element of an array of records, or a part of one
    };
    Kind kind = Kind::None;
    bool weak = false;                 // Scalar read from a variable that holds only literals, under strict types
    DType dtype = DType::Count;        // Scalar, Array elements, Type; of a Literal: Bool, Int64, UInt64 or Float64
    ir::ValueId value = ir::kNoValue;  // Scalar; pointer of an Array
    std::int64_t int_value = 0;        // Literal of an integer type or bool
    double float_value = 0;            // Literal of Float64
    std::vector<Entity> items;         // Tuple; Slice: start, stop, step; Complex: parts; Method: the object
    std::vector<std::string> names;    // of the items of a named Tuple, or of those that a TupleType makes
    std::vector<ir::ValueId> shape;    // Array
    std::vector<ir::ValueId> strides;  // Array, bytes
    ir::Layout layout = ir::Layout::Any;
    ir::Space space = ir::Space::Global;  // Array
    // Arrays of records, and arrays and records that are parts of their elements; a Record is an array whose axes are
    // all fixed.
    const RecordType* record = nullptr;  // of the elements, where they are no numbers; of a Record, of a Type
    std::vector<Entity> fixed;           // indices of the first axes, given already
    std::uint64_t offset = 0;            // bytes from an element to the part that this is
    std::uint8_t align = 0;              // what divides the addresses; 0 where numbers have the alignment of their type
    bool read_only = false;
    const Builtin* builtin = nullptr;
    std::size_t function = 0;
    std::string text;  // String, and the name of a library function; of a Method

    bool is(Kind other) const { return kind == other; }
    bool adapts() const { return kind == Kind::Literal || weak; }  // takes the type of the other operand
    bool is_number() const { return kind == Kind::Scalar || kind == Kind::Literal; }
    std::size_t rank() const { return shape.size() - fixed.size(); }               // Array
    ValueId extent(std::size_t axis) const { return shape[fixed.size() + axis]; }  // Array
    std::int64_t item_bytes() const {                                              // Array, Record
        return record != nullptr ? static_cast<std::int64_t>(record->size_bytes) : size_of(dtype);
    }
    static Entity scalar(ir::ValueId value, DType dtype) {
        Entity entity;
        entity.kind = Kind::Scalar;
        entity.value = value;
        entity.dtype = dtype;
        return entity;
    }
    static Entity integer(std::int64_t value) {
        Entity entity;
        entity.kind = Kind::Literal;
        entity.dtype = DType::Int64;
        entity.int_value = value;
        entity.float_value = static_cast<double>(value);
        return entity;
    }
    static Entity boolean(bool value) {
        Entity entity = integer(value);
        entity.dtype = DType::Bool;
        return entity;
    }
    static Entity floating(double value) {
        Entity entity;
        entity.kind = Kind::Literal;
        entity.dtype = DType::Float64;
        entity.float_value = value;
        return entity;
    }
    static Entity tuple(std::vector<Entity> items) {
        Entity entity;
        entity.kind = Kind::Tuple;
        entity.items = std::move(items);
        return entity;
    }
};

// The type of a variable; what assignments to one name are unified to.
struct VarType {
    enum class Kind : std::uint8_t { Unset, None, Scalar, Complex, Tuple, Array, Record };
    Kind kind = Kind::Unset;
    DType dtype = DType::Count;
    bool weak = false;  // only literals so far, and types are strict
    std::vector<VarType> items;
    std::vector<std::string> names;  // of a named Tuple
    std::size_t rank = 0;
    ir::Layout layout = ir::Layout::Any;
    ir::Space space = ir::Space::Global;
    const RecordType* record = nullptr;  // of a Record, or of an Array's elements
    std::uint8_t align = 0;
    bool read_only = false;

    bool operator==(const VarType&) const = default;
};

std::string describe(const VarType& type);
// Such as "an array", for messages.
std::string kind_of(const Entity& entity);

}  // namespace treadle::frontend
