#include "array/tuning.h"

#include <cstdlib>
#include <cstring>

#include "base/cpu_target.h"
#include "device/device.h"

namespace treadle::array {

const Tuning& Tuning::of_device() {
    static thread_local const device::Device* known = nullptr;
    static thread_local Tuning tuning;
    const device::Device& device = device::current_device();
    if (known == &device) return tuning;
    known = &device;
    tuning = {};
    tuning.lanes = host_target().vector_bytes();
    // TREADLE_TUNING=gpu lets tests run a GPU's launches on the CPU device.
    const char* asked = std::getenv("TREADLE_TUNING");
    if (device.attributes().cuda_capability != 0 || (asked != nullptr && std::strcmp(asked, "gpu") == 0)) {
        constexpr std::int64_t kBlocksPerMultiprocessor = 8;
        tuning.gpu = true;
        tuning.block = 256;
        tuning.blocks = kBlocksPerMultiprocessor * device.attributes().multiprocessors;
    }
    return tuning;
}

}  // namespace treadle::array
