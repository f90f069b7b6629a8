// Streams of a GPU: the driver's own. One that nobody holds any more leaves its work to the device (CudaDevice::leave)
// and waits for nothing.
#pragma once

#include <memory>

#include "device/cuda/cuda_kernel.h"
#include "device/cuda/cuda_memory.h"
#include "device/cuda/driver.h"
#include "device/cuda/stream_report.h"
#include "device/device.h"

namespace treadle::device::cuda {

class CudaDevice;

// Asks until the answer is yes or the time is over. Most work ends soon: asking costs less than being woken up.
bool poll(std::chrono::milliseconds limit, const std::function<bool()>& done);

class CudaStream final : public Stream {
public:
    // slot: which bit stands for the stream in what blocks of memory remember.
    CudaStream(CudaDevice& device, CuStream stream, int slot, bool owned, std::shared_ptr<StreamReport> report);
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
    int priority() const override;
    bool is_blocking() const override;
    void wait_for_handle(std::uint64_t handle) override;
    void order_handle_after(std::uint64_t handle) override;

    int slot() const { return slot_; }
    CuStream raw() const { return stream_; }
    CudaDevice& device() const { return device_; }
    // What another stream, perhaps of another GPU, is given from now on comes after this one's work.
    void order_before(const CudaStream& later) const;
    bool is_owned() const { return owned_; }
    const std::shared_ptr<StreamReport>& report() const { return report_; }
    // Notes that the stream's next work uses this memory. Throws Error(Device) for memory of a GPU that the stream's
    // does not reach.
    void use(std::span<Storage* const> uses);

private:
    void order_with(std::uint64_t first, std::uint64_t second) const;
    void use_of_peer(CudaBlock& block);
    void check_cooperative(const CudaKernel& kernel, const Launch& launch, std::size_t shared_bytes) const;

    CudaDevice& device_;
    CuStream stream_;
    int slot_;
    bool owned_;
    std::shared_ptr<StreamReport> report_;
};

}  // namespace treadle::device::cuda
