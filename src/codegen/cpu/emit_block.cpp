// Memory of a block and of a thread, and where the threads of a block meet.
#include "base/error.h"
#include "base/kernel_abi.h"
#include "codegen/cpu/emitter.h"

namespace treadle::codegen {

using ir::Opcode;

Emitter::Value* Emitter::context_field(llvm::Type* type, std::size_t offset) {
    Value* place = builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), block_context_, offset);
    return builder_.CreateLoad(type, place);
}

// Pointers to the first element, as integers.
void Emitter::emit_block_array(const ir::Op& op) {
    llvm::Type* number = builder_.getInt64Ty();
    switch (op.code) {
        case Opcode::SharedArray: {
            const std::uint64_t offset = op.index == 1 ? function_.shared_bytes : op.imm;
            values_[op.result] = builder_.CreateAdd(shared_, i64(static_cast<std::int64_t>(offset)));
            return;
        }
        case Opcode::LocalArray: {
            const std::uint64_t count = std::max<std::uint64_t>(op.imm, 1);
            llvm::Type* packet = vector_of(memory_type(op.elem));
            llvm::Type* array = llvm::ArrayType::get(packet, count);
            llvm::AllocaInst*& memory = locals_[op.result];
            if (memory == nullptr) {
                memory = function_.splits ? per_packet(array, "local") : slot(array, "local");
                memory->setAlignment(llvm::Align(64));
            }
            Value* first = function_.splits ? of_packet(memory) : memory;
            values_[op.result] = builder_.CreatePtrToInt(first, number);
            return;
        }
        default: values_[op.result] = builder_.CreatePtrToInt(tables_[static_cast<std::size_t>(op.index)], number);
    }
}

// The threads of the packet that have not ended must all be here; the device sees to the other packets.
Emitter::Value* Emitter::meet(const ir::Op& op, Value* count) {
    Value* expected = alive_ != nullptr ? load_mask(alive_) : initial_mask_;
    if (alive_ != nullptr || mask_ != initial_mask_) {
        Value* missing = mask_ == nullptr ? llvm::Constant::getNullValue(all_lanes()->getType())
                                          : builder_.CreateAnd(expected == nullptr ? all_lanes() : expected,
                                                               builder_.CreateNot(mask_));
        llvm::BasicBlock* parted = block("parted");
        llvm::BasicBlock* together = block("together");
        unlikely(any(missing), parted, together);
        builder_.SetInsertPoint(parted);
        Value* lane = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, mask_bits(missing), builder_.getTrue());
        const std::int64_t branch = branches_.empty() ? 0 : branches_.back()->line;
        call_fault(i64(op.line), kPartedInPacket, i64(branch), llvm::ConstantPointerNull::get(builder_.getPtrTy()), 0,
                   lane);
        builder_.CreateBr(together);
        builder_.SetInsertPoint(together);
    }
    return wait(op, count);
}

Emitter::Value* Emitter::wait(const ir::Op& op, Value* count) {
    llvm::Type* number = builder_.getInt64Ty();
    auto* type = llvm::FunctionType::get(number, {builder_.getPtrTy(), number, number}, false);
    Value* barrier = context_field(builder_.getPtrTy(), offsetof(BlockContext, barrier));
    return builder_.CreateCall(type, barrier, {block_context_, i64(op.line), count});
}

// Between two rounds of a loop that waits for other threads.
void Emitter::let_others_run(const ir::Op& loop) {
    Value* given_up = wait(loop, i64(kSpins));
    llvm::BasicBlock* again = block("again");
    unlikely(builder_.CreateICmpNE(given_up, i64(0)), packet_end_, again);
    builder_.SetInsertPoint(again);
}

void Emitter::emit_barrier(const ir::Op& op) {
    if (op.code == Opcode::Barrier) {
        meet(op, i64(op.index == 1 ? kMeetsGrid : 0));
        return;
    }
    Value* votes = votes_for(op);
    if (function_.splits) {
        llvm::AllocaInst* total = totals_.at(op.result);
        builder_.CreateStore(builder_.CreateAdd(builder_.CreateLoad(builder_.getInt64Ty(), total), votes), total);
        return;
    }
    values_[op.result] = reduced_total(op, meet(op, votes));
}

// How many threads of the packet are counted: those that say yes, or where all are asked, those that say no.
Emitter::Value* Emitter::votes_for(const ir::Op& op) {
    Value* votes = vector(op.operands[0]);
    if (static_cast<ir::BarrierKind>(op.index) == ir::BarrierKind::And) votes = builder_.CreateNot(votes);
    return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, mask_bits(mask_and(mask_, votes)));
}

Emitter::Value* Emitter::reduced_total(const ir::Op& op, Value* total) {
    const auto kind = static_cast<ir::BarrierKind>(op.index);
    if (kind == ir::BarrierKind::Count) return builder_.CreateTrunc(total, builder_.getInt32Ty());
    Value* zero = builder_.CreateICmpEQ(total, i64(0));
    if (kind == ir::BarrierKind::Or) zero = builder_.CreateNot(zero);
    return builder_.CreateZExt(zero, builder_.getInt32Ty());
}

// A packet runs in one thread, in order: among its own threads only the compiler must keep the order.
void Emitter::emit_fence(const ir::Op& op) {
    const auto kind = static_cast<ir::FenceKind>(op.index);
    const bool others = kind == ir::FenceKind::Device || kind == ir::FenceKind::System;
    builder_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent,
                         others ? llvm::SyncScope::System : llvm::SyncScope::SingleThread);
}

// One call for all lanes; the host puts their lines in order.
void Emitter::emit_print(const ir::Op& op) {
    llvm::Type* number = builder_.getInt64Ty();
    llvm::Type* pointer = builder_.getPtrTy();
    llvm::VectorType* words = vector_of(number);
    const std::size_t count = op.operands.size();
    llvm::AllocaInst* memory = slot(llvm::ArrayType::get(words, std::max<std::size_t>(count, 1)), "printed");
    for (std::size_t i = 0; i < count; ++i) {
        const DType type = dtype(op.operands[i]);
        Value* value = vector(op.operands[i]);
        if (is_float(type)) {
            value = builder_.CreateBitCast(builder_.CreateFPCast(value, vector_of(builder_.getDoubleTy())), words);
        } else {
            value = is_signed(type) ? builder_.CreateSExt(value, words) : builder_.CreateZExt(value, words);
        }
        builder_.CreateStore(value, builder_.CreateConstInBoundsGEP1_64(words, memory, i));
    }
    auto* type = llvm::FunctionType::get(builder_.getVoidTy(),
                                         {pointer, number, number, number, number, pointer, number, number}, false);
    Value* field = builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), info_, offsetof(LaunchInfo, print));
    builder_.CreateCall(type, builder_.CreateLoad(pointer, field),
                        {info_, i64(op.index), block_number_, builder_.CreateZExt(thread_base_, number),
                         mask_bits(mask_or_all()), memory, i64(static_cast<std::int64_t>(count)), i64(width_)});
}

void Emitter::emit_raise(const ir::Op& op) {
    Value* lane = i64(0);
    if (mask_ != nullptr)
        lane = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, mask_bits(mask_), builder_.getFalse());
    call_fault(i64(op.line), kRaised, i64(op.index), llvm::ConstantPointerNull::get(builder_.getPtrTy()), 0, lane);
}

}  // namespace treadle::codegen
