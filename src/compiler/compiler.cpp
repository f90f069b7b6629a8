#include "compiler/compiler.h"

#include <chrono>

#include "base/cpu_target.h"
#include "base/error.h"
#include "codegen/cpu/compile_kernel.h"
#include "frontend/lowering.h"
#include "passes/pipeline.h"

namespace treadle::compiler {
namespace {

codegen::CpuKernelOptions options_of(const CompileRequest& request) {
    codegen::CpuKernelOptions options;
    options.target = host_target();
    options.lanes = request.options.lanes;
    options.full_packets = request.options.full_packets;
    options.packet_limit = request.options.packet_limit;
    options.packet = request.options.packet;
    options.block = request.options.block;
    return options;
}

ir::Function after_passes(const CompileRequest& request) {
    ir::Function function = frontend::lower(request);
    passes::run_pipeline(function, {request.options.lanes, request.options.block}, request.options.disabled_passes);
    return function;
}

}  // namespace

Artifact Compiler::compile(const CompileRequest& request) {
    const auto begin = std::chrono::steady_clock::now();
    const ir::Function function = after_passes(request);
    codegen::CpuKernel kernel = codegen::compile_cpu_kernel(function, options_of(request));
    Artifact artifact;
    artifact.object = std::move(kernel.bytes);
    artifact.packet = kernel.packet;
    ir::walk(function.body,
             [&](const ir::Op& op) { artifact.has_loops = artifact.has_loops || op.code == ir::Opcode::Loop; });
    artifact.one_packet = ir::uses_block(function);
    artifact.has_barriers = ir::has_barrier(function);
    artifact.lanes = request.options.lanes;
    artifact.shared_bytes = static_cast<int>(function.shared_bytes);
    artifact.param_slots = static_cast<int>(function.params.size());
    const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - begin;
    artifact.compile_ms = spent.count();
    return artifact;
}

std::string Compiler::dump(const CompileRequest& request, const std::string& stage) {
    if (stage == "ir") return ir::print(frontend::lower(request));
    const ir::Function function = after_passes(request);
    if (stage == "passes") return ir::print(function);
    if (stage == "llvm")
        return codegen::compile_cpu_kernel(function, options_of(request), codegen::CpuOutput::LlvmAfter).bytes;
    if (stage == "llvm-before")
        return codegen::compile_cpu_kernel(function, options_of(request), codegen::CpuOutput::LlvmBefore).bytes;
    if (stage == "asm")
        return codegen::compile_cpu_kernel(function, options_of(request), codegen::CpuOutput::Assembly).bytes;
    throw Error(ErrorKind::Argument, "[dump] expected stage ir, passes, llvm-before, llvm or asm, got '" + stage + "'");
}

std::string Compiler::version() const { return "LLVM " + codegen::backend_version(); }

}  // namespace treadle::compiler

treadle::CompilerService* treadle_compiler_service() {
    static treadle::compiler::Compiler service;
    return &service;
}
