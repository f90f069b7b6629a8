// What the kernels of one stream tell the host: faults and printed lines, in memory that both reach. The memory is made
// when a kernel that may report is first launched.
#pragma once

#include <exception>
#include <mutex>
#include <vector>

#include "base/cuda_kernel_abi.h"
#include "device/cuda/driver.h"
#include "device/device.h"

namespace treadle::device::cuda {

class CudaDevice;

class StreamReport {
public:
    explicit StreamReport(CudaDevice& device) : device_(device) {}
    ~StreamReport();  // the stream's work must be done
    StreamReport(const StreamReport&) = delete;
    StreamReport& operator=(const StreamReport&) = delete;

    // A context of the device must be current.
    DeviceReport* memory(CuStream stream);
    DeviceScratch* scratch() const { return reinterpret_cast<DeviceScratch*>(scratch_); }
    // A fault that the next delivery throws, unless there is one already.
    void keep(std::exception_ptr fault);
    bool is_empty() const;
    // What kernels printed is shown, and the first fault thrown. The stream's work must be done.
    void deliver(CuStream stream);

private:
    std::vector<Printed> take_lines();
    std::exception_ptr take_fault(CuStream stream);

    CudaDevice& device_;
    mutable std::mutex mutex_;
    DeviceReport* report_ = nullptr;
    CuPointer scratch_ = 0;  // a DeviceScratch
    std::exception_ptr fault_;
};

}  // namespace treadle::device::cuda
