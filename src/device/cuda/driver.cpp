#include "device/cuda/driver.h"

#include <algorithm>
#include <cstdlib>

#include <dlfcn.h>

#include "base/error.h"
#include "device/cuda/context.h"

namespace treadle::device::cuda {
namespace {

constexpr int kOldest = 11080;  // the first one that knows sm_90

struct Loaded {
    Driver functions;
    DriverState state;
};

// CUDA's runtime and driver look at CUDA_VISIBLE_DEVICES: numbers and UUIDs of GPUs, of which those behind the first
// bad one count as well as nothing. Empty where it is not set or names as many GPUs as there are.
std::string hidden_by_setting(int visible) {
    const char* setting = std::getenv("CUDA_VISIBLE_DEVICES");
    if (setting == nullptr) return {};
    const std::string given = setting;
    const auto named = given.empty() ? 0 : 1 + std::count(given.begin(), given.end(), ',');
    const std::string what = "CUDA_VISIBLE_DEVICES is '" + given + "'";
    if (given.empty() || given == "-1") return visible == 0 ? what + ", which hides every GPU" : std::string();
    if (named <= visible) return {};
    return what + ": expected numbers or UUIDs of GPUs of this machine, got " + std::to_string(named) + " of which " +
           std::to_string(visible) + (visible == 1 ? " is" : " are") +
           " usable; the list ends at the first that is not";
}

Loaded load_usable() {
    Loaded loaded;
    const char* named = std::getenv("TREADLE_CUDA_DRIVER");
    const std::string library = named != nullptr && *named != '\0' ? named : "libcuda.so.1";
    void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        loaded.state.problem = "there is no NVIDIA driver (" + std::string(dlerror()) + ")";
        return loaded;
    }
    const auto find = [&](auto& member, const char* symbol, bool is_needed) {
        member = reinterpret_cast<std::remove_reference_t<decltype(member)>>(dlsym(handle, symbol));
        if (member == nullptr && is_needed && loaded.state.problem.empty())
            loaded.state.problem = library + " has no " + symbol + ": the driver is too old or damaged";
    };
    Driver& functions = loaded.functions;
#define TREADLE_CUDA(member, symbol, parameters) find(functions.member, symbol, true);
#define TREADLE_CUDA_NEWER(member, symbol, parameters) find(functions.member, symbol, false);
#include "device/cuda/driver.def"
#undef TREADLE_CUDA_NEWER
#undef TREADLE_CUDA
    if (!loaded.state.problem.empty()) return loaded;
    const auto name = [&](CuResult result) {
        const char* text = nullptr;
        return functions.get_error_name(result, &text) == kSuccess && text != nullptr ? std::string(text)
                                                                                      : std::to_string(result);
    };
    functions.driver_get_version(&loaded.state.version);
    if (const CuResult result = functions.init(0); result != kSuccess) {
        loaded.state.problem = "the NVIDIA driver does not start: " + name(result);
        return loaded;
    }
    if (loaded.state.version < kOldest) {
        loaded.state.problem = "the NVIDIA driver is too old: expected CUDA 11.8 or newer, got " +
                               std::to_string(loaded.state.version / 1000) + "." +
                               std::to_string(loaded.state.version % 1000 / 10);
        return loaded;
    }
    if (const CuResult result = functions.device_get_count(&loaded.state.devices); result != kSuccess) {
        loaded.state.problem = "the NVIDIA driver cannot list its GPUs: " + name(result);
        return loaded;
    }
    if (loaded.state.devices == 0) loaded.state.problem = "the NVIDIA driver finds no GPU";
    loaded.state.usable = loaded.state.devices > 0;
    return loaded;
}

Loaded load() {
    Loaded loaded = load_usable();
    if (loaded.state.version == 0) return loaded;
    loaded.state.hidden = hidden_by_setting(loaded.state.devices);
    if (!loaded.state.usable && !loaded.state.hidden.empty()) loaded.state.problem += "; " + loaded.state.hidden;
    return loaded;
}

const Loaded& loaded() {
    static const Loaded once = load();
    return once;
}

}  // namespace

const DriverState& driver_state() { return loaded().state; }

const Driver& driver() {
    const Loaded& all = loaded();
    if (!all.state.usable) throw_device_error("CUDA_ERROR_NO_DEVICE", "no GPU can be used: " + all.state.problem);
    return all.functions;
}

std::string error_name(CuResult result) {
    const char* text = nullptr;
    const Driver& functions = loaded().functions;
    if (functions.get_error_name != nullptr && functions.get_error_name(result, &text) == kSuccess && text != nullptr)
        return text;
    return "CUDA_ERROR_" + std::to_string(result);
}

void check(CuResult result, const char* call) {
    if (result == kSuccess) return;
    const char* text = nullptr;
    std::string message = "[" + std::string(call) + "] ";
    if (loaded().functions.get_error_string(result, &text) == kSuccess && text != nullptr) message += text;
    if (GpuContext* const context = scope_context(); context != nullptr && breaks_context(result))
        context->lose(result, message);
    if (result == kOutOfMemory) throw Error(ErrorKind::Memory, error_name(result) + ": " + message);
    throw_device_error(error_name(result), message);
}

}  // namespace treadle::device::cuda
