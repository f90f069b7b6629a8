// Structure becomes branches. Where several threads are emitted together they branch together while they agree; where
// they do not, one goes after the other.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "base/cuda_kernel_abi.h"
#include "base/error.h"
#include "codegen/nvptx/emitter.h"

namespace treadle::codegen::nvptx {

namespace {

// Few operations without memory or control: cheaper to compute for nothing than to branch round. `and` and `or` are
// such.
bool is_cheap(const ir::Region& region) {
    constexpr int kMostOps = 12;
    int ops = 0;
    for (const ir::Op& op : region) {
        const bool inner = op.code == ir::Opcode::If && is_cheap(op.regions[0]) && is_cheap(op.regions[1]);
        const bool plain = op.regions.empty() && (ir::info(op.code).has('p') || op.code == ir::Opcode::VarGet ||
                                                  op.code == ir::Opcode::VarSet);
        const bool slow = op.code == ir::Opcode::Div || op.code == ir::Opcode::Sqrt ||
                          op.code == ir::Opcode::FloorDiv || op.code == ir::Opcode::Mod ||
                          op.code == ir::Opcode::TruncDiv || op.code == ir::Opcode::TruncMod;
        if ((!plain && !inner) || slow || ++ops > kMostOps) return false;
    }
    return true;
}

}  // namespace

// Both sides are computed, and assignments choose.
void Emitter::emit_chosen(const ir::Op& op) {
    for (std::size_t side = 0; side < 2; ++side) {
        for (Thread* thread : active_) {
            Value* condition = get(*thread, op.operands[0]);
            if (side == 1) condition = builder_.CreateNot(condition);
            Value* around = thread->assigns;
            thread->outer.push_back(around);
            thread->assigns = around == nullptr ? condition : builder_.CreateLogicalAnd(around, condition);
        }
        region(op.regions[side]);
        for (Thread* thread : active_) {
            thread->assigns = thread->outer.back();
            thread->outer.pop_back();
        }
    }
}

void Emitter::emit_if(const ir::Op& op) {
    if (is_cheap(op.regions[0]) && is_cheap(op.regions[1])) {
        emit_chosen(op);
        return;
    }
    if (active_.size() == 1) {
        emit_one_if(op);
        return;
    }
    const std::vector<Thread*> together = active_;
    Value* first = get(*together[0], op.operands[0]);
    bool alike = true;
    for (const Thread* thread : together) alike = alike && get(*thread, op.operands[0]) == first;
    if (alike) {
        emit_one_if(op);
        return;
    }
    Value* all = first;
    for (std::size_t i = 1; i < together.size(); ++i) all = builder_.CreateAnd(all, get(*together[i], op.operands[0]));
    llvm::BasicBlock* agreed = block("agreed");
    llvm::BasicBlock* parted = block("parted");
    llvm::BasicBlock* after = block("after");
    unlikely(builder_.CreateNot(all), parted, agreed);
    builder_.SetInsertPoint(agreed);
    region(op.regions[0]);
    branch_to(after);
    builder_.SetInsertPoint(parted);
    for (Thread* thread : together) {
        active_ = {thread};
        emit_one_if(op);
    }
    branch_to(after);
    active_ = together;
    builder_.SetInsertPoint(after);
}

void Emitter::emit_one_if(const ir::Op& op) {
    llvm::BasicBlock* then = block("then");
    llvm::BasicBlock* after = block("after");
    llvm::BasicBlock* otherwise = op.regions[1].empty() ? after : block("else");
    builder_.CreateCondBr(get(*active_[0], op.operands[0]), then, otherwise);
    builder_.SetInsertPoint(then);
    region(op.regions[0]);
    branch_to(after);
    if (otherwise != after) {
        builder_.SetInsertPoint(otherwise);
        region(op.regions[1]);
        branch_to(after);
    }
    builder_.SetInsertPoint(after);
}

void Emitter::emit_loop(const ir::Op& op) {
    const Exits outer = exits_;
    region(op.regions[0]);
    exits_.loop_exit = block("loop_exit");
    exits_.loop_step = block("loop_step");
    exits_.loop = &op;
    llvm::BasicBlock* header = block("loop");
    llvm::BasicBlock* body = block("loop_body");
    llvm::BasicBlock* left = op.regions[4].empty() ? exits_.loop_exit : block("loop_left");
    if (op.index == 1) ++waiting_;
    llvm::AllocaInst* since = op.index == 1 ? slot(builder_.getInt64Ty(), "since") : nullptr;
    if (since != nullptr)
        builder_.CreateStore(builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_globaltimer, {}, {}), since);
    builder_.CreateBr(header);
    builder_.SetInsertPoint(header);
    region(op.regions[1]);
    builder_.CreateCondBr(get(*active_[0], op.regions[1].back().operands[0]), body, left);
    if (left != exits_.loop_exit) {
        builder_.SetInsertPoint(left);
        region(op.regions[4]);
        branch_to(exits_.loop_exit);
    }
    builder_.SetInsertPoint(body);
    region(op.regions[2]);
    branch_to(exits_.loop_step);
    builder_.SetInsertPoint(exits_.loop_step);
    steps_ = true;
    region(op.regions[3]);
    steps_ = false;
    if (since != nullptr) watch(op, since);
    llvm::BranchInst* back = builder_.CreateBr(header);
    unroll(op, back);
    builder_.SetInsertPoint(exits_.loop_exit);
    if (op.index == 1) --waiting_;
    exits_ = outer;
}

// A thread that has waited too long for another says so and ends.
void Emitter::watch(const ir::Op& loop, llvm::AllocaInst* since) {
    llvm::Type* number = builder_.getInt64Ty();
    Value* now = builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_globaltimer, {}, {});
    Value* spent = builder_.CreateSub(now, builder_.CreateLoad(number, since));
    Value* limit = tail_word(offsetof(LaunchTail, patience_ns));
    llvm::BasicBlock* vain = block("vain");
    llvm::BasicBlock* again = block("again");
    unlikely(builder_.CreateICmpUGT(spent, limit), vain, again);
    builder_.SetInsertPoint(vain);
    fault(*active_[0], loop.line, kSpinsForEver, builder_.CreateUDiv(limit, i64(1000000000)), {});
    builder_.CreateBr(end_);
    builder_.SetInsertPoint(again);
}

void Emitter::emit_scope(const ir::Op& op) {
    const Exits outer = exits_;
    exits_ = {};
    exits_.scope_exit = block("scope_exit");
    region(op.regions[0]);
    branch_to(exits_.scope_exit);
    builder_.SetInsertPoint(exits_.scope_exit);
    exits_ = outer;
}

void Emitter::emit_jump(const ir::Op& op) {
    switch (op.code) {
        case ir::Opcode::Break:
            region(exits_.loop->regions[4]);
            branch_to(exits_.loop_exit);
            return;
        case ir::Opcode::Continue: branch_to(exits_.loop_step); return;
        case ir::Opcode::Leave: branch_to(exits_.scope_exit); return;
        default: branch_to(end_); return;
    }
}

}  // namespace treadle::codegen::nvptx
