// Runs LLVM's passes over a module.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Target/TargetMachine.h>

namespace treadle::codegen {

// Over each of its functions, with the analyses that the target brings.
void run_passes(llvm::Module& module, llvm::TargetMachine& machine, llvm::FunctionPassManager passes);

}  // namespace treadle::codegen
