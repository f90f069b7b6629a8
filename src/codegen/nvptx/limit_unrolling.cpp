#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>

#include "codegen/nvptx/index_passes.h"

namespace treadle::codegen::nvptx {
namespace {

constexpr std::uint64_t kMostInstructions = 6000;  // that a nest of loops becomes: a bitonic sort of 1024 needs 3000

bool is_marked(const llvm::Loop& loop) { return llvm::findOptionMDForLoop(&loop, "llvm.loop.unroll.full") != nullptr; }

class Limit {
public:
    Limit(const llvm::LoopInfo& loops, llvm::ScalarEvolution& evolution) : loops_(loops), evolution_(evolution) {}

    // Instructions that the loop becomes; inner loops first, which are the better to unroll. around: rounds of the loop
    // around.
    std::uint64_t size_of(llvm::Loop& loop, std::uint64_t around) {
        const unsigned known = evolution_.getSmallConstantTripCount(&loop);
        // Rounds that depend on a loop around are no more than those of it, where both double or halve.
        const std::uint64_t rounds = known != 0 ? known : around;
        std::uint64_t body = 0;
        for (const llvm::BasicBlock* block : loop.blocks())
            if (loops_.getLoopFor(block) == &loop) body += block->size();
        for (llvm::Loop* inner : loop.getSubLoops()) body += size_of(*inner, rounds);
        if (!is_marked(loop)) return body;
        if (body * rounds <= kMostInstructions) return body * rounds;
        loop.setLoopID(nullptr);
        changed = true;
        return body;
    }

    bool changed = false;

private:
    const llvm::LoopInfo& loops_;
    llvm::ScalarEvolution& evolution_;
};

}  // namespace

llvm::PreservedAnalyses LimitUnrolling::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
    auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
    Limit limit(loops, analyses.getResult<llvm::ScalarEvolutionAnalysis>(function));
    for (llvm::Loop* loop : loops) limit.size_of(*loop, 1);
    return limit.changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace treadle::codegen::nvptx
