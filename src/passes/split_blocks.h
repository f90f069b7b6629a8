// Decides whether the packets of a block can be run piece by piece, from barrier to barrier, in plain loops: all
// control flow around barriers must be the same for the whole block, whatever the threads read from memory. What is the
// same for the whole block and stands outside the pieces is then computed once for it.
#pragma once

#include "ir/ir.h"
#include "passes/pipeline.h"

namespace treadle::passes {

// Fills in splits, block_values and block_variables of the function.
bool split_blocks(ir::Function& function, const PassContext& context);

}  // namespace treadle::passes
