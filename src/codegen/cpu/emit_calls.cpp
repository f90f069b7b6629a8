// Functions that are called. They get what the packet function gets, the depth of the call and the lanes that take
// part, then a vector for each argument, and give the lanes whose threads ended in there and a vector for each result.
#include "base/error.h"
#include "base/kernel_abi.h"
#include "codegen/cpu/emitter.h"

namespace treadle::codegen {

namespace {

enum Argument : unsigned { Params, Info, Context, X, Y, Z, Depth, LanesIn, FirstValue };

}  // namespace

void Emitter::make_callees() {
    llvm::Type* pointer = builder_.getPtrTy();
    llvm::Type* index = builder_.getInt32Ty();
    for (const ir::Function& callee : function_.callees) {
        std::vector<llvm::Type*> params = {pointer, pointer, pointer, index,
                                           index,   index,   index,   builder_.getInt64Ty()};
        for (const ir::Type type : callee.params) params.push_back(vector_of(scalar_type(type)));
        std::vector<llvm::Type*> results = {vector_of(builder_.getInt1Ty())};
        for (const std::int32_t variable : callee.results)
            results.push_back(vector_of(scalar_type(callee.variables[static_cast<std::size_t>(variable)].type)));
        auto* type = llvm::FunctionType::get(llvm::StructType::get(context_, results), params, false);
        auto* made = llvm::Function::Create(type, llvm::Function::InternalLinkage, callee.name, module_);
        // Inlined, it would need the room of several calls at once.
        made->addFnAttr(llvm::Attribute::NoInline);
        set_target(*made);
        callees_.push_back(made);
    }
    EmitOptions options = options_;
    options.debug = nullptr;
    for (std::size_t i = 0; i < callees_.size(); ++i) {
        Emitter emitter(module_, function_.callees[i], options);
        emitter.callees_ = callees_;
        emitter.run_called(callees_[i]);
        streams_ = streams_ || emitter.streams_;
        unrolls_ = unrolls_ || emitter.unrolls_;
    }
}

void Emitter::run_called(llvm::Function* function) {
    kernel_ = function;
    depth_ = kernel_->getArg(Depth);
    llvm::BasicBlock* entry = block("entry");
    llvm::BasicBlock* body = block("body");
    llvm::BasicBlock* too_deep = block("too_deep");
    builder_.SetInsertPoint(entry);
    for (unsigned i = 0; i < function_.params.size(); ++i) param_values_.push_back(kernel_->getArg(FirstValue + i));
    prepare();
    block_place();
    const auto [x, y, z, limit] = packet_place();
    set_threads(x, y, z, limit);
    Value* lanes = builder_.CreateTrunc(kernel_->getArg(LanesIn), builder_.getIntNTy(static_cast<unsigned>(width_)));
    Value* entered = builder_.CreateBitCast(lanes, all_lanes()->getType());
    mask_ = initial_mask_ = entered;
    exits_ = {};
    alive_ = jumps_of(function_.body).returns ? mask_slot(mask_, "alive") : nullptr;
    packet_end_ = block("packet_end");
    clear_variables();
    unlikely(builder_.CreateICmpSGT(depth_, builder_.getInt32(kMostCalls)), too_deep, body);
    builder_.SetInsertPoint(body);
    region(function_.body);
    branch_to(packet_end_);
    builder_.SetInsertPoint(packet_end_);
    Value* ended = alive_ == nullptr ? llvm::Constant::getNullValue(entered->getType())
                                     : builder_.CreateAnd(entered, builder_.CreateNot(load_mask(alive_)));
    give(ended);
    builder_.SetInsertPoint(too_deep);
    Value* lane = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, mask_bits(entered), builder_.getFalse());
    call_fault(i64(first_line()), kTooDeep, i64(kMostCalls), llvm::ConstantPointerNull::get(builder_.getPtrTy()), 0,
               lane);
    give(entered);
}

// The line of the function's first operation that has one.
std::int64_t Emitter::first_line() const {
    std::int64_t line = 0;
    ir::walk(function_.body, [&](const ir::Op& op) { line = line == 0 ? op.line : line; });
    return line;
}

void Emitter::give(Value* ended) {
    Value* results = llvm::PoisonValue::get(kernel_->getReturnType());
    results = builder_.CreateInsertValue(results, ended, 0);
    for (unsigned i = 0; i < function_.results.size(); ++i) {
        llvm::AllocaInst* variable = variables_[static_cast<std::size_t>(function_.results[i])];
        Value* value = builder_.CreateLoad(variable->getAllocatedType(), variable);
        results = builder_.CreateInsertValue(results, value->getType()->isVectorTy() ? value : splat(value), i + 1);
    }
    builder_.CreateRet(results);
}

void Emitter::emit_call(const ir::Op& op) {
    const bool flat = options_.lanes == ir::Lanes::Flat;
    std::vector<Value*> arguments = {params_, info_, block_context_, flat ? thread_base_ : thread_idx_[0]};
    for (int d = 1; d < 3; ++d) arguments.push_back(flat ? builder_.getInt32(0) : thread_idx_[d]);
    arguments.push_back(builder_.CreateAdd(depth_, builder_.getInt32(1)));
    arguments.push_back(mask_bits(mask_or_all()));
    for (const ir::ValueId operand : op.operands) arguments.push_back(vector(operand));
    Value* results = builder_.CreateCall(callees_[static_cast<std::size_t>(op.index)], arguments);
    calls_[op.result] = results;
    values_[op.result] = builder_.CreateExtractValue(results, 0);
}

void Emitter::emit_call_result(const ir::Op& op) {
    values_[op.result] = builder_.CreateExtractValue(calls_.at(op.operands[0]), static_cast<unsigned>(op.index) + 1);
}

}  // namespace treadle::codegen
