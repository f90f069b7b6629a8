// Evaluates integer arithmetic and casts of constants, and drops additions of zero and products with one, so that
// strides and loop steps are constants for the shape analysis. Floats are left to LLVM.
#pragma once

#include "passes/pipeline.h"

namespace treadle::passes {

bool fold_constants(ir::Function& function, const PassContext& context);

}  // namespace treadle::passes
