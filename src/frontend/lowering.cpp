#include "frontend/lowering.h"

#include "frontend/scan.h"

namespace treadle::frontend {

Lowering::Lowering(const CompileRequest& request, bool returns_value)
    : request_(request),
      diagnostics_(request.sources),
      program_(parse_program(request.program)),
      returns_value_(returns_value) {
    const FunctionSyntax& kernel = program_.at(0);
    if (kernel.params.size() != request.args.size()) {
        throw Error(ErrorKind::Type, "[" + kernel.name + "] expected " + std::to_string(kernel.params.size()) +
                                         " arguments, got " + std::to_string(request.args.size()));
    }
}

ir::Function Lowering::run() {
    find_recursive();
    // Each pass can only widen types, so a handful is enough; more means that unify is not monotonic.
    for (int i = 0; i < 20; ++i) {
        const std::size_t known = types_.size();
        changed_ = false;
        ir::Function function = pass();
        if (is_untyped_ && !changed_ && types_.size() == known) {
            diagnostics_.fail(ErrorKind::Typing, untyped_function_, untyped_call_,
                              "the type of what '" + untyped_name_ + "' returns cannot be told from its other returns",
                              "declare it, as in @cuda.jit('int64(int64)', device=True)");
        }
        if (!changed_ && !is_untyped_) return function;
    }
    TREADLE_CHECK(false, "types of " + program_[0].name + " do not settle");
}

ir::Function Lowering::pass() {
    function_ = {};
    frames_.clear();
    slots_.clear();
    shared_places_.clear();
    constants_.clear();
    extents_.clear();
    chosen_.clear();
    shown_.clear();
    callees_.assign(instances_.size(), {});
    for (Instance& instance : instances_) instance.is_lowered = false;
    is_untyped_ = false;
    shared_bytes_ = 0;
    texts_.clear();
    calls_ = temporaries_ = loops_ = 0;
    const FunctionSyntax& kernel = program_[0];
    function_.name = kernel.name;
    function_.bounds = request_.options.bounds;
    function_.contract = request_.options.contract;
    function_.fastmath = request_.options.fastmath;
    ir::Region body;
    regions_ = {&body};
    auto frame = std::make_unique<Frame>();
    frame->syntax = &kernel;
    frame->function = 0;
    frame->strict = request_.options.strict_types;
    frame->scoped = false;
    frame->variables = names_that_need_variables(kernel);
    frames_.push_back(std::move(frame));
    for (std::size_t i = 0; i < kernel.params.size(); ++i)
        assign_name(kernel.params[i], parameter(request_.args[i]), {});
    statements(kernel.body);
    function_.body = std::move(body);
    function_.callees = std::move(callees_);
    function_.texts = std::move(texts_);
    function_.shared_bytes = shared_bytes_;
    for (ir::Function& callee : function_.callees) callee.shared_bytes = shared_bytes_;
    return std::move(function_);
}

Entity Lowering::parameter(const ArgType& type) {
    const auto next = [&](ir::Type part) {
        function_.params.push_back(part);
        return emit(Opcode::Param, part, {}, static_cast<std::int32_t>(function_.params.size() - 1));
    };
    if (type.kind == ArgType::Kind::None) return {};
    if (type.kind == ArgType::Kind::Tuple) {
        std::vector<Entity> items;
        for (const ArgType& item : type.items) items.push_back(parameter(item));
        Entity tuple = Entity::tuple(std::move(items));
        tuple.names = type.names;
        return tuple;
    }
    if (type.kind == ArgType::Kind::Scalar && is_complex(type.dtype)) {
        const DType part = part_of(type.dtype);
        const Entity real = Entity::scalar(next(ir::Type::scalar(part)), part);
        return complex_number(real, Entity::scalar(next(ir::Type::scalar(part)), part), type.dtype);
    }
    if (type.kind == ArgType::Kind::Scalar) return Entity::scalar(next(ir::Type::scalar(type.dtype)), type.dtype);
    const ValueId pointer = next(ir::Type::pointer());
    if (!type.record.empty() && type.rank == 0) return record_parameter(type, pointer);
    Entity array;
    array.kind = Entity::Kind::Array;
    array.dtype = type.dtype;
    array.layout = type.layout;
    array.value = pointer;
    const std::string& equal = request_.options.equal_extents;
    for (int i = 0; i < type.rank; ++i) {
        const std::size_t number = extents_.size();
        const std::size_t first = number < equal.size() ? static_cast<unsigned char>(equal[number]) : number;
        const ValueId own = next(ir::Type::scalar(DType::Int64));
        extents_.push_back(first < number ? extents_[first] : own);
        array.shape.push_back(extents_.back());
    }
    for (int i = 0; i < type.rank; ++i) array.strides.push_back(next(ir::Type::scalar(DType::Int64)));
    if (type.record.empty()) return array;
    array.record = records_.of(type.record);
    array.align = align_of_distance(array.record->size_bytes);
    // A layout tells of numbers; here what it says of the last axis is a constant.
    const bool is_dense = type.layout == ir::Layout::Dense || type.layout == ir::Layout::InnerDense;
    if (is_dense) array.strides.back() = constant(DType::Int64, array.record->size_bytes);
    array.layout = ir::Layout::Any;
    return array;
}

// Whether a function is the user's: not of the library, nor made by Treadle for one of its names.
bool Lowering::is_users(std::size_t function) const {
    return function < request_.sources.size() && request_.sources[function].file.rfind("<treadle", 0) != 0;
}

void Lowering::fail(ErrorKind kind, Span span, const std::string& message, const std::string& hint) const {
    // Inside library code the user's own call is the place to show.
    std::size_t depth = frames_.size();
    while (depth > 1 && !is_users(frames_[depth - 1]->function)) --depth;
    std::size_t function = depth == 0 ? 0 : frames_[depth - 1]->function;
    if (depth < frames_.size() || span.line < 0) {
        span = here_;
        function = here_function_;
    }
    diagnostics_.fail(kind, function, span, message, hint);
}

void Lowering::type_error(Span span, const std::string& message, const std::string& hint) const {
    fail(ErrorKind::Typing, span, message, hint);
}

ir::Function lower(const CompileRequest& request) { return Lowering(request).run(); }

namespace {

std::string json_of(const VarType& type) {
    switch (type.kind) {
        case VarType::Kind::Scalar:
        case VarType::Kind::Complex: return "[\"scalar\", \"" + std::string(name_of(type.dtype)) + "\"]";
        case VarType::Kind::Array: return "[\"array\"]";
        case VarType::Kind::Tuple: {
            std::string text = "[\"tuple\"";
            for (const VarType& item : type.items) text += ", " + json_of(item);
            return text + "]";
        }
        default: return "[\"none\"]";
    }
}

}  // namespace

std::string Lowering::types_text() const {
    std::string text;
    for (const auto& [name, variable] : types_) {
        const bool is_return = name == "#return";
        const std::string own = name.substr(name.rfind('/') + 1);
        if (own.find('#') != std::string::npos && own != "#return") continue;  // a name of the front end's
        text += is_return ? "[\"return\", " : "[\"variable\", \"" + name + "\", ";
        text += json_of(variable.type) + "]\n";
    }
    for (const auto& [place, type] : chosen_) {
        const auto& [prefix, line, column] = place;
        text += "[\"value\", \"" + prefix + "\", " + std::to_string(line) + ", " + std::to_string(column) + ", " +
                json_of(type) + "]\n";
    }
    return text;
}

std::string describe_types(const CompileRequest& request) {
    Lowering lowering(request, true);
    lowering.run();
    return lowering.types_text();
}

}  // namespace treadle::frontend
