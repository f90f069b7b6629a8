// Removes operations without effect whose result nobody uses, and variables that are never read. After folding, before
// the shapes: a value that is not there cannot make a packet narrower.
#pragma once

#include "passes/pipeline.h"

namespace treadle::passes {

bool eliminate_dead_code(ir::Function& function, const PassContext& context);

}  // namespace treadle::passes
