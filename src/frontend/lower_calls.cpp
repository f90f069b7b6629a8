#include <algorithm>
#include <map>
#include <utility>

#include "frontend/library.h"
#include "frontend/lowering.h"
#include "frontend/scan.h"
#include "frontend/typing.h"

namespace treadle::frontend {
namespace {

constexpr Builtin kBuiltins[] = {
#define TREADLE_BUILTIN(text, handler, opcode, min_args, max_args) {text, Handler::handler, opcode, min_args, max_args},
#include "frontend/builtins.def"
#undef TREADLE_BUILTIN
#define TREADLE_ATOMIC(Name, text, operands, types) \
    {"atomic." #text, Handler::Atomic, Opcode::Atomic, 2 + operands, 2 + operands},
#include "ir/atomics.def"
#undef TREADLE_ATOMIC
};

// The type in which the library computes a function of this type.
DType library_type(DType type) { return is_half(type) ? DType::Float32 : type; }

std::string suffix_of(DType type) {
    return is_float(type) ? "f" + std::to_string(bits_of(type)) : std::string(name_of(type));
}

// Whether control can reach the end of a region.
bool falls_through(const ir::Region& region) {
    if (region.empty()) return true;
    const ir::Op& last = region.back();
    if (last.code == Opcode::If) return falls_through(last.regions[0]) || falls_through(last.regions[1]);
    if (last.code == Opcode::Loop) {
        // while True without break: left by return only.
        const ir::Region& condition = last.regions[1];
        bool breaks = false;
        ir::walk(last.regions[2], [&](const ir::Op& op) { breaks = breaks || op.code == Opcode::Break; });
        return breaks || condition.size() != 2 || condition[0].code != Opcode::Const || condition[0].imm == 0;
    }
    return !ir::info(last.code).has('t');
}

}  // namespace

const Builtin* find_builtin(std::string_view text) {
    static const std::map<std::string_view, const Builtin*> index = [] {
        std::map<std::string_view, const Builtin*> rows;
        for (const Builtin& row : kBuiltins) rows[row.text] = &row;
        return rows;
    }();
    const auto found = index.find(text);
    return found == index.end() ? nullptr : found->second;
}

Entity Lowering::call(const Node& node) {
    const Entity callee = expression(node.items[0]);
    std::vector<Entity> args;
    Keywords keywords;
    for (std::size_t i = 1; i < node.items.size(); ++i) {
        const Node& item = node.items[i];
        if (item.head == Head::Kw) {
            keywords.emplace_back(item.items[0].atom, expression(item.items[1]));
        } else {
            args.push_back(expression(item));
        }
    }
    if (callee.is(Entity::Kind::TupleType)) {
        place_keywords(callee.text, callee.names, keywords, args, node.span);
    } else if (callee.builtin != nullptr && callee.builtin->handler == Handler::BlockArray) {
        place_keywords(std::string(callee.builtin->text), {"shape", "dtype"}, keywords, args, node.span);
    } else if (!keywords.empty()) {
        fail(ErrorKind::Unsupported, node.span, "calls of built-in functions in kernels take positional arguments",
             "drop the argument's name");
    }
    call_ = &node;
    switch (callee.kind) {
        case Entity::Kind::Type:
            if (callee.record != nullptr)
                type_error(node.span, "records are not made in kernels",
                           "use an element of cuda.local.array(1, dtype)");
            if (is_complex(callee.dtype)) return make_complex(callee.dtype, args, node.span);
            if (args.size() != 1)
                type_error(node.span, std::string(name_of(callee.dtype)) + ": expected 1 argument, got " +
                                          std::to_string(args.size()));
            return convert(args[0], callee.dtype, node.span);
        case Entity::Kind::Builtin:
            if (callee.builtin != nullptr) return call_builtin(*callee.builtin, std::move(args), node.span);
            return call_library_typed(callee.text, args, node.span);
        case Entity::Kind::TupleType: {
            if (callee.dtype != DType::Count) args = components(callee, args, node.span);
            if (args.size() != callee.names.size())
                type_error(node.span, callee.text + ": expected " + std::to_string(callee.names.size()) +
                                          " arguments, got " + std::to_string(args.size()));
            Entity tuple = Entity::tuple(std::move(args));
            tuple.names = callee.names;
            return tuple;
        }
        case Entity::Kind::Method: return call_method(callee, args, node.span);
        case Entity::Kind::External: return call_external(callee, args, node.span);
        case Entity::Kind::Function: {
            const FunctionSyntax& syntax = program_.at(callee.function);
            args = declared_arguments(syntax, args, node.span);
            if (recursive_[callee.function]) return call_recursive(syntax, callee.function, args, node.span);
            return inline_call(syntax, callee.function, frame().strict, args, node.span);
        }
        default:
            type_error(node.span, "cannot call " + describe(type_of(callee)),
                       "a kernel calls device functions and built-in functions");
    }
}

// Of a vector: numbers and shorter vectors, one after the other, in its own type.
std::vector<Entity> Lowering::components(const Entity& type, const std::vector<Entity>& args, Span span) {
    std::vector<Entity> parts;
    for (const Entity& arg : args) {
        if (arg.is(Entity::Kind::Tuple)) {
            for (const Entity& item : arg.items) parts.push_back(convert(item, type.dtype, span));
        } else {
            parts.push_back(convert(arg, type.dtype, span));
        }
    }
    return parts;
}

// Puts arguments given by name where the callee has them.
void Lowering::place_keywords(const std::string& callee, const std::vector<std::string>& names,
                              const Keywords& keywords, std::vector<Entity>& args, Span span) {
    if (keywords.empty()) return;
    std::vector<bool> given(names.size(), false);
    for (std::size_t i = 0; i < args.size() && i < names.size(); ++i) given[i] = true;
    args.resize(std::max(args.size(), names.size()));
    for (const auto& [name, value] : keywords) {
        const auto at = static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
        if (at == names.size()) type_error(span, callee + ": has no parameter '" + name + "'");
        if (given[at]) type_error(span, callee + ": got two values for parameter '" + name + "'");
        given[at] = true;
        args[at] = value;
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (!given[i]) type_error(span, callee + ": argument '" + names[i] + "' is missing");
    }
}

Entity Lowering::call_builtin(const Builtin& row, std::vector<Entity> args, Span span) {
    const int count = static_cast<int>(args.size());
    if (row.handler != Handler::Index && (count < row.min_args || count > row.max_args)) {
        const std::string expected = row.min_args == row.max_args
                                         ? std::to_string(row.min_args)
                                         : std::to_string(row.min_args) + " to " + std::to_string(row.max_args);
        type_error(span, std::string(row.text) + ": expected " + expected + " arguments, got " + std::to_string(count));
    }
    return call_builtin_by_handler(row, args, span);
}

Entity Lowering::call_builtin_by_handler(const Builtin& row, std::vector<Entity>& args, Span span) {
    switch (row.handler) {
        case Handler::Index: return thread_query(row.opcode, row.min_args);
        case Handler::Grid: return grid(row, args[0], span);
        case Handler::Range: type_error(span, "range is for loops only");
        case Handler::Len:
            if (args[0].is(Entity::Kind::Tuple))
                return Entity::integer(static_cast<std::int64_t>(args[0].items.size()));
            if (!args[0].is(Entity::Kind::Array) || args[0].rank() == 0)
                type_error(span, "len: expected an array or tuple");
            return Entity::scalar(args[0].extent(0), DType::Int64);
        case Handler::Abs: {
            if (args[0].is(Entity::Kind::Complex)) return call_library("hypot", args[0].items, span);
            const DType type = number_type(args[0], span, "abs");
            if (is_unsigned(type) || is_bool(type)) return firm(args[0]);
            return Entity::scalar(emit(Opcode::Abs, ir::Type::scalar(type), {as(args[0], type)}), type);
        }
        case Handler::MinMax: return min_max(row, args, span);
        case Handler::Round: return round(args, span);
        case Handler::Convert:
            return convert(args[0],
                           row.text == "int"     ? DType::Int64
                           : row.text == "float" ? DType::Float64
                                                 : DType::Bool,
                           span);
        case Handler::Power: return binary("**", args[0], args[1], span);
        case Handler::DivMod:
            return Entity::tuple({binary("//", args[0], args[1], span), binary("%", args[0], args[1], span)});
        case Handler::FloatOp: return float_op(row, args, span);
        case Handler::Predicate: return predicate(row, args[0], span);
        case Handler::Library: return call_library(row.text == "gamma" ? "tgamma" : row.text, args, span);
        case Handler::Ldexp: {
            const DType type = math_type(number_type(args[0], span, "ldexp"));
            number_type(args[1], span, "ldexp");
            const DType body = library_type(type);
            const std::vector<Entity> exact = {Entity::scalar(as(args[0], body), body),
                                               Entity::scalar(as(args[1], DType::Int32), DType::Int32)};
            return convert(call_library_typed("ldexp_" + suffix_of(body), exact, span), type, span);
        }
        case Handler::Select: return choose(args[0], args[1], args[2], span);
        case Handler::IntOp: {
            const DType type = args.size() == 2 ? (frame().strict ? strict_type(args[0], args[1], span)
                                                                  : bitwise_type(args[0].dtype, args[1].dtype))
                                                : number_type(args[0], span, row.text.data());
            if (is_float(type) || is_bool(type)) type_error(span, std::string(row.text) + ": expected integers");
            std::vector<ValueId> operands;
            for (const Entity& arg : args) operands.push_back(as(arg, type));
            return Entity::scalar(emit(row.opcode, ir::Type::scalar(type), std::move(operands)), type);
        }
        case Handler::Bitcast: {
            const DType type = dtype_from_name(row.text.substr(row.text.find('_') + 1));
            if (size_of(number_type(args[0], span, "bitcast")) != size_of(type))
                type_error(span, std::string(row.text) + ": sizes differ");
            return Entity::scalar(emit(Opcode::Bitcast, ir::Type::scalar(type), {firm(args[0]).value}), type);
        }
        case Handler::BlockArray: return block_array(row, args, span);
        case Handler::ConstArray:
            if (!args[0].is(Entity::Kind::Array) || args[0].space != ir::Space::Constant)
                type_error(span, "const.array_like: expected a host array known when the kernel is compiled",
                           "name a NumPy array of the module or of the enclosing function");
            return args[0];
        case Handler::Barrier: emit_effect(Opcode::Barrier); return {};
        case Handler::BarrierReduce: {
            const auto kind = row.text == "syncthreads_count" ? ir::BarrierKind::Count
                              : row.text == "syncthreads_and" ? ir::BarrierKind::And
                                                              : ir::BarrierKind::Or;
            const ValueId vote = truth(args[0], span);
            return Entity::scalar(
                emit(Opcode::BarrierReduce, ir::Type::scalar(DType::Int32), {vote}, static_cast<std::int32_t>(kind)),
                DType::Int32);
        }
        case Handler::Fence: {
            const auto kind = row.text == "syncwarp"             ? ir::FenceKind::Warp
                              : row.text == "threadfence"        ? ir::FenceKind::Device
                              : row.text == "threadfence_system" ? ir::FenceKind::System
                                                                 : ir::FenceKind::Block;
            std::vector<ValueId> members;
            if (kind == ir::FenceKind::Warp) {
                if (!args.empty() && is_float(number_type(args[0], span, "syncwarp: mask")))
                    type_error(span, "syncwarp: mask: expected an integer");
                members = {args.empty() ? constant(DType::UInt32, 0xffffffff) : as(args[0], DType::UInt32)};
            }
            emit_effect(Opcode::Fence, members, static_cast<std::int32_t>(kind));
            return {};
        }
        case Handler::Atomic: return atomic(row, args, span);
        case Handler::WarpQuery:
        case Handler::Shuffle:
        case Handler::Vote:
        case Handler::Match: return warp(row, args, span);
        case Handler::Group: return group(row, args, span);
        case Handler::Complex: {
            DType part = DType::Float32;
            for (const Entity& arg : args) {
                const DType own =
                    arg.is(Entity::Kind::Complex) ? part_of(arg.dtype) : number_type(arg, span, "complex");
                if (own != DType::Float32) part = DType::Float64;
            }
            return make_complex(args.empty() ? DType::Complex128 : complex_of(part), args, span);
        }
        case Handler::FindFirst: {
            // One more than the position of the lowest bit set; 0 where there is none.
            const DType type = number_type(args[0], span, "ffs");
            if (is_float(type) || is_bool(type)) type_error(span, "ffs: expected an integer");
            const ir::Type own = ir::Type::scalar(type);
            const ValueId x = as(args[0], type);
            const ValueId none = emit(Opcode::Eq, ir::Type::scalar(DType::Bool), {x, constant(type, 0)});
            const ValueId position = emit(Opcode::Add, own, {emit(Opcode::TrailingZeros, own, {x}), constant(type, 1)});
            const ValueId found = emit(Opcode::Select, own, {none, constant(type, 0), position});
            return convert(Entity::scalar(found, type), size_of(type) == 8 ? DType::Int64 : DType::Int32, span);
        }
    }
    TREADLE_CHECK(false, "builtin without a handler");
}

Entity Lowering::thread_query(Opcode code, int dimension) {
    return Entity::scalar(emit(code, ir::Type::scalar(DType::Int32), {}, dimension), DType::Int32);
}

Entity Lowering::grid(const Builtin& row, const Entity& dims, Span span) {
    if (!dims.is(Entity::Kind::Literal) || dims.int_value < 1 || dims.int_value > 3) {
        type_error(span, std::string(row.text) + ": expected the constant 1, 2 or 3");
    }
    std::vector<Entity> items;
    for (int d = 0; d < dims.int_value; ++d) {
        const Entity extent = thread_query(Opcode::BlockDim, d);
        const Entity block = thread_query(row.opcode == Opcode::GridDim ? Opcode::GridDim : Opcode::BlockIdx, d);
        Entity total = arithmetic(Opcode::Mul, block, extent, DType::Int64);
        if (row.opcode == Opcode::ThreadIdx)
            total = arithmetic(Opcode::Add, total, thread_query(Opcode::ThreadIdx, d), DType::Int64);
        items.push_back(total);
    }
    return items.size() == 1 ? items[0] : Entity::tuple(std::move(items));
}

Entity Lowering::round(const std::vector<Entity>& args, Span span) {
    const DType type = number_type(args[0], span, "round");
    if (!is_float(type)) return firm(args[0]);
    if (args.size() == 2) {
        if (!args[1].is_number() || is_float(args[1].dtype))
            type_error(span, "round: expected an integer number of digits");
        const Entity digits = Entity::scalar(as(args[1], DType::Int64), DType::Int64);
        const Entity exact = Entity::scalar(as(args[0], DType::Float64), DType::Float64);
        return convert(call_library_typed("round_digits_f64", {exact, digits}, span), type, span);
    }
    const ValueId rounded = emit(Opcode::Rint, ir::Type::scalar(type), {as(args[0], type)});
    return Entity::scalar(emit(Opcode::Cast, ir::Type::scalar(DType::Int64), {rounded}), DType::Int64);
}

Entity Lowering::min_max(const Builtin& row, const std::vector<Entity>& args, Span span) {
    Entity result = args[0];
    number_type(result, span, row.text.data());
    for (std::size_t i = 1; i < args.size(); ++i) {
        number_type(args[i], span, row.text.data());
        VarType type = type_of(result);
        unify(type, type_of(args[i]));
        result = arithmetic(row.opcode, result, args[i], type.dtype);
    }
    return result;
}

Entity Lowering::float_op(const Builtin& row, const std::vector<Entity>& args, Span span) {
    DType type = math_type(number_type(args[0], span, row.text.data()));
    for (std::size_t i = 1; i < args.size(); ++i) {
        const DType other = number_type(args[i], span, row.text.data());
        const bool adapts = frame().strict && args[i].adapts();
        if (!adapts) type = frame().strict && args[0].adapts() ? other : arithmetic_type(type, math_type(other));
    }
    std::vector<ValueId> operands;
    for (const Entity& arg : args) operands.push_back(as(arg, type));
    return Entity::scalar(emit(row.opcode, ir::Type::scalar(type), std::move(operands)), type);
}

Entity Lowering::predicate(const Builtin& row, const Entity& x, Span span) {
    const DType type = number_type(x, span, row.text.data());
    if (!is_float(type)) return Entity::boolean(row.text == "isfinite");
    const ir::Type boolean = ir::Type::scalar(DType::Bool);
    const ValueId value = as(x, type);
    if (row.text == "isnan") return Entity::scalar(emit(Opcode::Ne, boolean, {value, value}), DType::Bool);
    const ValueId magnitude = emit(Opcode::Abs, ir::Type::scalar(type), {value});
    const ValueId infinite = literal(Entity::floating(__builtin_inf()), type);
    return Entity::scalar(emit(row.text == "isinf" ? Opcode::Eq : Opcode::Lt, boolean, {magnitude, infinite}),
                          DType::Bool);
}

Entity Lowering::convert(const Entity& value, DType type, Span span) {
    if (is_bool(type)) return Entity::scalar(truth(value, span), DType::Bool);
    number_type(value, span, name_of(type).data());
    return Entity::scalar(as(value, type), type);
}

Entity Lowering::call_library(std::string_view name, const std::vector<Entity>& args, Span span) {
    DType type = DType::Count;
    for (const Entity& arg : args) {
        const DType one = number_type(arg, span, std::string(name).c_str());
        if (frame().strict && arg.adapts() && args.size() > 1) continue;
        const DType wanted = name == "ipow" ? one : math_type(one);
        type = type == DType::Count ? wanted : is_float(wanted) ? arithmetic_type(type, wanted) : wanted;
    }
    if (type == DType::Count) type = DType::Float64;
    const DType body = library_type(type);
    std::vector<Entity> exact;
    for (const Entity& arg : args) exact.push_back(Entity::scalar(as(arg, body), body));
    const Entity result = call_library_typed(std::string(name) + "_" + suffix_of(body), exact, span);
    return type == body || !result.is_number() ? result : convert(result, type, span);
}

Entity Lowering::call_library_typed(std::string_view name, const std::vector<Entity>& args, Span span) {
    static thread_local std::map<std::string, std::vector<FunctionSyntax>, std::less<>> parsed;
    auto entry = parsed.find(name);
    if (entry == parsed.end()) {
        const std::string_view text = library_text(name);
        if (text.empty()) {
            fail(ErrorKind::Unsupported, span, "'" + std::string(name) + "' is not known in kernels",
                 "call device functions (cuda.jit(device=True)), math functions or names of treadle.cuda");
        }
        entry = parsed.emplace(name, parse_program(text)).first;
    }
    return inline_call(entry->second.at(0), request_.sources.size() + program_.size(), true, args, span);
}

Entity Lowering::inline_call(const FunctionSyntax& syntax, std::size_t function, bool strict,
                             const std::vector<Entity>& args, Span span) {
    if (syntax.params.size() != args.size()) {
        type_error(span, syntax.name + ": expected " + std::to_string(syntax.params.size()) + " arguments, got " +
                             std::to_string(args.size()));
    }
    auto frame = std::make_unique<Frame>();
    frame->syntax = &syntax;
    frame->function = function;
    frame->prefix = syntax.name + "#" + std::to_string(calls_++) + "/";
    frame->strict = strict;
    frame->scoped = !syntax.single_exit;
    frame->variables = names_that_need_variables(syntax);
    const Span caller = here_;
    const std::size_t caller_function = here_function_;
    const int loops = std::exchange(loops_, 0);
    frames_.push_back(std::move(frame));
    for (std::size_t i = 0; i < args.size(); ++i) assign_name(syntax.params[i], args[i], span);
    Entity result;
    if (this->frame().scoped) {
        ir::Op scope;
        scope.code = Opcode::Scope;
        scope.regions.resize(1);
        regions_.push_back(&scope.regions[0]);
        statements(syntax.body);
        const std::string name = this->frame().prefix + "#return";
        check_returns(syntax, name, scope.regions[0], span);
        regions_.pop_back();
        emit(std::move(scope));
        if (types_.count(name) != 0) result = read_variable(name, span);
    } else {
        statements(syntax.body);
        result = this->frame().result;
    }
    frames_.pop_back();
    loops_ = loops;
    here_ = caller;
    here_function_ = caller_function;
    return result;
}

// A function whose results are kept in a variable gives a value on every path, or on none.
void Lowering::check_returns(const FunctionSyntax& syntax, const std::string& variable, const ir::Region& body,
                             Span span) {
    const bool gives_value = types_.count(variable) != 0 && types_[variable].type.kind > VarType::Kind::None;
    if (!gives_value || !falls_through(body)) return;
    type_error(syntax.body.empty() ? span : syntax.body.back().span,
               "'" + syntax.name + "' returns a value on one path and nothing on another",
               "return a value on every path");
}

}  // namespace treadle::frontend
