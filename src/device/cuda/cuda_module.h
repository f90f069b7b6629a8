// Machine code that somebody else compiled: CUDA C++, PTX, cubins. Its kernels take their parameters packed, as C lays
// them out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/cuda/driver.h"
#include "device/device.h"

namespace treadle::device::cuda {

class CudaDevice;

class Module : public std::enable_shared_from_this<Module> {
public:
    // A cubin, or the text of PTX, for the current device. Throws Error(Device) with what the driver says.
    static std::shared_ptr<Module> load(const std::string& image);
    ~Module();
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;

    CuModule raw() const { return module_; }
    CudaDevice& device() const { return device_; }
    // Address and bytes of a variable. Throws Error(Device).
    std::pair<std::uint64_t, std::size_t> global(const std::string& name) const;

private:
    explicit Module(CudaDevice& device) : device_(device) {}
    CudaDevice& device_;
    CuModule module_ = nullptr;
};

struct Parameter {
    std::size_t offset;
    std::size_t size;
};

class ForeignKernel {
public:
    ForeignKernel(std::shared_ptr<Module> module, const std::string& name);

    const std::string& name() const { return name_; }
    // Empty where the driver cannot tell.
    const std::vector<Parameter>& parameters() const { return parameters_; }
    bool knows_parameters() const { return knows_parameters_; }
    int attribute(int number) const;  // by the driver's numbers
    void set_attribute(int number, int value) const;
    int occupancy(int threads, std::size_t shared_bytes) const;
    CudaDevice& device() const { return module_->device(); }
    CuFunction raw() const { return function_; }
    const std::string* label() const { return label_; }

private:
    std::shared_ptr<Module> module_;
    std::string name_;
    const std::string* label_;  // the name, for as long as the process lives
    CuFunction function_ = nullptr;
    std::vector<Parameter> parameters_;
    bool knows_parameters_ = false;
};

struct ForeignLaunch {
    std::uint32_t grid[3] = {1, 1, 1};
    std::uint32_t block[3] = {1, 1, 1};
    std::uint32_t cluster[3] = {0, 0, 0};  // zeros: none
    std::uint32_t shared_bytes = 0;
    bool cooperative = false;
    std::span<void*> values;  // one pointer to each parameter's value
    std::span<Storage* const> uses;
};
void launch(const ForeignKernel& kernel, Stream& stream, const ForeignLaunch& launch);

}  // namespace treadle::device::cuda
