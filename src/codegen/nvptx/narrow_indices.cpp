#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/PatternMatch.h>

#include "codegen/nvptx/index_passes.h"

namespace treadle::codegen::nvptx {
namespace {

namespace Match = llvm::PatternMatch;

// The value in 32 bits, where it is known to have no more; else null.
llvm::Value* narrowed(llvm::Value* value, llvm::IRBuilder<>& builder, bool& may_be_negative) {
    const llvm::DataLayout& layout = builder.GetInsertBlock()->getDataLayout();
    if (llvm::ComputeNumSignBits(value, layout) <= 32) return nullptr;
    may_be_negative = !llvm::computeKnownBits(value, layout).isNonNegative();
    llvm::Value* narrow = nullptr;
    if (Match::match(value, Match::m_ZExtOrSExt(Match::m_Value(narrow))) && narrow->getType()->isIntegerTy(32))
        return narrow;
    return builder.CreateTrunc(value, builder.getInt32Ty());
}

// x < 0 ? x + n : x, in any of the forms that LLVM gives it.
bool is_wrapped(llvm::Instruction& instruction, llvm::Value*& x, llvm::Value*& n) {
    const auto negative = [&](llvm::Value* test) {
        llvm::Value* tested = nullptr;
        if (!Match::match(test,
                          Match::m_SpecificICmp(llvm::ICmpInst::ICMP_SLT, Match::m_Value(tested), Match::m_Zero())))
            return false;
        return tested == x || Match::match(x, Match::m_SExt(Match::m_Specific(tested)));
    };
    llvm::Value* test = nullptr;
    if (Match::match(&instruction, Match::m_Select(Match::m_Value(test), Match::m_Value(), Match::m_Value(x))) &&
        Match::match(instruction.getOperand(1), Match::m_c_Add(Match::m_Specific(x), Match::m_Value(n))))
        return negative(test);
    for (unsigned at = 0; at < 2 && instruction.getOpcode() == llvm::Instruction::Add; ++at) {
        x = instruction.getOperand(at);
        llvm::Value* more = instruction.getOperand(1 - at);
        if (Match::match(more, Match::m_Select(Match::m_Value(test), Match::m_Value(n), Match::m_Zero())) &&
            negative(test))
            return true;
        if (Match::match(
                more, Match::m_c_And(Match::m_AShr(Match::m_Specific(x), Match::m_SpecificInt(63)), Match::m_Value(n))))
            return true;
    }
    return false;
}

void narrow_tests(llvm::Instruction& wide, llvm::Value* narrow) {
    for (llvm::User* user : llvm::make_early_inc_range(wide.users())) {
        auto* test = llvm::dyn_cast<llvm::ICmpInst>(user);
        if (test == nullptr || test->getOperand(0) != &wide) continue;
        llvm::IRBuilder<> builder(test);
        bool may_be_negative = false;
        llvm::Value* other = narrowed(test->getOperand(1), builder, may_be_negative);
        if (other == nullptr) continue;
        test->replaceAllUsesWith(builder.CreateICmp(test->getPredicate(), narrow, other));
    }
}

}  // namespace

llvm::PreservedAnalyses NarrowIndices::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
    bool changed = false;
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
        llvm::Value* x = nullptr;
        llvm::Value* n = nullptr;
        if (!instruction.getType()->isIntegerTy(64) || !is_wrapped(instruction, x, n)) continue;
        llvm::IRBuilder<> builder(&instruction);
        bool may_be_negative = false;
        llvm::Value* extent = narrowed(n, builder, may_be_negative);
        if (extent == nullptr || may_be_negative) continue;
        llvm::Value* index = narrowed(x, builder, may_be_negative);
        if (index == nullptr) continue;
        llvm::Value* zero = builder.getInt32(0);
        llvm::Value* more = builder.CreateSelect(builder.CreateICmpSLT(index, zero), extent, zero);
        // One of the two is not negative, so that the sum does not overflow.
        llvm::Value* wrapped = builder.CreateAdd(index, more, "", /*HasNUW=*/false, /*HasNSW=*/true);
        narrow_tests(instruction, wrapped);
        instruction.replaceAllUsesWith(builder.CreateSExt(wrapped, instruction.getType()));
        changed = true;
    }
    return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace treadle::codegen::nvptx
