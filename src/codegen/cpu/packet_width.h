// How many lanes a packet has: one to four native vectors, from the register pressure of the kernel.
#pragma once

#include "base/cpu_target.h"
#include "ir/ir.h"

namespace treadle::codegen {

// Needs the shapes. Kernels with loops gain latency hiding and register blocking from wide packets until values spill.
int choose_packet(const ir::Function& function, const CpuTarget& target);

// Varying values alive at once, in units of one 32-bit lane; what choose_packet decides by. Exposed for tests.
int pressure(const ir::Function& function);

}  // namespace treadle::codegen
