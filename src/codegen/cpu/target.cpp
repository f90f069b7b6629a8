#include "codegen/cpu/target.h"

#include <mutex>

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopRotation.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimpleLoopUnswitch.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include "base/error.h"
#include "codegen/common/run_passes.h"

namespace treadle::codegen {

std::unique_ptr<llvm::TargetMachine> make_target_machine(const CpuTarget& target) {
    static std::once_flag once;
    std::call_once(once, [] {
        LLVMInitializeX86TargetInfo();
        LLVMInitializeX86Target();
        LLVMInitializeX86TargetMC();
        LLVMInitializeX86AsmPrinter();
    });
    const std::string triple = "x86_64-unknown-linux-gnu";
    std::string message;
    const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple, message);
    TREADLE_CHECK(found != nullptr, message);
    llvm::TargetOptions options;
    options.AllowFPOpFusion = llvm::FPOpFusion::Standard;  // fuse where an operation says so, nowhere else
    options.EmitStackSizeSection = true;  // packets that wait for each other have stacks of just the size they need
    std::string features = target.features;
    if (target.isa == VectorIsa::Avx512) features += features.empty() ? "-prefer-256-bit" : ",-prefer-256-bit";
    return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(triple, target.cpu, features, options,
                                                                           llvm::Reloc::PIC_, llvm::CodeModel::Small,
                                                                           llvm::CodeGenOptLevel::Default));
}

void optimize(llvm::Module& module, llvm::TargetMachine& machine, bool unrolls) {
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    passes.addPass(llvm::EarlyCSEPass(true));
    passes.addPass(llvm::InstCombinePass());
    passes.addPass(llvm::SimplifyCFGPass());
    llvm::LoopPassManager loop_passes;
    loop_passes.addPass(llvm::LoopRotatePass(false));
    loop_passes.addPass(llvm::LICMPass(llvm::LICMOptions()));
    loop_passes.addPass(llvm::SimpleLoopUnswitchPass(true));
    passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loop_passes), true));
    if (unrolls) passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LoopFullUnrollPass(2, true)));
    passes.addPass(llvm::SimplifyCFGPass());
    passes.addPass(llvm::EarlyCSEPass(true));
    passes.addPass(llvm::InstCombinePass());
    passes.addPass(llvm::ADCEPass());
    run_passes(module, machine, std::move(passes));
}

std::string llvm_version() { return LLVM_VERSION_STRING; }

}  // namespace treadle::codegen
