// NVIDIA's linker as a library.
#pragma once

#include "device/cuda/linker.h"

namespace treadle::device::cuda {

LinkResult link_by_nvjitlink(const LinkRequest& request);

}  // namespace treadle::device::cuda
