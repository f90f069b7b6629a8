#include <cmath>
#include <limits>

#include "frontend/lowering.h"
#include "frontend/typing.h"

namespace treadle::frontend {
namespace {

struct OperatorRow {
    std::string_view text;
    Opcode code;
    char kind;  // a arithmetic, d true division, f floor division or modulo, b bitwise, s shift
};
constexpr OperatorRow kOperators[] = {
    {"+", Opcode::Add, 'a'},       {"-", Opcode::Sub, 'a'},  {"*", Opcode::Mul, 'a'},  {"/", Opcode::Div, 'd'},
    {"//", Opcode::FloorDiv, 'f'}, {"%", Opcode::Mod, 'f'},  {"&", Opcode::And, 'b'},  {"|", Opcode::Or, 'b'},
    {"^", Opcode::Xor, 'b'},       {"<<", Opcode::Shl, 's'}, {">>", Opcode::Shr, 's'},
};

struct ComparisonRow {
    std::string_view text;
    Opcode code;
    int when_negative;  // result of signed < 0 OP any uint64
};
constexpr ComparisonRow kComparisons[] = {
    {"==", Opcode::Eq, 0}, {"!=", Opcode::Ne, 1}, {"<", Opcode::Lt, 1},
    {"<=", Opcode::Le, 1}, {">", Opcode::Gt, 0},  {">=", Opcode::Ge, 0},
};

Opcode mirrored(Opcode code) {
    switch (code) {
        case Opcode::Lt: return Opcode::Gt;
        case Opcode::Le: return Opcode::Ge;
        case Opcode::Gt: return Opcode::Lt;
        case Opcode::Ge: return Opcode::Le;
        default: return code;
    }
}

// Whole powers that 64 bits hold.
bool fold_power(std::int64_t base, std::int64_t exponent, Entity& result) {
    if (exponent < 0 || exponent > 64) return false;
    std::int64_t value = 1;
    for (std::int64_t i = 0; i < exponent; ++i) {
        if (__builtin_mul_overflow(value, base, &value)) return false;
    }
    result = Entity::integer(value);
    return true;
}

}  // namespace

Entity Lowering::arithmetic(Opcode code, const Entity& a, const Entity& b, DType type) {
    const ValueId left = as(a, type);
    const ValueId right = as(b, type);
    return Entity::scalar(emit(code, ir::Type::scalar(type), {left, right}), type);
}

DType Lowering::strict_type(const Entity& a, const Entity& b, Span span) {
    const bool literal_a = a.adapts();
    const bool literal_b = b.adapts();
    if (literal_a && literal_b) return promote(a.dtype, b.dtype);
    if (literal_a) return b.dtype;
    if (literal_b || a.dtype == b.dtype) return a.dtype;
    type_error(span, "strict types: " + std::string(name_of(a.dtype)) + " with " + std::string(name_of(b.dtype)));
}

bool Lowering::fold(std::string_view op, const Entity& a, const Entity& b, Entity& result) const {
    if (!a.is(Entity::Kind::Literal) || !b.is(Entity::Kind::Literal)) return false;
    if (a.dtype == DType::UInt64 || b.dtype == DType::UInt64) return false;
    if (op == "/") {
        if (b.float_value == 0) return false;
        result = Entity::floating(a.float_value / b.float_value);
        return true;
    }
    if (is_float(a.dtype) || is_float(b.dtype)) {
        if (op == "+")
            result = Entity::floating(a.float_value + b.float_value);
        else if (op == "-")
            result = Entity::floating(a.float_value - b.float_value);
        else if (op == "*")
            result = Entity::floating(a.float_value * b.float_value);
        else
            return false;
        return true;
    }
    const auto x = static_cast<std::uint64_t>(a.int_value);
    const auto y = static_cast<std::uint64_t>(b.int_value);
    if (op == "+")
        result = Entity::integer(static_cast<std::int64_t>(x + y));
    else if (op == "-")
        result = Entity::integer(static_cast<std::int64_t>(x - y));
    else if (op == "*")
        result = Entity::integer(static_cast<std::int64_t>(x * y));
    else if (op == "<<" && y < 64)
        result = Entity::integer(static_cast<std::int64_t>(x << y));
    else if (op == ">>" && y < 64)
        result = Entity::integer(a.int_value >> y);
    else if (op == "&")
        result = Entity::integer(static_cast<std::int64_t>(x & y));
    else if (op == "|")
        result = Entity::integer(static_cast<std::int64_t>(x | y));
    else if (op == "^")
        result = Entity::integer(static_cast<std::int64_t>(x ^ y));
    else if (op == "**")
        return fold_power(a.int_value, b.int_value, result);
    else if ((op == "//" || op == "%") && b.int_value > 0) {
        const std::int64_t rest = (a.int_value % b.int_value + b.int_value) % b.int_value;
        result =
            Entity::integer(op == "%" ? rest : a.int_value / b.int_value - (a.int_value % b.int_value < 0 ? 1 : 0));
    } else
        return false;
    return true;
}

bool Lowering::checks_division(std::string_view op) const {
    // The library's functions, which are strict, divide as IEEE says.
    return request_.options.debug == DebugLevel::Full && !frame().strict && (op == "/" || op == "//" || op == "%");
}

// A zero ends the thread with an exception, as in Python.
void Lowering::check_divisor(const Entity& divisor, Span span) {
    if (divisor.is(Entity::Kind::Literal) && (divisor.int_value != 0 || divisor.float_value != 0)) return;
    if (!divisor.is_number() && !divisor.is(Entity::Kind::Complex)) return;  // refused by who divides
    ir::Op op;
    op.code = Opcode::If;
    op.line = line_here();
    op.operands = {as(compare("==", divisor, Entity::integer(0), span), DType::Bool)};
    op.regions.resize(2);
    regions_.push_back(&op.regions[0]);
    emit_effect(Opcode::Raise, {}, add_text("[\"ZeroDivisionError\",\"division by zero\"]"));
    emit_effect(Opcode::Return);
    regions_.pop_back();
    emit(std::move(op));
}

Entity Lowering::binary(std::string_view op, const Entity& a, const Entity& b, Span span) {
    if (a.is(Entity::Kind::Tuple) && b.is(Entity::Kind::Tuple) && op == "+") {
        std::vector<Entity> items = a.items;
        items.insert(items.end(), b.items.begin(), b.items.end());
        return Entity::tuple(std::move(items));
    }
    if (checks_division(op)) check_divisor(b, span);
    if (a.is(Entity::Kind::Complex) || b.is(Entity::Kind::Complex)) return complex_binary(op, a, b, span);
    const std::string what = "operand of " + std::string(op);
    const DType type_a = number_type(a, span, what.c_str());
    const DType type_b = number_type(b, span, what.c_str());
    Entity folded;
    if (fold(op, a, b, folded)) return folded;
    if (op == "**") return power(a, b, span);
    for (const OperatorRow& row : kOperators) {
        if (row.text != op) continue;
        DType type = frame().strict ? strict_type(a, b, span) : arithmetic_type(type_a, type_b);
        if (row.kind == 'd') {
            if (!is_float(type)) {
                if (frame().strict) type_error(span, "strict types: / of integers");
                type = DType::Float64;
            }
        } else if (row.kind == 'b' || row.kind == 's') {
            if (is_float(type_a) || is_float(type_b)) {
                type_error(span, "unsupported operand types for " + std::string(op) + ": " +
                                     std::string(name_of(type_a)) + " and " + std::string(name_of(type_b)));
            }
            if (!frame().strict)
                type = row.kind == 'b'       ? bitwise_type(type_a, type_b)
                       : is_unsigned(type_a) ? DType::UInt64
                                             : DType::Int64;
        } else if (row.kind == 'f' && is_float(type)) {
            return call_library(row.code == Opcode::Mod ? "pymod" : "floordiv",
                                {Entity::scalar(as(a, type), type), Entity::scalar(as(b, type), type)}, span);
        }
        return arithmetic(row.code, a, b, type);
    }
    fail(ErrorKind::Unsupported, span, "operator " + std::string(op) + " is not supported in kernels");
}

Entity Lowering::power(const Entity& a, const Entity& b, Span span) {
    const bool whole = !is_float(a.dtype) && !is_float(b.dtype);
    // Small constant exponents are products, as in numba and NumPy.
    const bool small = b.is(Entity::Kind::Literal) && !is_float(b.dtype) && b.int_value >= 0 && b.int_value <= 8;
    if (small && a.is(Entity::Kind::Scalar)) {
        const DType type = frame().strict || is_float(a.dtype) ? a.dtype
                           : is_unsigned(a.dtype)              ? DType::UInt64
                                                               : DType::Int64;
        if (b.int_value == 0) return whole ? Entity::integer(1) : Entity::floating(1);
        const Entity base = Entity::scalar(as(a, type), type);
        Entity result = base;
        bool have = false;
        Entity square = base;
        for (std::int64_t n = b.int_value; n != 0; n >>= 1) {
            if (n & 1) {
                result = have ? arithmetic(Opcode::Mul, result, square, type) : square;
                have = true;
            }
            if (n > 1) square = arithmetic(Opcode::Mul, square, square, type);
        }
        return result;
    }
    if (whole) {
        const DType type = frame().strict                                       ? strict_type(a, b, span)
                           : arithmetic_type(a.dtype, b.dtype) == DType::UInt64 ? DType::UInt64
                                                                                : DType::Int64;
        return call_library("ipow", {Entity::scalar(as(a, type), type), Entity::scalar(as(b, type), type)}, span);
    }
    DType type = frame().strict ? strict_type(a, b, span) : arithmetic_type(a.dtype, b.dtype);
    // float32 ** int literal stays float32, as in numba.
    if (!frame().strict && a.dtype == DType::Float32 && !is_float(b.dtype)) type = DType::Float32;
    return call_library("pow", {Entity::scalar(as(a, type), type), Entity::scalar(as(b, type), type)}, span);
}

Entity Lowering::compare(std::string_view op, const Entity& a, const Entity& b, Span span) {
    if (op == "is" || op == "is_not") {
        const bool same = a.is(Entity::Kind::None) && b.is(Entity::Kind::None);
        if (!a.is(Entity::Kind::None) && !b.is(Entity::Kind::None))
            type_error(span, "'is' compares with None only", "use ==");
        return Entity::boolean(same == (op == "is"));
    }
    if (a.is(Entity::Kind::String) && b.is(Entity::Kind::String) && (op == "==" || op == "!=")) {
        return Entity::boolean((a.text == b.text) == (op == "=="));
    }
    if (a.is(Entity::Kind::Complex) || b.is(Entity::Kind::Complex)) return complex_compare(op, a, b, span);
    const DType type_a = number_type(a, span, "comparison");
    const DType type_b = number_type(b, span, "comparison");
    for (const ComparisonRow& row : kComparisons) {
        if (row.text != op) continue;
        const ir::Type boolean = ir::Type::scalar(DType::Bool);
        const bool mixed =
            (type_a == DType::UInt64 && is_signed(type_b)) || (type_b == DType::UInt64 && is_signed(type_a));
        if (mixed && !frame().strict) {
            // Exact: a negative number is below every unsigned one.
            const bool a_signed = is_signed(type_a);
            const ValueId left = as(a_signed ? a : b, DType::Int64);
            const ValueId right = as(a_signed ? b : a, DType::UInt64);
            const ComparisonRow* turned = &row;
            if (!a_signed) {
                for (const ComparisonRow& other : kComparisons) {
                    if (other.code == mirrored(row.code)) turned = &other;
                }
            }
            const ValueId negative = emit(Opcode::Lt, boolean, {left, constant(DType::Int64, 0)});
            const ValueId cast = emit(Opcode::Cast, ir::Type::scalar(DType::UInt64), {left});
            const ValueId plain = emit(turned->code, boolean, {cast, right});
            const ValueId fixed = constant(DType::Bool, static_cast<std::uint64_t>(turned->when_negative));
            return Entity::scalar(emit(Opcode::Select, boolean, {negative, fixed, plain}), DType::Bool);
        }
        if (a.is(Entity::Kind::Literal) && b.is(Entity::Kind::Literal)) {
            const double x = a.float_value, y = b.float_value;
            switch (row.code) {
                case Opcode::Eq: return Entity::boolean(x == y);
                case Opcode::Ne: return Entity::boolean(x != y);
                case Opcode::Lt: return Entity::boolean(x < y);
                case Opcode::Le: return Entity::boolean(x <= y);
                case Opcode::Gt: return Entity::boolean(x > y);
                default: return Entity::boolean(x >= y);
            }
        }
        const DType type = frame().strict ? strict_type(a, b, span) : comparison_type(type_a, type_b);
        const ValueId left = as(a, type);
        const ValueId right = as(b, type);
        return Entity::scalar(emit(row.code, boolean, {left, right}), DType::Bool);
    }
    fail(ErrorKind::Unsupported, span, "comparison " + std::string(op) + " is not supported in kernels");
}

}  // namespace treadle::frontend
