// Where the threads of a block, or of a grid, meet.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "base/cuda_kernel_abi.h"
#include "base/error.h"
#include "codegen/nvptx/address_spaces.h"
#include "codegen/nvptx/emitter.h"

namespace treadle::codegen::nvptx {

namespace In = llvm::Intrinsic;

Emitter::Value* Emitter::linear_thread() {
    const auto read = [&](In::ID id) { return builder_.CreateIntrinsic(id, {}, {}); };
    Value* row =
        builder_.CreateAdd(builder_.CreateMul(read(In::nvvm_read_ptx_sreg_tid_z), read(In::nvvm_read_ptx_sreg_ntid_y)),
                           read(In::nvvm_read_ptx_sreg_tid_y));
    return builder_.CreateAdd(builder_.CreateMul(row, read(In::nvvm_read_ptx_sreg_ntid_x)),
                              read(In::nvvm_read_ptx_sreg_tid_x));
}

Emitter::Value* Emitter::linear_block(const Thread& thread) {
    const auto read = [&](In::ID id) {
        return builder_.CreateZExt(builder_.CreateIntrinsic(id, {}, {}), builder_.getInt64Ty());
    };
    Value* row = builder_.CreateAdd(
        builder_.CreateMul(read(In::nvvm_read_ptx_sreg_ctaid_z), read(In::nvvm_read_ptx_sreg_nctaid_y)),
        read(In::nvvm_read_ptx_sreg_ctaid_y));
    return builder_.CreateAdd(builder_.CreateMul(row, tail_word(offsetof(LaunchTail, grid_x))),
                              builder_.CreateZExt(thread.block_x, builder_.getInt64Ty()));
}

void Emitter::emit_barrier(const ir::Op& op, Thread& thread) {
    if (op.code == ir::Opcode::Barrier) {
        if (op.index == 1) {
            meet_grid(thread);
        } else {
            builder_.CreateIntrinsic(In::nvvm_barrier0, {}, {});
        }
        return;
    }
    Value* vote = builder_.CreateZExt(get(thread, op.operands[0]), builder_.getInt32Ty());
    const auto kind = static_cast<ir::BarrierKind>(op.index);
    const In::ID id = kind == ir::BarrierKind::Count ? In::nvvm_barrier0_popc
                      : kind == ir::BarrierKind::And ? In::nvvm_barrier0_and
                                                     : In::nvvm_barrier0_or;
    Value* result = builder_.CreateIntrinsic(id, {}, {vote});
    if (kind != ir::BarrierKind::Count)
        result = builder_.CreateZExt(builder_.CreateICmpNE(result, builder_.getInt32(0)), builder_.getInt32Ty());
    thread.values[op.result] = result;
}

// The last block to come turns over the sign of the counter, for which the others wait: each adds 1, and the first one
// what is missing to half the range. So the counter needs no reset, whatever it holds.
void Emitter::meet_grid(const Thread& thread) {
    llvm::Type* word = builder_.getInt32Ty();
    const auto read = [&](In::ID id) { return builder_.CreateIntrinsic(id, {}, {}); };
    builder_.CreateIntrinsic(In::nvvm_barrier0, {}, {});
    llvm::BasicBlock* speaks = block("speaks");
    llvm::BasicBlock* waits = block("waits");
    llvm::BasicBlock* met = block("met");
    builder_.CreateCondBr(builder_.CreateICmpEQ(linear_thread(), builder_.getInt32(0)), speaks, met);
    builder_.SetInsertPoint(speaks);
    builder_.CreateIntrinsic(In::nvvm_membar_gl, {}, {});
    Value* blocks = builder_.CreateMul(
        builder_.CreateMul(read(In::nvvm_read_ptx_sreg_nctaid_x), read(In::nvvm_read_ptx_sreg_nctaid_y)),
        read(In::nvvm_read_ptx_sreg_nctaid_z));
    Value* rest = builder_.CreateSub(builder_.getInt32(0x80000001U), blocks);
    Value* is_first = builder_.CreateICmpEQ(linear_block(thread), i64(0));
    static_assert(offsetof(DeviceScratch, meeting) == 0);
    Value* counter = builder_.CreateIntToPtr(tail_word(offsetof(LaunchTail, scratch)), builder_.getPtrTy(kGlobal));
    Value* old = builder_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, counter,
                                          builder_.CreateSelect(is_first, rest, builder_.getInt32(1)), llvm::Align(4),
                                          llvm::AtomicOrdering::Monotonic);
    builder_.CreateBr(waits);
    builder_.SetInsertPoint(waits);
    llvm::LoadInst* now = builder_.CreateAlignedLoad(word, counter, llvm::Align(4));
    now->setVolatile(true);
    llvm::BasicBlock* passed = block("passed");
    builder_.CreateCondBr(builder_.CreateICmpSLT(builder_.CreateXor(old, now), builder_.getInt32(0)), passed, waits);
    builder_.SetInsertPoint(passed);
    builder_.CreateIntrinsic(In::nvvm_membar_gl, {}, {});
    builder_.CreateBr(met);
    builder_.SetInsertPoint(met);
    builder_.CreateIntrinsic(In::nvvm_barrier0, {}, {});
}

void Emitter::emit_fence(const ir::Op& op, const Thread& thread) {
    switch (static_cast<ir::FenceKind>(op.index)) {
        case ir::FenceKind::Block: builder_.CreateIntrinsic(In::nvvm_membar_cta, {}, {}); return;
        case ir::FenceKind::Device: builder_.CreateIntrinsic(In::nvvm_membar_gl, {}, {}); return;
        case ir::FenceKind::System: builder_.CreateIntrinsic(In::nvvm_membar_sys, {}, {}); return;
        default: builder_.CreateIntrinsic(In::nvvm_bar_warp_sync, {}, {get(thread, op.operands[0])}); return;
    }
}

}  // namespace treadle::codegen::nvptx
