// Which loops are unrolled, and how far: hints for LLVM, which knows nothing of what a GPU gains.
#include <algorithm>

#include "codegen/nvptx/emitter.h"

namespace treadle::codegen::nvptx {
namespace {

using ir::Opcode;

// A counting loop of few operations whose number of rounds is not known: several rounds at once keep as many loads
// under way. Known numbers of rounds are left to LLVM.
bool gains_from_rounds_at_once(const ir::Op& loop) {
    constexpr int kMostOps = 80;
    const ir::Region& init = loop.regions[0];
    const ir::Region& step = loop.regions[3];
    if (step.empty() || init.empty() || loop.index == 1) return false;
    int ops = 0;
    bool plain = true;
    ir::walk(loop.regions[2], [&](const ir::Op& op) {
        ++ops;
        switch (op.code) {
            case Opcode::Loop:
            case Opcode::Barrier:
            case Opcode::BarrierReduce:
            case Opcode::Shuffle:
            case Opcode::Vote:
            case Opcode::Match:
            case Opcode::ExternalCall:
            case Opcode::Print:
            case Opcode::Atomic: plain = false; break;
            default: break;
        }
    });
    return plain && ops <= kMostOps;
}

const ir::Op* definition(const ir::Region& region, ir::ValueId value) {
    const auto found = std::find_if(region.begin(), region.end(), [&](const ir::Op& op) { return op.result == value; });
    return found == region.end() ? nullptr : &*found;
}

// Whether each round doubles, halves or shifts what the loop's test looks at, as reductions, scans and sorting networks
// do: there are 64 rounds at most. Unrolled whole, their distances are constants, which settles most tests of indices.
bool doubles(const ir::Op& loop) {
    const ir::Region& test = loop.regions[1];
    const ir::Region& body = loop.regions[2];
    for (const ir::Op& op : body) {
        if (op.code != Opcode::VarSet) continue;
        const ir::Op* value = definition(body, op.operands[0]);
        if (value == nullptr || value->operands.size() != 2) continue;
        switch (value->code) {
            case Opcode::Mul:
            case Opcode::FloorDiv:
            case Opcode::TruncDiv:
            case Opcode::Shl:
            case Opcode::Shr: break;
            default: continue;
        }
        const ir::Op* before = definition(body, value->operands[0]);
        if (before == nullptr || before->code != Opcode::VarGet || before->index != op.index) continue;
        if (std::any_of(test.begin(), test.end(),
                        [&](const ir::Op& read) { return read.code == Opcode::VarGet && read.index == op.index; }))
            return true;
    }
    return false;
}

bool is_short(const ir::Op& loop) {
    constexpr int kMostOps = 120;
    int ops = 0;
    ir::walk(loop.regions[2], [&](const ir::Op&) { ++ops; });
    return ops <= kMostOps;
}

}  // namespace

void Emitter::unroll(const ir::Op& loop, llvm::BranchInst* back) {
    constexpr std::uint32_t kRounds = 4;
    const auto hint = [&](const char* name, std::uint32_t count) {
        std::vector<llvm::Metadata*> words = {llvm::MDString::get(context_, name)};
        if (count != 0) words.push_back(llvm::ConstantAsMetadata::get(builder_.getInt32(count)));
        llvm::MDNode* node = llvm::MDNode::getDistinct(context_, {nullptr, llvm::MDNode::get(context_, words)});
        node->replaceOperandWith(0, node);
        back->setMetadata(llvm::LLVMContext::MD_loop, node);
    };
    if (doubles(loop) && is_short(loop)) {
        hint("llvm.loop.unroll.full", 0);
    } else if (!has_known_rounds(loop) && gains_from_rounds_at_once(loop)) {
        hint("llvm.loop.unroll.count", kRounds);
    }
}

// Between two constants.
bool Emitter::has_known_rounds(const ir::Op& loop) const {
    const ir::Region& init = loop.regions[0];
    const ir::Region& test = loop.regions[1];
    if (init.empty() || test.size() < 2 || init[0].code != ir::Opcode::VarSet) return false;
    const auto is_constant = [&](ir::ValueId id) { return llvm::isa<llvm::ConstantInt>(get(*active_[0], id)); };
    const ir::Op& compare = test[test.size() - 2];
    return compare.operands.size() == 2 && is_constant(init[0].operands[0]) && is_constant(compare.operands[1]);
}

}  // namespace treadle::codegen::nvptx
