#include <algorithm>
#include <cstdint>

#include "frontend/lowering.h"
#include "frontend/scan.h"

namespace treadle::frontend {
namespace {

// Whether statements leave the loop that they stand in.
bool jumps(const Node& node) {
    if (node.head == Head::Break || node.head == Head::Continue) return true;
    if (node.is_atom() || node.head == Head::For || node.head == Head::While) return false;
    return std::any_of(node.items.begin(), node.items.end(), jumps);
}

}  // namespace

void Lowering::statements(const std::vector<Node>& nodes) {
    for (const Node& node : nodes) {
        if (terminated()) return;  // what follows a return, break or continue is never reached
        if_typed([&] { statement(node); });
    }
}

void Lowering::statement(const Node& node) {
    if (is_users(frame().function) && node.span.line >= 0) {
        here_ = node.span;
        here_function_ = frame().function;
    }
    switch (node.head) {
        case Head::Set: {
            const Entity value = expression(node.items[1]);
            assign(node.items[0], value);
            break;
        }
        case Head::Aug: {
            const Entity old = expression(node.items[1]);
            const Entity value = binary(node.items[0].atom, old, expression(node.items[2]), node.span);
            assign(node.items[1], value);
            break;
        }
        case Head::If: lower_if(node); break;
        case Head::While: lower_while(node); break;
        case Head::For: lower_for(node); break;
        case Head::Break:
            if (loops_ == 0) type_error(node.span, "break outside a loop");
            emit_effect(Opcode::Break);
            break;
        case Head::Continue:
            if (loops_ == 0) type_error(node.span, "continue outside a loop");
            emit_effect(Opcode::Continue);
            break;
        case Head::Pass: break;
        case Head::Return: lower_return(node); break;
        case Head::Expr: expression(node.items[0]); break;
        case Head::Print: lower_print(node); break;
        case Head::Raise:
            emit_effect(Opcode::Raise, {},
                        add_text("[" + std::string(node.items[0].atom) + "," + std::string(node.items[1].atom) + "]"));
            emit_effect(Opcode::Return);
            break;
        default: fail(ErrorKind::Compile, node.span, "unsupported statement");
    }
}

ir::Region Lowering::branch(const std::vector<Node>& nodes) {
    ir::Region inner;
    regions_.push_back(&inner);
    // Plain names bound inside are not visible after the branch; those that are have variables.
    const auto names = frame().names;
    statements(nodes);
    frame().names = names;
    regions_.pop_back();
    return inner;
}

void Lowering::lower_if(const Node& node) {
    const Entity condition = expression(node.items[0]);
    const std::vector<Node> nothing;
    const std::vector<Node>& orelse = node.items.size() > 2 ? node.items[2].items : nothing;
    if (condition.is(Entity::Kind::Literal) || condition.is(Entity::Kind::None)) {
        // Known when compiled: the other side need not even be well typed.
        const bool taken =
            !condition.is(Entity::Kind::None) && (condition.int_value != 0 || condition.float_value != 0);
        statements(taken ? node.items[1].items : orelse);
        return;
    }
    ir::Op op;
    op.code = Opcode::If;
    op.line = line_here();
    op.operands = {truth(condition, node.items[0].span)};
    op.regions.push_back(branch(node.items[1].items));
    op.regions.push_back(branch(orelse));
    emit(std::move(op));
}

void Lowering::lower_while(const Node& node) {
    ir::Op op;
    op.code = Opcode::Loop;
    op.line = line_here();
    ir::Region condition;
    regions_.push_back(&condition);
    emit_effect(Opcode::Yield, {truth(expression(node.items[0]), node.items[0].span)});
    regions_.pop_back();
    ++loops_;
    ir::Region body = branch(node.items[1].items);
    --loops_;
    op.regions.emplace_back();
    op.regions.push_back(std::move(condition));
    op.regions.push_back(std::move(body));
    op.regions.resize(5);
    emit(std::move(op));
}

void Lowering::lower_for(const Node& node) {
    const Node& iterable = node.items[1];
    if (iterable.head == Head::Call && iterable.items[0].head == Head::Builtin &&
        iterable.items[0].items[0].atom == "range") {
        lower_for_range(node);
        return;
    }
    const Entity items = expression(iterable);
    if (!items.is(Entity::Kind::Tuple)) {
        fail(ErrorKind::Unsupported, iterable.span, "a kernel's for loop runs over range(...) or a tuple",
             "loop over range(len(x)) and index");
    }
    // One body for each item: items may have types of their own.
    if (jumps(node.items[2]))
        fail(ErrorKind::Unsupported, node.span, "a loop over a tuple cannot be left with break or continue",
             "use a condition");
    for (const Entity& item : items.items) {
        if (terminated()) return;
        assign(node.items[0], item);
        statements(node.items[2].items);
    }
}

void Lowering::lower_for_range(const Node& node) {
    const Node& range = node.items[1];
    const std::size_t count = range.items.size() - 1;
    if (count < 1 || count > 3)
        type_error(range.span, "range: expected 1 to 3 arguments, got " + std::to_string(count));
    std::vector<Entity> limits;
    for (std::size_t i = 0; i < count; ++i) {
        limits.push_back(expression(range.items[i + 1]));
        if (is_float(number_type(limits.back(), range.span, "range"))) {
            type_error(range.span, "range: expected integers, got float64", "convert with int(...)");
        }
    }
    const Entity start = count > 1 ? limits[0] : Entity::integer(0);
    const Entity step = count > 2 ? limits[2] : Entity::integer(1);
    bool any_unsigned = true;
    for (const Entity& limit : limits) any_unsigned = any_unsigned && limit.dtype == DType::UInt64;
    const DType dtype = any_unsigned                                       ? DType::UInt64
                        : frame().strict && start.is(Entity::Kind::Scalar) ? start.dtype
                                                                           : DType::Int64;
    const ir::Type type = ir::Type::scalar(dtype);
    const ValueId given_stop = as(limits[count > 1 ? 1 : 0], dtype);
    const bool known_step = step.is(Entity::Kind::Literal);
    if (known_step && step.int_value == 0) type_error(range.span, "range: the step must not be zero");
    const ValueId step_value = known_step ? ir::kNoValue : as(step, dtype);
    const ValueId start_value = as(start, dtype);
    // Steps of one cannot leave the type; longer ones must not pass its end.
    const bool short_step = known_step && (step.int_value == 1 || step.int_value == -1);
    const ValueId by = known_step ? constant(dtype, static_cast<std::uint64_t>(step.int_value)) : step_value;
    const ValueId stop = short_step || frame().strict ? given_stop : reachable_stop(given_stop, by, dtype);
    const std::string name = frame().prefix + "#for" + std::to_string(temporaries_++);
    const Span place = here_;
    const std::int32_t counter = slot(name, type);
    const ir::Type boolean = ir::Type::scalar(DType::Bool);

    ir::Op op;
    op.code = Opcode::Loop;
    op.line = line_here();
    op.regions.resize(5);
    regions_.push_back(&op.regions[0]);
    emit_effect(Opcode::VarSet, {start_value}, counter);
    regions_.back() = &op.regions[1];
    const ValueId now = emit(Opcode::VarGet, type, {}, counter);
    ValueId more;
    if (known_step) {
        more = emit(step.int_value > 0 ? Opcode::Lt : Opcode::Gt, boolean, {now, stop});
    } else {
        const ValueId up = emit(Opcode::Gt, boolean, {step_value, constant(dtype, 0)});
        const ValueId down = emit(Opcode::Lt, boolean, {step_value, constant(dtype, 0)});
        const ValueId below = emit(Opcode::And, boolean, {up, emit(Opcode::Lt, boolean, {now, stop})});
        const ValueId above = emit(Opcode::And, boolean, {down, emit(Opcode::Gt, boolean, {now, stop})});
        more = emit(Opcode::Or, boolean, {below, above});
    }
    emit_effect(Opcode::Yield, {more});
    regions_.back() = &op.regions[2];
    const auto names = frame().names;
    ++loops_;
    assign(node.items[0], Entity::scalar(emit(Opcode::VarGet, type, {}, counter), dtype));
    statements(node.items[2].items);
    --loops_;
    frame().names = names;
    regions_.back() = &op.regions[3];
    here_ = place;
    const ValueId last = emit(Opcode::VarGet, type, {}, counter);
    const ValueId increment = known_step ? constant(dtype, static_cast<std::uint64_t>(step.int_value)) : step_value;
    emit_effect(Opcode::VarSet, {emit(Opcode::Add, type, {last, increment})}, counter);
    regions_.pop_back();
    emit(std::move(op));
}

// The stop of a range, pulled in where the counter would wrap round before it is reached: the loop then ends one step
// early, at most a step's length before the end of the type.
ValueId Lowering::reachable_stop(ValueId stop, ValueId step, DType type) {
    const ir::Type scalar = ir::Type::scalar(type);
    const std::uint64_t most = is_signed(type) ? INT64_MAX : UINT64_MAX;
    const ValueId high = emit(Opcode::Sub, scalar, {constant(type, most), step});
    const ValueId below = emit(Opcode::Min, scalar, {stop, high});
    if (!is_signed(type)) return below;
    const ValueId low = emit(Opcode::Sub, scalar, {constant(type, static_cast<std::uint64_t>(INT64_MIN)), step});
    const ValueId above = emit(Opcode::Max, scalar, {stop, low});
    const ValueId up = emit(Opcode::Gt, ir::Type::scalar(DType::Bool), {step, constant(type, 0)});
    return emit(Opcode::Select, scalar, {up, below, above});
}

void Lowering::lower_return(const Node& node) {
    Entity value = node.items.empty() ? Entity{} : expression(node.items[0]);
    if (const DType declared = frame().syntax->result;
        declared != DType::Count && (frames_.size() > 1 || returns_value_))
        value = convert(value, declared, node.span);
    if (frames_.size() == 1 && !returns_value_) {
        if (!value.is(Entity::Kind::None)) {
            type_error(node.span, "a kernel returns nothing: it writes its results into array arguments",
                       "store the value into an array, or mark the function device=True");
        }
        emit_effect(Opcode::Return);
        return;
    }
    if (!frame().scoped && frames_.size() > 1) {
        frame().result = value;
        // Its line has code of its own, so that a debugger stops there.
        if (request_.options.debug == DebugLevel::Full && is_users(frame().function))
            keep_for_debugger("#result", firm(value), node.span);
        return;
    }
    write_variable(frame().prefix + "#return", value, node.span);
    emit_effect(Opcode::Leave);
}

std::int32_t Lowering::add_text(const std::string& json) {
    // The same text once, as of all divisions by zero.
    const std::size_t known = ("\n" + texts_).find("\n" + json + "\n");
    const auto end = texts_.begin() + static_cast<std::ptrdiff_t>(known == std::string::npos ? texts_.size() : known);
    const auto number = std::count(texts_.begin(), end, '\n');
    if (known == std::string::npos) texts_ += json + "\n";
    return static_cast<std::int32_t>(number);
}

// Pieces of text and values, which the host formats: ["x = ",["float32",".3f"],"\n"]
void Lowering::lower_print(const Node& node) {
    std::string json = "[";
    std::vector<ValueId> values;
    const auto piece = [&](const std::string& text) { json += (json.size() > 1 ? "," : "") + text; };
    const auto add = [&](const auto& self, const Entity& value, const std::string& format, Span span) -> void {
        switch (value.kind) {
            case Entity::Kind::String: piece("\"" + value.text + "\""); return;
            case Entity::Kind::None: piece("\"None\""); return;
            case Entity::Kind::Tuple: {
                piece("\"(\"");
                for (std::size_t i = 0; i < value.items.size(); ++i) {
                    if (i != 0) piece("\", \"");
                    self(self, value.items[i], format, span);
                }
                piece(value.items.size() == 1 ? "\",)\"" : "\")\"");
                return;
            }
            default: break;
        }
        const DType type = number_type(value, span, "print");
        piece("[\"" + std::string(name_of(type)) + "\"," + format + "]");
        values.push_back(firm(value).value);
    };
    for (const Node& item : node.items) {
        const Node& value = item.head == Head::Fmt ? item.items[0] : item;
        add(add, expression(value), item.head == Head::Fmt ? std::string(item.items[1].atom) : "\"\"", item.span);
    }
    emit_effect(Opcode::Print, std::move(values), add_text(json + "]"));
}

void Lowering::assign(const Node& target, const Entity& value) {
    if (target.is_atom()) {
        assign_name(std::string(target.atom), value, target.span);
    } else if (target.head == Head::Item || target.head == Head::Attr) {
        store(target, value);
    } else if (target.head == Head::Tuple) {
        if (!value.is(Entity::Kind::Tuple) || value.items.size() != target.items.size()) {
            type_error(target.span, "cannot unpack " + describe(type_of(value)) + " into " +
                                        std::to_string(target.items.size()) + " names");
        }
        for (std::size_t i = 0; i < target.items.size(); ++i) assign(target.items[i], value.items[i]);
    } else {
        fail(ErrorKind::Compile, target.span, "cannot assign to this",
             "a kernel assigns to names, array elements and fields of records");
    }
}

void Lowering::assign_name(const std::string& name, const Entity& value, Span span) {
    if (frame().variables.count(name) != 0) {
        write_variable(frame().prefix + name, value, span);
    } else {
        frame().names[name] = frame().strict ? value : firm(value);
        if (request_.options.debug == DebugLevel::Full && is_users(frame().function))
            keep_for_debugger(name, frame().names[name], span);
    }
}

// A name that needs no variable gets one that nothing reads; a debugger finds the value there.
void Lowering::keep_for_debugger(const std::string& name, const Entity& value, Span span) {
    const VarType type = type_of(value);
    if (type.kind == VarType::Kind::Unset || type.kind == VarType::Kind::None) return;
    std::string place = frame().prefix + name;
    if (type.kind == VarType::Kind::Array) {
        place += "<" + std::string(name_of(type.dtype)) + ">";
        emit_effect(Opcode::VarSet, {value.value}, slot(place, ir::Type::pointer()));
        return;
    }
    // A name that is given another type later is another variable.
    while (shown_.count(place) != 0 && shown_[place] != type) place += "<>";
    shown_[place] = type;
    write_parts(place, type, value, span);
}

}  // namespace treadle::frontend
