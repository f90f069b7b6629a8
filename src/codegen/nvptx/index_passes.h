// Passes of our own over LLVM's IR: indices in forms that LLVM, or the machine, does more with, and loops that make
// them constants.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/PassManager.h>

namespace treadle::codegen::nvptx {

// Sums of 2 * x - (x & low bits), as in sorting networks and Fourier transforms, become the bits of x moved apart: the
// bit between them is known to be zero then, so that the distance can be added. An index that counts from the end when
// negative becomes a choice again where it was made arithmetic.
struct ExposeIndices : llvm::PassInfoMixin<ExposeIndices> {
    static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

// Variables of loops that count, and that stay below 2 ** 31 or of which nobody looks at more than the low half, have
// 32 bits: GPUs add and compare 64 in two instructions.
struct NarrowCounters : llvm::PassInfoMixin<NarrowCounters> {
    static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

// Takes back hints to unroll loops whole where that would make very much code of them and the loops around them.
struct LimitUnrolling : llvm::PassInfoMixin<LimitUnrolling> {
    static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

// Indices of 32 bits into arrays with extents of 32 bits are made positive, and tested, in 32 bits.
struct NarrowIndices : llvm::PassInfoMixin<NarrowIndices> {
    static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace treadle::codegen::nvptx
