// Finds for every value and variable whether it is uniform, linear or varying over the lanes of a packet, which control
// flow diverges, and which assignments must blend with the old value. Last in the pipeline: it only annotates.
//
// A variable set under divergent control may still be uniform: what counts is divergence between the assignment and the
// innermost region that holds all uses of the variable, because nobody looks at inactive lanes inside it.
#pragma once

#include "passes/pipeline.h"

namespace treadle::passes {

bool analyze_shapes(ir::Function& function, const PassContext& context);

}  // namespace treadle::passes
