// What the threads of a warp tell each other.
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "base/error.h"
#include "codegen/nvptx/emitter.h"

namespace treadle::codegen::nvptx {

namespace In = llvm::Intrinsic;
using ir::Opcode;
using ir::ShuffleKind;
using ir::VoteKind;

Emitter::Value* Emitter::warp(const ir::Op& op, const Thread& thread) {
    switch (op.code) {
        case Opcode::LaneId: return builder_.CreateIntrinsic(In::nvvm_read_ptx_sreg_laneid, {}, {});
        case Opcode::ActiveMask: {
            auto* type = llvm::FunctionType::get(builder_.getInt32Ty(), false);
            llvm::CallInst* call =
                builder_.CreateCall(llvm::InlineAsm::get(type, "activemask.b32 $0;", "=r", /*hasSideEffects=*/true));
            call->addFnAttr(llvm::Attribute::Convergent);
            return call;
        }
        case Opcode::Shuffle: return shuffled(op, thread);
        case Opcode::Vote: {
            static constexpr In::ID kVotes[] = {In::nvvm_vote_all_sync, In::nvvm_vote_any_sync, In::nvvm_vote_uni_sync,
                                                In::nvvm_vote_ballot_sync};
            return builder_.CreateIntrinsic(kVotes[op.index], {},
                                            {get(thread, op.operands[0]), get(thread, op.operands[1])});
        }
        default: break;
    }
    // Match: equal bits.
    Value* members = get(thread, op.operands[0]);
    Value* value = bits_of_value(get(thread, op.operands[1]));
    const bool wide = value->getType()->getScalarSizeInBits() == 64;
    if (!wide) value = builder_.CreateZExt(value, builder_.getInt32Ty());
    if (op.index == 0)
        return builder_.CreateIntrinsic(wide ? In::nvvm_match_any_sync_i64 : In::nvvm_match_any_sync_i32, {},
                                        {members, value});
    Value* pair = builder_.CreateIntrinsic(wide ? In::nvvm_match_all_sync_i64p : In::nvvm_match_all_sync_i32p, {},
                                           {members, value});
    return builder_.CreateExtractValue(pair, 0);
}

Emitter::Value* Emitter::shuffled_word(ShuffleKind kind, Value* word, Value* lane, Value* members) {
    static constexpr In::ID kShuffles[] = {In::nvvm_shfl_sync_idx_i32, In::nvvm_shfl_sync_up_i32,
                                           In::nvvm_shfl_sync_down_i32, In::nvvm_shfl_sync_bfly_i32};
    // The last operand bounds the lanes that can be named: from below for those that go up.
    Value* bound = builder_.getInt32(kind == ShuffleKind::Up ? 0 : ir::kWarp - 1);
    return builder_.CreateIntrinsic(kShuffles[static_cast<int>(kind)], {}, {members, word, lane, bound});
}

Emitter::Value* Emitter::shuffled(const ir::Op& op, const Thread& thread) {
    const auto kind = static_cast<ShuffleKind>(op.index);
    Value* value = get(thread, op.operands[0]);
    Value* lane = get(thread, op.operands[1]);
    Value* members = get(thread, op.operands[2]);
    llvm::Type* type = value->getType();
    llvm::Type* word = builder_.getInt32Ty();
    Value* bits = bits_of_value(value);
    Value* result = nullptr;
    if (bits->getType()->isIntegerTy(64)) {
        Value* low = shuffled_word(kind, builder_.CreateTrunc(bits, word), lane, members);
        Value* high = shuffled_word(kind, builder_.CreateTrunc(builder_.CreateLShr(bits, 32), word), lane, members);
        result = builder_.CreateOr(builder_.CreateZExt(low, bits->getType()),
                                   builder_.CreateShl(builder_.CreateZExt(high, bits->getType()), 32));
    } else {
        result = shuffled_word(kind, builder_.CreateZExt(bits, word), lane, members);
        result = builder_.CreateTrunc(result, bits->getType());
    }
    result = type->isIntegerTy() ? result : builder_.CreateBitCast(result, type);
    if (kind == ShuffleKind::Index) return result;
    // The machine looks at five bits of a distance; farther than that there is nobody.
    Value* near = builder_.CreateICmpULT(lane, builder_.getInt32(ir::kWarp));
    return builder_.CreateSelect(near, result, value);
}

}  // namespace treadle::codegen::nvptx
