#include "codegen/common/element_emitter.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

#include "base/error.h"

namespace treadle::codegen {

using ir::Opcode;

llvm::Type* ElementEmitter::scalar_type(DType type) {
    switch (type) {
        case DType::Bool: return builder_.getInt1Ty();
        case DType::Float16: return builder_.getHalfTy();
        case DType::Float32: return builder_.getFloatTy();
        case DType::Float64: return builder_.getDoubleTy();
        default: return builder_.getIntNTy(static_cast<unsigned>(bits_of(type)));
    }
}

llvm::Type* ElementEmitter::memory_type(DType type) { return is_bool(type) ? builder_.getInt8Ty() : scalar_type(type); }

// Pointers are integers here: vectors of addresses need arithmetic more than aliasing facts.
llvm::Type* ElementEmitter::scalar_type(ir::Type type) {
    return type.is_pointer() ? builder_.getInt64Ty() : scalar_type(type.dtype);
}

llvm::Type* ElementEmitter::like(Value* value, llvm::Type* element) {
    const auto* vector = llvm::dyn_cast<llvm::VectorType>(value->getType());
    return vector != nullptr ? llvm::VectorType::get(element, vector->getElementCount()) : element;
}

ElementEmitter::Value* ElementEmitter::i64(std::int64_t value) {
    return builder_.getInt64(static_cast<std::uint64_t>(value));
}

ElementEmitter::Value* ElementEmitter::from_memory(Value* value, DType type) {
    if (!is_bool(type)) return value;
    return builder_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
}

ElementEmitter::Value* ElementEmitter::to_memory(Value* value, DType type) {
    if (!is_bool(type)) return value;
    return builder_.CreateZExt(value, like(value, builder_.getInt8Ty()));
}

void ElementEmitter::unlikely(Value* condition, llvm::BasicBlock* rare, llvm::BasicBlock* usual) {
    builder_.CreateCondBr(condition, rare, usual, llvm::MDBuilder(context_).createBranchWeights(1, 2000));
}

llvm::Constant* ElementEmitter::table_memory(const ir::Table& table, unsigned address_space) {
    llvm::Type* element = memory_type(table.dtype);
    std::vector<llvm::Constant*> items;
    for (const std::uint64_t bits : table.bits) {
        llvm::Constant* word =
            llvm::ConstantInt::get(builder_.getIntNTy(static_cast<unsigned>(8 * size_of(table.dtype))), bits);
        items.push_back(is_float(table.dtype) ? llvm::ConstantExpr::getBitCast(word, element) : word);
    }
    if (items.empty()) items.push_back(llvm::Constant::getNullValue(element));
    auto* array = llvm::ArrayType::get(element, items.size());
    auto* memory = new llvm::GlobalVariable(module_, array, true, llvm::GlobalValue::PrivateLinkage,
                                            llvm::ConstantArray::get(array, items), "table", nullptr,
                                            llvm::GlobalValue::NotThreadLocal, address_space);
    memory->setAlignment(llvm::Align(64));
    return memory;
}

ElementEmitter::Value* ElementEmitter::constant(const ir::Op& op) {
    llvm::Type* type = scalar_type(op.type.dtype);
    const unsigned bits = type->getScalarSizeInBits();
    const llvm::APInt word(bits, op.imm);
    if (!is_float(op.type.dtype)) return llvm::ConstantInt::get(type, word);
    return llvm::ConstantFP::get(context_, llvm::APFloat(type->getFltSemantics(), word));
}

ElementEmitter::Value* ElementEmitter::arithmetic(const ir::Op& op, const std::vector<Value*>& operands, DType type) {
    Value* a = operands[0];
    Value* b = operands.size() > 1 ? operands[1] : nullptr;
    switch (op.code) {
        case Opcode::Cast: return cast(op, a, type, op.type.dtype);
        case Opcode::Bitcast: return builder_.CreateBitCast(a, like(a, scalar_type(op.type.dtype)));
        case Opcode::Select: return builder_.CreateSelect(a, b, operands[2]);
        case Opcode::Eq:
        case Opcode::Ne:
        case Opcode::Lt:
        case Opcode::Le:
        case Opcode::Gt:
        case Opcode::Ge: return compare(op.code, a, b, type);
        case Opcode::Min: return builder_.CreateSelect(compare(Opcode::Lt, a, b, type), a, b);
        case Opcode::Max: return builder_.CreateSelect(compare(Opcode::Gt, a, b, type), a, b);
        default: break;
    }
    if (is_float(type)) return float_op(op, operands);
    switch (op.code) {
        case Opcode::Add: return builder_.CreateAdd(a, b);
        case Opcode::Sub: return builder_.CreateSub(a, b);
        case Opcode::Mul: return builder_.CreateMul(a, b);
        case Opcode::FloorDiv:
        case Opcode::Mod:
            if (function_.width_bits[op.operands[0]] < 64 && function_.width_bits[op.operands[1]] < 64) {
                // Without signs Python's rounding is C's.
                const DType plain = integer_type(bits_of(type), false);
                return integer_division(op.code, a, b, plain);
            }
            return integer_division(op.code, a, b, type);
        case Opcode::TruncDiv:
        case Opcode::TruncMod: return integer_division(op.code, a, b, type);
        case Opcode::MulHigh: return mul_high(a, b, type);
        case Opcode::Shl:
        case Opcode::Shr: {
            // As NumPy: shifting everything out leaves zero, or the sign.
            Value* width = llvm::ConstantInt::get(a->getType(), static_cast<std::uint64_t>(bits_of(type)));
            Value* last = llvm::ConstantInt::get(a->getType(), static_cast<std::uint64_t>(bits_of(type) - 1));
            Value* fits = builder_.CreateICmpULT(b, width);
            Value* count = builder_.CreateSelect(fits, b, last);
            if (op.code == Opcode::Shr && is_signed(type)) return builder_.CreateAShr(a, count);
            Value* shifted = op.code == Opcode::Shl ? builder_.CreateShl(a, count) : builder_.CreateLShr(a, count);
            return builder_.CreateSelect(fits, shifted, llvm::Constant::getNullValue(a->getType()));
        }
        case Opcode::And: return builder_.CreateAnd(a, b);
        case Opcode::Or: return builder_.CreateOr(a, b);
        case Opcode::Xor: return builder_.CreateXor(a, b);
        case Opcode::Not: return builder_.CreateNot(a);
        case Opcode::Neg: return builder_.CreateNeg(a);
        case Opcode::Abs:
            return is_signed(type) ? builder_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a, builder_.getFalse()) : a;
        case Opcode::PopCount: return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, a);
        case Opcode::LeadingZeros: return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, a, builder_.getFalse());
        case Opcode::TrailingZeros:
            return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, a, builder_.getFalse());
        case Opcode::ReverseBits: return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::bitreverse, a);
        default: break;
    }
    TREADLE_CHECK(false, std::string(ir::info(op.code).text) + " has no form for " + std::string(name_of(type)));
}

// Division by zero gives 0 and the quotient of the smallest number by -1 wraps: no operation of a kernel may trap.
ElementEmitter::Value* ElementEmitter::integer_division(Opcode code, Value* a, Value* b, DType type) {
    llvm::Type* shape = a->getType();
    Value* zero = llvm::Constant::getNullValue(shape);
    Value* one = llvm::ConstantInt::get(shape, 1);
    const bool quotient = code == Opcode::FloorDiv || code == Opcode::TruncDiv;
    const bool floors = code == Opcode::FloorDiv || code == Opcode::Mod;
    Value* is_zero = builder_.CreateICmpEQ(b, zero);
    if (!is_signed(type)) {
        Value* divisor = builder_.CreateSelect(is_zero, one, b);
        Value* result = quotient ? builder_.CreateUDiv(a, divisor) : builder_.CreateURem(a, divisor);
        return builder_.CreateSelect(is_zero, zero, result);
    }
    Value* minus_one = llvm::ConstantInt::getSigned(shape, -1);
    Value* negates = builder_.CreateICmpEQ(b, minus_one);
    Value* divisor = builder_.CreateSelect(builder_.CreateOr(is_zero, negates), one, b);
    Value* q = builder_.CreateSDiv(a, divisor);
    Value* r = builder_.CreateSub(a, builder_.CreateMul(q, divisor));
    if (floors) {
        Value* off =
            builder_.CreateAnd(builder_.CreateICmpNE(r, zero), builder_.CreateICmpSLT(builder_.CreateXor(r, b), zero));
        q = builder_.CreateSelect(off, builder_.CreateSub(q, one), q);
        r = builder_.CreateSelect(off, builder_.CreateAdd(r, b), r);
    }
    if (!quotient) return builder_.CreateSelect(builder_.CreateOr(is_zero, negates), zero, r);
    q = builder_.CreateSelect(negates, builder_.CreateNeg(a), q);
    return builder_.CreateSelect(is_zero, zero, q);
}

ElementEmitter::Value* ElementEmitter::float_op(const ir::Op& op, const std::vector<Value*>& operands) {
    llvm::FastMathFlags flags;
    if (!op.exact) {
        if (function_.contract) flags.setAllowContract(true);
        if (function_.fastmath) {
            flags.setAllowContract(true);
            flags.setAllowReassoc();
            flags.setAllowReciprocal();
            flags.setNoSignedZeros();
        }
    }
    const llvm::IRBuilderBase::FastMathFlagGuard guard(builder_);
    builder_.setFastMathFlags(flags);
    Value* a = operands[0];
    const auto unary = [&](llvm::Intrinsic::ID id) { return builder_.CreateUnaryIntrinsic(id, a); };
    switch (op.code) {
        case Opcode::Add: return builder_.CreateFAdd(a, operands[1]);
        case Opcode::Sub: return builder_.CreateFSub(a, operands[1]);
        case Opcode::Mul: return builder_.CreateFMul(a, operands[1]);
        case Opcode::Div: return builder_.CreateFDiv(a, operands[1]);
        case Opcode::Neg: return builder_.CreateFNeg(a);
        case Opcode::Abs: return unary(llvm::Intrinsic::fabs);
        case Opcode::Sqrt: return unary(llvm::Intrinsic::sqrt);
        case Opcode::Reciprocal: return builder_.CreateFDiv(llvm::ConstantFP::get(a->getType(), 1.0), a);
        case Opcode::Floor: return unary(llvm::Intrinsic::floor);
        case Opcode::Ceil: return unary(llvm::Intrinsic::ceil);
        case Opcode::Trunc: return unary(llvm::Intrinsic::trunc);
        case Opcode::Rint: return unary(llvm::Intrinsic::rint);
        case Opcode::CopySign: return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, a, operands[1]);
        case Opcode::Fma:
            return builder_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, operands[1], operands[2]});
        default: break;
    }
    TREADLE_CHECK(false, std::string(ir::info(op.code).text) + " has no form for floats");
}

ElementEmitter::Value* ElementEmitter::compare(Opcode code, Value* a, Value* b, DType type) {
    using Predicate = llvm::CmpInst::Predicate;
    const int row = static_cast<int>(code) - static_cast<int>(Opcode::Eq);
    static constexpr Predicate kFloat[] = {Predicate::FCMP_OEQ, Predicate::FCMP_UNE, Predicate::FCMP_OLT,
                                           Predicate::FCMP_OLE, Predicate::FCMP_OGT, Predicate::FCMP_OGE};
    static constexpr Predicate kSigned[] = {Predicate::ICMP_EQ,  Predicate::ICMP_NE,  Predicate::ICMP_SLT,
                                            Predicate::ICMP_SLE, Predicate::ICMP_SGT, Predicate::ICMP_SGE};
    static constexpr Predicate kUnsigned[] = {Predicate::ICMP_EQ,  Predicate::ICMP_NE,  Predicate::ICMP_ULT,
                                              Predicate::ICMP_ULE, Predicate::ICMP_UGT, Predicate::ICMP_UGE};
    if (is_float(type)) return builder_.CreateFCmp(kFloat[row], a, b);
    return builder_.CreateICmp((is_signed(type) ? kSigned : kUnsigned)[row], a, b);
}

ElementEmitter::Value* ElementEmitter::cast(const ir::Op& op, Value* value, DType from, DType to) {
    llvm::Type* type = like(value, scalar_type(to));
    if (is_bool(to)) {
        Value* zero = llvm::Constant::getNullValue(value->getType());
        return is_float(from) ? builder_.CreateFCmpUNE(value, zero) : builder_.CreateICmpNE(value, zero);
    }
    if (is_float(from) && is_float(to)) return builder_.CreateFPCast(value, type);
    if (is_float(to)) return is_signed(from) ? builder_.CreateSIToFP(value, type) : builder_.CreateUIToFP(value, type);
    if (!is_float(from)) return builder_.CreateIntCast(value, type, is_signed(from));
    const bool known_range = op.index == 1;
    if (known_range) {
        // Lanes out of range hold any number, not poison that spreads.
        return builder_.CreateFreeze(is_signed(to) ? builder_.CreateFPToSI(value, type)
                                                   : builder_.CreateFPToUI(value, type));
    }
    return builder_.CreateIntrinsic(is_signed(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat,
                                    {type, value->getType()}, {value});
}

ElementEmitter::Value* ElementEmitter::mul_high(Value* a, Value* b, DType type) {
    llvm::Type* wide = like(a, builder_.getIntNTy(static_cast<unsigned>(2 * bits_of(type))));
    const auto extend = [&](Value* value) {
        return is_signed(type) ? builder_.CreateSExt(value, wide) : builder_.CreateZExt(value, wide);
    };
    Value* product = builder_.CreateMul(extend(a), extend(b));
    return builder_.CreateTrunc(builder_.CreateLShr(product, static_cast<std::uint64_t>(bits_of(type))), a->getType());
}

}  // namespace treadle::codegen
