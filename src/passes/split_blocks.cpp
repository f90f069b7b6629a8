#include "passes/split_blocks.h"

#include "passes/analyze_shapes.h"

namespace treadle::passes {
namespace {

using ir::Op;
using ir::Opcode;
using ir::ValueId;

class Splitter {
public:
    // whole: the function with the shapes that hold for a whole block.
    Splitter(ir::Function& function, const ir::Function& whole) : function_(function), whole_(whole) {}

    void run() {
        function_.block_variables.assign(function_.variables.size(), true);
        for (std::size_t i = 0; i < whole_.variables.size(); ++i)
            function_.block_variables[i] = whole_.variable_shapes[i].is_uniform();
        // Variables that packets set themselves do not count; without them fewer values do.
        do {
            changed_ = false;
            good_ = true;
            function_.block_values.assign(function_.values.size(), false);
            region(whole_.body);
        } while (changed_);
        function_.splits = good_;
    }

private:
    bool all_block(const Op& op) const {
        for (const ValueId operand : op.operands) {
            if (!function_.block_values[operand]) return false;
        }
        return true;
    }

    void region(const ir::Region& region) {
        for (const Op& op : region) {
            if (ir::is_block_construct(op)) {
                construct(op);
            } else if (op.regions.empty()) {
                plain(op);
            } else {
                inner(op);
            }
        }
    }

    void construct(const Op& op) {
        good_ = good_ && !op.divergent && all_block(op);
        // Such a loop would have to see that no thread is left.
        ir::walk(op.regions[op.code == Opcode::Loop ? 2 : 0],
                 [&](const Op& inner) { good_ = good_ && !(op.code == Opcode::Loop && inner.code == Opcode::Return); });
        for (std::size_t i = 0; i < op.regions.size(); ++i) {
            region(op.regions[i]);
            if (op.code == Opcode::Loop && i == 1)
                good_ = good_ && function_.block_values[op.regions[i].back().operands[0]];
        }
    }

    void plain(const Op& op) {
        if (op.code == Opcode::VarSet) {
            const auto variable = static_cast<std::size_t>(op.index);
            if (function_.block_variables[variable] && !function_.block_values[op.operands[0]]) drop(variable);
            return;
        }
        if (op.code == Opcode::Break || op.code == Opcode::Continue || op.code == Opcode::Leave)
            good_ = good_ && !op.divergent;
        if (op.result != ir::kNoValue) function_.block_values[op.result] = is_block_value(op);
    }

    bool is_block_value(const Op& op) const {
        if (op.code == Opcode::BarrierReduce) return true;
        if (op.code == Opcode::VarGet) return function_.block_variables[static_cast<std::size_t>(op.index)];
        const bool own = op.code == Opcode::ThreadIdx || op.code == Opcode::LaneId || op.code == Opcode::LocalArray;
        return ir::info(op.code).has('p') && !own && all_block(op) && whole_.value_shapes[op.result].is_uniform();
    }

    void inner(const Op& op) {
        for (const ir::Region& region : op.regions) {
            ir::walk(region, [&](const Op& one) {
                if (one.code != Opcode::VarSet) return;
                const auto variable = static_cast<std::size_t>(one.index);
                if (function_.block_variables[variable]) drop(variable);
            });
        }
    }

    void drop(std::size_t variable) {
        function_.block_variables[variable] = false;
        changed_ = true;
    }

    ir::Function& function_;
    const ir::Function& whole_;
    bool changed_ = false;
    bool good_ = true;
};

}  // namespace

bool split_blocks(ir::Function& function, const PassContext& context) {
    function.splits = false;
    const bool known = context.block[0] != 0;
    const std::int64_t threads = std::int64_t{context.block[0]} * context.block[1] * context.block[2];
    if (threads * ir::local_bytes(function) > ir::kMostStackBytes) return false;
    if (!known || !function.callees.empty() || !ir::has_barrier(function) || ir::has_spin(function) ||
        ir::meets_grid(function))
        return false;
    ir::Function whole = function;
    PassContext all = context;
    all.whole_block = true;
    analyze_shapes(whole, all);
    Splitter(function, whole).run();
    return false;
}

}  // namespace treadle::passes
