// A branch at the end of a kernel that holds a barrier: threads that do not take it have nothing left to do, so they
// end, and the others meet without them.
#pragma once

#include "ir/ir.h"
#include "passes/pipeline.h"

namespace treadle::passes {

bool end_early(ir::Function& function, const PassContext& context);

}  // namespace treadle::passes
