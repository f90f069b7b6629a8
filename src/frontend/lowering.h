// Kernel syntax -> typed IR.
//
// The tree is lowered from top to bottom, types flowing forward. Variables are typed by what was assigned to them; when
// a later assignment widens a variable that was already used, the whole function is lowered again with the wider type,
// until nothing changes. Calls of device and library functions are lowered in place, save those of functions that call
// themselves (lower_recursion.cpp).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "frontend/diagnostics.h"
#include "frontend/entity.h"
#include "frontend/syntax.h"
#include "service/compiler_service.h"

namespace treadle::frontend {

using ir::Opcode;

enum class Handler {
    Index,
    Grid,
    Range,
    Len,
    Abs,
    MinMax,
    Round,
    Convert,
    Power,
    DivMod,
    FloatOp,
    Predicate,
    Library,
    Ldexp,
    Select,
    IntOp,
    Bitcast,
    BlockArray,
    ConstArray,
    Barrier,
    BarrierReduce,
    Fence,
    Atomic,
    WarpQuery,
    Shuffle,
    Vote,
    Match,
    FindFirst,
    Group,
    Complex
};

struct Builtin {
    std::string_view text;
    Handler handler;
    Opcode opcode;
    int min_args;
    int max_args;
};
const Builtin* find_builtin(std::string_view text);

// Lowers a whole program. The first function is the kernel; args type its parameters.
ir::Function lower(const CompileRequest& request);
// What names and values are typed by, for those who run the program in another way. The first function may be a device
// function as well. A line of JSON each, types as ["scalar", "int64"], ["tuple", type, ...], ["array"] or ["none"]:
//     ["variable", "x", type]            assigned in several places; in a nested function its name is "f#3/x"
//     ["value", "f#3/", line, column, type]   of a conditional expression or of `and`, `or`; line from 0
//     ["return", type]
std::string describe_types(const CompileRequest& request);

class Lowering {
public:
    explicit Lowering(const CompileRequest& request, bool returns_value = false);
    ir::Function run();
    std::string types_text() const;

private:
    // A function being lowered: the kernel itself or one inlined call.
    struct Frame {
        const FunctionSyntax* syntax;
        std::size_t function;  // index in the program; sources are found by it
        std::string prefix;    // of its variables' names
        bool strict;
        bool scoped;  // return becomes set result, leave
        std::set<std::string, std::less<>> variables;
        std::map<std::string, Entity, std::less<>> names;
        Entity result;
        bool returned = false;
    };
    struct Variable {
        VarType type;
        bool changed = false;
    };
    // A function that is called, for one list of types; its place is that of its code among the kernel's functions.
    struct Instance {
        const FunctionSyntax* syntax;
        std::size_t function;
        std::vector<VarType> params;
        std::string prefix;       // of its variables' names
        bool is_lowered = false;  // in this pass, or being so
    };

    // lowering.cpp
    ir::Function pass();
    Entity parameter(const ArgType& type);
    // lower_statements.cpp
    void statements(const std::vector<Node>& nodes);
    void statement(const Node& node);
    void lower_if(const Node& node);
    void lower_while(const Node& node);
    void lower_for(const Node& node);
    void lower_for_range(const Node& node);
    void keep_for_debugger(const std::string& name, const Entity& value, Span span);
    ValueId reachable_stop(ValueId stop, ValueId step, DType type);
    void lower_return(const Node& node);
    void lower_print(const Node& node);
    std::int32_t add_text(const std::string& json);
    void assign(const Node& target, const Entity& value);
    void assign_name(const std::string& name, const Entity& value, Span span);
    ir::Region branch(const std::vector<Node>& nodes);
    // lower_variables.cpp
    VarType type_of(const Entity& entity) const;
    void write_variable(const std::string& name, const Entity& value, Span span);
    void write_parts(const std::string& name, const VarType& type, const Entity& value, Span span);
    Entity read_variable(const std::string& name, Span span);
    Entity read_parts(const std::string& name, const VarType& type);
    using PartSink = std::function<void(const std::string& part, ir::Type type, ValueId value)>;
    using PartSource = std::function<ValueId(const std::string& part, ir::Type type)>;
    void take_apart(const VarType& type, const Entity& value, Span span, const PartSink& part);
    Entity put_together(const VarType& type, const PartSource& part);
    std::int32_t slot(const std::string& name, ir::Type type);
    // lower_expressions.cpp
    Entity expression(const Node& node);
    Entity noted(const Node& node, const Entity& value);
    Entity atom(const Node& node);
    Entity attribute(const Node& node);
    Entity logical(const Node& node);
    Entity comparison(const Node& node);
    bool is_simple(const Node& node) const;
    Entity comparison_chain(const Node& node, std::size_t item, const Entity& left);
    Entity conditional(const Node& node);
    Entity unary(std::string_view op, const Entity& a, Span span);
    Entity choose(const Entity& condition, const Entity& a, const Entity& b, Span span);
    // lower_operators.cpp
    bool checks_division(std::string_view op) const;
    void check_divisor(const Entity& divisor, Span span);
    Entity binary(std::string_view op, const Entity& a, const Entity& b, Span span);
    Entity arithmetic(Opcode code, const Entity& a, const Entity& b, DType type);
    Entity power(const Entity& a, const Entity& b, Span span);
    Entity compare(std::string_view op, const Entity& a, const Entity& b, Span span);
    DType strict_type(const Entity& a, const Entity& b, Span span);
    bool fold(std::string_view op, const Entity& a, const Entity& b, Entity& result) const;
    // lower_arrays.cpp
    Entity load(const Node& node);
    Entity table_element(const Node& table, const Entity& index, Span span);
    Entity element(const Entity& array, const Entity& index, Span span);
    ir::Op access(Opcode code, const Entity& array, const std::vector<Entity>& indices, int part, Span span);
    Entity load_number(const Entity& array, const std::vector<Entity>& indices, Span span);
    Entity place(const Node& target);
    void store(const Node& target, const Entity& value);
    void store_number(const Entity& array, const Entity& value, const std::string& what, Span span);
    std::vector<Entity> index_list(const Entity& array, const Entity& index, Span span);
    std::vector<ValueId> access_operands(const Entity& array, const std::vector<Entity>& indices, Span span);
    Entity view(const Entity& array, const std::vector<Entity>& indices, Span span);
    Entity shape_tuple(const Entity& array, const std::vector<ValueId>& extents) const;
    // lower_complex.cpp
    Entity complex_number(const Entity& real, const Entity& imaginary, DType dtype);
    Entity as_complex(const Entity& value, DType dtype, Span span);
    DType common_complex(const Entity& a, const Entity& b, Span span) const;
    Entity complex_binary(std::string_view op, const Entity& left, const Entity& right, Span span);
    Entity complex_power(const Entity& base, const Entity& exponent, Span span);
    Entity complex_compare(std::string_view op, const Entity& left, const Entity& right, Span span);
    Entity complex_unary(std::string_view op, const Entity& a, Span span);
    Entity complex_attribute(const Entity& value, std::string_view name, Span span);
    Entity make_complex(DType dtype, const std::vector<Entity>& args, Span span);
    Entity bound_method(const Entity& self, std::string_view name) const;
    Entity call_method(const Entity& method, const std::vector<Entity>& args, Span span);
    // lower_records.cpp
    const RecordField& find_field(const Entity& base, const Entity& index, Span span) const;
    const RecordField& find_field(const Entity& base, std::string_view name, Span span) const;
    Entity part(const Entity& base, const RecordField& field);
    Entity part_value(const Entity& base, const RecordField& field, Span span);
    void store_record(const Entity& to, const Entity& value, Span span);
    void store_array(const Entity& to, const Entity& value, Span span);
    bool constant_extents(const Entity& array, std::vector<std::int64_t>& extents) const;
    void copy_part(const Entity& to, const Entity& from, const std::vector<std::int64_t>& extents, Span span);
    void repeat(std::int64_t count, const std::function<void(const Entity&)>& body);
    Entity settled(const Entity& entity, Span span);
    ValueId own_pointer(const Entity& array);
    Entity record_parameter(const ArgType& type, ValueId pointer);
    // lower_memory.cpp
    Entity new_array(const Entity& type, const std::vector<Entity>& extents, ir::Space space) const;
    Entity block_array(const Builtin& row, const std::vector<Entity>& args, Span span);
    void check_record_array(const RecordType& record, bool is_shared, bool is_dynamic, Span span) const;
    Entity constant_array(const Node& node);
    Entity atomic(const Builtin& row, const std::vector<Entity>& args, Span span);
    Entity group(const Builtin& row, const std::vector<Entity>& args, Span span);
    ValueId tile_members(const Entity& lane, std::int64_t threads);
    Entity group_method(const Entity& group, const std::string& method, const std::vector<Entity>& args, Span span);
    Entity linear_thread();
    Entity warp(const Builtin& row, const std::vector<Entity>& args, Span span);
    std::vector<std::int64_t> constant_shape(const Builtin& row, const Entity& shape, Span span);
    bool constant_integer(const Entity& entity, std::int64_t& value) const;
    // lower_calls.cpp
    Entity call(const Node& node);
    // lower_externals.cpp
    std::int32_t external_number(const ir::External& external, Span span);
    Entity call_external(const Entity& callee, const std::vector<Entity>& args, Span span);
    // lower_calls.cpp
    std::vector<Entity> components(const Entity& type, const std::vector<Entity>& args, Span span);
    using Keywords = std::vector<std::pair<std::string, Entity>>;
    void place_keywords(const std::string& callee, const std::vector<std::string>& names, const Keywords& keywords,
                        std::vector<Entity>& args, Span span);
    Entity call_builtin(const Builtin& row, std::vector<Entity> args, Span span);
    Entity call_builtin_by_handler(const Builtin& row, std::vector<Entity>& args, Span span);
    Entity grid(const Builtin& row, const Entity& dims, Span span);
    Entity thread_query(Opcode code, int dimension);
    Entity round(const std::vector<Entity>& args, Span span);
    Entity min_max(const Builtin& row, const std::vector<Entity>& args, Span span);
    Entity float_op(const Builtin& row, const std::vector<Entity>& args, Span span);
    Entity predicate(const Builtin& row, const Entity& x, Span span);
    Entity convert(const Entity& value, DType type, Span span);
    Entity call_library(std::string_view name, const std::vector<Entity>& args, Span span);
    Entity call_library_typed(std::string_view name, const std::vector<Entity>& args, Span span);
    Entity inline_call(const FunctionSyntax& syntax, std::size_t function, bool strict, const std::vector<Entity>& args,
                       Span span);
    // lower_recursion.cpp
    struct NotTyped {};  // thrown by a call whose result has no type yet
    bool if_typed(const std::function<void()>& lower_path);
    void find_recursive();
    Entity call_recursive(const FunctionSyntax& syntax, std::size_t function, const std::vector<Entity>& args,
                          Span span);
    std::size_t instance_of(const FunctionSyntax& syntax, std::size_t function, const std::vector<VarType>& types,
                            Span span);
    void lower_instance(std::size_t number, Span span);
    std::vector<Entity> declared_arguments(const FunctionSyntax& syntax, const std::vector<Entity>& args, Span span);
    void check_returns(const FunctionSyntax& syntax, const std::string& variable, const ir::Region& body, Span span);
    // lower_values.cpp: emitting
    std::int32_t line_here() const;
    ValueId emit(ir::Op op);
    ValueId emit(Opcode code, ir::Type type, std::vector<ValueId> operands, std::int32_t index = 0);
    void emit_effect(Opcode code, std::vector<ValueId> operands = {}, std::int32_t index = 0);
    ValueId constant(DType type, std::uint64_t bits);
    static std::uint64_t literal_bits(const Entity& literal, DType type);
    ValueId literal(const Entity& literal, DType type) { return constant(type, literal_bits(literal, type)); }
    ValueId as(const Entity& number, DType type);  // the value converted to a type
    Entity firm(const Entity& entity);             // a literal becomes a value of its own type
    ValueId truth(const Entity& entity, Span span);
    DType number_type(const Entity& entity, Span span, const char* what) const;

    Frame& frame() { return *frames_.back(); }
    const Frame& frame() const { return *frames_.back(); }
    ir::Region& region() { return *regions_.back(); }
    bool terminated() const;
    bool is_users(std::size_t function) const;
    [[noreturn]] void fail(ErrorKind kind, Span span, const std::string& message, const std::string& hint = "") const;
    [[noreturn]] void type_error(Span span, const std::string& message, const std::string& hint = "") const;

    const CompileRequest& request_;
    Diagnostics diagnostics_;
    std::vector<FunctionSyntax> program_;
    std::map<std::string, Variable> types_;  // lasts over the passes
    RecordTypes records_;
    std::vector<bool> recursive_;      // by function of the program: it reaches itself
    std::vector<Instance> instances_;  // last over the passes
    bool changed_ = false;
    bool returns_value_ = false;  // the first function is a device function
    // of one pass
    ir::Function function_;
    std::vector<std::unique_ptr<Frame>> frames_;
    std::vector<ir::Region*> regions_;
    std::map<std::string, std::int32_t> slots_;
    std::map<std::pair<std::size_t, const Node*>, std::uint32_t> shared_places_;  // by the call that makes the array
    std::map<std::string, std::int32_t, std::less<>> constants_;                  // tables, by their text
    const Node* call_ = nullptr;                                                  // being lowered
    std::vector<ValueId> extents_;                                                // of the array parameters
    int calls_ = 0;
    int temporaries_ = 0;
    int loops_ = 0;
    std::vector<ir::Function> callees_;  // code of the instances
    bool is_untyped_ = false;            // a call was left out since its type is not known yet
    Span untyped_call_;                  // and where that was
    std::size_t untyped_function_ = 0;
    std::string untyped_name_;
    std::uint32_t shared_bytes_ = 0;  // of the kernel and all it calls
    std::string texts_;
    std::map<std::string, VarType> shown_;                         // variables that only a debugger reads
    std::map<std::tuple<std::string, int, int>, VarType> chosen_;  // types of values that control flow chooses
    Span here_;  // of the user's statement being lowered, for line numbers
    std::size_t here_function_ = 0;
};

}  // namespace treadle::frontend
