// Element-wise operations on scalars or vectors; the LLVM types of the operands say which.
#include <llvm/IR/Intrinsics.h>

#include "base/error.h"
#include "codegen/cpu/emitter.h"

namespace treadle::codegen {

using ir::Opcode;

void Emitter::emit_op(const ir::Op& op) {
    switch (op.code) {
        case Opcode::Const: values_[op.result] = constant(op); return;
        case Opcode::Param: values_[op.result] = param_values_[static_cast<std::size_t>(op.index)]; return;
        case Opcode::ThreadIdx: values_[op.result] = thread_idx_[op.index]; return;
        case Opcode::BlockIdx: values_[op.result] = block_idx_[op.index]; return;
        case Opcode::BlockDim: values_[op.result] = block_dim_[op.index]; return;
        case Opcode::GridDim: values_[op.result] = grid_dim_[op.index]; return;
        case Opcode::VarGet: {
            llvm::AllocaInst* variable = variables_[static_cast<std::size_t>(op.index)];
            values_[op.result] = builder_.CreateLoad(variable->getAllocatedType(), variable);
            return;
        }
        case Opcode::VarSet: {
            llvm::AllocaInst* variable = variables_[static_cast<std::size_t>(op.index)];
            const bool varying = function_.variable_shapes[static_cast<std::size_t>(op.index)].is_varying();
            Value* value = varying ? vector(op.operands[0]) : get(op.operands[0]);
            if (op.blend && mask_ != nullptr) {
                Value* old = builder_.CreateLoad(variable->getAllocatedType(), variable);
                value = builder_.CreateSelect(mask_, value, old);
            }
            builder_.CreateStore(value, variable);
            return;
        }
        case Opcode::Load: emit_load(op); return;
        case Opcode::Store: emit_store(op); return;
        case Opcode::ElementPtr: emit_element_ptr(op); return;
        case Opcode::TableLoad: emit_table_load(op); return;
        case Opcode::SharedArray:
        case Opcode::LocalArray:
        case Opcode::TablePtr: emit_block_array(op); return;
        case Opcode::SharedBytes: values_[op.result] = shared_bytes_; return;
        case Opcode::Atomic: emit_atomic(op); return;
        case Opcode::Barrier:
        case Opcode::BarrierReduce: emit_barrier(op); return;
        case Opcode::Fence: emit_fence(op); return;
        case Opcode::Print: emit_print(op); return;
        case Opcode::Raise: emit_raise(op); return;
        case Opcode::LaneId:
        case Opcode::ActiveMask:
        case Opcode::Shuffle:
        case Opcode::Vote:
        case Opcode::Match: emit_warp(op); return;
        case Opcode::If:
        case Opcode::Loop:
        case Opcode::Scope:
            if (op.divergent) branches_.push_back(&op);
            if (op.code == Opcode::If) emit_if(op);
            if (op.code == Opcode::Loop) emit_loop(op);
            if (op.code == Opcode::Scope) emit_scope(op);
            if (op.divergent) branches_.pop_back();
            return;
        case Opcode::Yield: return;
        case Opcode::Break:
        case Opcode::Continue:
        case Opcode::Leave:
        case Opcode::Return: emit_jump(op); return;
        default: break;
    }
    if (!ir::info(op.code).has('e')) {
        throw Error(ErrorKind::Unsupported, "[" + function_.name + "] the CPU device does not run '" +
                                                std::string(ir::info(op.code).text) + "' yet");
    }
    if (shape(op.result).is_linear()) {
        values_[op.result] = linear_result(op);
        return;
    }
    if (Value* lanes = linear_compare(op); lanes != nullptr) {
        values_[op.result] = lanes;
        return;
    }
    std::vector<Value*> operands;
    for (const ir::ValueId operand : op.operands)
        operands.push_back(shape(op.result).is_varying() ? vector(operand) : get(operand));
    values_[op.result] = arithmetic(op, operands, dtype(op.operands[0]));
}

Emitter::Value* Emitter::constant(const ir::Op& op) {
    llvm::Type* type = scalar_type(op.type.dtype);
    const unsigned bits = type->getScalarSizeInBits();
    const llvm::APInt word(bits, op.imm);
    if (!is_float(op.type.dtype)) return llvm::ConstantInt::get(type, word);
    return llvm::ConstantFP::get(context_, llvm::APFloat(type->getFltSemantics(), word));
}

// The base of lane 0; the stride is known.
Emitter::Value* Emitter::linear_result(const ir::Op& op) {
    Value* a = get(op.operands[0]);
    switch (op.code) {
        case Opcode::Cast: return builder_.CreateSExt(a, builder_.getInt64Ty());
        case Opcode::Add: return builder_.CreateAdd(a, get(op.operands[1]));
        case Opcode::Sub: return builder_.CreateSub(a, get(op.operands[1]));
        case Opcode::Mul: return builder_.CreateMul(a, get(op.operands[1]));
        case Opcode::Shl: return builder_.CreateShl(a, get(op.operands[1]));
        default: TREADLE_CHECK(false, "no linear form");
    }
}

// A thread's index, or one that follows it step by step, against a limit: how many of the first lanes are below is one
// scalar, and lanes are told apart in 32 bits. Null for other operations.
Emitter::Value* Emitter::linear_compare(const ir::Op& op) {
    const bool orders =
        op.code == Opcode::Lt || op.code == Opcode::Le || op.code == Opcode::Gt || op.code == Opcode::Ge;
    if (!orders || dtype(op.operands[0]) != DType::Int64) return nullptr;
    const ir::Shape a = shape(op.operands[0]);
    const ir::Shape b = shape(op.operands[1]);
    const bool first = a == ir::Shape::linear(1) && b.is_uniform();
    const bool second = b == ir::Shape::linear(1) && a.is_uniform();
    if (!first && !second) return nullptr;
    Value* index = get(op.operands[first ? 0 : 1]);
    Value* limit = get(op.operands[first ? 1 : 0]);
    // Turned so that the index stands first: index < limit, <=, or the opposite of one.
    const bool is_less = (op.code == Opcode::Lt || op.code == Opcode::Le) == first;
    const bool with_equal = op.code == Opcode::Le || op.code == Opcode::Ge;
    const bool up_to = is_less ? with_equal : !with_equal;  // the count takes the limit in
    Value* count = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::ssub_sat, limit, index);
    if (up_to) count = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::sadd_sat, count, i64(1));
    Value* lanes = lanes_below(count);
    return is_less ? lanes : builder_.CreateNot(lanes);
}

Emitter::Value* Emitter::arithmetic(const ir::Op& op, const std::vector<Value*>& operands, DType type) {
    Value* a = operands[0];
    Value* b = operands.size() > 1 ? operands[1] : nullptr;
    switch (op.code) {
        case Opcode::Cast: return cast(op, a, type, op.type.dtype);
        case Opcode::Bitcast: {
            llvm::Type* to = scalar_type(op.type.dtype);
            return builder_.CreateBitCast(a, a->getType()->isVectorTy() ? vector_of(to) : to);
        }
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
Emitter::Value* Emitter::integer_division(Opcode code, Value* a, Value* b, DType type) {
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

Emitter::Value* Emitter::float_op(const ir::Op& op, const std::vector<Value*>& operands) {
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

Emitter::Value* Emitter::compare(Opcode code, Value* a, Value* b, DType type) {
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

Emitter::Value* Emitter::cast(const ir::Op& op, Value* value, DType from, DType to) {
    llvm::Type* type = scalar_type(to);
    if (value->getType()->isVectorTy()) type = vector_of(type);
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

Emitter::Value* Emitter::mul_high(Value* a, Value* b, DType type) {
    llvm::Type* wide = builder_.getIntNTy(static_cast<unsigned>(2 * bits_of(type)));
    if (a->getType()->isVectorTy()) wide = vector_of(wide);
    const auto extend = [&](Value* value) {
        return is_signed(type) ? builder_.CreateSExt(value, wide) : builder_.CreateZExt(value, wide);
    };
    Value* product = builder_.CreateMul(extend(a), extend(b));
    return builder_.CreateTrunc(builder_.CreateLShr(product, static_cast<std::uint64_t>(bits_of(type))), a->getType());
}

}  // namespace treadle::codegen
