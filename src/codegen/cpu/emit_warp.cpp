// A warp is one packet: its threads run in step, so what they exchange is a permutation of lanes, and what they vote is
// a mask. Lanes that are not active hold any value.
#include <llvm/IR/IntrinsicsX86.h>

#include "base/error.h"
#include "codegen/cpu/emitter.h"

namespace treadle::codegen {

using ir::Opcode;
using ir::ShuffleKind;
using ir::VoteKind;

// A mask as 32 bits.
Emitter::Value* Emitter::warp_bits(Value* lanes) {
    return builder_.CreateTrunc(mask_bits(lanes), builder_.getInt32Ty());
}

void Emitter::emit_warp(const ir::Op& op) {
    TREADLE_CHECK(width_ == ir::kWarp, "a warp must be a packet");
    switch (op.code) {
        case Opcode::LaneId: values_[op.result] = builder_.getInt32(0); return;
        case Opcode::ActiveMask: values_[op.result] = warp_bits(mask_or_all()); return;
        case Opcode::Shuffle:
            values_[op.result] = shape(op.result).is_uniform() ? get(op.operands[0]) : shuffled(op);
            return;
        case Opcode::Vote: values_[op.result] = vote(op); return;
        default: values_[op.result] = match(op);
    }
}

Emitter::Value* Emitter::shuffled(const ir::Op& op) {
    const auto kind = static_cast<ShuffleKind>(op.index);
    Value* value = vector(op.operands[0]);
    const auto known = constants_.find(op.operands[1]);
    if (known != constants_.end()) {
        std::vector<int> from;
        for (int lane = 0; lane < width_; ++lane) {
            const auto by = static_cast<std::int32_t>(known->second);
            const std::int64_t source = kind == ShuffleKind::Index  ? by & (ir::kWarp - 1)
                                        : kind == ShuffleKind::Up   ? std::int64_t{lane} - by
                                        : kind == ShuffleKind::Down ? std::int64_t{lane} + by
                                                                    : lane ^ by;
            from.push_back(source >= 0 && source < width_ ? static_cast<int>(source) : lane);
        }
        return builder_.CreateShuffleVector(value, from);
    }
    llvm::Type* number = builder_.getInt32Ty();
    Value* own = lane_numbers(number);
    Value* by = vector(op.operands[1]);
    Value* from = nullptr;
    switch (kind) {
        case ShuffleKind::Index: from = builder_.CreateAnd(by, splat(builder_.getInt32(ir::kWarp - 1))); break;
        case ShuffleKind::Up: from = builder_.CreateSub(own, by); break;
        case ShuffleKind::Down: from = builder_.CreateAdd(own, by); break;
        case ShuffleKind::Xor: from = builder_.CreateXor(own, by); break;
    }
    Value* inside = builder_.CreateICmpULT(from, splat(builder_.getInt32(ir::kWarp)));
    return permuted(value, builder_.CreateSelect(inside, from, own));
}

// Lane i of the result is lane lanes[i] of value.
Emitter::Value* Emitter::permuted(Value* value, Value* lanes) {
    llvm::Type* type = value->getType();
    llvm::Type* element = type->getScalarType();
    if (element->isIntegerTy(1)) {
        Value* bytes = builder_.CreateZExt(value, vector_of(builder_.getInt32Ty()));
        return builder_.CreateTrunc(permuted(bytes, lanes), type);
    }
    if (options_.target.isa == VectorIsa::Avx512 && element->getScalarSizeInBits() == 32) {
        // Two registers hold the warp; one instruction picks from both.
        Value* words = builder_.CreateBitCast(value, vector_of(builder_.getInt32Ty()));
        const auto half = [&](Value* whole, int which) {
            std::vector<int> items;
            for (int i = 0; i < 16; ++i) items.push_back(16 * which + i);
            return builder_.CreateShuffleVector(whole, items);
        };
        Value* parts[2];
        for (int which = 0; which < 2; ++which) {
            parts[which] = builder_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpermi2var_d_512, {},
                                                    {half(words, 0), half(lanes, which), half(words, 1)});
        }
        std::vector<int> items;
        for (int i = 0; i < 32; ++i) items.push_back(i);
        return builder_.CreateBitCast(builder_.CreateShuffleVector(parts[0], parts[1], items), type);
    }
    llvm::AllocaInst* memory = slot(type, "warp");
    builder_.CreateStore(value, memory);
    const auto bytes = static_cast<std::int64_t>(element->getScalarSizeInBits() / 8);
    Value* offsets =
        builder_.CreateMul(builder_.CreateZExt(lanes, vector_of(builder_.getInt64Ty())), splat(i64(bytes)));
    const DType elem = bytes == 8 ? DType::Int64 : bytes == 4 ? DType::Int32 : bytes == 2 ? DType::Int16 : DType::Int8;
    Value* words =
        gather(builder_.CreatePtrToInt(memory, builder_.getInt64Ty()), offsets, elem, nullptr, align_of(elem));
    return builder_.CreateBitCast(words, type);
}

Emitter::Value* Emitter::vote(const ir::Op& op) {
    const auto kind = static_cast<VoteKind>(op.index);
    Value* active = warp_bits(mask_or_all());
    Value* yes = warp_bits(mask_and(mask_, vector(op.operands[1])));
    Value* members = get(op.operands[0]);
    const bool alike = shape(op.result).is_uniform();
    if (!alike) {
        members = vector(op.operands[0]);
        active = splat(active);
        yes = splat(yes);
    }
    yes = builder_.CreateAnd(yes, members);
    active = builder_.CreateAnd(active, members);
    Value* none = builder_.CreateICmpEQ(yes, llvm::Constant::getNullValue(yes->getType()));
    Value* all = builder_.CreateICmpEQ(yes, active);
    switch (kind) {
        case VoteKind::All: return all;
        case VoteKind::Any: return builder_.CreateNot(none);
        case VoteKind::Equal: return builder_.CreateOr(all, none);
        default: return yes;
    }
}

// Which members hold the same bits.
Emitter::Value* Emitter::match(const ir::Op& op) {
    Value* value = vector(op.operands[1]);
    llvm::Type* word = builder_.getIntNTy(value->getType()->getScalarSizeInBits());
    value = builder_.CreateBitCast(value, vector_of(word));
    Value* active = warp_bits(mask_or_all());
    Value* members = get(op.operands[0]);
    if (op.index == 1 && shape(op.result).is_uniform()) {
        active = builder_.CreateAnd(active, members);
        Value* first = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, active, builder_.getFalse());
        first = builder_.CreateAnd(first, builder_.getInt32(ir::kWarp - 1));
        Value* same = builder_.CreateICmpEQ(value, splat(builder_.CreateExtractElement(value, first)));
        Value* differs = builder_.CreateAnd(builder_.CreateNot(warp_bits(same)), active);
        return builder_.CreateSelect(builder_.CreateICmpEQ(differs, builder_.getInt32(0)), active,
                                     builder_.getInt32(0));
    }
    members = builder_.CreateAnd(vector(op.operands[0]), splat(active));
    Value* result = llvm::Constant::getNullValue(vector_of(builder_.getInt32Ty()));
    for (int lane = 0; lane < width_; ++lane) {
        Value* other = builder_.CreateExtractElement(value, static_cast<std::uint64_t>(lane));
        Value* bit =
            builder_.CreateSelect(builder_.CreateICmpEQ(value, splat(other)), splat(builder_.getInt32(1u << lane)),
                                  llvm::Constant::getNullValue(result->getType()));
        result = builder_.CreateOr(result, bit);
    }
    result = builder_.CreateAnd(result, members);
    if (op.index == 0) return result;
    return builder_.CreateSelect(builder_.CreateICmpEQ(result, members), members,
                                 llvm::Constant::getNullValue(result->getType()));
}

}  // namespace treadle::codegen
