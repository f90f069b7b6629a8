// In a loop that lanes leave at different times, a counter that every active lane advances alike is the same for all
// active lanes: it runs as a uniform variable inside the loop, and each lane takes its value along when it leaves (the
// loop's leave region).
//
//     n = 0                                n = 0
//     while n < limit and z small:   ->    loop init { n' = 0 } ... { n' += 1 } ... leave { n = n' }
//         n += 1
//
// The test against a uniform limit becomes scalar. Before the final shapes, which it needs to see its effect.
#pragma once

#include "passes/pipeline.h"

namespace treadle::passes {

bool separate_counters(ir::Function& function, const PassContext& context);

}  // namespace treadle::passes
