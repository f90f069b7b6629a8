#include "codegen/nvptx/compile_kernel.h"

#include <memory>

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include "base/cuda_kernel_abi.h"
#include "codegen/common/emit_file.h"
#include "codegen/nvptx/emitter.h"
#include "codegen/nvptx/target.h"

namespace treadle::codegen::nvptx {
namespace {

// One for each compiling thread and target: making one costs more than compiling a small kernel.
llvm::TargetMachine& machine_for(int capability) {
    static thread_local int made_for = 0;
    static thread_local std::unique_ptr<llvm::TargetMachine> machine;
    if (machine == nullptr || made_for != capability) {
        machine = make_target_machine(capability);
        made_for = capability;
    }
    return *machine;
}

}  // namespace

Kernel compile_kernel(const ir::Function& function, const KernelOptions& options, Output output) {
    Kernel result;
    llvm::TargetMachine& machine = machine_for(options.capability);
    llvm::LLVMContext context;
    llvm::Module module(function.name, context);
    module.setTargetTriple(machine.getTargetTriple().str());
    module.setDataLayout(machine.createDataLayout());
    Emitter emitter(module, function, options);
    result.coarse = options.coarse && can_coarsen(function);
    emitter.run(kDeviceEntry, result.coarse ? kCoarse : 1);
    if (output == Output::LlvmBefore) {
        result.text = text_of(module);
        return result;
    }
    check(module);
    optimize(module, machine);
    result.text = output == Output::LlvmAfter ? text_of(module) : emit_assembly(module, machine);
    return result;
}

}  // namespace treadle::codegen::nvptx
