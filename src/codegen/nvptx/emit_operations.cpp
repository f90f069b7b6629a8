// What each operation of the IR becomes.
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "base/cuda_kernel_abi.h"
#include "base/error.h"
#include "codegen/nvptx/emitter.h"

namespace treadle::codegen::nvptx {

using ir::Opcode;

void Emitter::region(const ir::Region& region) {
    for (const ir::Op& op : region) {
        emit_op(op);
        if (ended()) return;
    }
}

void Emitter::emit_op(const ir::Op& op) {
    switch (op.code) {
        case Opcode::If: emit_if(op); return;
        case Opcode::Loop: emit_loop(op); return;
        case Opcode::Scope: emit_scope(op); return;
        case Opcode::Yield: return;
        case Opcode::Break:
        case Opcode::Continue:
        case Opcode::Leave:
        case Opcode::Return: emit_jump(op); return;
        case Opcode::Load:
        case Opcode::Store:
        case Opcode::Atomic: emit_access(op); return;
        default: break;
    }
    for (Thread* thread : active_) {
        switch (op.code) {
            case Opcode::VarSet: assign(*thread, op); break;
            case Opcode::Barrier:
            case Opcode::BarrierReduce: emit_barrier(op, *thread); break;
            case Opcode::Fence: emit_fence(op, *thread); break;
            case Opcode::Print: emit_print(op, *thread); break;
            case Opcode::Raise: fault(*thread, op.line, kRaised, i64(op.index), {}); break;
            default: thread->values[op.result] = value_of(op, *thread);
        }
    }
}

void Emitter::assign(const Thread& thread, const ir::Op& op) {
    llvm::AllocaInst* variable = thread.variables[static_cast<std::size_t>(op.index)];
    Value* value = get(thread, op.operands[0]);
    if (thread.assigns != nullptr) {
        Value* old = builder_.CreateLoad(variable->getAllocatedType(), variable);
        value = builder_.CreateSelect(thread.assigns, value, old);
    }
    builder_.CreateStore(value, variable);
}

Emitter::Value* Emitter::value_of(const ir::Op& op, Thread& thread) {
    switch (op.code) {
        case Opcode::Const: return constant(op);
        case Opcode::Param: return parameter(op);
        case Opcode::ThreadIdx:
        case Opcode::BlockIdx:
        case Opcode::BlockDim:
        case Opcode::GridDim: return thread_query(op, thread);
        case Opcode::VarGet: {
            llvm::AllocaInst* variable = thread.variables[static_cast<std::size_t>(op.index)];
            return builder_.CreateLoad(variable->getAllocatedType(), variable);
        }
        case Opcode::ElementPtr: return element_pointer(op, thread);
        case Opcode::ExternalCall: return call_external(op, thread);
        case Opcode::TableLoad: return table_load(op, thread);
        case Opcode::SharedArray:
        case Opcode::LocalArray:
        case Opcode::TablePtr: return made_pointer(op, thread);
        case Opcode::SharedBytes: {
            auto* type = llvm::FunctionType::get(builder_.getInt32Ty(), false);
            Value* all = builder_.CreateCall(
                llvm::InlineAsm::get(type, "mov.u32 $0, %dynamic_smem_size;", "=r", /*hasSideEffects=*/false));
            return builder_.CreateSub(builder_.CreateZExt(all, builder_.getInt64Ty()),
                                      i64(ir::aligned_shared(function_.shared_bytes)));
        }
        case Opcode::LaneId:
        case Opcode::ActiveMask:
        case Opcode::Shuffle:
        case Opcode::Vote:
        case Opcode::Match: return warp(op, thread);
        default: break;
    }
    TREADLE_CHECK(ir::info(op.code).has('e'), "no code for " + std::string(ir::info(op.code).text));
    std::vector<Value*> operands;
    for (const ir::ValueId operand : op.operands) operands.push_back(get(thread, operand));
    const DType type = dtype(op.operands[0]);
    if (op.code == Opcode::Cast && is_float(type) && is_integer(op.type.dtype) && op.index != 1)
        return saturated(op, operands[0], type);
    if (op.code == Opcode::Reciprocal && type == DType::Float32)
        return builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_rcp_approx_ftz_f, {}, operands);
    if (Value* exact = without_overflow(op, operands); exact != nullptr) return exact;
    if (type == DType::Int16 && (op.code == Opcode::Neg || op.code == Opcode::Abs)) return of_short(op, operands[0]);
    return arithmetic(op, operands, type);
}

Emitter::Value* Emitter::parameter(const ir::Op& op) {
    Value* word = kernel_->getArg(static_cast<unsigned>(op.index));
    const ir::Type type = function_.params[static_cast<std::size_t>(op.index)];
    if (!type.is_scalar()) return word;
    if (type.dtype == DType::Int64 && options_.small_numbers) {
        Value* small = builder_.CreateTrunc(word, builder_.getInt32Ty());
        return extents_.contains(op.result) ? builder_.CreateZExt(small, word->getType(), "", /*IsNonNeg=*/true)
                                            : builder_.CreateSExt(small, word->getType());
    }
    llvm::Type* memory = memory_type(type.dtype);
    Value* bits = builder_.CreateTrunc(word, builder_.getIntNTy(memory->getScalarSizeInBits()));
    return from_memory(builder_.CreateBitCast(bits, memory), type.dtype);
}

// Sums and products of small numbers, marked as what cannot overflow: LLVM compares only such with each other.
Emitter::Value* Emitter::without_overflow(const ir::Op& op, const std::vector<Value*>& operands) {
    constexpr int kMostBits = 62;
    if (op.operands.size() != 2 || dtype(op.operands[0]) != DType::Int64) return nullptr;
    // A range ends where another step would leave the numbers there are.
    if (steps_ && op.code == Opcode::Add) return builder_.CreateNSWAdd(operands[0], operands[1]);
    const int a = bits(op.operands[0]);
    const int b = bits(op.operands[1]);
    if (a > kMostBits || b > kMostBits) return nullptr;
    switch (op.code) {
        case Opcode::Add: return builder_.CreateAdd(operands[0], operands[1], "", /*HasNUW=*/true, /*HasNSW=*/true);
        case Opcode::Sub:
            // LLVM's comparisons follow sums, not differences.
            if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(operands[1]); known != nullptr)
                return builder_.CreateNSWAdd(operands[0], i64(-known->getSExtValue()));
            return builder_.CreateNSWSub(operands[0], operands[1]);
        case Opcode::Mul:
            if (a + b > kMostBits) return nullptr;
            return builder_.CreateMul(operands[0], operands[1], "", /*HasNUW=*/true, /*HasNSW=*/true);
        default: return nullptr;
    }
}

// The value lies in [0, 2 ** bits).
int Emitter::bits(ir::ValueId id) const { return extents_.contains(id) ? extent_bits() : function_.width_bits[id]; }

// ptxas (seen in 13.0) takes neg.s16 and abs.s16 of -32768 for 32768 where the result is widened.
Emitter::Value* Emitter::of_short(const ir::Op& op, Value* value) {
    auto* type = llvm::FunctionType::get(builder_.getInt16Ty(), {builder_.getInt16Ty()}, false);
    const std::string code = op.code == Opcode::Neg ? "neg.s32" : "abs.s32";
    const std::string text = "{ .reg .b32 t; cvt.s32.s16 t, $1; " + code + " t, t; cvt.u16.u32 $0, t; }";
    return builder_.CreateCall(llvm::InlineAsm::get(type, text, "=h,h", /*hasSideEffects=*/false), {value});
}

// The machine's conversions saturate; only NaN needs a word, and types of fewer than 32 bits.
Emitter::Value* Emitter::saturated(const ir::Op& op, Value* value, DType from) {
    namespace In = llvm::Intrinsic;
    const DType to = op.type.dtype;
    if (from == DType::Float16) value = builder_.CreateFPExt(value, builder_.getFloatTy());
    const bool wide = from == DType::Float64;
    const bool is_long = bits_of(to) == 64;
    const bool sign = is_signed(to) || bits_of(to) < 32;
    In::ID id = In::nvvm_f2i_rz;
    if (is_long)
        id = wide ? (sign ? In::nvvm_d2ll_rz : In::nvvm_d2ull_rz) : (sign ? In::nvvm_f2ll_rz : In::nvvm_f2ull_rz);
    if (!is_long) id = wide ? (sign ? In::nvvm_d2i_rz : In::nvvm_d2ui_rz) : (sign ? In::nvvm_f2i_rz : In::nvvm_f2ui_rz);
    Value* whole = builder_.CreateIntrinsic(id, {}, {value});
    whole = builder_.CreateSelect(builder_.CreateFCmpUNO(value, value), llvm::Constant::getNullValue(whole->getType()),
                                  whole);
    if (bits_of(to) >= 32) return whole;
    const auto bits = static_cast<unsigned>(bits_of(to));
    const auto limit = [&](const llvm::APInt& number) {
        return llvm::ConstantInt::get(context_, is_signed(to) ? number.sext(32) : number.zext(32));
    };
    Value* low = limit(is_signed(to) ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getMinValue(bits));
    Value* high = limit(is_signed(to) ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits));
    whole = builder_.CreateBinaryIntrinsic(In::smax, whole, low);
    whole = builder_.CreateBinaryIntrinsic(In::smin, whole, high);
    return builder_.CreateTrunc(whole, scalar_type(to));
}

Emitter::Value* Emitter::thread_query(const ir::Op& op, const Thread& thread) {
    namespace In = llvm::Intrinsic;
    static constexpr In::ID kThread[] = {In::nvvm_read_ptx_sreg_tid_x, In::nvvm_read_ptx_sreg_tid_y,
                                         In::nvvm_read_ptx_sreg_tid_z};
    static constexpr In::ID kBlock[] = {In::nvvm_read_ptx_sreg_ctaid_x, In::nvvm_read_ptx_sreg_ctaid_y,
                                        In::nvvm_read_ptx_sreg_ctaid_z};
    static constexpr In::ID kBlockDim[] = {In::nvvm_read_ptx_sreg_ntid_x, In::nvvm_read_ptx_sreg_ntid_y,
                                           In::nvvm_read_ptx_sreg_ntid_z};
    static constexpr In::ID kGridDim[] = {In::nvvm_read_ptx_sreg_nctaid_x, In::nvvm_read_ptx_sreg_nctaid_y,
                                          In::nvvm_read_ptx_sreg_nctaid_z};
    const std::int32_t known = options_.block[static_cast<std::size_t>(op.index)];
    const std::uint64_t most_threads = known != 0 ? static_cast<std::uint64_t>(known) : 1024;
    constexpr std::uint64_t kMostRows = 65536;
    switch (op.code) {
        case Opcode::ThreadIdx: return launch_fact(kThread[op.index], 0, most_threads);
        case Opcode::BlockDim:
            if (known != 0) return builder_.getInt32(static_cast<std::uint32_t>(known));
            return launch_fact(kBlockDim[op.index], 1, most_threads + 1);
        case Opcode::BlockIdx: return op.index == 0 ? thread.block_x : launch_fact(kBlock[op.index], 0, kMostRows);
        default:
            if (op.index != 0) return launch_fact(kGridDim[op.index], 1, kMostRows);
            return builder_.CreateTrunc(tail_word(offsetof(LaunchTail, grid_x)), builder_.getInt32Ty());
    }
}

}  // namespace treadle::codegen::nvptx
