#include "device/cuda/cuda_module.h"

#include <algorithm>

#include "base/error.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_stream.h"

namespace treadle::device::cuda {
namespace {

constexpr int kErrorLog = 5;
constexpr int kErrorLogBytes = 6;
constexpr int kMaxDynamicShared = 8;
constexpr std::uint32_t kSharedWithoutAsking = 48 << 10;
constexpr unsigned kAttributeCluster = 4;
constexpr unsigned kAttributeCooperative = 2;

// As the driver lays them out.
struct Attribute {
    unsigned id;
    char padding[4];
    union {
        char bytes[64];
        unsigned cluster[3];
        int flag;
    } value;
};
struct LaunchConfig {
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_bytes;
    CuStream stream;
    Attribute* attributes;
    unsigned count;
};

}  // namespace

std::shared_ptr<Module> Module::load(const std::string& image) {
    CudaDevice& device = current_gpu("module");
    std::shared_ptr<Module> module(new Module(device));
    const ContextScope scope(device.context());
    std::string log(4096, '\0');
    int options[] = {kErrorLog, kErrorLogBytes};
    void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
    const CuResult result = driver().module_load_data_ex(&module->module_, image.c_str(), 2, options, values);
    if (result != kSuccess && log[0] != '\0')
        throw_device_error(error_name(result), "[module] the driver refuses the code\n" + std::string(log.c_str()));
    check(result, "cuModuleLoadDataEx");
    return module;
}

Module::~Module() {
    if (module_ == nullptr) return;
    if (const CleanupScope scope(device_.context()); scope) driver().module_unload(module_);
}

std::pair<std::uint64_t, std::size_t> Module::global(const std::string& name) const {
    const ContextScope scope(device_.context());
    CuPointer address = 0;
    std::size_t size = 0;
    const CuResult result = driver().module_get_global(&address, &size, module_, name.c_str());
    if (result != kSuccess) throw_device_error(error_name(result), "[module] there is no variable '" + name + "'");
    return {address, size};
}

ForeignKernel::ForeignKernel(std::shared_ptr<Module> module, const std::string& name)
    : module_(std::move(module)), name_(name), label_(interned(name)) {
    const ContextScope scope(device().context());
    const CuResult result = driver().module_get_function(&function_, module_->raw(), name.c_str());
    if (result != kSuccess) {
        throw_device_error(error_name(result), "[kernel] the code has no kernel '" + name +
                                                   "' (C++ mangles names unless they are extern \"C\")");
    }
    // Drivers from CUDA 12.4 on tell where the parameters lie.
    if (driver_state().version < 12040) return;
    knows_parameters_ = true;
    Parameter parameter{};
    while (driver().func_get_param_info(function_, parameters_.size(), &parameter.offset, &parameter.size) == kSuccess)
        parameters_.push_back(parameter);
}

int ForeignKernel::attribute(int number) const {
    const ContextScope scope(device().context());
    int value = 0;
    check(driver().func_get_attribute(&value, number, function_), "cuFuncGetAttribute");
    return value;
}

void ForeignKernel::set_attribute(int number, int value) const {
    const ContextScope scope(device().context());
    check(driver().func_set_attribute(function_, number, value), "cuFuncSetAttribute");
}

int ForeignKernel::occupancy(int threads, std::size_t shared_bytes) const {
    const ContextScope scope(device().context());
    int blocks = 0;
    check(driver().occupancy(&blocks, function_, threads, shared_bytes), "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    return blocks;
}

void launch(const ForeignKernel& kernel, Stream& stream, const ForeignLaunch& launch) {
    const ContextScope scope(kernel.device().context());
    auto& own = static_cast<CudaStream&>(stream);
    own.use(launch.uses);
    kernel.device().context().note_launch(kernel.label(), own.raw());
    if (launch.shared_bytes > kSharedWithoutAsking &&
        kernel.attribute(kMaxDynamicShared) < static_cast<int>(launch.shared_bytes))
        kernel.set_attribute(kMaxDynamicShared, static_cast<int>(launch.shared_bytes));
    Attribute attributes[2] = {};
    LaunchConfig config{};
    std::copy_n(launch.grid, 3, config.grid);
    std::copy_n(launch.block, 3, config.block);
    config.shared_bytes = launch.shared_bytes;
    config.stream = own.raw();
    config.attributes = attributes;
    if (launch.cluster[0] != 0) {
        Attribute& attribute = attributes[config.count++];
        attribute.id = kAttributeCluster;
        std::copy_n(launch.cluster, 3, attribute.value.cluster);
    }
    if (launch.cooperative) {
        Attribute& attribute = attributes[config.count++];
        attribute.id = kAttributeCooperative;
        attribute.value.flag = 1;
    }
    const CuResult result = driver().launch_kernel_ex(&config, kernel.raw(), launch.values.data(), nullptr);
    if (result != kSuccess) check(result, ("launch of " + kernel.name()).c_str());
}

}  // namespace treadle::device::cuda
