// The streams of a GPU, and what those that are gone have left: work that may still run, and reports that nobody has
// waited for.
//
// Each stream has a slot, the bit by which blocks of memory remember it (cuda_memory.h). A slot is given to
// another stream when the work of the one before is done. A stream of another library may end before we know, so its
// handle is not touched once our object is gone: its work is known to be done when the whole device is.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "device/cuda/cuda_memory.h"
#include "device/cuda/driver.h"
#include "device/cuda/stream_report.h"

namespace treadle::device::cuda {

class CudaDevice;
class CudaStream;

class StreamList {
public:
    explicit StreamList(CudaDevice& device) : device_(device) {}

    std::shared_ptr<CudaStream> add(CuStream raw, bool owned);
    // The stream with this handle, added as somebody else's where it is not known.
    std::shared_ptr<CudaStream> find(CuStream raw);
    // Called by the destructor of a stream, with a context of the device current.
    void leave(const CudaStream& stream) noexcept;
    std::vector<std::shared_ptr<CudaStream>> alive();
    // Makes a stream, perhaps of another GPU, wait for the work that the streams in these slots have now.
    void order_after(const CudaStream& waiter, std::uint64_t slots);
    void order_after_all(const CudaStream& waiter) { order_after(waiter, ~(std::uint64_t{1} << kPeerSlot)); }
    // Whether all work of streams that are gone is done, as far as can be asked.
    bool left_work_is_done();
    // What was left up to now.
    std::uint64_t mark();
    // Reports of streams that are gone. All work that was left before the mark must be done.
    std::vector<std::shared_ptr<StreamReport>> take_reports(std::uint64_t mark);

private:
    struct Left {
        CuStream raw;
        CuEvent end;  // null: of another library's stream
        int slot;
        std::shared_ptr<StreamReport> report;
        std::uint64_t number;  // counts those that left
    };
    // Called with the lock held.
    std::shared_ptr<CudaStream> add(CuStream raw, bool owned, int slot, std::shared_ptr<StreamReport> report);
    int take_slot();
    void forget(Left& left);
    void forget_what_is_done(std::uint64_t mark = 0);

    CudaDevice& device_;
    std::mutex mutex_;
    std::vector<std::weak_ptr<CudaStream>> streams_;
    std::vector<Left> left_;
    std::vector<std::shared_ptr<StreamReport>> unheard_;
    std::uint64_t taken_ = 0;  // slots, as bits
    std::uint64_t count_ = 0;  // of streams that left
};

}  // namespace treadle::device::cuda
