// Complex numbers: pairs of real values from here on. The IR knows none, so that every part is a value with a shape of
// its own.
#include <array>
#include <utility>

#include "frontend/lowering.h"
#include "frontend/typing.h"

namespace treadle::frontend {

Entity Lowering::complex_number(const Entity& real, const Entity& imaginary, DType dtype) {
    const DType part = part_of(dtype);
    Entity entity;
    entity.kind = Entity::Kind::Complex;
    entity.dtype = dtype;
    entity.items = {Entity::scalar(as(real, part), part), Entity::scalar(as(imaginary, part), part)};
    return entity;
}

// A number or a complex one as a complex type.
Entity Lowering::as_complex(const Entity& value, DType dtype, Span span) {
    if (value.is(Entity::Kind::Complex)) return complex_number(value.items[0], value.items[1], dtype);
    number_type(value, span, name_of(dtype).data());
    return complex_number(value, Entity::floating(0), dtype);
}

// The type in which two operands meet, one of them complex.
DType Lowering::common_complex(const Entity& a, const Entity& b, Span span) const {
    const auto part = [&](const Entity& one) {
        if (one.is(Entity::Kind::Complex)) return part_of(one.dtype);
        return number_type(one, span, "operand");
    };
    DType type = part(a);
    if (frame().strict && a.adapts()) {
        type = part(b);
    } else if (!frame().strict || !b.adapts()) {
        type = arithmetic_type(math_type(type), part(b));
    }
    return type == DType::Float64 ? DType::Complex128 : DType::Complex64;
}

Entity Lowering::complex_binary(std::string_view op, const Entity& left, const Entity& right, Span span) {
    const DType dtype = common_complex(left, right, span);
    const DType type = part_of(dtype);
    const Entity a = as_complex(left, dtype, span);
    const Entity b = as_complex(right, dtype, span);
    const auto add = [&](const Entity& x, const Entity& y) { return arithmetic(Opcode::Add, x, y, type); };
    const auto sub = [&](const Entity& x, const Entity& y) { return arithmetic(Opcode::Sub, x, y, type); };
    const auto mul = [&](const Entity& x, const Entity& y) { return arithmetic(Opcode::Mul, x, y, type); };
    const Entity &ar = a.items[0], &ai = a.items[1], &br = b.items[0], &bi = b.items[1];
    if (op == "+") return complex_number(add(ar, br), add(ai, bi), dtype);
    if (op == "-") return complex_number(sub(ar, br), sub(ai, bi), dtype);
    if (op == "*") return complex_number(sub(mul(ar, br), mul(ai, bi)), add(mul(ar, bi), mul(ai, br)), dtype);
    if (op == "/") {
        // Smith's method (Communications of the ACM 5, 1962): the quotient of the smaller part by the larger one, so
        // that nothing overflows on the way.
        const ir::Type scalar = ir::Type::scalar(type);
        const auto abs = [&](const Entity& x) { return emit(Opcode::Abs, scalar, {x.value}); };
        const ValueId swap = emit(Opcode::Lt, ir::Type::scalar(DType::Bool), {abs(br), abs(bi)});
        const auto pick = [&](const Entity& x, const Entity& y) {
            return Entity::scalar(emit(Opcode::Select, scalar, {swap, x.value, y.value}), type);
        };
        const Entity large = pick(bi, br), small = pick(br, bi);
        const Entity ratio = arithmetic(Opcode::Div, small, large, type);
        const Entity scale = arithmetic(Opcode::Div, Entity::floating(1), add(large, mul(small, ratio)), type);
        const Entity x = pick(ai, ar), y = pick(ar, ai);
        const Entity real = add(x, mul(y, ratio));
        const Entity straight = sub(ai, mul(ar, ratio));
        const Entity crossed = sub(mul(ai, ratio), ar);
        return complex_number(mul(real, scale), mul(pick(crossed, straight), scale), dtype);
    }
    if (op == "**") return complex_power(a, right, span);
    type_error(span, "unsupported operand types for " + std::string(op) + ": complex numbers have + - * / ** and ==");
}

// Small constant whole exponents are products; others go by the exponential of a logarithm.
Entity Lowering::complex_power(const Entity& base, const Entity& exponent, Span span) {
    constexpr std::int64_t kMostProducts = 64;
    if (exponent.is(Entity::Kind::Literal) && !is_float(exponent.dtype) &&
        std::abs(exponent.int_value) <= kMostProducts) {
        Entity result = complex_number(Entity::floating(1), Entity::floating(0), base.dtype);
        Entity square = base;
        for (std::int64_t n = std::abs(exponent.int_value); n != 0; n >>= 1) {
            if (n & 1) result = complex_binary("*", result, square, span);
            if (n > 1) square = complex_binary("*", square, square, span);
        }
        if (exponent.int_value < 0) return complex_binary("/", Entity::integer(1), result, span);
        return result;
    }
    const DType type = part_of(base.dtype);
    const Entity power = as_complex(exponent, base.dtype, span);
    const Entity& real = base.items[0];
    const Entity& imaginary = base.items[1];
    const Entity size = call_library("hypot", {real, imaginary}, span);
    const Entity log =
        complex_number(call_library("log", {size}, span), call_library("atan2", {imaginary, real}, span), base.dtype);
    const Entity product = complex_binary("*", power, log, span);
    const Entity scale = call_library("exp", {product.items[0]}, span);
    const Entity cosine = call_library("cos", {product.items[1]}, span);
    const Entity sine = call_library("sin", {product.items[1]}, span);
    // Zero to any power but zero is zero.
    const ValueId zero =
        emit(Opcode::Eq, ir::Type::scalar(DType::Bool), {size.value, literal(Entity::floating(0), type)});
    const auto part = [&](const Entity& direction) {
        const Entity value = arithmetic(Opcode::Mul, scale, direction, type);
        return Entity::scalar(
            emit(Opcode::Select, ir::Type::scalar(type), {zero, literal(Entity::floating(0), type), value.value}),
            type);
    };
    return complex_number(part(cosine), part(sine), base.dtype);
}

Entity Lowering::complex_compare(std::string_view op, const Entity& left, const Entity& right, Span span) {
    if (op != "==" && op != "!=") type_error(span, "complex numbers have no order: only == and != compare them");
    const DType dtype = common_complex(left, right, span);
    const Entity a = as_complex(left, dtype, span);
    const Entity b = as_complex(right, dtype, span);
    const ir::Type boolean = ir::Type::scalar(DType::Bool);
    const Opcode one = op == "==" ? Opcode::Eq : Opcode::Ne;
    const ValueId real = emit(one, boolean, {a.items[0].value, b.items[0].value});
    const ValueId imaginary = emit(one, boolean, {a.items[1].value, b.items[1].value});
    return Entity::scalar(emit(op == "==" ? Opcode::And : Opcode::Or, boolean, {real, imaginary}), DType::Bool);
}

Entity Lowering::complex_unary(std::string_view op, const Entity& a, Span span) {
    if (op == "+") return a;
    if (op == "not")
        return Entity::scalar(emit(Opcode::Not, ir::Type::scalar(DType::Bool), {truth(a, span)}), DType::Bool);
    if (op != "-") type_error(span, "bad operand type for unary ~: " + std::string(name_of(a.dtype)));
    return complex_number(unary("-", a.items[0], span), unary("-", a.items[1], span), a.dtype);
}

// complex(a), complex(a, b), complex64(...): b times i is added.
Entity Lowering::make_complex(DType dtype, const std::vector<Entity>& args, Span span) {
    if (args.size() > 2)
        type_error(span,
                   std::string(name_of(dtype)) + ": expected 1 or 2 arguments, got " + std::to_string(args.size()));
    if (args.empty()) return complex_number(Entity::floating(0), Entity::floating(0), dtype);
    if (args.size() == 1) return as_complex(args[0], dtype, span);
    for (const Entity& arg : args) number_type(arg, span, name_of(dtype).data());
    return complex_number(args[0], args[1], dtype);
}

Entity Lowering::complex_attribute(const Entity& value, std::string_view name, Span span) {
    if (name == "real") return value.items[0];
    if (name == "imag") return value.items[1];
    if (name == "conjugate") return bound_method(value, name);
    type_error(span, "no attribute '" + std::string(name) + "' on a complex number", "known: real, imag, conjugate()");
}

Entity Lowering::bound_method(const Entity& self, std::string_view name) const {
    Entity method;
    method.kind = Entity::Kind::Method;
    method.text = name;
    method.items = {self};
    return method;
}

Entity Lowering::call_method(const Entity& method, const std::vector<Entity>& args, Span span) {
    const Entity& self = method.items[0];
    if (self.is(Entity::Kind::Group)) return group_method(self, method.text, args, span);
    if (!args.empty()) type_error(span, method.text + ": expected no arguments, got " + std::to_string(args.size()));
    if (!self.is(Entity::Kind::Complex)) return self;  // a real number is its own conjugate
    return complex_number(self.items[0], unary("-", self.items[1], span), self.dtype);
}

}  // namespace treadle::frontend
