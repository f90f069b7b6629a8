// What each operation of the IR becomes, and the forms of those whose lanes follow each other step by step.
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
        case Opcode::Call: emit_call(op); return;
        case Opcode::CallResult: emit_call_result(op); return;
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

}  // namespace treadle::codegen
