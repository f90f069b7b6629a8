// One NVIDIA GPU, in its primary context: the one that other libraries of the process use as well.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "device/cuda/context.h"
#include "device/cuda/cuda_memory.h"
#include "device/cuda/driver.h"
#include "device/cuda/peer_access.h"
#include "device/cuda/stream_list.h"
#include "device/device.h"

namespace treadle::device::cuda {

class CudaStream;
class CudaKernel;

class CudaDevice final : public Device {
public:
    explicit CudaDevice(int ordinal);

    const Attributes& attributes() const override { return attributes_; }
    int index() const override { return ordinal_; }
    std::string code_key() const override;
    void finish(Artifact& artifact, const CodeImages& links) override;
    StorageRef allocate(std::size_t size_bytes) override;
    StorageRef allocate_shared(std::size_t size_bytes, SharedMemory kind) override;
    MemoryUse memory_use() const override { return memory_.use(); }
    std::size_t free_bytes() const override { return memory_.free_bytes(); }
    void release_cached_memory() override { memory_.release_cached(); }
    std::shared_ptr<Kernel> load_kernel(const Artifact& artifact, std::shared_ptr<const KernelDebug> debug) override;
    std::shared_ptr<Stream> default_stream() override;
    std::shared_ptr<Stream> stream_of(std::uint64_t handle) override;
    std::shared_ptr<Event> create_event() override;
    bool can_access_peer(int other) const override { return peers_.is_possible(other); }
    bool has_peer_access(const Device& other) const override;
    void set_peer_access(const Device& other, bool enabled) override;
    bool is_lost() const override { return context_.is_lost(); }
    void synchronize() override;
    bool wait_for(std::chrono::milliseconds limit) override;

    GpuContext& context() const { return context_; }
    CudaMemory& memory() { return memory_; }
    // Tells launches apart, in their order; the low bits name the kernel.
    std::uint64_t next_launch(int kernel);
    int register_kernel(std::shared_ptr<const KernelDebug> debug);
    std::shared_ptr<const KernelDebug> kernel_of(std::uint64_t launch) const;
    StreamList& streams() { return streams_; }
    PeerAccess& peers() { return peers_; }
    const PeerAccess& peers() const { return peers_; }

private:
    std::shared_ptr<Stream> make_stream(bool blocking, int priority) override;
    int attribute(int number) const;

    int ordinal_;
    CuDevice device_ = 0;
    mutable GpuContext context_;
    Attributes attributes_;
    CudaMemory memory_;
    PeerAccess peers_;
    StreamList streams_;
    std::shared_ptr<CudaStream> default_stream_;
    mutable std::mutex mutex_;
    std::vector<std::shared_ptr<const KernelDebug>> kernels_;  // that report, by number
    std::atomic<std::uint64_t> launches_{0};
};

// The current device, for what only GPUs have; what: who asks. Throws Error(Unsupported) on the CPU device.
CudaDevice& current_gpu(const char* what);

}  // namespace treadle::device::cuda
