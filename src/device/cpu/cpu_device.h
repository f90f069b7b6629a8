// The CPU as a device: all cores, asynchronous streams, pooled memory. Its attributes are those of a modest GPU.
#pragma once

#include <memory>

#include "device/device.h"

namespace treadle::device {

// TREADLE_NUM_THREADS sets the number of worker threads; the default is the number of cores this process may use.
std::unique_ptr<Device> make_cpu_device();

}  // namespace treadle::device
