#include "base/float_bits.h"
#include "frontend/lowering.h"

namespace treadle::frontend {
namespace {

std::uint64_t truncated(DType type, std::uint64_t bits) {
    const int width = is_bool(type) ? 8 : bits_of(type);
    return width == 64 ? bits : bits & ((1ull << width) - 1);
}

}  // namespace

std::int32_t Lowering::line_here() const {
    return static_cast<std::int32_t>(here_function_ << ir::kLineBits) | (here_.line + 1);
}

ValueId Lowering::emit(ir::Op op) {
    if (op.line == 0) op.line = line_here();
    constexpr std::size_t kMostValues = 300'000;
    if (function_.values.size() > kMostValues) {
        fail(ErrorKind::Compile, here_,
             "the kernel grows too large: device functions are compiled into every place that calls them");
    }
    if (function_.is_called && ir::is_barrier(op)) {
        fail(ErrorKind::Unsupported, here_, "a function that calls itself cannot hold a barrier",
             "meet in the kernel, before or after the call");
    }
    if (op.type.kind != ir::Type::Kind::None) op.result = function_.new_value(op.type);
    op.exact = frame().strict;
    const ValueId result = op.result;
    region().push_back(std::move(op));
    return result;
}

ValueId Lowering::emit(Opcode code, ir::Type type, std::vector<ValueId> operands, std::int32_t index) {
    ir::Op op;
    op.code = code;
    op.type = type;
    op.operands = std::move(operands);
    op.index = index;
    return emit(std::move(op));
}

void Lowering::emit_effect(Opcode code, std::vector<ValueId> operands, std::int32_t index) {
    emit(code, ir::Type::none(), std::move(operands), index);
}

ValueId Lowering::constant(DType type, std::uint64_t bits) {
    ir::Op op;
    op.code = Opcode::Const;
    op.type = ir::Type::scalar(type);
    op.imm = truncated(type, bits);
    return emit(std::move(op));
}

std::uint64_t Lowering::literal_bits(const Entity& literal, DType type) {
    const bool is_double = literal.dtype == DType::Float64;
    if (is_bool(type)) return is_double ? literal.float_value != 0 : literal.int_value != 0;
    if (is_float(type)) {
        if (is_double) return float_bits(type, literal.float_value);
        if (literal.dtype == DType::UInt64)
            return float_bits(type, static_cast<double>(static_cast<std::uint64_t>(literal.int_value)));
        return float_bits(type, static_cast<double>(literal.int_value));
    }
    return truncated(type, static_cast<std::uint64_t>(is_double ? static_cast<std::int64_t>(literal.float_value)
                                                                : literal.int_value));
}

ValueId Lowering::as(const Entity& number, DType type) {
    if (number.is(Entity::Kind::Literal)) return literal(number, type);
    if (number.dtype == type) return number.value;
    // Library code knows the range of what it converts; everywhere else float to integer saturates.
    return emit(Opcode::Cast, ir::Type::scalar(type), {number.value},
                frame().function >= program_.size() + request_.sources.size() ? 1 : 0);
}

Entity Lowering::firm(const Entity& entity) {
    if (!entity.is(Entity::Kind::Literal)) return entity;
    return Entity::scalar(literal(entity, entity.dtype), entity.dtype);
}

ValueId Lowering::truth(const Entity& entity, Span span) {
    if (entity.is(Entity::Kind::None)) return constant(DType::Bool, 0);
    if (entity.is(Entity::Kind::Complex)) return complex_compare("!=", entity, Entity::integer(0), span).value;
    if (!entity.is_number()) type_error(span, "expected a number or bool as a condition");
    if (entity.is(Entity::Kind::Literal)) return literal(entity, DType::Bool);
    if (is_bool(entity.dtype)) return entity.value;
    return emit(Opcode::Ne, ir::Type::scalar(DType::Bool), {entity.value, constant(entity.dtype, 0)});
}

std::string kind_of(const Entity& entity) {
    switch (entity.kind) {
        case Entity::Kind::Array: return "an array";
        case Entity::Kind::Tuple: return "a tuple";
        case Entity::Kind::None: return "None";
        case Entity::Kind::String: return "a string";
        case Entity::Kind::Complex: return "a complex number";
        case Entity::Kind::Record: return "a record";
        case Entity::Kind::Literal: return is_float(entity.dtype) ? "a float" : "a constant";
        default: return entity.is_number() ? "a number of the launch" : "a function or type";
    }
}

DType Lowering::number_type(const Entity& entity, Span span, const char* what) const {
    if (!entity.is_number()) {
        type_error(span, std::string(what) + ": expected a number, got " + kind_of(entity),
                   entity.is(Entity::Kind::Array) ? "a kernel works on one element per thread: index the array" : "");
    }
    return entity.dtype;
}

bool Lowering::terminated() const {
    const ir::Region& region = *regions_.back();
    return !region.empty() && ir::info(region.back().code).has('t');
}

}  // namespace treadle::frontend
