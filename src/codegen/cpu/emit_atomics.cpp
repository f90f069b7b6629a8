// Atomic operations. Lanes that name one address are combined first where nobody asks for the old values; others go one
// by one, in the order of the lanes. Memory that only this block can reach needs no locked instruction: a block runs in
// one thread.
#include "base/error.h"
#include "codegen/cpu/emitter.h"

namespace treadle::codegen {

using ir::AtomicKind;

namespace {

bool can_combine(AtomicKind kind) {
    switch (kind) {
        case AtomicKind::Add:
        case AtomicKind::Sub:
        case AtomicKind::And:
        case AtomicKind::Or:
        case AtomicKind::Xor:
        case AtomicKind::Min:
        case AtomicKind::Max: return true;
        default: return false;
    }
}

}  // namespace

Emitter::Value* Emitter::atomic_lane(const ir::Op& op, Value* address, Value* value, Value* second) {
    const bool alone = op.space == ir::Space::Shared || op.space == ir::Space::Local;
    return atomic_one(static_cast<AtomicKind>(op.imm), op.elem, alone, address, value, second);
}

// The operands of all active lanes as one.
Emitter::Value* Emitter::reduced(const ir::Op& op, Value* values) {
    const bool real = is_float(op.elem);
    const bool is_unsigned_type = is_unsigned(op.elem);
    llvm::Type* type = values->getType();
    llvm::Type* element = type->getScalarType();
    const auto masked = [&](llvm::Constant* neutral) {
        return mask_ == nullptr ? values : builder_.CreateSelect(mask_, values, splat(neutral));
    };
    const unsigned bits = element->getScalarSizeInBits();
    const auto whole = [&](const llvm::APInt& value) { return llvm::ConstantInt::get(context_, value); };
    switch (static_cast<AtomicKind>(op.imm)) {
        case AtomicKind::Add:
        case AtomicKind::Sub: {
            if (!real) return builder_.CreateAddReduce(masked(llvm::ConstantInt::get(context_, llvm::APInt(bits, 0))));
            Value* start = llvm::ConstantFP::get(element, -0.0);
            auto* sum = llvm::cast<llvm::Instruction>(builder_.CreateFAddReduce(
                start,
                masked(llvm::ConstantFP::get(context_, llvm::APFloat::getZero(element->getFltSemantics(), true)))));
            sum->setHasAllowReassoc(true);
            return sum;
        }
        case AtomicKind::And: return builder_.CreateAndReduce(masked(whole(llvm::APInt::getAllOnes(bits))));
        case AtomicKind::Or: return builder_.CreateOrReduce(masked(whole(llvm::APInt(bits, 0))));
        case AtomicKind::Xor: return builder_.CreateXorReduce(masked(whole(llvm::APInt(bits, 0))));
        case AtomicKind::Min:
            // NaN is neutral: it is never stored.
            if (real) return builder_.CreateFPMinReduce(masked(llvm::ConstantFP::getNaN(element)));
            return builder_.CreateIntMinReduce(
                masked(whole(is_unsigned_type ? llvm::APInt::getMaxValue(bits) : llvm::APInt::getSignedMaxValue(bits))),
                !is_unsigned_type);
        default:
            if (real) return builder_.CreateFPMaxReduce(masked(llvm::ConstantFP::getNaN(element)));
            return builder_.CreateIntMaxReduce(
                masked(whole(is_unsigned_type ? llvm::APInt::getMinValue(bits) : llvm::APInt::getSignedMinValue(bits))),
                !is_unsigned_type);
    }
}

void Emitter::emit_atomic(const ir::Op& op) {
    const Access access = access_of(op);
    const std::size_t first = 1 + 3 * access.rank;
    bool uniform = op.space != ir::Space::Local;
    for (std::size_t i = 0; i < first; ++i) uniform = uniform && shape(op.operands[i]).is_uniform();
    // Half precision has no reduction that needs no library.
    const bool combines = can_combine(static_cast<AtomicKind>(op.imm)) && !is_half(op.elem);
    if (uniform && combines && !used_.contains(op.result)) {
        uniform_write(access, [&](Value* address) {
            atomic_lane(op, address, reduced(op, vector(op.operands[first])), nullptr);
        });
        return;
    }
    const auto operand = [&](std::size_t which) { return to_memory(vector(op.operands[which]), op.elem); };
    Value* old = slow_atomic(access, operand(first), op.operands.size() > first + 1 ? operand(first + 1) : nullptr);
    values_[op.result] = from_memory(old, op.elem);
}

}  // namespace treadle::codegen
