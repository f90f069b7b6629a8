#include "device/cuda/cuda_kernel.h"

#include "base/cuda_kernel_abi.h"
#include "base/error.h"
#include "device/cuda/cuda_device.h"

namespace treadle::device::cuda {
namespace {

// The driver's numbers of what is asked.
constexpr int kMaxThreadsOfFunction = 0;
constexpr int kLocalBytes = 3;
constexpr int kRegisters = 4;
constexpr int kMaxDynamicShared = 8;

constexpr int kStackSize = 0;

// Room on the stacks of threads, which no kernel in the context has less of from now on.
void provide_stack(std::size_t bytes) {
    std::size_t now = 0;
    check(driver().ctx_get_limit(&now, kStackSize), "cuCtxGetLimit");
    if (now < bytes) check(driver().ctx_set_limit(kStackSize, bytes), "cuCtxSetLimit");
}

}  // namespace

CudaKernel::CudaKernel(CudaDevice& device, const Artifact& artifact, std::shared_ptr<const KernelDebug> source)
    : device_(device) {
    packet = 1;
    has_loops = artifact.has_loops;
    shared_bytes = artifact.shared_bytes;
    code_bytes = artifact.object.size();
    meets_grid = artifact.meets_grid;
    reports = artifact.reports;
    coarse = artifact.coarse;
    debug = std::move(source);
    label = interned(debug->name);
    const Driver& cu = driver();
    const ContextScope scope(device.context());
    const auto load = [&] { return cu.module_load_data(&module_, artifact.object.data()); };
    check(device.memory().with_memory(load), "cuModuleLoadData");
    check(cu.module_get_function(&function, module_, kDeviceEntry), "cuModuleGetFunction");
    check(cu.func_get_attribute(&registers, kRegisters, function), "cuFuncGetAttribute");
    check(cu.func_get_attribute(&local_bytes, kLocalBytes, function), "cuFuncGetAttribute");
    check(cu.func_get_attribute(&max_threads, kMaxThreadsOfFunction, function), "cuFuncGetAttribute");
    constexpr int kMostLocalBytes = 511 << 10;
    if (local_bytes > kMostLocalBytes) {
        throw Error(ErrorKind::Compile, "[" + debug->name + "] local arrays: expected at most " +
                                            std::to_string(kMostLocalBytes) + " bytes a thread on a GPU, got " +
                                            std::to_string(local_bytes));
    }
    if (artifact.recurses)
        provide_stack(static_cast<std::size_t>(kDeviceStackBytes + 2 * artifact.called_bytes + local_bytes));
    if (artifact.shares_memory) {
        check(cu.func_set_attribute(function, kMaxDynamicShared, device.attributes().shared_bytes_per_block_optin),
              "cuFuncSetAttribute");
    }
    if (reports) number = device.register_kernel(debug);
}

CudaKernel::~CudaKernel() {
    if (const CleanupScope scope(device_.context()); scope) driver().module_unload(module_);
}

}  // namespace treadle::device::cuda
