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

// What is stored in place of old.
Emitter::Value* Emitter::combined(AtomicKind kind, DType type, Value* old, Value* value, Value* second) {
    const bool real = is_float(type);
    const auto less = [&](Value* a, Value* b) { return compare(ir::Opcode::Lt, a, b, type); };
    switch (kind) {
        case AtomicKind::Add: return real ? builder_.CreateFAdd(old, value) : builder_.CreateAdd(old, value);
        case AtomicKind::Sub: return real ? builder_.CreateFSub(old, value) : builder_.CreateSub(old, value);
        case AtomicKind::Inc: {
            Value* next = builder_.CreateAdd(old, llvm::ConstantInt::get(old->getType(), 1));
            return builder_.CreateSelect(less(old, value), next, llvm::Constant::getNullValue(old->getType()));
        }
        case AtomicKind::Dec: {
            Value* zero = builder_.CreateICmpEQ(old, llvm::Constant::getNullValue(old->getType()));
            Value* next = builder_.CreateSub(old, llvm::ConstantInt::get(old->getType(), 1));
            return builder_.CreateSelect(builder_.CreateOr(zero, less(value, old)), value, next);
        }
        case AtomicKind::And: return builder_.CreateAnd(old, value);
        case AtomicKind::Or: return builder_.CreateOr(old, value);
        case AtomicKind::Xor: return builder_.CreateXor(old, value);
        case AtomicKind::Min: return builder_.CreateSelect(less(value, old), value, old);
        case AtomicKind::Max: return builder_.CreateSelect(less(old, value), value, old);
        case AtomicKind::NanMin:
        case AtomicKind::NanMax: {
            Value* better = kind == AtomicKind::NanMin ? less(value, old) : less(old, value);
            if (real) better = builder_.CreateOr(better, builder_.CreateFCmpUNO(old, old));
            return builder_.CreateSelect(better, value, old);
        }
        case AtomicKind::Exch: return value;
        default:
            return builder_.CreateSelect(builder_.CreateICmpEQ(bits_of_value(old), bits_of_value(value)), second, old);
    }
}

Emitter::Value* Emitter::bits_of_value(Value* value) {
    llvm::Type* type = value->getType();
    return type->isIntegerTy() ? value : builder_.CreateBitCast(value, builder_.getIntNTy(type->getScalarSizeInBits()));
}

// One lane's operation; gives the old value.
Emitter::Value* Emitter::atomic_one(const ir::Op& op, Value* address, Value* value, Value* second) {
    const auto kind = static_cast<AtomicKind>(op.imm);
    llvm::Type* type = memory_type(op.elem);
    const llvm::Align align(static_cast<std::uint64_t>(size_of(op.elem)));
    if (op.space == ir::Space::Shared || op.space == ir::Space::Local) {
        Value* old = builder_.CreateAlignedLoad(type, address, align);
        builder_.CreateAlignedStore(combined(kind, op.elem, old, value, second), address, align);
        return old;
    }
    constexpr auto kOrder = llvm::AtomicOrdering::Monotonic;
    using Rmw = llvm::AtomicRMWInst;
    Rmw::BinOp code = Rmw::BAD_BINOP;
    if (!is_float(op.elem)) {
        switch (kind) {
            case AtomicKind::Add: code = Rmw::Add; break;
            case AtomicKind::Sub: code = Rmw::Sub; break;
            case AtomicKind::And: code = Rmw::And; break;
            case AtomicKind::Or: code = Rmw::Or; break;
            case AtomicKind::Xor: code = Rmw::Xor; break;
            case AtomicKind::Exch: code = Rmw::Xchg; break;
            default: break;
        }
    }
    if (code != Rmw::BAD_BINOP) return builder_.CreateAtomicRMW(code, address, value, align, kOrder);
    llvm::Type* word = builder_.getIntNTy(static_cast<unsigned>(bits_of(op.elem)));
    const auto from_bits = [&](Value* bits) { return type->isIntegerTy() ? bits : builder_.CreateBitCast(bits, type); };
    if (kind == AtomicKind::Cas) {
        Value* pair =
            builder_.CreateAtomicCmpXchg(address, bits_of_value(value), bits_of_value(second), align, kOrder, kOrder);
        return from_bits(builder_.CreateExtractValue(pair, 0));
    }
    llvm::Function* function = builder_.GetInsertBlock()->getParent();
    llvm::BasicBlock* before = builder_.GetInsertBlock();
    llvm::BasicBlock* retry = llvm::BasicBlock::Create(context_, "retry", function);
    llvm::BasicBlock* done = llvm::BasicBlock::Create(context_, "exchanged", function);
    llvm::LoadInst* first = builder_.CreateAlignedLoad(word, address, align);
    first->setAtomic(kOrder);
    builder_.CreateBr(retry);
    builder_.SetInsertPoint(retry);
    llvm::PHINode* seen = builder_.CreatePHI(word, 2);
    seen->addIncoming(first, before);
    Value* wanted = bits_of_value(combined(kind, op.elem, from_bits(seen), value, second));
    Value* pair = builder_.CreateAtomicCmpXchg(address, seen, wanted, align, kOrder, kOrder);
    seen->addIncoming(builder_.CreateExtractValue(pair, 0), builder_.GetInsertBlock());
    builder_.CreateCondBr(builder_.CreateExtractValue(pair, 1), done, retry);
    builder_.SetInsertPoint(done);
    return from_bits(seen);
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
    const bool combines = can_combine(static_cast<AtomicKind>(op.imm)) && op.elem != DType::Float16;
    if (uniform && combines && !used_.contains(op.result)) {
        uniform_write(
            access, [&](Value* address) { atomic_one(op, address, reduced(op, vector(op.operands[first])), nullptr); });
        return;
    }
    values_[op.result] = slow_atomic(access, vector(op.operands[first]),
                                     op.operands.size() > first + 1 ? vector(op.operands[first + 1]) : nullptr);
}

}  // namespace treadle::codegen
