#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/DemandedBits.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/PatternMatch.h>

#include "codegen/nvptx/index_passes.h"

namespace treadle::codegen::nvptx {
namespace {

constexpr unsigned kNarrow = 32;

// A variable of a loop that grows in each round, and of which 32 bits are enough.
struct Counter {
    llvm::PHINode* now;
    llvm::BinaryOperator* next;
    bool is_number;    // its value fits; else only its low bits are used
    bool is_negative;  // at some time, perhaps
};

bool fits(const llvm::Value* value, llvm::ScalarEvolution& evolution) {
    const llvm::ConstantRange range = evolution.getSignedRange(evolution.getSCEV(const_cast<llvm::Value*>(value)));
    return range.getSignedMin().isSignedIntN(kNarrow) && range.getSignedMax().isSignedIntN(kNarrow);
}

// Whether another round takes place only while next < limit, for a limit of 32 bits.
bool stays_below_limit(const llvm::PHINode& phi, const llvm::BinaryOperator& next, const llvm::Loop& loop,
                       llvm::ScalarEvolution& evolution) {
    namespace Match = llvm::PatternMatch;
    const auto* step = llvm::dyn_cast<llvm::ConstantInt>(next.getOperand(1));
    const auto* again = llvm::dyn_cast<llvm::BranchInst>(loop.getLoopLatch()->getTerminator());
    if (step == nullptr || !step->isOne() || again == nullptr || !again->isConditional()) return false;
    llvm::Value* start = phi.getIncomingValueForBlock(loop.getLoopPreheader());
    if (again->getSuccessor(0) != loop.getHeader() || !fits(start, evolution)) return false;
    llvm::SmallVector<llvm::Value*, 4> conditions = {again->getCondition()};
    while (!conditions.empty()) {
        llvm::Value* condition = conditions.pop_back_val();
        llvm::Value* one = nullptr;
        llvm::Value* other = nullptr;
        if (Match::match(condition, Match::m_LogicalAnd(Match::m_Value(one), Match::m_Value(other)))) {
            conditions.append({one, other});
            continue;
        }
        const auto* test = llvm::dyn_cast<llvm::ICmpInst>(condition);
        if (test == nullptr) continue;
        const bool in_order = test->getOperand(0) == &next && test->getPredicate() == llvm::ICmpInst::ICMP_SLT;
        const bool swapped = test->getOperand(1) == &next && test->getPredicate() == llvm::ICmpInst::ICMP_SGT;
        if (!in_order && !swapped) continue;
        llvm::Value* limit = test->getOperand(in_order ? 1 : 0);
        if (loop.isLoopInvariant(limit) && fits(limit, evolution) &&
            evolution.isLoopEntryGuardedByCond(&loop, llvm::ICmpInst::ICMP_SLT, evolution.getSCEV(start),
                                               evolution.getSCEV(limit)))
            return true;
    }
    return false;
}

bool is_narrow(llvm::PHINode& phi, const llvm::Loop& loop, llvm::ScalarEvolution& evolution, llvm::DemandedBits& bits,
               Counter& counter) {
    if (!phi.getType()->isIntegerTy(64) || phi.getNumIncomingValues() != 2) return false;
    auto* next = llvm::dyn_cast<llvm::BinaryOperator>(phi.getIncomingValueForBlock(loop.getLoopLatch()));
    if (next == nullptr || next->getOpcode() != llvm::Instruction::Add || next->getOperand(0) != &phi) return false;
    counter = {&phi, next, false, true};
    const auto* step = llvm::dyn_cast<llvm::ConstantInt>(next->getOperand(1));
    if (step != nullptr && step->getValue().isSignedIntN(kNarrow) &&
        ((fits(&phi, evolution) && fits(next, evolution)) || stays_below_limit(phi, *next, loop, evolution))) {
        counter.is_number = true;
        // The last value is that of next alone.
        counter.is_negative = evolution.getSignedRange(evolution.getSCEV(&phi)).getSignedMin().isNegative() ||
                              evolution.getSignedRange(evolution.getSCEV(next)).getSignedMin().isNegative();
        return true;
    }
    return bits.getDemandedBits(&phi).isIntN(kNarrow) && bits.getDemandedBits(next).isIntN(kNarrow);
}

// Tests against numbers of 32 bits.
void narrow_tests(llvm::Instruction& wide, llvm::Value* narrow, llvm::ScalarEvolution& evolution) {
    for (llvm::User* user : llvm::make_early_inc_range(wide.users())) {
        auto* test = llvm::dyn_cast<llvm::ICmpInst>(user);
        if (test == nullptr) continue;
        const unsigned at = test->getOperand(0) == &wide ? 0 : 1;
        llvm::Value* other = test->getOperand(1 - at);
        if (other == &wide || !fits(other, evolution)) continue;
        llvm::IRBuilder<> builder(test);
        llvm::Value* small = builder.CreateTrunc(other, narrow->getType());
        llvm::Value* result = at == 0 ? builder.CreateICmp(test->getPredicate(), narrow, small)
                                      : builder.CreateICmp(test->getPredicate(), small, narrow);
        test->replaceAllUsesWith(result);
        test->eraseFromParent();
    }
}

// What is computed from the value may overflow now where it did not before, in bits that nobody looks at.
void drop_promises(llvm::Instruction& value) {
    llvm::SmallVector<llvm::Instruction*, 16> open = {&value};
    llvm::SmallPtrSet<llvm::Instruction*, 16> seen;
    while (!open.empty()) {
        llvm::Instruction* instruction = open.pop_back_val();
        if (!seen.insert(instruction).second || !instruction->getType()->isIntegerTy(64)) continue;
        instruction->dropPoisonGeneratingFlags();
        for (llvm::User* user : instruction->users()) open.push_back(llvm::cast<llvm::Instruction>(user));
    }
}

void narrow(const Counter& counter, const llvm::Loop& loop, llvm::ScalarEvolution& evolution) {
    llvm::Type* type = llvm::Type::getIntNTy(counter.now->getContext(), kNarrow);
    llvm::BasicBlock* before = loop.getLoopPreheader();
    llvm::IRBuilder<> builder(before->getTerminator());
    llvm::Value* start = builder.CreateTrunc(counter.now->getIncomingValueForBlock(before), type);
    builder.SetInsertPoint(counter.now);
    llvm::PHINode* now = builder.CreatePHI(type, 2);
    builder.SetInsertPoint(counter.next);
    llvm::Value* by = builder.CreateTrunc(counter.next->getOperand(1), type);
    llvm::Value* next = builder.CreateAdd(now, by, "", /*HasNUW=*/false, /*HasNSW=*/counter.is_number);
    now->addIncoming(start, before);
    now->addIncoming(next, loop.getLoopLatch());
    if (counter.is_number) {
        narrow_tests(*counter.now, now, evolution);
        narrow_tests(*counter.next, next, evolution);
    }
    const auto widened = [&](llvm::Value* value) {
        return counter.is_negative ? builder.CreateSExt(value, counter.now->getType())
                                   : builder.CreateZExt(value, counter.now->getType(), "", /*IsNonNeg=*/true);
    };
    for (llvm::Instruction* old :
         {static_cast<llvm::Instruction*>(counter.now), static_cast<llvm::Instruction*>(counter.next)})
        evolution.forgetValue(old);
    if (!counter.is_number) drop_promises(*counter.now);
    counter.next->replaceAllUsesWith(widened(next));
    builder.SetInsertPoint(loop.getHeader(), loop.getHeader()->getFirstInsertionPt());
    llvm::Value* wide = widened(now);
    counter.now->replaceUsesWithIf(wide, [&](const llvm::Use& use) { return use.getUser() != counter.next; });
    counter.next->eraseFromParent();
    counter.now->eraseFromParent();
}

}  // namespace

llvm::PreservedAnalyses NarrowCounters::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
    auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
    auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
    auto& bits = analyses.getResult<llvm::DemandedBitsAnalysis>(function);
    std::vector<std::pair<Counter, const llvm::Loop*>> found;
    for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
        if (loop->getLoopPreheader() == nullptr || loop->getLoopLatch() == nullptr) continue;
        for (llvm::PHINode& phi : loop->getHeader()->phis()) {
            Counter counter{};
            if (is_narrow(phi, *loop, evolution, bits, counter)) found.emplace_back(counter, loop);
        }
    }
    for (const auto& [counter, loop] : found) narrow(counter, *loop, evolution);
    if (found.empty()) return llvm::PreservedAnalyses::all();
    llvm::PreservedAnalyses kept;
    kept.preserveSet<llvm::CFGAnalyses>();
    return kept;
}

}  // namespace treadle::codegen::nvptx
