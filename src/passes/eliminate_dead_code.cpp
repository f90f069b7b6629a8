#include "passes/eliminate_dead_code.h"

#include <algorithm>

namespace treadle::passes {
namespace {

using ir::Op;
using ir::Opcode;

class Eliminator {
public:
    explicit Eliminator(ir::Function& function) : function_(function) {}

    bool run() {
        bool any = false;
        while (pass()) any = true;
        return any;
    }

private:
    bool pass() {
        uses_.assign(function_.values.size(), 0);
        reads_.assign(function_.variables.size(), 0);
        ir::walk(function_.body, [&](const Op& op) {
            for (const ir::ValueId operand : op.operands) ++uses_[operand];
            if (op.code == Opcode::VarGet) ++reads_[static_cast<std::size_t>(op.index)];
        });
        for (const std::int32_t variable : function_.results) ++reads_[static_cast<std::size_t>(variable)];
        removed_ = false;
        sweep(function_.body);
        return removed_;
    }

    void sweep(ir::Region& region) {
        for (Op& op : region) {
            for (ir::Region& inner : op.regions) sweep(inner);
        }
        const auto end = std::remove_if(region.begin(), region.end(), [&](const Op& op) { return is_dead(op); });
        removed_ = removed_ || end != region.end();
        region.erase(end, region.end());
    }

    bool is_dead(const Op& op) const {
        if (op.code == Opcode::VarSet) return reads_[static_cast<std::size_t>(op.index)] == 0;
        if (op.code == Opcode::If) return op.regions[0].empty() && op.regions[1].empty();
        const bool removable = ir::info(op.code).has('p') || op.code == Opcode::VarGet || op.code == Opcode::Load;
        // A load can fault where faults are reported.
        if (op.code == Opcode::Load && function_.bounds == ir::Bounds::Raise) return false;
        return removable && uses_[op.result] == 0;
    }

    ir::Function& function_;
    std::vector<int> uses_;
    std::vector<int> reads_;
    bool removed_ = false;
};

}  // namespace

bool eliminate_dead_code(ir::Function& function, const PassContext&) { return Eliminator(function).run(); }

}  // namespace treadle::passes
