#include "device/device.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "array/array.h"
#include "module.h"

namespace treadle::bindings {
namespace {

const char* device_kind() { return device::uses_gpus() ? "cuda" : "cpu"; }

nb::dict attributes() {
    const device::Attributes& facts = device::current_device().attributes();
    nb::dict result;
    result["name"] = facts.name;
    result["multiprocessors"] = facts.multiprocessors;
    result["warp_size"] = facts.warp_size;
    result["max_threads_per_block"] = facts.max_threads_per_block;
    result["max_block"] = nb::make_tuple(facts.max_block[0], facts.max_block[1], facts.max_block[2]);
    result["max_grid"] = nb::make_tuple(facts.max_grid[0], facts.max_grid[1], facts.max_grid[2]);
    result["shared_bytes_per_block"] = facts.shared_bytes_per_block;
    result["compute_capability"] = nb::make_tuple(facts.compute_major, facts.compute_minor);
    result["total_bytes"] = facts.total_bytes;
    result["target"] = facts.target;
    result["kind"] = device_kind();
    result["shared_bytes_per_block_optin"] = facts.shared_bytes_per_block_optin;
    result["stream_priorities"] = nb::make_tuple(facts.stream_priorities[0], facts.stream_priorities[1]);
    result["pci"] = nb::make_tuple(facts.pci[0], facts.pci[1], facts.pci[2]);
    return result;
}

nb::tuple memory_use() {
    const device::MemoryUse use = device::current_device().memory_use();
    return nb::make_tuple(use.used_bytes, use.cached_bytes);
}

std::size_t free_bytes() { return device::current_device().free_bytes(); }

std::atomic<bool> ending{false};
std::atomic<int> taking_the_lock{0};  // threads that come back from a wait
const std::thread::id kMainThread = std::this_thread::get_id();

// Hands what kernels printed to Python, which formats it.
void show(const std::vector<device::Printed>& lines) {
    if (ending) return;
    const nb::gil_scoped_acquire locked;
    nb::list records;
    for (const device::Printed& line : lines) {
        nb::list words;
        for (const std::uint64_t word : line.words) words.append(word);
        records.append(nb::make_tuple(line.kernel->texts.at(static_cast<std::size_t>(line.text)), words));
    }
    nb::module_::import_("treadle._print").attr("show")(records);
}

void synchronize() {
    device::Device& device = device::current_device();
    device::counters().add(device::Count::Synchronizations);
    wait_interruptibly([&](auto limit) { return device.wait_for(limit); });
    device.synchronize();
}

// What kernels printed or reported and nobody waited for is shown, as a program's last words.
void interpreter_ends() {
    if (device::device_is_used() && !device::current_device().is_lost()) {
        try {
            synchronize();
        } catch (const std::exception& error) {
            nb::module_::import_("sys").attr("stderr").attr("write")(
                "treadle: a kernel failed and nothing waited for it: " + std::string(error.what()) + "\n");
        } catch (...) {
            // The user interrupted the wait.
        }
    }
    ending = true;
    // A thread that is about to take the lock gets it now: once the interpreter ends it would be ended inside our code.
    PyThreadState* const state = PyEval_SaveThread();
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    while (taking_the_lock > 0 && std::chrono::steady_clock::now() < limit)
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    PyEval_RestoreThread(state);
}

void synchronize_stream(device::Stream& stream) {
    stream.count(device::Count::Synchronizations);
    wait_interruptibly([&](auto limit) { return stream.wait_for(limit); });
    stream.synchronize();
}

nb::dict counts_of(const device::Counters& counters) {
    nb::dict result;
    for (std::size_t i = 0; i < device::kCounts; ++i)
        result[device::kCountNames[i].data()] = counters.of(static_cast<device::Count>(i));
    return result;
}
nb::dict counts() { return counts_of(device::counters()); }
nb::dict counts_of_stream(const device::Stream& stream) { return counts_of(stream.counted); }

void synchronize_event(device::Event& event) {
    wait_interruptibly([&](std::chrono::milliseconds limit) {
        using Clock = std::chrono::steady_clock;
        const auto begin = Clock::now();
        while (!event.query()) {
            const auto spent = Clock::now() - begin;
            if (spent > limit) return false;
            if (spent > std::chrono::microseconds(200)) std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
        return true;
    });
    event.synchronize();
}

void release_cached_memory() { device::current_device().release_cached_memory(); }
std::shared_ptr<device::Stream> default_stream() { return device::current_device().default_stream(); }
std::shared_ptr<device::Stream> create_stream(bool blocking, int priority) {
    return device::current_device().create_stream(blocking, priority);
}
void set_device(int index) {
    device::set_current_device(index);
    // The thread's stream was one of the device before.
    array::set_current_stream(nullptr);
}
std::shared_ptr<device::Stream> stream_of(std::uint64_t handle) { return device::current_device().stream_of(handle); }
bool can_access_peer(int index, int peer) { return device::device_of(index).can_access_peer(peer); }
bool has_peer_access(int index, int peer) {
    // Asking makes no device.
    return device::device_is_made(index) && device::device_is_made(peer) &&
           device::device_of(index).has_peer_access(device::device_of(peer));
}
void set_peer_access(int index, int peer, bool enabled) {
    device::device_of(index).set_peer_access(device::device_of(peer), enabled);
}
std::shared_ptr<device::Event> create_event() { return device::current_device().create_event(); }

}  // namespace

UnlockedWait::UnlockedWait() : state_(PyEval_SaveThread()) {}

UnlockedWait::~UnlockedWait() {
    ++taking_the_lock;
    if (ending && std::this_thread::get_id() != kMainThread) {
        --taking_the_lock;
        while (true) std::this_thread::sleep_for(std::chrono::seconds(1));
    }
    PyEval_RestoreThread(state_);
    --taking_the_lock;
}

void bind_device(nb::module_& module) {
    nb::module_::import_("atexit").attr("register")(nb::cpp_function(&interpreter_ends));
    nb::class_<device::Stream>(module, "Stream")
        .def("synchronize", &synchronize_stream)
        .def("query", &device::Stream::query)
        .def("record", &device::Stream::record, nb::arg("event"))
        .def("wait", &device::Stream::wait, nb::arg("event"))
        .def_prop_ro("handle", &device::Stream::handle)
        .def_prop_ro("priority", &device::Stream::priority)
        .def_prop_ro("is_blocking", &device::Stream::is_blocking)
        .def_prop_ro("counts", &counts_of_stream);
    nb::class_<device::Event>(module, "Event")
        .def("synchronize", &synchronize_event)
        .def("query", &device::Event::query)
        .def("elapsed_ms", &device::Event::elapsed_ms, nb::arg("since"));
    module.def("attributes", &attributes);
    module.def("counts", &counts);
    module.def("memory_use", &memory_use);
    module.def("free_bytes", &free_bytes);
    device::set_print_sink(show);
    module.def("synchronize", &synchronize);
    module.def("release_cached_memory", &release_cached_memory);
    module.def("default_stream", &default_stream);
    module.def("create_stream", &create_stream, nb::arg("blocking"), nb::arg("priority") = 0);
    module.def("stream_of", &stream_of, nb::arg("handle"));
    module.def("create_event", &create_event);
    module.def("current_stream", &array::current_stream_ref);
    module.def("set_current_stream", &array::set_current_stream, nb::arg("stream").none());
    module.def("device_count", &device::device_count);
    module.def("device_index", &device::current_device_index);
    module.def("set_device", &set_device, nb::arg("index"));
    module.def("can_access_peer", &can_access_peer, nb::arg("index"), nb::arg("peer"));
    module.def("has_peer_access", &has_peer_access, nb::arg("index"), nb::arg("peer"));
    module.def("set_peer_access", &set_peer_access, nb::arg("index"), nb::arg("peer"), nb::arg("enabled"));
    module.def("device_kind", &device_kind);
    module.def("gpu_problem", &device::gpu_problem);
    module.def("hidden_gpus", &device::hidden_gpus);
    module.def("gpu_count", &device::gpu_count);
    module.def("driver_version", &device::driver_version);
}

}  // namespace treadle::bindings
