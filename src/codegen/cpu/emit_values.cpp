#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

#include "codegen/cpu/emitter.h"

namespace treadle::codegen {

llvm::VectorType* Emitter::vector_of(llvm::Type* element) {
    return llvm::FixedVectorType::get(element, static_cast<unsigned>(width_));
}

Emitter::Value* Emitter::splat(Value* scalar) {
    return builder_.CreateVectorSplat(static_cast<unsigned>(width_), scalar);
}

Emitter::Value* Emitter::lane_numbers(llvm::Type* element, std::int64_t stride) {
    std::vector<llvm::Constant*> lanes;
    for (int lane = 0; lane < width_; ++lane) {
        lanes.push_back(llvm::ConstantInt::get(element, static_cast<std::uint64_t>(lane * stride), true));
    }
    return llvm::ConstantVector::get(lanes);
}

Emitter::Value* Emitter::widen(Value* value, ir::Shape shape, llvm::Type* element) {
    if (value->getType()->isVectorTy()) return value;
    Value* wide = splat(value);
    return shape.is_linear() ? builder_.CreateAdd(wide, lane_numbers(element, shape.stride)) : wide;
}

Emitter::Value* Emitter::vector(ir::ValueId id) {
    Value* value = get(id);
    return value->getType()->isVectorTy() ? value : widen(value, shape(id), value->getType());
}

llvm::AllocaInst* Emitter::slot(llvm::Type* type, const char* name) {
    llvm::BasicBlock& entry = kernel_->getEntryBlock();
    llvm::IRBuilder<> at_entry(&entry, entry.begin());
    return at_entry.CreateAlloca(type, nullptr, name);
}

// Masks carried round loops: AVX-512 has registers for them; elsewhere full-width lanes are what compares produce and
// blends take.
llvm::Type* Emitter::mask_slot_type() {
    return options_.target.isa == VectorIsa::Avx512 ? vector_of(builder_.getInt1Ty())
                                                    : vector_of(builder_.getInt32Ty());
}

llvm::AllocaInst* Emitter::mask_slot(Value* mask, const char* name) {
    llvm::AllocaInst* result = slot(mask_slot_type(), name);
    store_mask(mask != nullptr ? mask : all_lanes(), result);
    return result;
}

Emitter::Value* Emitter::all_lanes() { return llvm::Constant::getAllOnesValue(vector_of(builder_.getInt1Ty())); }

Emitter::Value* Emitter::load_mask(llvm::AllocaInst* slot) {
    Value* lanes = builder_.CreateLoad(mask_slot_type(), slot);
    if (options_.target.isa == VectorIsa::Avx512) return lanes;
    return builder_.CreateICmpSLT(lanes, llvm::Constant::getNullValue(lanes->getType()));
}

void Emitter::store_mask(Value* mask, llvm::AllocaInst* slot) {
    if (options_.target.isa != VectorIsa::Avx512) mask = builder_.CreateSExt(mask, mask_slot_type());
    builder_.CreateStore(mask, slot);
}

Emitter::Value* Emitter::mask_and(Value* a, Value* b) {
    if (a == nullptr) return b;
    return b == nullptr ? a : builder_.CreateAnd(a, b);
}

Emitter::Value* Emitter::mask_bits(Value* mask) {
    Value* bits = builder_.CreateBitCast(mask, builder_.getIntNTy(static_cast<unsigned>(width_)));
    return builder_.CreateZExt(bits, builder_.getInt64Ty());
}

Emitter::Value* Emitter::any(Value* mask) {
    Value* bits = builder_.CreateBitCast(mask, builder_.getIntNTy(static_cast<unsigned>(width_)));
    return builder_.CreateICmpNE(bits, llvm::Constant::getNullValue(bits->getType()));
}

Emitter::Value* Emitter::all(Value* mask) {
    Value* bits = builder_.CreateBitCast(mask, builder_.getIntNTy(static_cast<unsigned>(width_)));
    return builder_.CreateICmpEQ(bits, llvm::Constant::getAllOnesValue(bits->getType()));
}

llvm::BasicBlock* Emitter::block(const char* name) { return llvm::BasicBlock::Create(context_, name, kernel_); }

bool Emitter::ended() const { return builder_.GetInsertBlock()->getTerminator() != nullptr; }

void Emitter::branch_to(llvm::BasicBlock* target) {
    if (!ended()) builder_.CreateBr(target);
}

}  // namespace treadle::codegen
