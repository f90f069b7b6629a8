#include "codegen/nvptx/target.h"

#include <mutex>
#include <string>

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/ConstraintElimination.h>
#include <llvm/Transforms/Scalar/CorrelatedValuePropagation.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Scalar/IndVarSimplify.h>
#include <llvm/Transforms/Scalar/InferAlignment.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopRotation.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include "base/error.h"
#include "codegen/common/run_passes.h"
#include "codegen/nvptx/index_passes.h"

namespace treadle::codegen::nvptx {
namespace {

// The PTX version is the oldest that has the chip, so that drivers as old as the chip's toolkit take it.
struct Chip {
    int capability;
    const char* name;
    const char* features;
};
constexpr Chip kChips[] = {{75, "sm_75", "+ptx63"}, {80, "sm_80", "+ptx70"}, {86, "sm_86", "+ptx71"},
                           {87, "sm_87", "+ptx74"}, {89, "sm_89", "+ptx78"}, {90, "sm_90", "+ptx78"}};

const Chip& chip_for(int capability) {
    const Chip* best = nullptr;
    for (const Chip& chip : kChips) {
        if (chip.capability <= capability) best = &chip;
    }
    if (best == nullptr) {
        throw Error(ErrorKind::Unsupported, "[compile] expected a GPU of compute capability 7.5 or newer, got " +
                                                std::to_string(capability / 10) + "." +
                                                std::to_string(capability % 10));
    }
    return *best;
}

// select c, x, c is how `and` arrives here; as select c, x, false the next pass knows it.
struct WriteShortCircuits : llvm::PassInfoMixin<WriteShortCircuits> {
    static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
        for (llvm::Instruction& instruction : llvm::instructions(function)) {
            auto* select = llvm::dyn_cast<llvm::SelectInst>(&instruction);
            if (select == nullptr) continue;
            llvm::Value* condition = select->getCondition();
            if (select->getFalseValue() == condition)
                select->setFalseValue(llvm::ConstantInt::getFalse(condition->getType()));
            if (select->getTrueValue() == condition)
                select->setTrueValue(llvm::ConstantInt::getTrue(condition->getType()));
        }
        return llvm::PreservedAnalyses::none();
    }
};

}  // namespace

std::unique_ptr<llvm::TargetMachine> make_target_machine(int capability) {
    static std::once_flag once;
    std::call_once(once, [] {
        LLVMInitializeNVPTXTargetInfo();
        LLVMInitializeNVPTXTarget();
        LLVMInitializeNVPTXTargetMC();
        LLVMInitializeNVPTXAsmPrinter();
    });
    const Chip& chip = chip_for(capability);
    const std::string triple = "nvptx64-nvidia-cuda";
    std::string message;
    const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple, message);
    TREADLE_CHECK(found != nullptr, message);
    llvm::TargetOptions options;
    options.AllowFPOpFusion = llvm::FPOpFusion::Standard;  // fuse where an operation says so, nowhere else
    return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(
        triple, chip.name, chip.features, options, llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
}

void optimize(llvm::Module& module, llvm::TargetMachine& machine) {
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    passes.addPass(llvm::EarlyCSEPass(true));
    // What the branches around a test say of its index; before tests are combined, which hides them.
    passes.addPass(llvm::SimplifyCFGPass());
    passes.addPass(WriteShortCircuits());
    passes.addPass(llvm::ConstraintEliminationPass());
    // Indices that need no wrapping are known now; once more for their other bound.
    passes.addPass(llvm::EarlyCSEPass(true));
    passes.addPass(llvm::ConstraintEliminationPass());
    passes.addPass(llvm::SimplifyCFGPass());
    passes.addPass(llvm::InstCombinePass());
    passes.addPass(llvm::SimplifyCFGPass());
    llvm::LoopPassManager first;
    first.addPass(llvm::LoopRotatePass(true));
    first.addPass(llvm::LICMPass(llvm::LICMOptions()));
    passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(first), true));
    passes.addPass(NarrowCounters());
    passes.addPass(NarrowIndices());
    passes.addPass(LimitUnrolling());
    llvm::LoopPassManager second;
    second.addPass(llvm::IndVarSimplifyPass(false));
    second.addPass(llvm::LoopFullUnrollPass(3));  // outer loops first, since their inner ones are looked at again then
    passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(second)));
    // Several rounds at once keep several loads under way, and make indices constants.
    passes.addPass(llvm::LoopUnrollPass(llvm::LoopUnrollOptions(3).setRuntime(true).setPartial(true)));
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    passes.addPass(llvm::InstCombinePass());
    passes.addPass(llvm::GVNPass());
    passes.addPass(ExposeIndices());
    passes.addPass(llvm::CorrelatedValuePropagationPass());
    passes.addPass(llvm::ConstraintEliminationPass());
    passes.addPass(llvm::InstCombinePass());
    passes.addPass(llvm::SimplifyCFGPass());
    passes.addPass(llvm::EarlyCSEPass(true));
    passes.addPass(llvm::InstCombinePass());
    passes.addPass(llvm::ADCEPass());
    // Neighbouring loads become one where their address allows it.
    passes.addPass(llvm::InferAlignmentPass());
    run_passes(module, machine, std::move(passes));
}

}  // namespace treadle::codegen::nvptx
