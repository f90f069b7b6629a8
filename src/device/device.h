// The back-end interface: what a device can do, as few verbs as the runtime needs. A back end is one folder beside this
// file and one row in registry.cpp.
//
// Work on a stream runs in order and asynchronously. Faults of kernels are kept on their stream and thrown by
// synchronize.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/artifact.h"
#include "base/code_image.h"
#include "base/dtype.h"
#include "device/counters.h"

namespace treadle::device {

// Device memory with a count of its users: arrays on the host side and work that has not run yet. The last one frees
// it.
class Device;

// What an array says of itself when its memory is made, for messages.
struct Contents {
    static constexpr int kMostShown = 6;  // axes

    std::int64_t item_bytes = 0;  // 0: nothing is known
    bool is_record = false;
    DType dtype = DType::UInt8;
    int rank = 0;
    std::int64_t shape[kMostShown] = {};
};

enum class Place : std::uint8_t { Device, Host, Managed };

class Storage {
public:
    Storage(void* data, std::size_t size_bytes, const Device* owner = nullptr, Place place = Place::Device)
        : data_(data), size_bytes_(size_bytes), place_(place), owner_(owner) {}
    virtual ~Storage() = default;
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;

    void* data() const noexcept { return data_; }
    std::size_t size_bytes() const noexcept { return size_bytes_; }
    Place place() const noexcept { return place_; }
    // The device whose pool it is of; null for other memory.
    const Device* owner() const noexcept { return owner_; }
    bool in_use() const noexcept { return users_.load(std::memory_order_relaxed) > 0; }
    const Contents& contents() const noexcept { return contents_; }
    void describe(const Contents& contents) noexcept { contents_ = contents; }
    void retain() noexcept { users_.fetch_add(1, std::memory_order_relaxed); }
    void release() noexcept {
        if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) dispose();
    }

protected:
    virtual void dispose() noexcept { delete this; }
    void revive() noexcept { users_.store(1, std::memory_order_relaxed); }

    void* data_;
    std::size_t size_bytes_;

private:
    Place place_;
    const Device* owner_;
    Contents contents_;
    std::atomic<std::int64_t> users_{1};
};

class StorageRef {
public:
    StorageRef() = default;
    explicit StorageRef(Storage* adopted) : storage_(adopted) {}  // takes over one use
    StorageRef(const StorageRef& other) : storage_(other.storage_) {
        if (storage_ != nullptr) storage_->retain();
    }
    StorageRef(StorageRef&& other) noexcept : storage_(other.storage_) { other.storage_ = nullptr; }
    StorageRef& operator=(StorageRef other) noexcept {
        std::swap(storage_, other.storage_);
        return *this;
    }
    ~StorageRef() {
        if (storage_ != nullptr) storage_->release();
    }
    Storage* get() const noexcept { return storage_; }
    Storage* operator->() const noexcept { return storage_; }
    explicit operator bool() const noexcept { return storage_ != nullptr; }

private:
    Storage* storage_ = nullptr;
};

// What error messages say about a kernel.
struct KernelDebug {
    std::string name;
    std::vector<SourceText> sources;
    std::vector<std::string> texts;  // what it prints and raises
};

// What one thread printed: the values as words, 8 bytes each, to be formatted as texts[text] says.
struct Printed {
    std::shared_ptr<const KernelDebug> kernel;
    std::int64_t text;
    std::int64_t block;
    std::int64_t thread;
    std::vector<std::uint64_t> words;
};

// Called where a program waits for a device, with what its kernels have printed since, in the order of launches, blocks
// and threads.
using PrintSink = void (*)(const std::vector<Printed>& lines);
void set_print_sink(PrintSink sink);
PrintSink print_sink();

class Kernel {
public:
    virtual ~Kernel() = default;
    int packet = 0;
    std::size_t code_bytes = 0;
    bool has_loops = false;
    int shared_bytes = 0;  // of arrays whose size the kernel says
    int registers = 0;     // of a thread; 0 where that is not known
    int local_bytes = 0;   // of a thread, in memory
    int max_threads = 0;   // of a block, by the kernel's needs; 0: no limit but the device's
    std::shared_ptr<const KernelDebug> debug;
};

struct Launch {
    std::shared_ptr<Kernel> kernel;
    std::int32_t grid[3] = {1, 1, 1};
    std::int32_t block[3] = {1, 1, 1};
    std::int64_t shared_bytes = 0;  // of arrays sized by the launch
    std::span<const std::uint64_t> params;
    std::span<Storage* const> uses;  // kept alive until the launch has run
    std::size_t bytes = 0;           // of all array arguments
    std::uint64_t work_key = 0;      // of the numbers and shapes among the arguments: equal keys, equal work
};

class Event {
public:
    virtual ~Event() = default;
    virtual bool query() const = 0;  // true when recorded work is done, or nothing was recorded
    virtual void synchronize() = 0;
    virtual double elapsed_ms(const Event& since) const = 0;  // both recorded and done
};

// A binding's owner of a stream is the stream's own: what threads hold at their end needs no interpreter.
class Stream : public std::enable_shared_from_this<Stream> {
public:
    virtual ~Stream() = default;
    // Counts for the stream and for the process.
    void count(Count what, std::uint64_t amount = 1) noexcept {
        counted.add(what, amount);
        counters().add(what, amount);
    }
    Counters counted;
    virtual void launch(const Launch& launch) = 0;
    // Copies between any memories the device can reach. blocking: returns when it is done.
    virtual void copy(void* to, const void* from, std::size_t size_bytes, std::span<Storage* const> uses) = 0;
    virtual void host(std::function<void()> work, std::span<Storage* const> uses) = 0;
    virtual void record(const std::shared_ptr<Event>& event) = 0;
    virtual void wait(const std::shared_ptr<Event>& event) = 0;
    virtual void synchronize() = 0;
    virtual bool query() const = 0;
    // Waits a while for the work given so far; true when it is done. Throws nothing that kernels reported.
    virtual bool wait_for(std::chrono::milliseconds limit) = 0;
    virtual std::uint64_t handle() const = 0;
    virtual int priority() const = 0;      // lower numbers come first
    virtual bool is_blocking() const = 0;  // ordered with the default stream
    // A stream of another library, by its driver's handle: this stream's later work comes after its work so far, and
    // its later work after this stream's. Where streams have no such handles, nothing has to be done.
    virtual void wait_for_handle(std::uint64_t) {}
    virtual void order_handle_after(std::uint64_t) {}
};

struct Attributes {
    std::string name;
    int multiprocessors = 1;
    int warp_size = 32;
    int max_threads_per_block = 1024;
    std::int32_t max_block[3] = {1024, 1024, 64};
    std::int32_t max_grid[3] = {2147483647, 65535, 65535};
    int shared_bytes_per_block = 48 * 1024;
    int shared_bytes_per_block_optin = 227 * 1024;
    int compute_major = 9;
    int compute_minor = 0;
    std::size_t total_bytes = 0;
    std::string target;                  // whose machine code kernels are
    int cuda_capability = 0;             // of a GPU that needs code of its own, 10 * major + minor; 0: the CPU
    int pci[3] = {0, 0, 0};              // domain, bus, device
    int stream_priorities[2] = {0, -5};  // of the least and of the most urgent streams
};

// Memory that the host reaches as well.
enum class SharedMemory : std::uint8_t {
    Pinned,   // of the host, page-locked
    Managed,  // moves to where it is used
};

struct MemoryUse {
    std::size_t used_bytes = 0;
    std::size_t cached_bytes = 0;
};

class Device {
public:
    virtual ~Device() = default;
    virtual const Attributes& attributes() const = 0;
    virtual int index() const { return 0; }  // among the devices of this process
    virtual StorageRef allocate(
        std::size_t size_bytes) = 0;  // at least one readable element behind any pointer into it
    virtual StorageRef allocate_shared(std::size_t size_bytes, SharedMemory kind) = 0;
    virtual MemoryUse memory_use() const = 0;
    virtual std::size_t free_bytes() const = 0;  // that the system has, beside what is kept for reuse
    virtual void release_cached_memory() = 0;
    // What its machine code depends on beside the compiler and the options: part of the cache's keys.
    virtual std::string code_key() const = 0;
    // What is left to do once a kernel is compiled and before it is kept; links: code that it calls.
    virtual void finish(Artifact& artifact, const CodeImages& links) = 0;
    virtual std::shared_ptr<Kernel> load_kernel(const Artifact& artifact, std::shared_ptr<const KernelDebug> debug) = 0;
    virtual std::shared_ptr<Stream> default_stream() = 0;
    // Throws Error(Argument) for a priority that the device does not have.
    std::shared_ptr<Stream> create_stream(bool blocking, int priority = 0);
    // The stream with this handle, perhaps somebody else's, which must stay alive. 0 and 1: the default stream; 2: the
    // one of the calling thread. Throws Error(Device).
    virtual std::shared_ptr<Stream> stream_of(std::uint64_t handle) = 0;
    virtual std::shared_ptr<Event> create_event() = 0;
    // Whether kernels of this device can reach memory of another one of its kind, and whether they may, because the
    // program said so. Throws Error(Device) where they cannot.
    virtual bool can_access_peer(int other) const { return other == index(); }
    virtual bool has_peer_access(const Device& other) const { return this == &other; }
    virtual void set_peer_access(const Device&, bool) {}
    // Whether a kernel has broken it for the rest of the process: every use throws Error(Device).
    virtual bool is_lost() const { return false; }
    virtual void synchronize() = 0;
    virtual bool wait_for(std::chrono::milliseconds limit) = 0;  // as Stream's, for all streams

private:
    virtual std::shared_ptr<Stream> make_stream(bool blocking, int priority) = 0;
};

// The devices of this process, made at first use. TREADLE_DEVICE chooses: cpu, cuda, cuda:1; GPUs, where there are any,
// else the CPU. Every thread has a current one, the first unless it chose.
Device& current_device();
int current_device_index();
Device& device_of(int index);        // throws Error(Device)
bool device_is_made(int index);      // whether it was used; those that were not cost no memory
void set_current_device(int index);  // throws Error(Device)
int device_count();
bool uses_gpus();
// Why there is no GPU; empty where there is one.
std::string gpu_problem();
// What CUDA_VISIBLE_DEVICES hides that it should not, in a sentence; empty where nothing.
std::string hidden_gpus();
int gpu_count();  // that the driver shows, whether they are used or not
// CUDA's version that NVIDIA's driver has, 13000 for 13.0; 0 without a driver.
int driver_version();
bool device_is_used();  // by this process; without making it

}  // namespace treadle::device
