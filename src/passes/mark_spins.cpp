#include "passes/mark_spins.h"

#include <set>
#include <vector>

#include "base/error.h"

namespace treadle::passes {
namespace {

using ir::Op;
using ir::Opcode;
using ir::ValueId;

bool jumps_out(const ir::Region& region) {
    bool found = false;
    ir::walk(region, [&](const Op& op) {
        found = found || op.code == Opcode::Break || op.code == Opcode::Return || op.code == Opcode::Leave;
    });
    return found;
}

class Loop {
public:
    explicit Loop(const Op& loop, std::size_t values) : definitions_(values, nullptr) {
        for (const ir::Region& region : loop.regions) {
            ir::walk(region, [&](const Op& op) {
                if (op.result != ir::kNoValue) definitions_[op.result] = &op;
                if (op.code == Opcode::VarSet) assignments_.push_back(&op);
                if (op.code == Opcode::Store || op.code == Opcode::Atomic) written_.insert(op.operands[0]);
                has_barrier_ = has_barrier_ || ir::is_barrier(op);
            });
        }
    }

    // Whether the value comes from an element that this loop does not change.
    bool waits(ValueId value) {
        if (!seen_.insert(value).second) return false;
        const Op* op = definitions_[value];
        if (op == nullptr) return false;
        if (op->code == Opcode::Load && !has_barrier_ && !written_.contains(op->operands[0]) && is_fixed(*op))
            return true;
        if (op->code == Opcode::Atomic && is_fixed(*op)) return !adds(*op);
        // Compared with what the loop itself moves on: it ends without the others.
        if (ir::info(op->code).result == 'b' && op->operands.size() == 2) {
            const bool first = waits(op->operands[0]);
            const bool second = waits(op->operands[1]);
            if (first != second) return !moves(op->operands[first ? 1 : 0]);
            return first;
        }
        if (op->code == Opcode::VarGet) {
            for (const Op* assignment : assignments_) {
                if (assignment->index == op->index && waits(assignment->operands[0])) return true;
            }
            return false;
        }
        for (const ValueId operand : op->operands) {
            if (waits(operand)) return true;
        }
        return false;
    }

private:
    // A counter that the loop raises or lowers in each round.
    bool adds(const Op& op) const {
        const auto kind = static_cast<ir::AtomicKind>(op.imm);
        if (kind != ir::AtomicKind::Add && kind != ir::AtomicKind::Sub) return false;
        const Op* amount = definitions_[op.operands.back()];
        return amount != nullptr && amount->code == Opcode::Const && amount->imm != 0;
    }

    // Whether the value changes from round to round by what the thread does alone.
    bool moves(ValueId value) const {
        std::set<ValueId> seen;
        return moves(value, seen);
    }
    bool moves(ValueId value, std::set<ValueId>& seen) const {
        if (!seen.insert(value).second) return false;
        const Op* op = definitions_[value];
        if (op == nullptr) return false;
        if (op->code == Opcode::VarGet) {
            for (const Op* assignment : assignments_) {
                const Op* assigned = definitions_[assignment->operands[0]];
                if (assignment->index == op->index && assigned != nullptr && ir::info(assigned->code).has('p') &&
                    assigned->code != Opcode::Const)
                    return true;
            }
            return false;
        }
        for (const ValueId operand : op->operands)
            if (moves(operand, seen)) return true;
        return false;
    }

    bool is_fixed(const Op& op) const {
        for (const ValueId operand : op.operands) {
            if (!is_invariant(operand)) return false;
        }
        return true;
    }

    bool is_invariant(ValueId value) const {
        const Op* op = definitions_[value];
        if (op == nullptr) return true;
        if (op->code == Opcode::VarGet) {
            for (const Op* assignment : assignments_) {
                if (assignment->index == op->index) return false;
            }
            return true;
        }
        return ir::info(op->code).has('p') && is_fixed(*op);
    }

    std::vector<const Op*> definitions_;  // inside the loop
    std::vector<const Op*> assignments_;
    std::set<ValueId> written_;  // pointers that are stored through
    std::set<ValueId> seen_;
    bool has_barrier_ = false;
};

}  // namespace

void mark_spins(ir::Function& function) {
    for (ir::Function& callee : function.callees) {
        mark_spins(callee);
        if (ir::has_spin(callee))
            throw Error(ErrorKind::Unsupported,
                        "[" + callee.name + "] a function that calls itself cannot wait for other threads in a loop");
    }
    ir::walk(function.body, [&](Op& op) {
        if (op.code != Opcode::Loop) return;
        Loop loop(op, function.values.size());
        bool waits = loop.waits(op.regions[1].back().operands[0]);
        ir::walk(op.regions[2], [&](const Op& inner) {
            const bool decides =
                inner.code == Opcode::If && (jumps_out(inner.regions[0]) || jumps_out(inner.regions[1]));
            waits = waits || (decides && loop.waits(inner.operands[0]));
        });
        if (waits) op.index = 1;
    });
}

}  // namespace treadle::passes
