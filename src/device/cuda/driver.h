// NVIDIA's driver, loaded when it is first asked for; nothing is linked. TREADLE_CUDA_DRIVER names another library that
// offers the same functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace treadle::device::cuda {

// The driver's types, as its binary interface has them.
using CuResult = int;
using CuDevice = int;
using CuPointer = std::uint64_t;
using CuContext = struct CuContextTag*;
using CuStream = struct CuStreamTag*;
using CuEvent = struct CuEventTag*;
using CuModule = struct CuModuleTag*;
using CuFunction = struct CuFunctionTag*;
using CuLinkState = struct CuLinkStateTag*;

inline constexpr CuResult kSuccess = 0;
inline constexpr CuResult kOutOfMemory = 2;
inline constexpr CuResult kDeinitialized = 4;
inline constexpr CuResult kNotReady = 600;
// The driver's flags.
inline constexpr unsigned kNonBlocking = 1;
inline constexpr unsigned kEventWithoutTime = 2;

struct Driver {
#define TREADLE_CUDA(member, symbol, parameters) CuResult(*member) parameters = nullptr;
#define TREADLE_CUDA_NEWER TREADLE_CUDA
#include "device/cuda/driver.def"
#undef TREADLE_CUDA_NEWER
#undef TREADLE_CUDA
};

// Whether there is a driver that works and drives a GPU, and otherwise why not, in a sentence.
struct DriverState {
    bool usable = false;
    int version = 0;  // 13000 for 13.0
    int devices = 0;
    std::string problem;  // empty where usable
    std::string hidden;   // what CUDA_VISIBLE_DEVICES has to do with it, where it hides GPUs that it should not
};
const DriverState& driver_state();
// Throws Error(Device) with the problem where it is not usable.
const Driver& driver();

// Throws Error(Device), or Error(Memory), with the driver's name for the result. Errors that break contexts mark the
// one of the scope as lost (context.h).
void check(CuResult result, const char* call);
std::string error_name(CuResult result);

}  // namespace treadle::device::cuda
