#include "device/cuda/peer_access.h"

#include <algorithm>

#include "base/error.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_stream.h"

namespace treadle::device::cuda {
namespace {

// Another library of the process, which shares the context, was first.
constexpr CuResult kAlreadyEnabled = 704;
constexpr CuResult kNotEnabled = 705;

template <class List, class Item>
bool holds(const List& list, const Item& item) {
    return std::find(list.begin(), list.end(), item) != list.end();
}

}  // namespace

bool PeerAccess::is_possible(int other) const {
    if (other == device_.index()) return true;
    int answer = 0;
    check(driver().device_can_access_peer(&answer, device_.index(), other), "cuDeviceCanAccessPeer");
    return answer != 0;
}

bool PeerAccess::is_enabled(const CudaDevice& other) const {
    if (&other == &device_) return true;
    const std::lock_guard lock(mutex_);
    return holds(reached_, &other);
}

void PeerAccess::enable(const CudaDevice& other) {
    if (is_enabled(other)) return;
    if (!is_possible(other.index())) {
        throw_device_error("CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
                           "[peer access] GPU " + std::to_string(device_.index()) + " cannot reach the memory of GPU " +
                               std::to_string(other.index()) + ": copy arrays instead");
    }
    const ContextScope scope(device_.context());
    const CuResult result = driver().ctx_enable_peer_access(other.context().raw, 0);
    if (result != kAlreadyEnabled) check(result, "cuCtxEnablePeerAccess");
    const std::lock_guard lock(mutex_);
    if (!holds(reached_, &other)) reached_.push_back(&other);
}

void PeerAccess::disable(const CudaDevice& other) {
    if (&other == &device_ || !is_enabled(other)) return;
    const ContextScope scope(device_.context());
    check(driver().ctx_synchronize(), "cuCtxSynchronize");
    const CuResult result = driver().ctx_disable_peer_access(other.context().raw);
    if (result != kNotEnabled) check(result, "cuCtxDisablePeerAccess");
    const std::lock_guard lock(mutex_);
    std::erase(reached_, &other);
}

void PeerAccess::visit(CudaDevice& other) {
    PeerAccess& host = other.peers();
    const std::lock_guard lock(host.mutex_);
    if (!holds(host.visitors_, &device_)) host.visitors_.push_back(&device_);
}

std::vector<CudaDevice*> PeerAccess::visitors() const {
    const std::lock_guard lock(mutex_);
    return visitors_;
}

void PeerAccess::order_after_visitors(const CudaStream& waiter) {
    for (CudaDevice* visitor : visitors()) {
        if (visitor != &waiter.device()) visitor->streams().order_after_all(waiter);
    }
}

void PeerAccess::wait_for_visitors() {
    for (CudaDevice* visitor : visitors()) {
        const ContextScope scope(visitor->context());
        check(driver().ctx_synchronize(), "cuCtxSynchronize");
    }
}

}  // namespace treadle::device::cuda
