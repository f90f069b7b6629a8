#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "frontend/lowering.h"
#include "frontend/typing.h"

namespace treadle::frontend {
namespace {

bool looks_numeric(std::string_view text) {
    const char first = text[0] == '-' && text.size() > 1 ? text[1] : text[0];
    return (first >= '0' && first <= '9') || text == "inf" || text == "-inf" || text == "nan";
}

}  // namespace

Entity Lowering::expression(const Node& node) {
    switch (node.head) {
        case Head::Atom: return atom(node);
        case Head::Bin: {
            const Entity a = expression(node.items[1]);
            return binary(node.items[0].atom, a, expression(node.items[2]), node.span);
        }
        case Head::Un: return unary(node.items[0].atom, expression(node.items[1]), node.span);
        case Head::And:
        case Head::Or: return noted(node, logical(node));
        case Head::Cmp: return comparison(node);
        case Head::IfExp: return noted(node, conditional(node));
        case Head::Item: return load(node);
        case Head::Attr: return attribute(node);
        case Head::Call: return call(node);
        case Head::Tuple: {
            std::vector<Entity> items;
            for (const Node& item : node.items) items.push_back(expression(item));
            return Entity::tuple(std::move(items));
        }
        case Head::Slice: {
            Entity slice;
            slice.kind = Entity::Kind::Slice;
            for (const Node& item : node.items) slice.items.push_back(expression(item));
            return slice;
        }
        case Head::Builtin: {
            Entity entity;
            const std::string_view name = node.items[0].atom;
            if (const DType type = dtype_from_name(name); type != DType::Count) {
                entity.kind = Entity::Kind::Type;
                entity.dtype = type;
                return entity;
            }
            entity.kind = Entity::Kind::Builtin;
            entity.text = name;
            entity.builtin = find_builtin(name);
            const bool is_value = entity.builtin != nullptr && (entity.builtin->handler == Handler::Index ||
                                                                entity.builtin->opcode == Opcode::LaneId);
            if (is_value) return call_builtin(*entity.builtin, {}, node.span);
            return entity;
        }
        case Head::ConstArray: return constant_array(node);
        case Head::Record: {
            Entity type;
            type.kind = Entity::Kind::Type;
            type.record = records_.of(node);
            return type;
        }
        case Head::TupleType: {
            Entity type;
            type.kind = Entity::Kind::TupleType;
            type.text = node.items[0].atom;
            // A vector type names the type of its components behind its own name.
            const bool is_vector = node.items.size() > 1 && dtype_from_name(node.items[1].atom) != DType::Count;
            if (is_vector) type.dtype = dtype_from_name(node.items[1].atom);
            for (std::size_t i = is_vector ? 2 : 1; i < node.items.size(); ++i)
                type.names.emplace_back(node.items[i].atom);
            return type;
        }
        case Head::External: {
            Entity entity;
            entity.kind = Entity::Kind::External;
            entity.text = node.items[0].atom;
            for (std::size_t i = 1; i < node.items.size(); ++i) entity.names.emplace_back(node.items[i].atom);
            return entity;
        }
        case Head::Function: {
            Entity entity;
            entity.kind = Entity::Kind::Function;
            entity.function = static_cast<std::size_t>(std::atoi(std::string(node.items[0].atom).c_str()));
            return entity;
        }
        default: fail(ErrorKind::Compile, node.span, "unsupported expression");
    }
}

// Keeps the type of a value that control flow chooses: it is unified from both sides.
Entity Lowering::noted(const Node& node, const Entity& value) {
    if (returns_value_ && is_users(frame().function))
        chosen_[{frame().prefix, node.span.line, node.span.column}] = type_of(value);
    return value;
}

Entity Lowering::atom(const Node& node) {
    const std::string_view text = node.atom;
    if (text == "true" || text == "false") return Entity::boolean(text == "true");
    if (text == "none") return {};
    if (text[0] == '"') {
        Entity entity;
        entity.kind = Entity::Kind::String;
        entity.text = text.substr(1, text.size() - 2);
        return entity;
    }
    if (looks_numeric(text)) {
        if (text.find_first_of(".xinpe") != std::string_view::npos)
            return Entity::floating(std::strtod(std::string(text).c_str(), nullptr));
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error == std::errc()) return Entity::integer(value);
        std::uint64_t large = 0;
        if (std::from_chars(text.data(), text.data() + text.size(), large).ec != std::errc()) {
            type_error(node.span, "integer literal " + std::string(text) + " does not fit into 64 bits");
        }
        Entity entity = Entity::integer(static_cast<std::int64_t>(large));
        entity.dtype = DType::UInt64;
        return entity;
    }
    if (frame().variables.count(text) != 0) return read_variable(frame().prefix + std::string(text), node.span);
    const auto name = frame().names.find(text);
    if (name == frame().names.end()) {
        type_error(node.span, "variable '" + std::string(text) + "' is used before anything is assigned to it");
    }
    return name->second;
}

Entity Lowering::attribute(const Node& node) {
    const Entity base = expression(node.items[0]);
    const std::string_view name = node.items[1].atom;
    if (base.is(Entity::Kind::Array)) {
        if (name == "shape") return shape_tuple(base, base.shape);
        if (name == "strides") return shape_tuple(base, base.strides);
        if (name == "ndim") return Entity::integer(static_cast<std::int64_t>(base.rank()));
        if (name == "itemsize") return Entity::integer(base.item_bytes());
        if (name == "size" || name == "nbytes") {
            Entity total = base.rank() == 0 ? Entity::integer(1) : Entity::scalar(base.extent(0), DType::Int64);
            for (std::size_t i = 1; i < base.rank(); ++i) {
                total = arithmetic(Opcode::Mul, total, Entity::scalar(base.extent(i), DType::Int64), DType::Int64);
            }
            return name == "size" ? total
                                  : arithmetic(Opcode::Mul, total, Entity::integer(base.item_bytes()), DType::Int64);
        }
        if (name == "T") {
            Entity view = base;
            const auto first = static_cast<std::ptrdiff_t>(base.fixed.size());
            std::reverse(view.shape.begin() + first, view.shape.end());
            std::reverse(view.strides.begin() + first, view.strides.end());
            if (base.rank() > 1) view.layout = ir::Layout::Any;
            return view;
        }
        if (name == "dtype") {
            Entity type;
            type.kind = Entity::Kind::Type;
            type.dtype = base.dtype;
            type.record = base.record;
            return type;
        }
        if (base.record != nullptr) return part_value(base, find_field(base, name, node.span), node.span);
        type_error(node.span, "arrays in kernels have no attribute '" + std::string(name) + "'",
                   "known: shape, strides, size, ndim, nbytes, itemsize, dtype, T");
    }
    if (base.is(Entity::Kind::Record)) return part_value(base, find_field(base, name, node.span), node.span);
    if (base.is(Entity::Kind::Group)) return bound_method(base, name);
    if (base.is(Entity::Kind::Tuple)) {
        const auto found = std::find(base.names.begin(), base.names.end(), name);
        if (found != base.names.end()) return base.items[static_cast<std::size_t>(found - base.names.begin())];
    }
    if (base.is(Entity::Kind::Complex)) return complex_attribute(base, name, node.span);
    if (base.is_number()) {
        if (name == "real") return base;
        if (name == "imag") return Entity::scalar(constant(base.dtype, 0), base.dtype);
        if (name == "conjugate") return bound_method(base, name);
    }
    type_error(node.span, "no attribute '" + std::string(name) + "' on " + describe(type_of(base)));
}

// Cheap, without effects and without anything that could fault: may be computed though the other side is chosen.
bool Lowering::is_simple(const Node& node) const {
    switch (node.head) {
        case Head::Atom: return true;
        case Head::Bin:
            return node.items[0].atom != "**" && !checks_division(node.items[0].atom) && is_simple(node.items[1]) &&
                   is_simple(node.items[2]);
        case Head::Un: return is_simple(node.items[1]);
        case Head::Cmp:
        case Head::And:
        case Head::Or:
            for (const Node& item : node.items) {
                if (!is_simple(item)) return false;
            }
            return true;
        case Head::Call: {
            if (node.items[0].head != Head::Builtin) return false;
            const std::string_view name = node.items[0].items[0].atom;
            const Builtin* row = find_builtin(name);
            const bool cheap =
                dtype_from_name(name) != DType::Count ||
                (row != nullptr &&
                 (row->handler == Handler::Abs || row->handler == Handler::MinMax || row->handler == Handler::Convert ||
                  row->handler == Handler::Predicate || row->handler == Handler::Bitcast));
            for (std::size_t i = 1; i < node.items.size(); ++i) {
                if (!is_simple(node.items[i])) return false;
            }
            return cheap;
        }
        case Head::Attr: {
            // A field of a record lies in memory.
            const Node* base = &node.items[0];
            while (base->head == Head::Attr) base = &base->items[0];
            if (!base->is_atom()) return base->head == Head::Builtin;
            if (frame().variables.count(base->atom) != 0) {
                const auto variable = types_.find(frame().prefix + std::string(base->atom));
                return variable == types_.end() || variable->second.type.kind != VarType::Kind::Record;
            }
            const auto name = frame().names.find(base->atom);
            return name == frame().names.end() || !name->second.is(Entity::Kind::Record);
        }
        case Head::Builtin: return true;
        default: return false;
    }
}

Entity Lowering::logical(const Node& node) {
    Entity result = expression(node.items[0]);
    for (std::size_t i = 1; i < node.items.size(); ++i) {
        const bool is_and = node.head == Head::And;
        if (result.is(Entity::Kind::Literal) || result.is(Entity::Kind::None)) {
            const bool value = !result.is(Entity::Kind::None) && (result.int_value != 0 || result.float_value != 0);
            if (value == is_and) result = expression(node.items[i]);
            continue;
        }
        const ValueId condition = truth(result, node.span);
        if (is_simple(node.items[i])) {
            const Entity other = expression(node.items[i]);
            if (result.is_number() && is_bool(result.dtype) && other.is_number() && is_bool(other.dtype)) {
                result = arithmetic(is_and ? Opcode::And : Opcode::Or, result, other, DType::Bool);
            } else {
                const Entity test = Entity::scalar(condition, DType::Bool);
                result = is_and ? choose(test, other, result, node.span) : choose(test, result, other, node.span);
            }
            continue;
        }
        const std::string name = frame().prefix + "#and" + std::to_string(temporaries_++);
        write_variable(name, result, node.span);
        ir::Op op;
        op.code = Opcode::If;
        op.line = line_here();
        op.operands = {condition};
        op.regions.resize(2);
        regions_.push_back(&op.regions[is_and ? 0 : 1]);
        write_variable(name, expression(node.items[i]), node.span);
        regions_.pop_back();
        emit(std::move(op));
        result = read_variable(name, node.span);
    }
    return result;
}

Entity Lowering::comparison(const Node& node) { return comparison_chain(node, 1, expression(node.items[0])); }

// The part of a chained comparison from operator item on, its left side being known. What is right of a false part is
// not evaluated.
Entity Lowering::comparison_chain(const Node& node, std::size_t item, const Entity& left) {
    const Entity right = expression(node.items[item + 1]);
    const Entity first = compare(node.items[item].atom, left, right, node.span);
    if (item + 2 >= node.items.size()) return first;
    if (first.is(Entity::Kind::Literal)) return first.int_value != 0 ? comparison_chain(node, item + 2, right) : first;
    bool simple = true;
    for (std::size_t i = item + 3; i < node.items.size(); i += 2) simple = simple && is_simple(node.items[i]);
    if (simple) {
        const Entity rest = comparison_chain(node, item + 2, right);
        return arithmetic(Opcode::And, first, Entity::scalar(truth(rest, node.span), DType::Bool), DType::Bool);
    }
    const std::string name = frame().prefix + "#chain" + std::to_string(temporaries_++);
    write_variable(name, first, node.span);
    ir::Op op;
    op.code = Opcode::If;
    op.line = line_here();
    op.operands = {first.value};
    op.regions.resize(2);
    regions_.push_back(&op.regions[0]);
    write_variable(name, Entity::scalar(truth(comparison_chain(node, item + 2, right), node.span), DType::Bool),
                   node.span);
    regions_.pop_back();
    emit(std::move(op));
    return read_variable(name, node.span);
}

Entity Lowering::conditional(const Node& node) {
    const Entity condition = expression(node.items[0]);
    if (condition.is(Entity::Kind::Literal) || condition.is(Entity::Kind::None)) {
        const bool taken =
            !condition.is(Entity::Kind::None) && (condition.int_value != 0 || condition.float_value != 0);
        return expression(node.items[taken ? 1 : 2]);
    }
    if (is_simple(node.items[1]) && is_simple(node.items[2])) {
        const Entity a = expression(node.items[1]);
        const Entity b = expression(node.items[2]);
        if (a.is_number() && b.is_number())
            return choose(Entity::scalar(truth(condition, node.span), DType::Bool), a, b, node.span);
    }
    const std::string name = frame().prefix + "#ifexp" + std::to_string(temporaries_++);
    ir::Op op;
    op.code = Opcode::If;
    op.line = line_here();
    op.operands = {truth(condition, node.items[0].span)};
    op.regions.resize(2);
    int untyped = 0;
    for (std::size_t side = 0; side < 2; ++side) {
        const Node& value = node.items[1 + side];
        regions_.push_back(&op.regions[side]);
        untyped += !if_typed([&] { write_variable(name, expression(value), value.span); });
        regions_.pop_back();
    }
    emit(std::move(op));
    if (untyped == 2) throw NotTyped{};
    return read_variable(name, node.span);
}

Entity Lowering::choose(const Entity& condition, const Entity& a, const Entity& b, Span span) {
    if (a.is(Entity::Kind::Complex) || b.is(Entity::Kind::Complex)) {
        const DType dtype = common_complex(a, b, span);
        const Entity x = as_complex(a, dtype, span);
        const Entity y = as_complex(b, dtype, span);
        return complex_number(choose(condition, x.items[0], y.items[0], span),
                              choose(condition, x.items[1], y.items[1], span), dtype);
    }
    number_type(a, span, "conditional value");
    number_type(b, span, "conditional value");
    VarType type = type_of(a);
    unify(type, type_of(b));
    const ir::Type result = ir::Type::scalar(type.dtype);
    return Entity::scalar(emit(Opcode::Select, result, {truth(condition, span), as(a, type.dtype), as(b, type.dtype)}),
                          type.dtype);
}

Entity Lowering::unary(std::string_view op, const Entity& a, Span span) {
    if (a.is(Entity::Kind::Complex)) return complex_unary(op, a, span);
    if (op == "not") {
        if (a.is(Entity::Kind::Literal)) return Entity::boolean(a.int_value == 0 && a.float_value == 0);
        return Entity::scalar(emit(Opcode::Not, ir::Type::scalar(DType::Bool), {truth(a, span)}), DType::Bool);
    }
    const DType type = number_type(a, span, "operand");
    if (op == "+") return a;
    if (op == "-") {
        if (a.is(Entity::Kind::Literal))
            return is_float(type) ? Entity::floating(-a.float_value) : Entity::integer(-a.int_value);
        const DType wide = frame().strict || is_float(type) ? type : is_unsigned(type) ? DType::UInt64 : DType::Int64;
        // As numba: negated in its own type, then widened.
        const Entity negated = Entity::scalar(emit(Opcode::Neg, ir::Type::scalar(type), {as(a, type)}), type);
        return Entity::scalar(as(negated, wide), wide);
    }
    if (is_float(type)) type_error(span, "bad operand type for unary ~: " + std::string(name_of(type)));
    if (a.is(Entity::Kind::Literal)) return Entity::integer(~a.int_value);
    const DType wide = frame().strict || is_bool(type) ? type : is_unsigned(type) ? DType::UInt64 : DType::Int64;
    return Entity::scalar(emit(Opcode::Not, ir::Type::scalar(wide), {as(a, wide)}), wide);
}

}  // namespace treadle::frontend
