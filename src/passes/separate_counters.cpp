#include "passes/separate_counters.h"

#include "passes/analyze_shapes.h"

namespace treadle::passes {
namespace {

using ir::Op;
using ir::Opcode;

constexpr std::size_t kLeave = 4;  // the region of a loop that lanes run when they leave

struct Place {
    ir::Region* region = nullptr;
    std::size_t index = 0;
    Op& op() const { return (*region)[index]; }
};

// The number-th divergent loop, in program order.
Place find_loop(ir::Region& region, int& number) {
    for (std::size_t i = 0; i < region.size(); ++i) {
        Op& op = region[i];
        if (op.code == Opcode::Loop && op.divergent && number-- == 0) return {&region, i};
        for (ir::Region& inner : op.regions) {
            const Place found = find_loop(inner, number);
            if (found.region != nullptr) return found;
        }
    }
    return {};
}

bool sets(const Op& op, std::int32_t variable) {
    if (op.code == Opcode::VarSet) return op.index == variable;
    for (const ir::Region& inner : op.regions) {
        for (const Op& one : inner) {
            if (sets(one, variable)) return true;
        }
    }
    return false;
}

// Lanes that continue skip assignments which the others make.
bool has_divergent_continue(const ir::Region& region) {
    for (const Op& op : region) {
        if (op.code == Opcode::Continue && op.divergent) return true;
        if (op.code == Opcode::Loop) continue;
        for (const ir::Region& inner : op.regions) {
            if (has_divergent_continue(inner)) return true;
        }
    }
    return false;
}

// The value that the variable has when the loop begins, where the code just before says it.
ir::ValueId value_before(const Place& loop, std::int32_t variable) {
    for (std::size_t i = loop.index; i-- > 0;) {
        const Op& op = (*loop.region)[i];
        if (op.code == Opcode::VarSet && op.index == variable) return op.operands[0];
        if (sets(op, variable)) return ir::kNoValue;
    }
    return ir::kNoValue;
}

Op make(Opcode code, ir::Type type, ir::ValueId result, std::vector<ir::ValueId> operands, std::int32_t index) {
    Op op;
    op.code = code;
    op.type = type;
    op.result = result;
    op.operands = std::move(operands);
    op.index = index;
    return op;
}

bool try_variable(ir::Function& function, const PassContext& context, int loop_number, std::int32_t variable) {
    ir::Function changed = function;
    int number = loop_number;
    const Place loop = find_loop(changed.body, number);
    if (loop.region == nullptr || !sets(loop.op(), variable) || has_divergent_continue(loop.op().regions[2]))
        return false;
    const ir::ValueId before = value_before(loop, variable);
    if (before == ir::kNoValue || !changed.value_shapes[before].is_uniform()) return false;
    const ir::Variable original = changed.variables[static_cast<std::size_t>(variable)];
    const auto counter = static_cast<std::int32_t>(changed.variables.size());
    changed.variables.push_back({original.name + "'", original.type});
    for (ir::Region& region : loop.op().regions) {
        ir::walk(region, [&](Op& op) {
            if ((op.code == Opcode::VarGet || op.code == Opcode::VarSet) && op.index == variable) op.index = counter;
        });
    }
    loop.op().regions[0].push_back(make(Opcode::VarSet, {}, ir::kNoValue, {before}, counter));
    const ir::ValueId last = changed.new_value(original.type);
    loop.op().regions[kLeave].push_back(make(Opcode::VarGet, original.type, last, {}, counter));
    loop.op().regions[kLeave].push_back(make(Opcode::VarSet, {}, ir::kNoValue, {last}, variable));
    analyze_shapes(changed, context);
    if (!changed.variable_shapes[static_cast<std::size_t>(counter)].is_uniform()) return false;
    function = std::move(changed);
    return true;
}

}  // namespace

bool separate_counters(ir::Function& function, const PassContext& context) {
    bool any_loop = false;
    ir::walk(function.body, [&](const Op& op) { any_loop = any_loop || op.code == Opcode::Loop; });
    if (!any_loop) return false;
    analyze_shapes(function, context);
    int loops = 0;
    ir::walk(function.body, [&](const Op& op) { loops += op.code == Opcode::Loop && op.divergent; });
    bool changed = false;
    for (int loop = 0; loop < loops; ++loop) {
        const std::size_t count = function.variables.size();
        for (std::size_t variable = 0; variable < count; ++variable) {
            if (!function.variable_shapes[variable].is_varying()) continue;
            changed = try_variable(function, context, loop, static_cast<std::int32_t>(variable)) || changed;
        }
    }
    return changed;
}

}  // namespace treadle::passes
