#include "device/cuda/cuda_event.h"

#include "base/error.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_stream.h"

namespace treadle::device::cuda {

CudaEvent::CudaEvent(CudaDevice& device) : device_(device) {
    const ContextScope scope(device.context());
    check(driver().event_create(&event_, 0), "cuEventCreate");
}

CudaEvent::~CudaEvent() {
    if (const CleanupScope scope(device_.context()); scope) driver().event_destroy(event_);
}

bool CudaEvent::query() const {
    const ContextScope scope(device_.context());
    const CuResult result = driver().event_query(event_);
    if (result == kNotReady) return false;
    check(result, "cuEventQuery");
    return true;
}

void CudaEvent::synchronize() {
    {
        const ContextScope scope(device_.context());
        check(driver().event_synchronize(event_), "cuEventSynchronize");
    }
    // Faults and prints are taken where no kernel writes any.
    const std::shared_ptr<CudaStream> from = stream.lock();
    if (from != nullptr && from->query()) from->report()->deliver(from->raw());
}

double CudaEvent::elapsed_ms(const Event& since) const {
    const auto& first = static_cast<const CudaEvent&>(since);
    const ContextScope scope(device_.context());
    for (const CudaEvent* event : {&first, this}) {
        if (!event->recorded)
            throw_device_error("CUDA_ERROR_INVALID_HANDLE", "[elapsed time] the event was never recorded");
        if (!event->query()) throw_device_error("CUDA_ERROR_NOT_READY", "[elapsed time] the event is not done yet");
    }
    float milliseconds = 0;
    check(driver().event_elapsed_time(&milliseconds, first.event_, event_), "cuEventElapsedTime");
    return static_cast<double>(milliseconds);
}

}  // namespace treadle::device::cuda
