// Requests to loaded kernels: in memory, from the caches, or compiled.
#pragma once

#include <memory>
#include <string>

#include "device/device.h"
#include "service/compiler_service.h"

namespace treadle::runtime {

struct Provenance {
    double milliseconds = 0;  // of this call: compiling, or reading and linking
    bool from_cache = false;
    std::string path;  // the file; empty when there is none
    int packet = 0;
};

// Compiles for the current device. Safe from any thread; two threads that ask for the same kernel may both compile it.
std::shared_ptr<device::Kernel> obtain_kernel(const CompileRequest& request, const std::string& name,
                                              Provenance* provenance = nullptr);

// What surrounds a compilation in the calling thread: a host language gives up its lock here, so that threads compile
// in parallel. enter's result is given to leave. Set once, before the first launch.
struct CompileHooks {
    void* (*enter)() = nullptr;
    void (*leave)(void*) = nullptr;
};
void set_compile_hooks(CompileHooks hooks);

}  // namespace treadle::runtime
