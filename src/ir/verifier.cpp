#include <string>

#include "base/error.h"
#include "ir/ir.h"

namespace treadle::ir {
namespace {

// Values become visible when their operation is reached and invisible when their region ends.
class Verifier {
public:
    Verifier(const Function& function, const Function& kernel)
        : function_(function), kernel_(kernel), visible_(function.values.size(), false) {}

    void run() {
        region(function_.body, 0, 0);
        for (const std::int32_t variable : function_.results) {
            if (static_cast<std::size_t>(variable) >= function_.variables.size())
                throw Error(ErrorKind::Internal, "[ir] in " + function_.name + ": a result is no variable");
        }
    }

private:
    void region(const Region& region, int loops, int scopes) {
        std::vector<ValueId> defined;
        for (std::size_t i = 0; i < region.size(); ++i) {
            const Op& op = region[i];
            check(op, loops, scopes);
            require(!info(op.code).has('t') || i + 1 == region.size(), op, "must be the last operation of its region");
            for (std::size_t inner = 0; inner < op.regions.size(); ++inner) {
                const bool in_body = op.code == Opcode::Loop && inner == 2;
                const bool no_loop = op.code == Opcode::Loop && !in_body;
                this->region(op.regions[inner], no_loop ? 0 : loops + in_body, scopes + (op.code == Opcode::Scope));
            }
            if (op.result != kNoValue) {
                require(!visible_[op.result], op, "defines a value twice");
                visible_[op.result] = true;
                defined.push_back(op.result);
            }
        }
        for (const ValueId value : defined) visible_[value] = false;
    }

    void check(const Op& op, int loops, int scopes) {
        const OpInfo& row = info(op.code);
        require(row.operands < 0 || op.operands.size() == static_cast<std::size_t>(row.operands), op,
                "wrong number of operands");
        require(op.regions.size() == static_cast<std::size_t>(row.regions), op, "wrong number of regions");
        for (const ValueId operand : op.operands) {
            require(operand < visible_.size() && visible_[operand], op, "uses a value that is not visible");
        }
        require((op.result != kNoValue) == (row.result != '-'), op, "result does not fit the operation");
        if (row.result == 'b') require(op.type == Type::scalar(DType::Bool), op, "must give bool");
        if (row.result == 's')
            require(op.type == function_.values[op.operands[0]], op, "must give the type of its first operand");
        if (row.has('e') && row.operands == 2) {
            require(function_.values[op.operands[0]] == function_.values[op.operands[1]], op,
                    "operands have different types");
        }
        switch (op.code) {
            case Opcode::VarGet:
            case Opcode::VarSet: check_variable(op); break;
            case Opcode::Param:
                require(static_cast<std::size_t>(op.index) < function_.params.size(), op, "names no parameter");
                break;
            case Opcode::ExternalCall: check_external(op); break;
            case Opcode::Load:
            case Opcode::Store:
            case Opcode::ElementPtr: {
                const std::size_t extra = op.code == Opcode::Store ? 2 : 1;
                require(op.operands.size() == 3 * static_cast<std::size_t>(op.index) + extra, op,
                        "operands do not fit its rank");
                check_align(op);
                break;
            }
            case Opcode::Atomic: {
                require(op.align == 0, op, "must be aligned");
                require(op.imm < static_cast<std::uint64_t>(AtomicKind::Count), op, "names no kind");
                const std::size_t extra = op.imm == static_cast<std::uint64_t>(AtomicKind::Cas) ? 3 : 2;
                require(op.operands.size() == 3 * static_cast<std::size_t>(op.index) + extra, op,
                        "operands do not fit its rank");
                break;
            }
            case Opcode::If:
                require(function_.values[op.operands[0]] == Type::scalar(DType::Bool), op, "needs a bool");
                break;
            case Opcode::Loop:
                require(!op.regions[1].empty() && op.regions[1].back().code == Opcode::Yield, op,
                        "condition must end with yield");
                break;
            case Opcode::Break:
            case Opcode::Continue: require(loops > 0, op, "stands outside a loop body"); break;
            case Opcode::Leave: require(scopes > 0, op, "stands outside a scope"); break;
            case Opcode::Call: check_call(op); break;
            default: break;
        }
    }

    void check_call(const Op& op) {
        require(static_cast<std::size_t>(op.index) < kernel_.callees.size(), op, "names no function");
        const Function& callee = kernel_.callees[static_cast<std::size_t>(op.index)];
        require(op.operands.size() == callee.params.size(), op, "operands do not fit the function's parameters");
        for (std::size_t i = 0; i < op.operands.size(); ++i)
            require(function_.values[op.operands[i]] == callee.params[i], op, "has an operand of another type");
    }

    void check_align(const Op& op) {
        if (op.align == 0) return;
        require(op.code != Opcode::ElementPtr, op, "reaches no memory that could be aligned");
        require((op.align & (op.align - 1)) == 0 && op.align < size_of(op.elem), op,
                "has an alignment that its type does not need");
    }

    void check_external(const Op& op) {
        require(static_cast<std::size_t>(op.index) < function_.externals.size(), op, "names no external function");
        const External& external = function_.externals[static_cast<std::size_t>(op.index)];
        std::vector<Type> types;
        for (const ValueId operand : op.operands) types.push_back(function_.values[operand]);
        require(types == external.params, op, "operands do not fit the external function");
        require(external.result == Type::none() || op.type == external.result, op, "gives another type");
    }

    void check_variable(const Op& op) {
        require(static_cast<std::size_t>(op.index) < function_.variables.size(), op, "names no variable");
        const Type type = function_.variables[static_cast<std::size_t>(op.index)].type;
        require((op.code == Opcode::VarGet ? op.type : function_.values[op.operands[0]]) == type, op,
                "has another type than its variable");
    }

    void require(bool condition, const Op& op, const char* what) const {
        if (condition) return;
        throw Error(ErrorKind::Internal, "[ir] in " + function_.name + ": " + std::string(info(op.code).text) +
                                             (op.result != kNoValue ? " %" + std::to_string(op.result) : "") + " " +
                                             what);
    }

    const Function& function_;
    const Function& kernel_;
    std::vector<bool> visible_;
};

}  // namespace

void verify(const Function& function) {
    Verifier(function, function).run();
    for (const Function& callee : function.callees) Verifier(callee, function).run();
}

}  // namespace treadle::ir
