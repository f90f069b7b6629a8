// A loaded kernel of a GPU.
#pragma once

#include "device/cuda/driver.h"
#include "device/device.h"

namespace treadle::device::cuda {

class CudaDevice;

class CudaKernel final : public Kernel {
public:
    CudaKernel(CudaDevice& device, const Artifact& artifact, std::shared_ptr<const KernelDebug> debug);
    ~CudaKernel() override;

    CuFunction function = nullptr;
    bool coarse = false;  // runs kCoarse blocks in one
    bool meets_grid = false;
    bool reports = false;      // may tell the host something
    int number = 0;            // of those that report
    const std::string* label;  // the name, for as long as the process lives

private:
    CudaDevice& device_;
    CuModule module_ = nullptr;
};

}  // namespace treadle::device::cuda
