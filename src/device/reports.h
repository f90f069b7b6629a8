// What the threads of kernels report, as the user sees it: the same words on every device.
#pragma once

#include <exception>
#include <vector>

#include "base/kernel_abi.h"
#include "device/device.h"

namespace treadle::device {

// The error of a fault: kernel, file and line, block, thread, index and extent.
std::exception_ptr fault_error(const FaultRecord& fault, const KernelDebug* debug);

// x, y and z of a linear index.
void set_coordinates(std::int32_t* into, std::int64_t linear, const std::int32_t* extents);

// In the order of blocks and threads.
void sort_by_thread(std::vector<Printed>& lines);

}  // namespace treadle::device
