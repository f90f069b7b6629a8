// LLVM's view of the host: one target machine for each thread that compiles.
#pragma once

#include <memory>
#include <string>

#include "base/cpu_target.h"

namespace llvm {
class TargetMachine;
class Module;
}  // namespace llvm

namespace treadle::codegen {

std::unique_ptr<llvm::TargetMachine> make_target_machine(const CpuTarget& target);

// Runs the short optimisation pipeline: everything a packet kernel gains from, without the loop and SLP vectorisers.
void optimize(llvm::Module& module, llvm::TargetMachine& machine, bool unrolls);

std::string llvm_version();

}  // namespace treadle::codegen
