// Finds loops that wait for another thread: what decides whether they end is read from, or exchanged with, one element
// that nothing in the loop changes. Their threads cannot run in step, and must let others run between two rounds. A
// loop that compares such an element with something that it moves on by itself does not wait, nor does one whose
// exchange is an addition: these end without the others.
//
// Runs before the layout of lanes is chosen, which depends on it.
#pragma once

#include "ir/ir.h"

namespace treadle::passes {

// Sets index=1 on such loops.
void mark_spins(ir::Function& function);

}  // namespace treadle::passes
