#include "device/cuda/stream_list.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_stream.h"

namespace treadle::device::cuda {
namespace {

std::uint64_t bit_of(int slot) { return std::uint64_t{1} << slot; }

}  // namespace

int StreamList::take_slot() {
    const int first = std::countr_one(taken_);
    const int slot = first < kPeerSlot ? first : kSharedSlot;
    taken_ |= bit_of(slot);
    return slot;
}

std::shared_ptr<CudaStream> StreamList::add(CuStream raw, bool owned, int slot, std::shared_ptr<StreamReport> report) {
    auto stream = std::make_shared<CudaStream>(device_, raw, slot, owned, std::move(report));
    std::erase_if(streams_, [](const auto& weak) { return weak.expired(); });
    streams_.push_back(stream);
    return stream;
}

std::shared_ptr<CudaStream> StreamList::add(CuStream raw, bool owned) {
    const std::lock_guard lock(mutex_);
    forget_what_is_done();
    return add(raw, owned, take_slot(), std::make_shared<StreamReport>(device_));
}

std::shared_ptr<CudaStream> StreamList::find(CuStream raw) {
    const auto streams = alive();  // lets go of none while the lock is held: they would ask for it
    const std::lock_guard lock(mutex_);
    forget_what_is_done();
    for (const auto& stream : streams) {
        if (stream->raw() == raw) return stream;
    }
    const auto before = std::find_if(left_.begin(), left_.end(),
                                     [&](const Left& left) { return left.end == nullptr && left.raw == raw; });
    if (before == left_.end()) return add(raw, false, take_slot(), std::make_shared<StreamReport>(device_));
    const Left left = std::move(*before);
    left_.erase(before);
    return add(raw, false, left.slot, left.report);
}

void StreamList::leave(const CudaStream& stream) noexcept {
    const Driver& cu = driver();
    Left left{stream.raw(), nullptr, stream.slot(), stream.report(), 0};
    const std::lock_guard lock(mutex_);
    if (stream.is_owned()) {
        if (cu.stream_query(stream.raw()) != kNotReady) return forget(left);
        // Without an event, as where the context is lost, the slot stays taken.
        if (cu.event_create(&left.end, kEventWithoutTime) != kSuccess) return;
        cu.event_record(left.end, stream.raw());
    }
    left.number = count_++;
    left_.push_back(std::move(left));
}

std::vector<std::shared_ptr<CudaStream>> StreamList::alive() {
    std::vector<std::shared_ptr<CudaStream>> streams;
    const std::lock_guard lock(mutex_);
    for (const auto& weak : streams_) {
        if (auto stream = weak.lock()) streams.push_back(std::move(stream));
    }
    return streams;
}

void StreamList::order_after(const CudaStream& waiter, std::uint64_t slots) {
    const bool is_own = &waiter.device() == &device_;
    const auto is_meant = [&](int slot, CuStream raw) {
        return (slots & bit_of(slot)) != 0 && !(is_own && raw == waiter.raw());
    };
    for (const auto& other : alive()) {
        if (is_meant(other->slot(), other->raw())) other->order_before(waiter);
    }
    if ((slots & bit_of(kPeerSlot)) != 0) device_.peers().order_after_visitors(waiter);
    const std::lock_guard lock(mutex_);
    for (const Left& left : left_) {
        if (!is_meant(left.slot, left.raw)) continue;
        if (left.end != nullptr) {
            const ContextScope scope(waiter.device().context());
            check(driver().stream_wait_event(waiter.raw(), left.end, 0), "cuStreamWaitEvent");
        } else {
            const ContextScope scope(device_.context());
            check(driver().ctx_synchronize(), "cuCtxSynchronize");
        }
    }
}

void StreamList::forget(Left& left) {
    if (left.end != nullptr) driver().event_destroy(left.end);
    if (left.slot != kSharedSlot) taken_ &= ~bit_of(left.slot);
    if (!left.report->is_empty()) unheard_.push_back(std::move(left.report));
}

void StreamList::forget_what_is_done(std::uint64_t mark) {
    std::erase_if(left_, [&](Left& left) {
        const bool is_done = left.end != nullptr ? driver().event_query(left.end) != kNotReady : left.number < mark;
        if (is_done) forget(left);
        return is_done;
    });
}

bool StreamList::left_work_is_done() {
    const std::lock_guard lock(mutex_);
    forget_what_is_done();
    return std::all_of(left_.begin(), left_.end(), [](const Left& left) { return left.end == nullptr; });
}

std::uint64_t StreamList::mark() {
    const std::lock_guard lock(mutex_);
    return count_;
}

std::vector<std::shared_ptr<StreamReport>> StreamList::take_reports(std::uint64_t mark) {
    const std::lock_guard lock(mutex_);
    forget_what_is_done(mark);
    return std::exchange(unheard_, {});
}

}  // namespace treadle::device::cuda
