// One atomic operation on one element.
#include "base/error.h"
#include "codegen/common/element_emitter.h"

namespace treadle::codegen {

using ir::AtomicKind;

// What is stored in place of old. All are as in memory.
ElementEmitter::Value* ElementEmitter::combined(AtomicKind kind, DType type, Value* old, Value* value, Value* second) {
    if (kind == AtomicKind::Exch) return value;
    if (kind == AtomicKind::Cas)
        return builder_.CreateSelect(builder_.CreateICmpEQ(bits_of_value(old), bits_of_value(value)), second, old);
    return to_memory(combined_values(kind, type, from_memory(old, type), from_memory(value, type)), type);
}

ElementEmitter::Value* ElementEmitter::combined_values(AtomicKind kind, DType type, Value* old, Value* value) {
    const bool real = is_float(type);
    const auto less = [&](Value* a, Value* b) { return compare(ir::Opcode::Lt, a, b, type); };
    switch (kind) {
        case AtomicKind::Add:
            return real ? rounded(builder_.CreateFAdd(old, value), type) : builder_.CreateAdd(old, value);
        case AtomicKind::Sub:
            return real ? rounded(builder_.CreateFSub(old, value), type) : builder_.CreateSub(old, value);
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
        default: {
            TREADLE_CHECK(kind == AtomicKind::NanMin || kind == AtomicKind::NanMax, "no such atomic operation");
            Value* better = kind == AtomicKind::NanMin ? less(value, old) : less(old, value);
            if (real) better = builder_.CreateOr(better, builder_.CreateFCmpUNO(old, old));
            return builder_.CreateSelect(better, value, old);
        }
    }
}

ElementEmitter::Value* ElementEmitter::bits_of_value(Value* value) {
    llvm::Type* type = value->getType();
    return type->isIntegerTy() ? value : builder_.CreateBitCast(value, builder_.getIntNTy(type->getScalarSizeInBits()));
}

ElementEmitter::Value* ElementEmitter::atomic_one(AtomicKind kind, DType elem, bool alone, Value* address, Value* value,
                                                  Value* second) {
    llvm::Type* type = memory_type(elem);
    const llvm::Align align(static_cast<std::uint64_t>(size_of(elem)));
    if (alone) {
        Value* old = builder_.CreateAlignedLoad(type, address, align);
        builder_.CreateAlignedStore(combined(kind, elem, old, value, second), address, align);
        return old;
    }
    constexpr auto kOrder = llvm::AtomicOrdering::Monotonic;
    using Rmw = llvm::AtomicRMWInst;
    Rmw::BinOp code = Rmw::BAD_BINOP;
    if (is_float(elem) && adds_floats_ && !is_half(elem)) {
        if (kind == AtomicKind::Add) code = Rmw::FAdd;
        if (kind == AtomicKind::Sub)
            return builder_.CreateAtomicRMW(Rmw::FAdd, address, builder_.CreateFNeg(value), align, kOrder);
    }
    if (!is_float(elem)) {
        const bool sign = is_signed(elem);
        switch (kind) {
            case AtomicKind::Add: code = Rmw::Add; break;
            case AtomicKind::Sub: code = Rmw::Sub; break;
            case AtomicKind::And: code = Rmw::And; break;
            case AtomicKind::Or: code = Rmw::Or; break;
            case AtomicKind::Xor: code = Rmw::Xor; break;
            case AtomicKind::Exch: code = Rmw::Xchg; break;
            case AtomicKind::Min:
            case AtomicKind::NanMin: code = sign ? Rmw::Min : Rmw::UMin; break;
            case AtomicKind::Max:
            case AtomicKind::NanMax: code = sign ? Rmw::Max : Rmw::UMax; break;
            case AtomicKind::Inc: code = Rmw::UIncWrap; break;
            case AtomicKind::Dec: code = Rmw::UDecWrap; break;
            default: break;
        }
    }
    if (code != Rmw::BAD_BINOP) return builder_.CreateAtomicRMW(code, address, value, align, kOrder);
    llvm::Type* word = builder_.getIntNTy(static_cast<unsigned>(bits_of(elem)));
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
    Value* wanted = bits_of_value(combined(kind, elem, from_bits(seen), value, second));
    Value* pair = builder_.CreateAtomicCmpXchg(address, seen, wanted, align, kOrder, kOrder);
    seen->addIncoming(builder_.CreateExtractValue(pair, 0), builder_.GetInsertBlock());
    builder_.CreateCondBr(builder_.CreateExtractValue(pair, 1), done, retry);
    builder_.SetInsertPoint(done);
    return from_bits(seen);
}

}  // namespace treadle::codegen
