#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include <pthread.h>

#include "base/error.h"
#include "device/counters.h"
#include "device/cpu/cpu_device.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/driver.h"
#include "device/device.h"

namespace treadle::device {

namespace {

std::atomic<PrintSink> sink{nullptr};
std::atomic<bool> made{false};
thread_local int chosen = -1;
thread_local Device* current = nullptr;

// Which devices this process has, by TREADLE_DEVICE.
struct Choice {
    bool gpus = false;
    int first = 0;  // the one that is current unless a thread chooses
    int count = 1;
};

Choice choose() {
    const char* asked = std::getenv("TREADLE_DEVICE");
    const std::string name = asked == nullptr ? "" : asked;
    if (name == "cpu" || name == "cpu:0") return {};
    if (name.empty()) {
        const cuda::DriverState& state = cuda::driver_state();
        return state.usable ? Choice{true, 0, state.devices} : Choice{};
    }
    int number = 0;
    bool good = name == "cuda";
    if (name.starts_with("cuda:")) {
        char* end = nullptr;
        number = static_cast<int>(std::strtol(name.c_str() + 5, &end, 10));
        good = name.size() > 5 && *end == '\0';
    }
    if (!good) {
        throw Error(ErrorKind::Unsupported, "[TREADLE_DEVICE] expected cpu, cuda or cuda:N, got '" + name + "'");
    }
    const cuda::DriverState& state = cuda::driver_state();
    if (!state.usable) {
        throw_device_error("CUDA_ERROR_NO_DEVICE",
                           "[TREADLE_DEVICE] expected a GPU for '" + name + "': " + state.problem);
    }
    if (number < 0 || number >= state.devices) {
        throw_device_error("CUDA_ERROR_INVALID_DEVICE", "[TREADLE_DEVICE] expected cuda:0 to cuda:" +
                                                            std::to_string(state.devices - 1) + ", got '" + name + "'");
    }
    return {true, number, state.devices};
}

const Choice& choice() {
    static const Choice once = choose();
    return once;
}

// Guards the list of devices.
std::mutex& devices_mutex() {
    static std::mutex mutex;
    return mutex;
}

// Never destroyed: work may be in flight while the process exits, and threads may still look at it.
Device*& slot_of(int index) {
    static auto* const devices = new std::vector<Device*>(static_cast<std::size_t>(choice().count), nullptr);
    return (*devices)[static_cast<std::size_t>(index)];
}

Device& device_at(int index) {
    const std::lock_guard lock(devices_mutex());
    Device*& device = slot_of(index);
    if (device == nullptr) {
        device = choice().gpus ? std::make_unique<cuda::CudaDevice>(index).release() : make_cpu_device().release();
        made = true;
        static std::once_flag once;
        std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { made = false; }); });
    }
    return *device;
}

}  // namespace

std::shared_ptr<Stream> Device::create_stream(bool blocking, int priority) {
    const auto [least, most] = attributes().stream_priorities;
    if (priority < most || priority > least) {
        throw Error(ErrorKind::Argument, "[stream] priority: expected " + std::to_string(most) + " (first) to " +
                                             std::to_string(least) + " (last), got " + std::to_string(priority));
    }
    return make_stream(blocking, priority);
}

int current_device_index() { return chosen >= 0 ? chosen : choice().first; }

Device& current_device() {
    if (current == nullptr) current = &device_at(current_device_index());
    return *current;
}

Device& device_of(int index) {
    if (index < 0 || index >= device_count()) {
        throw_device_error("CUDA_ERROR_INVALID_DEVICE", "[device] expected a number from 0 to " +
                                                            std::to_string(device_count() - 1) + ", got " +
                                                            std::to_string(index));
    }
    return device_at(index);
}

bool device_is_made(int index) {
    const std::lock_guard lock(devices_mutex());
    return index >= 0 && index < device_count() && slot_of(index) != nullptr;
}

void set_current_device(int index) {
    current = &device_of(index);
    chosen = index;
}

int device_count() { return choice().count; }
bool uses_gpus() { return choice().gpus; }
std::string gpu_problem() { return cuda::driver_state().problem; }
std::string hidden_gpus() { return cuda::driver_state().hidden; }
int gpu_count() { return cuda::driver_state().devices; }
int driver_version() { return cuda::driver_state().version; }
bool device_is_used() { return made; }

Counters& counters() {
    static Counters all;
    return all;
}

void set_print_sink(PrintSink function) { sink = function; }
PrintSink print_sink() { return sink; }

}  // namespace treadle::device
