#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/PatternMatch.h>

#include "codegen/nvptx/index_passes.h"

namespace treadle::codegen::nvptx {
namespace {

llvm::Value* apart(llvm::Instruction& instruction) {
    namespace Match = llvm::PatternMatch;
    llvm::Value* x = nullptr;
    llvm::Value* low = nullptr;
    const llvm::APInt* mask = nullptr;
    const auto twice = Match::m_CombineOr(Match::m_Shl(Match::m_Value(x), Match::m_One()),
                                          Match::m_Mul(Match::m_Value(x), Match::m_SpecificInt(2)));
    if (!Match::match(&instruction, Match::m_Sub(twice, Match::m_Value(low)))) return nullptr;
    if (!Match::match(low, Match::m_c_And(Match::m_Specific(x), Match::m_LowBitMask(mask)))) return nullptr;
    llvm::IRBuilder<> builder(&instruction);
    llvm::Value* high = builder.CreateAnd(x, llvm::ConstantInt::get(x->getType(), ~*mask));
    llvm::Value* result = builder.CreateOr(builder.CreateShl(high, 1), low);
    if (auto* disjoint = llvm::dyn_cast<llvm::PossiblyDisjointInst>(result)) disjoint->setIsDisjoint(true);
    return result;
}

// x + (x >> (63 - n) & 2 ** n), for a signed x.
llvm::Value* wrapped(llvm::Instruction& instruction) {
    namespace Match = llvm::PatternMatch;
    llvm::Value* x = nullptr;
    const llvm::APInt* shift = nullptr;
    const llvm::APInt* extent = nullptr;
    const auto sign = Match::m_And(Match::m_LShr(Match::m_Value(x), Match::m_APInt(shift)), Match::m_Power2(extent));
    if (!Match::match(&instruction, Match::m_c_Add(sign, Match::m_Deferred(x)))) return nullptr;
    if (*shift + extent->logBase2() != x->getType()->getScalarSizeInBits() - 1) return nullptr;
    llvm::IRBuilder<> builder(&instruction);
    llvm::Value* is_negative = builder.CreateICmpSLT(x, llvm::ConstantInt::get(x->getType(), 0));
    return builder.CreateSelect(is_negative, builder.CreateAdd(x, llvm::ConstantInt::get(x->getType(), *extent)), x);
}

}  // namespace

llvm::PreservedAnalyses ExposeIndices::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
        llvm::Value* better = apart(instruction);
        if (better == nullptr) better = wrapped(instruction);
        if (better != nullptr) instruction.replaceAllUsesWith(better);
    }
    return llvm::PreservedAnalyses::none();
}

}  // namespace treadle::codegen::nvptx
