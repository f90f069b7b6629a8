// Runs blocks whose threads share memory or meet at barriers: one block at a time, all its packets in one thread. Packets
// of kernels with barriers have stacks of their own and take turns: each runs until it waits, the last to arrive goes on
// at once and lets the others follow. Packets that have ended are not waited for, so no barrier can hang.
#pragma once

#include <cstdint>

#include "base/kernel_abi.h"

namespace treadle::device {

class CpuKernel;

void run_blocks(const CpuKernel& kernel, const std::uint64_t* params, const LaunchInfo& info, std::int64_t begin,
                std::int64_t end);

}  // namespace treadle::device
