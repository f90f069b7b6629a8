// Functions that call themselves, directly or through others: they have code of their own in the kernel's list, once
// for each list of argument types, and calls of them are operations. What such a function returns is typed by the paths
// that do not call it: a statement that needs the type before it is known is left out, and the next pass lowers it.
#include <utility>

#include "frontend/lowering.h"
#include "frontend/scan.h"
#include "frontend/typing.h"

namespace treadle::frontend {
namespace {

constexpr std::size_t kMostInstances = 64;

void note_functions(const Node& node, std::set<std::size_t>& found) {
    if (node.head == Head::Function)
        found.insert(static_cast<std::size_t>(std::stoul(std::string(node.items[0].atom))));
    for (const Node& item : node.items) note_functions(item, found);
}

}  // namespace

void Lowering::find_recursive() {
    std::vector<std::set<std::size_t>> names(program_.size());
    for (std::size_t i = 0; i < program_.size(); ++i) {
        for (const Node& statement : program_[i].body) note_functions(statement, names[i]);
    }
    recursive_.assign(program_.size(), false);
    for (std::size_t start = 0; start < program_.size(); ++start) {
        std::set<std::size_t> reached;
        std::vector<std::size_t> open(names[start].begin(), names[start].end());
        while (!open.empty()) {
            const std::size_t at = open.back();
            open.pop_back();
            if (reached.insert(at).second) open.insert(open.end(), names[at].begin(), names[at].end());
        }
        recursive_[start] = reached.count(start) != 0;
    }
}

// Lowers a path, or leaves it out where its types are not known yet: other paths tell them, and the next pass knows.
bool Lowering::if_typed(const std::function<void()>& lower_path) {
    const std::size_t frames = frames_.size(), regions = regions_.size();
    const int loops = loops_;
    try {
        lower_path();
        return true;
    } catch (const NotTyped&) {
        frames_.resize(frames);
        regions_.resize(regions);
        loops_ = loops;
        emit_effect(Opcode::Return);
        return false;
    }
}

std::vector<Entity> Lowering::declared_arguments(const FunctionSyntax& syntax, const std::vector<Entity>& args,
                                                 Span span) {
    std::vector<Entity> converted = args;
    for (std::size_t i = 0; i < args.size() && i < syntax.types.size(); ++i) {
        if (syntax.types[i] != DType::Count) converted[i] = convert(args[i], syntax.types[i], span);
    }
    return converted;
}

Entity Lowering::call_recursive(const FunctionSyntax& syntax, std::size_t function, const std::vector<Entity>& args,
                                Span span) {
    if (syntax.params.size() != args.size()) {
        type_error(span, syntax.name + ": expected " + std::to_string(syntax.params.size()) + " arguments, got " +
                             std::to_string(args.size()));
    }
    if (function == 0 && !returns_value_) {
        fail(ErrorKind::Unsupported, span, "'" + syntax.name + "' calls itself, which a kernel cannot",
             "make a device function of the part that does");
    }
    std::vector<Entity> firm_args;
    std::vector<VarType> types;
    for (std::size_t i = 0; i < args.size(); ++i) {
        firm_args.push_back(firm(args[i]));
        types.push_back(type_of(firm_args.back()));
        if (types.back().kind == VarType::Kind::Unset) {
            type_error(span, "argument '" + syntax.params[i] + "' of '" + syntax.name +
                                 "', which calls itself: expected a number, a tuple, an array or a record");
        }
    }
    const std::size_t number = instance_of(syntax, function, types, span);
    lower_instance(number, span);
    const std::string variable = instances_[number].prefix + "#return";
    const auto known = types_.find(variable);
    if (syntax.gives_value && (known == types_.end() || known->second.type.kind == VarType::Kind::Unset)) {
        is_untyped_ = true;
        untyped_call_ = span;
        untyped_function_ = frame().function;
        untyped_name_ = syntax.name;
        throw NotTyped{};
    }
    std::vector<ValueId> operands;
    for (std::size_t i = 0; i < firm_args.size(); ++i) {
        take_apart(types[i], firm_args[i], span,
                   [&](const std::string&, ir::Type, ValueId value) { operands.push_back(value); });
    }
    const ir::Type boolean = ir::Type::scalar(DType::Bool);
    const ValueId ended = emit(Opcode::Call, boolean, std::move(operands), static_cast<std::int32_t>(number));
    std::int32_t next = 0;
    Entity result;
    if (known != types_.end()) {
        result = put_together(known->second.type, [&](const std::string&, ir::Type type) {
            return emit(Opcode::CallResult, type, {ended}, next++);
        });
    }
    // A thread that ended in there ends here as well.
    ir::Op leave;
    leave.code = Opcode::If;
    leave.operands = {ended};
    leave.regions.resize(2);
    regions_.push_back(&leave.regions[0]);
    emit_effect(Opcode::Return);
    regions_.pop_back();
    emit(std::move(leave));
    return result;
}

std::size_t Lowering::instance_of(const FunctionSyntax& syntax, std::size_t function, const std::vector<VarType>& types,
                                  Span span) {
    for (std::size_t i = 0; i < instances_.size(); ++i) {
        if (instances_[i].syntax == &syntax && instances_[i].params == types) return i;
    }
    if (instances_.size() == kMostInstances) {
        type_error(
            span,
            "'" + syntax.name + "' is called with arguments of more than " + std::to_string(kMostInstances) + " types",
            "keep the types of its arguments, or declare them");
    }
    const std::size_t number = instances_.size();
    Instance instance{&syntax, function, types, syntax.name + "." + std::to_string(number) + "/"};
    if (syntax.result != DType::Count) {
        VarType& result = types_[instance.prefix + "#return"].type;
        result.kind = VarType::Kind::Scalar;
        result.dtype = syntax.result;
    }
    instances_.push_back(std::move(instance));
    callees_.resize(instances_.size());
    return number;
}

// The code of a function for one list of types, unless this pass has it or is about to.
void Lowering::lower_instance(std::size_t number, Span span) {
    if (instances_[number].is_lowered) return;
    instances_[number].is_lowered = true;
    const Instance instance = instances_[number];  // calls inside may add others
    const FunctionSyntax& syntax = *instance.syntax;
    ir::Function own;
    own.name = syntax.name;
    own.is_called = true;
    own.bounds = function_.bounds;
    own.contract = function_.contract;
    own.fastmath = function_.fastmath;
    std::swap(own, function_);
    const auto outer_slots = std::exchange(slots_, {});
    const auto outer_constants = std::exchange(constants_, {});
    const auto outer_regions = std::exchange(regions_, {});
    const int outer_loops = std::exchange(loops_, 0);
    const Span caller = here_;
    const std::size_t caller_function = here_function_;

    auto frame = std::make_unique<Frame>();
    frame->syntax = &syntax;
    frame->function = instance.function;
    frame->prefix = instance.prefix;
    frame->strict = frames_.back()->strict;
    frame->scoped = true;
    frame->variables = names_that_need_variables(syntax);
    frames_.push_back(std::move(frame));
    ir::Region body;
    ir::Op scope;
    scope.code = Opcode::Scope;
    scope.regions.resize(1);
    regions_ = {&body};
    for (std::size_t i = 0; i < instance.params.size(); ++i) {
        const Entity argument = put_together(instance.params[i], [&](const std::string&, ir::Type type) {
            function_.params.push_back(type);
            return emit(Opcode::Param, type, {}, static_cast<std::int32_t>(function_.params.size() - 1));
        });
        assign_name(syntax.params[i], argument, span);
    }
    regions_.push_back(&scope.regions[0]);
    statements(syntax.body);
    const std::string variable = instance.prefix + "#return";
    check_returns(syntax, variable, scope.regions[0], span);
    regions_.pop_back();
    emit(std::move(scope));
    const auto result = types_.find(variable);
    if (result != types_.end()) {
        put_together(result->second.type, [&](const std::string& part, ir::Type type) {
            function_.results.push_back(slot(variable + part, type));
            return ir::kNoValue;
        });
    }
    frames_.pop_back();
    function_.body = std::move(body);
    std::swap(own, function_);
    callees_[number] = std::move(own);
    slots_ = outer_slots;
    constants_ = outer_constants;
    regions_ = outer_regions;
    loops_ = outer_loops;
    here_ = caller;
    here_function_ = caller_function;
}

}  // namespace treadle::frontend
