// Access of GPUs to each other's memory: which ones this GPU reaches, because the program asked for it, and which ones
// have reached into its memory.
//
// A block that another GPU used is used again after that one's streams, as after the own ones. They have one bit for
// all in what blocks remember, because streams of other GPUs come and go without our knowledge.
#pragma once

#include <mutex>
#include <vector>

#include "device/cuda/driver.h"

namespace treadle::device::cuda {

class CudaDevice;
class CudaStream;

class PeerAccess {
public:
    explicit PeerAccess(CudaDevice& device) : device_(device) {}

    // Whether the hardware lets this GPU reach the other one's memory.
    bool is_possible(int other) const;
    bool is_enabled(const CudaDevice& other) const;
    // Throws Error(Device) where it is not possible.
    void enable(const CudaDevice& other);
    void disable(const CudaDevice& other);  // waits for this GPU

    // Notes that streams of this GPU use the other one's memory from now on.
    void visit(CudaDevice& other);
    // Makes a stream wait for the work that visitors have now, and the host for it.
    void order_after_visitors(const CudaStream& waiter);
    void wait_for_visitors();

private:
    std::vector<CudaDevice*> visitors() const;

    CudaDevice& device_;
    mutable std::mutex mutex_;
    std::vector<const CudaDevice*> reached_;
    std::vector<CudaDevice*> visitors_;
};

}  // namespace treadle::device::cuda
