// Streams and events of a GPU: the driver's own.
#pragma once

#include <mutex>
#include <vector>

#include "base/cuda_kernel_abi.h"
#include "device/cuda/cuda_kernel.h"
#include "device/cuda/driver.h"
#include "device/device.h"

namespace treadle::device::cuda {

class CudaDevice;

class CudaStream final : public Stream {
public:
    // slot: which bit stands for the stream in what blocks of memory remember.
    CudaStream(CudaDevice& device, CuStream stream, int slot, bool owned);
    ~CudaStream() override;

    void launch(const Launch& launch) override;
    void copy(void* to, const void* from, std::size_t size_bytes, std::span<Storage* const> uses) override;
    void host(std::function<void()> work, std::span<Storage* const> uses) override;
    void record(const std::shared_ptr<Event>& event) override;
    void wait(const std::shared_ptr<Event>& event) override;
    void synchronize() override;
    bool query() const override;
    bool wait_for(std::chrono::milliseconds limit) override;
    std::uint64_t handle() const override;
    void wait_for_handle(std::uint64_t handle) override;
    void order_handle_after(std::uint64_t handle) override;

    int slot() const { return slot_; }
    CuStream raw() const { return stream_; }
    // What kernels printed is shown, and the first fault thrown. The stream's work must be done.
    void deliver();
    // Notes that the stream's next work uses this memory. Throws Error(Device) for memory of another GPU.
    void use(std::span<Storage* const> uses);

private:
    void order(CuStream first, CuStream second) const;
    DeviceReport* report();
    std::vector<Printed> take_lines();
    void check_cooperative(const CudaKernel& kernel, const Launch& launch, std::size_t shared_bytes) const;

    CudaDevice& device_;
    CuStream stream_;
    int slot_;
    bool owned_;
    std::mutex mutex_;
    DeviceReport* report_ = nullptr;
    CuPointer scratch_ = 0;  // a DeviceScratch
    std::exception_ptr fault_;
};

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
