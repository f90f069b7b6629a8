// LLVM's back end for NVIDIA GPUs, and the passes before it.
#pragma once

#include <memory>

namespace llvm {
class TargetMachine;
class Module;
}  // namespace llvm

namespace treadle::codegen::nvptx {

// For compute capability major.minor as 10 * major + minor; chips newer than LLVM knows run the code of the newest one
// that it does.
std::unique_ptr<llvm::TargetMachine> make_target_machine(int capability);
void optimize(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace treadle::codegen::nvptx
