// IR after the passes -> PTX.
#pragma once

#include <string>

#include "ir/ir.h"

namespace treadle::codegen::nvptx {

struct KernelOptions {
    int capability = 90;           // 10 * major + minor
    int threads_per_block = 1024;  // the most that it is launched with
    bool coarse = false;           // emit what runs several blocks in one, where the kernel allows it
    bool small_numbers = false;    // extents, strides and 64-bit integer parameters fit in 32 bits
    BlockDims block{};             // the only shape of block that it is launched with; zeros: any
    int min_blocks = 0;            // that a multiprocessor has room for; 0: any number
    int max_registers = 0;         // of a thread; 0: as many as the block leaves
};

enum class Output { Ptx, LlvmBefore, LlvmAfter };

struct Kernel {
    std::string text;
    bool coarse = false;  // runs several blocks in one
};

Kernel compile_kernel(const ir::Function& function, const KernelOptions& options, Output output = Output::Ptx);

}  // namespace treadle::codegen::nvptx
