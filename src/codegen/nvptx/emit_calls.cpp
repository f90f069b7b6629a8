// Functions that are called. They get their arguments, the words that the launch adds to a kernel's, the block, the
// depth of the call and where the kernel's stack begins, and give whether the thread ended in there and the results;
// all as they lie in memory.
#include "base/cuda_kernel_abi.h"
#include "base/error.h"
#include "codegen/nvptx/address_spaces.h"
#include "codegen/nvptx/emitter.h"

namespace treadle::codegen::nvptx {

namespace {

enum Argument : unsigned { BlockX, Depth, StackTop };  // behind the words of the launch

}  // namespace

Emitter::Emitter(Emitter& caller, const ir::Function& callee)
    : ElementEmitter(caller.module_, callee), options_(caller.options_) {
    adds_floats_ = caller.adds_floats_;
    rounds_bfloat16_ = caller.rounds_bfloat16_;
    shared_ = caller.shared_;
    callees_ = caller.callees_;
    called_bytes_ = caller.called_bytes_;
    for (const ir::Table& table : callee.tables) tables_.push_back(table_memory(table, kGlobal));
}

llvm::Type* Emitter::passed_type(ir::Type type) {
    return type.is_scalar() ? memory_type(type.dtype) : builder_.getInt64Ty();
}

Emitter::Value* Emitter::passed(Value* value, ir::Type type) {
    return type.is_scalar() ? to_memory(value, type.dtype) : value;
}

Emitter::Value* Emitter::taken(Value* value, ir::Type type) {
    return type.is_scalar() ? from_memory(value, type.dtype) : value;
}

void Emitter::make_callees() {
    for (const ir::Function& callee : function_.callees) {
        std::vector<llvm::Type*> params;
        for (const ir::Type type : callee.params) params.push_back(passed_type(type));
        params.insert(params.end(), kTailWords, builder_.getInt64Ty());
        params.insert(params.end(), {builder_.getInt32Ty(), builder_.getInt32Ty(), builder_.getInt64Ty()});
        std::vector<llvm::Type*> results = {builder_.getInt8Ty()};
        for (const std::int32_t variable : callee.results)
            results.push_back(passed_type(callee.variables[static_cast<std::size_t>(variable)].type));
        auto* type = llvm::FunctionType::get(llvm::StructType::get(context_, results), params, false);
        auto* made = llvm::Function::Create(type, llvm::Function::InternalLinkage, callee.name, module_);
        for (const auto attribute : {llvm::Attribute::NoUnwind, llvm::Attribute::NoInline, llvm::Attribute::Convergent})
            made->addFnAttr(attribute);
        callees_.push_back(made);
    }
    called_bytes_ = ir::called_bytes(function_);
    for (std::size_t i = 0; i < callees_.size(); ++i) Emitter(*this, function_.callees[i]).run_called(callees_[i]);
}

Emitter::Value* Emitter::extra_argument(unsigned which) {
    return kernel_->getArg(static_cast<unsigned>(function_.params.size()) + kTailWords + which);
}

void Emitter::run_called(llvm::Function* function) {
    kernel_ = function;
    builder_.SetInsertPoint(block("entry"));
    bound_extents();
    end_ = block("end");
    depth_ = extra_argument(Depth);
    stack_top_ = extra_argument(StackTop);
    threads_.assign(1, {});
    make_thread(threads_[0], extra_argument(BlockX));
    active_ = {&threads_[0]};
    thread_ended_ = slot(builder_.getInt8Ty(), "ended");
    builder_.CreateStore(builder_.getInt8(0), thread_ended_);
    check_depth();
    region(function_.body);
    branch_to(end_);
    builder_.SetInsertPoint(end_);
    Value* results = llvm::PoisonValue::get(kernel_->getReturnType());
    results = builder_.CreateInsertValue(results, builder_.CreateLoad(builder_.getInt8Ty(), thread_ended_), 0);
    for (unsigned i = 0; i < function_.results.size(); ++i) {
        const auto number = static_cast<std::size_t>(function_.results[i]);
        llvm::AllocaInst* variable = threads_[0].variables[number];
        Value* value = builder_.CreateLoad(variable->getAllocatedType(), variable);
        results = builder_.CreateInsertValue(results, passed(value, function_.variables[number].type), i + 1);
    }
    builder_.CreateRet(results);
}

// Where this function's frame lies on the thread's stack, which grows downwards.
Emitter::Value* Emitter::stack_place() {
    return builder_.CreatePtrToInt(slot(builder_.getInt64Ty(), "frame"), builder_.getInt64Ty());
}

void Emitter::check_depth() {
    llvm::BasicBlock* too_deep = block("too_deep");
    llvm::BasicBlock* body = block("body");
    Value* many = builder_.CreateICmpSGT(depth_, builder_.getInt32(kMostCalls));
    // One more call, of whichever function, must find room behind this frame.
    Value* long_way = builder_.CreateICmpSGT(builder_.CreateSub(stack_top_, stack_place()),
                                             i64(kDeviceStackBytes - kLastCallBytes + called_bytes_));
    unlikely(builder_.CreateOr(many, long_way), too_deep, body);
    builder_.SetInsertPoint(too_deep);
    std::int64_t line = 0;
    ir::walk(function_.body, [&](const ir::Op& op) { line = line == 0 ? op.line : line; });
    Value* calls = builder_.CreateSExt(builder_.CreateSub(depth_, builder_.getInt32(1)), builder_.getInt64Ty());
    fault(threads_[0], line, kTooDeep, calls, {});
    end_thread();
    builder_.SetInsertPoint(body);
}

// Leaves the kernel, or the function, which tells its caller.
void Emitter::end_thread() {
    if (thread_ended_ != nullptr) builder_.CreateStore(builder_.getInt8(1), thread_ended_);
    branch_to(end_);
}

Emitter::Value* Emitter::call(const ir::Op& op, Thread& thread) {
    std::vector<Value*> arguments;
    for (const ir::ValueId operand : op.operands)
        arguments.push_back(passed(get(thread, operand), function_.values[operand]));
    for (unsigned i = 0; i < kTailWords; ++i) arguments.push_back(tail_word(std::size_t{8} * i));
    arguments.push_back(thread.block_x);
    arguments.push_back(builder_.CreateAdd(depth_, builder_.getInt32(1)));
    arguments.push_back(stack_top_);
    Value* results = builder_.CreateCall(callees_[static_cast<std::size_t>(op.index)], arguments);
    calls_[op.result] = results;
    return from_memory(builder_.CreateExtractValue(results, 0), DType::Bool);
}

Emitter::Value* Emitter::call_result(const ir::Op& op) {
    return taken(builder_.CreateExtractValue(calls_.at(op.operands[0]), static_cast<unsigned>(op.index) + 1), op.type);
}

}  // namespace treadle::codegen::nvptx
