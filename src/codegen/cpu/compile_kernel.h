// IR with shapes -> a relocatable object for the CPU device.
#pragma once

#include <string>

#include "base/cpu_target.h"
#include "codegen/debug_source.h"
#include "ir/ir.h"

namespace treadle::codegen {

struct CpuKernelOptions {
    CpuTarget target;
    ir::Lanes lanes = ir::Lanes::Line;
    bool full_packets = false;
    int packet_limit = 64;
    int packet = 0;  // 0: choose
    BlockDims block{};
    bool optimize = true;
    const DebugSource* debug = nullptr;  // null, or level None: no debug information
};

enum class CpuOutput { Object, Assembly, LlvmBefore, LlvmAfter };

struct CpuKernel {
    std::string bytes;
    int packet = 0;
};

// Lanes of a packet.
int packet_for(const ir::Function& function, const CpuKernelOptions& options);
CpuKernel compile_cpu_kernel(const ir::Function& function, const CpuKernelOptions& options,
                             CpuOutput output = CpuOutput::Object);

std::string backend_version();

}  // namespace treadle::codegen
