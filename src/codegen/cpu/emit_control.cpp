// Structured control flow. What is uniform is a branch; what diverges is a mask, with a branch around it where no lane
// is left.
#include <utility>

#include "base/error.h"
#include "codegen/cpu/emitter.h"

namespace treadle::codegen {

using ir::Opcode;

Emitter::Jumps Emitter::jumps_of(const ir::Op& op) {
    Jumps jumps;
    switch (op.code) {
        case Opcode::Break: jumps.breaks = true; return jumps;
        case Opcode::Continue: jumps.continues = true; return jumps;
        case Opcode::Leave: jumps.leaves = true; return jumps;
        case Opcode::Return: jumps.returns = true; return jumps;
        default: break;
    }
    for (const ir::Region& inner : op.regions) {
        const Jumps more = jumps_of(inner);
        jumps.breaks |= more.breaks;
        jumps.continues |= more.continues;
        jumps.leaves |= more.leaves;
        jumps.returns |= more.returns;
    }
    if (op.code == Opcode::Loop) jumps.breaks = jumps.continues = false;
    if (op.code == Opcode::Scope) jumps.leaves = false;
    return jumps;
}

Emitter::Jumps Emitter::jumps_of(const ir::Region& region) {
    Jumps jumps;
    for (const ir::Op& op : region) {
        const Jumps more = jumps_of(op);
        jumps.breaks |= more.breaks;
        jumps.continues |= more.continues;
        jumps.leaves |= more.leaves;
        jumps.returns |= more.returns;
    }
    return jumps;
}

// The lanes of mask that have not left through one of the jumps.
Emitter::Value* Emitter::remaining(Value* mask, const Jumps& jumps) {
    if (jumps.breaks && exits_.in_loop != nullptr) mask = mask_and(mask, load_mask(exits_.in_loop));
    if (jumps.continues && exits_.in_iteration != nullptr) mask = mask_and(mask, load_mask(exits_.in_iteration));
    if (jumps.leaves && exits_.in_scope != nullptr) mask = mask_and(mask, load_mask(exits_.in_scope));
    if (jumps.returns && alive_ != nullptr) mask = mask_and(mask, load_mask(alive_));
    return mask;
}

void Emitter::region(const ir::Region& region) {
    std::vector<const ir::Op*> ops;
    ops.reserve(region.size());
    for (const ir::Op& op : region) ops.push_back(&op);
    sequence(ops);
}

void Emitter::sequence(const std::vector<const ir::Op*>& ops) {
    llvm::BasicBlock* end = nullptr;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        const ir::Op& op = *ops[i];
        if (debug_ != nullptr) debug_->enter(op, builder_, variables_);
        emit_op(op);
        if (ended()) break;
        if (op.result != ir::kNoValue) keep(op.result);
        if (op.regions.empty() || i + 1 == ops.size()) continue;
        const Jumps jumps = jumps_of(op);
        if (!jumps.any()) continue;
        // Lanes have left: the rest runs for those that stay, or not at all.
        mask_ = remaining(mask_, jumps);
        if (mask_ == nullptr) continue;
        if (end == nullptr) end = block("rest_done");
        llvm::BasicBlock* rest = block("rest");
        builder_.CreateCondBr(any(mask_), rest, end);
        builder_.SetInsertPoint(rest);
    }
    if (end == nullptr) return;
    branch_to(end);
    go_on_in(end);
}

// Emits into a block that was made before others. A debugger takes the first address of a line for its beginning, so
// unoptimised code lies in the order in which it runs.
void Emitter::go_on_in(llvm::BasicBlock* block) {
    builder_.SetInsertPoint(block);
    if (options_.debug != nullptr && !options_.debug->optimized) block->moveAfter(&kernel_->back());
}

// Few operations without memory or control: cheaper to run for nobody than to branch round.
bool Emitter::is_cheap(const ir::Region& region) {
    int cost = 0;
    for (const ir::Op& op : region) {
        const bool plain = op.regions.empty() &&
                           (ir::info(op.code).has('p') || op.code == Opcode::VarGet || op.code == Opcode::VarSet);
        const bool slow = op.code == Opcode::Div || op.code == Opcode::Reciprocal || op.code == Opcode::Sqrt ||
                          op.code == Opcode::FloorDiv || op.code == Opcode::Mod;
        if (!plain || slow) return false;
        ++cost;
    }
    return cost <= 10;
}

void Emitter::emit_if(const ir::Op& op) {
    if (!op.divergent) {
        emit_uniform_if(op);
        return;
    }
    Value* outer = mask_;
    Value* condition = vector(op.operands[0]);
    for (int side = 0; side < 2; ++side) {
        const ir::Region& body = op.regions[static_cast<std::size_t>(side)];
        if (body.empty()) continue;
        Value* lanes = side == 0 ? condition : builder_.CreateNot(condition);
        mask_ = mask_and(outer, lanes);
        if (is_cheap(body)) {
            region(body);
        } else {
            llvm::BasicBlock* then = block("then");
            llvm::BasicBlock* after = block("after");
            builder_.CreateCondBr(any(mask_), then, after);
            builder_.SetInsertPoint(then);
            region(body);
            branch_to(after);
            go_on_in(after);
        }
    }
    mask_ = outer;
}

void Emitter::emit_uniform_if(const ir::Op& op) {
    Value* outer = mask_;
    llvm::BasicBlock* then = block("then");
    llvm::BasicBlock* after = block("after");
    llvm::BasicBlock* otherwise = op.regions[1].empty() ? after : block("else");
    builder_.CreateCondBr(get(op.operands[0]), then, otherwise);
    builder_.SetInsertPoint(then);
    region(op.regions[0]);
    branch_to(after);
    if (otherwise != after) {
        mask_ = outer;
        go_on_in(otherwise);
        region(op.regions[1]);
        branch_to(after);
    }
    go_on_in(after);
    mask_ = outer;
}

// Few rounds, known when compiled: indices become constants, and tests of them fall away.
bool Emitter::is_short(const ir::Op& loop) const {
    constexpr std::int64_t kMostRounds = 32;
    constexpr std::int64_t kMostOps = 1024;
    if (loop.divergent) return false;
    const auto constant = [&](ir::ValueId value) { return constants_.find(value); };
    const ir::Region& init = loop.regions[0];
    const ir::Region& test = loop.regions[1];
    const ir::Region& step = loop.regions[3];
    if (init.size() != 1 || step.empty() || test.size() < 3) return false;
    const ir::Op& compare = test[test.size() - 2];
    const ir::Op& advance = step.back();
    if (compare.code != Opcode::Lt || advance.code != Opcode::VarSet || init[0].code != Opcode::VarSet) return false;
    const auto first = constant(init[0].operands[0]);
    const auto stop = constant(compare.operands[1]);
    if (first == constants_.end() || stop == constants_.end()) return false;
    const std::int64_t rounds = stop->second - first->second;
    std::int64_t ops = 0;
    bool plain = true;
    ir::walk(loop.regions[2], [&](const ir::Op& op) {
        ++ops;
        plain = plain && op.code != Opcode::Loop && op.code != Opcode::Barrier && op.code != Opcode::BarrierReduce;
    });
    return plain && rounds <= kMostRounds && rounds * ops <= kMostOps;
}

void Emitter::unroll(llvm::BranchInst* back) {
    llvm::Metadata* hint = llvm::MDNode::get(context_, llvm::MDString::get(context_, "llvm.loop.unroll.full"));
    llvm::MDNode* loop = llvm::MDNode::getDistinct(context_, {nullptr, hint});
    loop->replaceOperandWith(0, loop);
    back->setMetadata(llvm::LLVMContext::MD_loop, loop);
    unrolls_ = true;
}

void Emitter::emit_loop(const ir::Op& op) {
    const Exits outer_exits = exits_;
    Value* outer = mask_;
    const Jumps inner = jumps_of(op.regions[2]);
    Jumps through = inner;  // lanes that do not come back to this loop at all
    through.breaks = through.continues = false;

    region(op.regions[0]);
    exits_.loop_exit = block("loop_exit");
    exits_.loop_step = block("loop_step");
    exits_.leave = &op;
    exits_.in_loop = op.divergent ? mask_slot(outer, "in_loop") : nullptr;
    exits_.in_iteration = op.divergent && inner.continues ? slot(mask_slot_type(), "in_iteration") : nullptr;
    llvm::BasicBlock* header = block("loop");
    llvm::BasicBlock* body = block("loop_body");
    builder_.CreateBr(header);
    builder_.SetInsertPoint(header);
    mask_ = op.divergent ? load_mask(exits_.in_loop) : outer;
    mask_ = remaining(mask_, through);
    region(op.regions[1]);
    const ir::ValueId condition = op.regions[1].back().operands[0];
    if (op.divergent) {
        Value* before = mask_;
        mask_ = shape(condition).is_uniform()
                    ? builder_.CreateSelect(get(condition), mask_or_all(),
                                            llvm::Constant::getNullValue(all_lanes()->getType()))
                    : mask_and(mask_, vector(condition));
        store_mask(mask_, exits_.in_loop);
        if (!op.regions[4].empty()) leave(op, mask_and(before, builder_.CreateNot(mask_)));
        builder_.CreateCondBr(any(mask_), body, exits_.loop_exit);
    } else {
        Value* more = get(condition);
        if (through.any() && mask_ != nullptr) more = builder_.CreateAnd(more, any(mask_));
        llvm::BasicBlock* left = op.regions[4].empty() ? exits_.loop_exit : block("loop_left");
        builder_.CreateCondBr(more, body, left);
        if (left != exits_.loop_exit) {
            builder_.SetInsertPoint(left);
            region(op.regions[4]);
            builder_.CreateBr(exits_.loop_exit);
        }
    }
    go_on_in(body);
    if (exits_.in_iteration != nullptr) store_mask(mask_, exits_.in_iteration);
    Value* active = mask_;
    region(op.regions[2]);
    branch_to(exits_.loop_step);
    go_on_in(exits_.loop_step);
    if (debug_ != nullptr) debug_->enter(op, builder_, variables_);
    Jumps left = inner;
    left.continues = false;
    mask_ = remaining(active, left);
    region(op.regions[3]);
    if (op.index == 1) let_others_run(op);
    llvm::BranchInst* back = builder_.CreateBr(header);
    if (is_short(op)) unroll(back);
    go_on_in(exits_.loop_exit);
    exits_ = outer_exits;
    mask_ = remaining(outer, through);
}

// Lanes that have just left run the leave region; mostly there are none.
void Emitter::leave(const ir::Op& loop, Value* lanes) {
    llvm::BasicBlock* leaving = block("leaving");
    llvm::BasicBlock* after = block("left");
    builder_.CreateCondBr(any(lanes), leaving, after);
    builder_.SetInsertPoint(leaving);
    Value* staying = std::exchange(mask_, lanes);
    region(loop.regions[4]);
    mask_ = staying;
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
}

void Emitter::emit_scope(const ir::Op& op) {
    const Exits outer_exits = exits_;
    Value* outer = mask_;
    Jumps through = jumps_of(op.regions[0]);
    through.leaves = false;
    exits_ = {};
    exits_.in_scope = op.divergent ? mask_slot(outer, "in_scope") : nullptr;
    exits_.scope_exit = block("scope_exit");
    region(op.regions[0]);
    branch_to(exits_.scope_exit);
    go_on_in(exits_.scope_exit);
    exits_ = outer_exits;
    mask_ = remaining(outer, through);
}

void Emitter::emit_jump(const ir::Op& op) {
    llvm::AllocaInst* lanes = nullptr;
    llvm::BasicBlock* target = nullptr;
    switch (op.code) {
        case Opcode::Break: lanes = exits_.in_loop, target = exits_.loop_exit; break;
        case Opcode::Continue: lanes = exits_.in_iteration, target = exits_.loop_step; break;
        case Opcode::Leave: lanes = exits_.in_scope, target = exits_.scope_exit; break;
        default: lanes = alive_, target = packet_end_; break;
    }
    if (op.code == Opcode::Break) region(exits_.leave->regions[4]);
    if (op.code == Opcode::Return && kept_alive_ != nullptr && mask_ == nullptr) mask_ = all_lanes();
    if (op.code == Opcode::Return && kept_alive_ != nullptr && !op.divergent)
        store_mask(builder_.CreateAnd(load_mask(alive_), builder_.CreateNot(mask_)), alive_);
    // Where all lanes that could still be here jump together, it is a branch.
    if (!op.divergent && (op.code == Opcode::Return ? true : lanes == nullptr)) {
        builder_.CreateBr(target);
        return;
    }
    TREADLE_CHECK(lanes != nullptr, "a divergent jump without lanes to leave");
    Value* stay = mask_ == nullptr ? llvm::Constant::getNullValue(all_lanes()->getType()) : builder_.CreateNot(mask_);
    store_mask(builder_.CreateAnd(load_mask(lanes), stay), lanes);
}

}  // namespace treadle::codegen
