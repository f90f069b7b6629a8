#include "codegen/cpu/compile_kernel.h"

#include <algorithm>

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include "base/error.h"
#include "codegen/common/emit_file.h"
#include "codegen/cpu/emitter.h"
#include "codegen/cpu/packet_width.h"
#include "codegen/cpu/target.h"

namespace treadle::codegen {
namespace {

// One for each compiling thread and target: making one costs more than compiling a small kernel.
llvm::TargetMachine& machine_for(const CpuTarget& target, bool optimize) {
    static thread_local std::string key;
    static thread_local std::unique_ptr<llvm::TargetMachine> machine;
    if (machine == nullptr || key != target.key()) {
        machine = make_target_machine(target);
        key = target.key();
    }
    machine->setOptLevel(optimize ? llvm::CodeGenOptLevel::Default : llvm::CodeGenOptLevel::None);
    return *machine;
}

}  // namespace

int packet_for(const ir::Function& function, const CpuKernelOptions& options) {
    const std::int64_t local = ir::local_bytes(function);
    if (ir::uses_warp(function)) {
        if (local * ir::kWarp > 4 * ir::kMostStackBytes) {
            throw Error(ErrorKind::Compile, "[" + function.name + "] local arrays: expected at most " +
                                                std::to_string(4 * ir::kMostStackBytes / ir::kWarp) +
                                                " bytes a thread beside warp operations, got " + std::to_string(local));
        }
        return ir::kWarp;
    }
    if (options.packet != 0) return options.packet;
    int packet = std::min(options.packet_limit, choose_packet(function, options.target));
    while (packet > 1 && packet * local > ir::kMostStackBytes) packet /= 2;
    return packet;
}

CpuKernel compile_cpu_kernel(const ir::Function& function, const CpuKernelOptions& options, CpuOutput output) {
    CpuKernel result;
    result.packet = packet_for(function, options);
    llvm::TargetMachine& machine = machine_for(options.target, options.optimize);
    llvm::LLVMContext context;
    llvm::Module module(function.name, context);
    module.setTargetTriple(machine.getTargetTriple().str());
    module.setDataLayout(machine.createDataLayout());
    const DebugSource* debug =
        options.debug != nullptr && options.debug->level != DebugLevel::None ? options.debug : nullptr;
    Emitter emitter(module, function,
                    {options.target, result.packet, options.lanes, options.full_packets, options.block, debug});
    emitter.run();
    if (output == CpuOutput::LlvmBefore) {
        result.bytes = text_of(module);
        return result;
    }
    check(module);
    if (options.optimize) optimize(module, machine, emitter.unrolls());
    switch (output) {
        case CpuOutput::LlvmAfter: result.bytes = text_of(module); break;
        case CpuOutput::Assembly: result.bytes = emit_assembly(module, machine); break;
        default: result.bytes = emit_object(module, machine); break;
    }
    return result;
}

std::string backend_version() { return llvm_version(); }

}  // namespace treadle::codegen
