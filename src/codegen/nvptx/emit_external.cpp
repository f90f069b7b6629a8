// Calls of functions that another compiler makes: C's convention, or numba's, where the result goes through memory and
// a status is returned.
#include "codegen/nvptx/address_spaces.h"
#include "codegen/nvptx/emitter.h"

namespace treadle::codegen::nvptx {

llvm::FunctionCallee Emitter::external_function(const ir::External& external) {
    std::vector<llvm::Type*> params;
    if (external.status) params.push_back(builder_.getPtrTy());
    for (const ir::Type type : external.params) params.push_back(external_type(type));
    llvm::Type* result = builder_.getVoidTy();
    if (external.result.is_scalar()) result = external_type(external.result);
    if (external.status) result = builder_.getInt32Ty();
    auto* type = llvm::FunctionType::get(result, params, /*isVarArg=*/false);
    llvm::FunctionCallee callee = module_.getOrInsertFunction(external.name, type);
    // It may hold a barrier: calls must stay where they are.
    llvm::cast<llvm::Function>(callee.getCallee())->addFnAttr(llvm::Attribute::Convergent);
    return callee;
}

Emitter::Value* Emitter::call_external(const ir::Op& op, Thread& thread) {
    const ir::External& external = function_.externals[static_cast<std::size_t>(op.index)];
    std::vector<Value*> arguments;
    llvm::AllocaInst* result = nullptr;
    if (external.status) {
        const bool returns = external.result.is_scalar();
        result = slot(returns ? external_type(external.result) : builder_.getInt64Ty(), "result");
        arguments.push_back(result);
    }
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
        Value* value = get(thread, op.operands[i]);
        if (external.params[i].is_scalar()) {
            arguments.push_back(to_memory(value, external.params[i].dtype));
            continue;
        }
        const auto made = thread.memory.find(op.operands[i]);
        const auto space = static_cast<ir::Space>(op.imm >> (2 * i) & 3);
        const unsigned number = space == ir::Space::Shared ? kShared : space == ir::Space::Local ? kGeneric : kGlobal;
        Value* pointer =
            made != thread.memory.end() ? made->second : builder_.CreateIntToPtr(value, builder_.getPtrTy(number));
        arguments.push_back(builder_.CreateAddrSpaceCast(pointer, builder_.getPtrTy()));
    }
    llvm::CallInst* call = builder_.CreateCall(external_function(external), arguments);
    call->setConvergent();
    if (!external.result.is_scalar()) return builder_.getInt32(0);
    Value* value =
        result != nullptr ? builder_.CreateLoad(result->getAllocatedType(), result) : static_cast<Value*>(call);
    return from_memory(value, external.result.dtype);
}

}  // namespace treadle::codegen::nvptx
