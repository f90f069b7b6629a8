// How the kernels of array operations are laid over the current device.
#pragma once

#include <cstdint>

namespace treadle::array {

struct Tuning {
    bool gpu = false;
    std::int64_t block = 4096;  // threads of a block of element-wise kernels, which are not bound by a user's limits
    std::int64_t lanes = 64;    // that a reduction along a row runs side by side
    std::int64_t blocks = 0;    // that fill a GPU

    static const Tuning& of_device();
};

}  // namespace treadle::array
