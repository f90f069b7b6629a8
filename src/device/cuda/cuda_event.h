// Events of a GPU: the driver's own.
#pragma once

#include <memory>

#include "device/cuda/driver.h"
#include "device/device.h"

namespace treadle::device::cuda {

class CudaDevice;
class CudaStream;

class CudaEvent final : public Event {
public:
    explicit CudaEvent(CudaDevice& device);
    ~CudaEvent() override;
    bool query() const override;
    void synchronize() override;
    double elapsed_ms(const Event& since) const override;
    CuEvent raw() const { return event_; }
    bool recorded = false;
    std::weak_ptr<CudaStream> stream;  // where it was recorded last

private:
    CudaDevice& device_;
    CuEvent event_ = nullptr;
};

}  // namespace treadle::device::cuda
