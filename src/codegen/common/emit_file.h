// What comes out of a module.
#pragma once

#include <string>

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace treadle::codegen {

// The module as a relocatable object.
std::string emit_object(llvm::Module& module, llvm::TargetMachine& machine);
std::string emit_assembly(llvm::Module& module, llvm::TargetMachine& machine);
std::string text_of(const llvm::Module& module);
// With TREADLE_VERIFY in the environment, LLVM's own rules; throws Error(Internal).
void check(const llvm::Module& module);

}  // namespace treadle::codegen
