#include "passes/end_early.h"

#include <iterator>
#include <utility>

namespace treadle::passes {
using ir::Op;
using ir::Opcode;

// if c: A else: B at the end  ->  if not c: B, return; A
bool end_early(ir::Function& function, const PassContext&) {
    ir::Region& body = function.body;
    bool changed = false;
    while (!body.empty()) {
        if (body.back().code == Opcode::Return && body.size() > 1) {
            body.pop_back();
            changed = true;
        }
        if (body.back().code != Opcode::If) break;
        const bool in_first = ir::has_barrier(body.back().regions[0]);
        const bool in_second = ir::has_barrier(body.back().regions[1]);
        if (in_first == in_second) break;
        Op branch = std::move(body.back());
        body.pop_back();
        ir::Region rest = std::move(branch.regions[in_first ? 0 : 1]);
        ir::Region others = std::move(branch.regions[in_first ? 1 : 0]);
        if (in_first) {
            Op negated;
            negated.code = Opcode::Not;
            negated.type = ir::Type::scalar(DType::Bool);
            negated.operands = {branch.operands[0]};
            negated.line = branch.line;
            negated.result = function.new_value(negated.type);
            branch.operands = {negated.result};
            body.push_back(std::move(negated));
        }
        if (others.empty() || !ir::info(others.back().code).has('t')) {
            Op end;
            end.code = Opcode::Return;
            end.line = branch.line;
            others.push_back(std::move(end));
        }
        branch.regions[0] = std::move(others);
        branch.regions[1].clear();
        body.push_back(std::move(branch));
        body.insert(body.end(), std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
        changed = true;
    }
    return changed;
}

}  // namespace treadle::passes
