#include "compiler/compiler.h"

#include <chrono>
#include <cstdlib>
#include <fstream>

#include "base/cpu_target.h"
#include "base/error.h"
#include "base/hash.h"
#include "codegen/cpu/compile_kernel.h"
#include "codegen/nvptx/compile_kernel.h"
#include "compiler/explain.h"
#include "frontend/lowering.h"
#include "frontend/syntax.h"
#include "passes/mark_spins.h"
#include "passes/pipeline.h"

namespace treadle::compiler {
namespace {

// The request as the kernel's operations need it. A warp is 32 threads in the order of their linear index.
CompileOptions fitted(CompileOptions options, const ir::Function& function) {
    // What only a debugger reads is dead to the passes; a block that is split keeps its variables elsewhere.
    if (options.debug == DebugLevel::Full) options.disabled_passes += ",eliminate_dead_code";
    if (!options.optimize) options.disabled_passes += ",fold_constants,separate_counters,split_blocks";
    if ((ir::has_spin(function) || !options.optimize) && !ir::uses_warp(function)) {
        // Threads that wait for each other cannot run in step, nor do those that somebody steps through.
        options.packet = 1;
        options.full_packets = true;
        if (options.lanes == Lanes::Rows) options.lanes = Lanes::Flat;
    }
    if (!ir::uses_warp(function)) return options;
    options.full_packets = options.full_packets && options.lanes != Lanes::Rows && options.packet_limit >= ir::kWarp;
    if (options.lanes == Lanes::Rows) options.lanes = Lanes::Flat;
    return options;
}

codegen::CpuKernelOptions options_of(const CompileOptions& request) {
    codegen::CpuKernelOptions options;
    options.target = host_target();
    options.lanes = request.lanes;
    options.full_packets = request.full_packets;
    options.packet_limit = request.packet_limit;
    options.packet = request.packet;
    options.block = request.block;
    options.optimize = request.optimize;
    return options;
}

// What DWARF says of the arguments and functions of a request.
codegen::DebugSource debug_source(const CompileRequest& request) {
    codegen::DebugSource source;
    source.level = request.options.debug;
    source.optimized = request.options.optimize;
    if (source.level == DebugLevel::None) return source;
    source.sources = request.sources;
    const std::vector<frontend::FunctionSyntax> program = frontend::parse_program(request.program);
    for (const frontend::FunctionSyntax& function : program) source.functions.push_back(function.name);
    int slot = 0;
    const auto add = [&](const auto& self, const std::string& name, const ArgType& type) -> void {
        if (type.kind == ArgType::Kind::None) return;
        if (type.kind == ArgType::Kind::Tuple) {
            for (std::size_t i = 0; i < type.items.size(); ++i) {
                const std::string item = type.names.empty() ? std::to_string(i) : type.names[i];
                self(self, name + "_" + item, type.items[i]);
            }
        } else if (type.kind == ArgType::Kind::Record) {
            ++slot;  // its bytes lie elsewhere
        } else if (type.kind == ArgType::Kind::Array) {
            const DType dtype = type.record.empty() ? type.dtype : DType::UInt8;
            source.parameters.push_back({name, dtype, type.rank, slot});
            slot += 1 + 2 * type.rank;
        } else if (is_complex(type.dtype)) {
            source.parameters.push_back({name + "_real", part_of(type.dtype), -1, slot++});
            source.parameters.push_back({name + "_imag", part_of(type.dtype), -1, slot++});
        } else {
            source.parameters.push_back({name, type.dtype, -1, slot++});
        }
    };
    for (std::size_t i = 0; i < request.args.size(); ++i) add(add, program[0].params[i], request.args[i]);
    return source;
}

ir::Function lowered(CompileRequest& request) {
    ir::Function function = frontend::lower(request);
    passes::mark_spins(function);
    if (request.options.cuda_capability != 0) {
        // The machine does what these are for: threads of a block run side by side, each with counters of its own.
        const passes::PassContext context{Lanes::Line, request.options.block};
        passes::run_pipeline(function, context, request.options.disabled_passes + ",separate_counters,split_blocks");
        return function;
    }
    request.options = fitted(request.options, function);
    passes::run_pipeline(function, {request.options.lanes, request.options.block}, request.options.disabled_passes);
    return function;
}

// Whether its threads may have something to tell the host.
bool reports(const ir::Function& function) {
    bool found = function.bounds == ir::Bounds::Raise || ir::has_spin(function) || !function.callees.empty();
    ir::walk_all(function, [&](const ir::Op& op) {
        found = found || op.code == ir::Opcode::Print || op.code == ir::Opcode::Raise;
    });
    return found;
}

// What does not depend on the target.
Artifact facts_of(const ir::Function& function) {
    Artifact artifact;
    ir::walk_all(function, [&](const ir::Op& op) {
        artifact.has_loops = artifact.has_loops || op.code == ir::Opcode::Loop || op.code == ir::Opcode::Call;
        artifact.shares_memory = artifact.shares_memory || op.code == ir::Opcode::SharedArray;
    });
    artifact.needs_links = ir::needs_links(function);
    artifact.has_barriers = ir::has_barrier(function);
    artifact.meets_grid = ir::meets_grid(function);
    artifact.blocks_wait = artifact.meets_grid || ir::has_spin(function);
    artifact.recurses = !function.callees.empty();
    artifact.called_bytes = static_cast<int>(ir::called_bytes(function));
    artifact.reports = reports(function);
    artifact.shared_bytes = static_cast<int>(function.shared_bytes);
    artifact.texts = function.texts;
    artifact.param_slots = static_cast<int>(function.params.size());
    return artifact;
}

codegen::nvptx::KernelOptions gpu_options_of(const CompileOptions& request) {
    return {request.cuda_capability, request.most_threads, request.coarse,       request.small_numbers,
            request.block,           request.min_blocks,   request.max_registers};
}

[[noreturn]] void bad_stage(const std::string& stage) {
    throw Error(
        ErrorKind::Argument,
        "[dump] expected stage ir, types, waits, passes, llvm-before, llvm, asm or explain, got '" + stage + "'");
}

std::string dump_gpu(const ir::Function& function, const CompileRequest& request, const std::string& stage) {
    using codegen::nvptx::Output;
    const auto text = [&](Output output) {
        return codegen::nvptx::compile_kernel(function, gpu_options_of(request.options), output).text;
    };
    if (stage == "llvm-before") return text(Output::LlvmBefore);
    if (stage == "llvm") return text(Output::LlvmAfter);
    if (stage == "asm") return text(Output::Ptx);
    if (stage == "explain") return explain(function, request, 1);
    bad_stage(stage);
}

}  // namespace

namespace {

// For tests on machines without a GPU: with TREADLE_PTX_DIR set, the PTX of whatever is compiled goes there as well.
void keep_ptx(const CompileRequest& given) {
    static const char* const directory = std::getenv("TREADLE_PTX_DIR");
    if (directory == nullptr || given.options.cuda_capability != 0) return;
    CompileRequest request = given;
    request.options.cuda_capability = 90;
    const ir::Function function = lowered(request);
    const std::string text = codegen::nvptx::compile_kernel(function, gpu_options_of(request.options)).text;
    std::ofstream(std::string(directory) + "/" + function.name + "_" + hash_hex(text).substr(0, 16) + ".ptx") << text;
}

}  // namespace

Artifact Compiler::compile(const CompileRequest& given) {
    keep_ptx(given);
    const auto begin = std::chrono::steady_clock::now();
    CompileRequest request = given;
    const ir::Function function = lowered(request);
    Artifact artifact = facts_of(function);
    if (request.options.cuda_capability != 0) {
        codegen::nvptx::Kernel kernel = codegen::nvptx::compile_kernel(function, gpu_options_of(request.options));
        artifact.object = std::move(kernel.text);
        artifact.coarse = kernel.coarse;
        artifact.packet = 1;
    } else {
        const codegen::DebugSource source = debug_source(request);
        codegen::CpuKernelOptions options = options_of(request.options);
        options.debug = &source;
        codegen::CpuKernel kernel = codegen::compile_cpu_kernel(function, options);
        artifact.object = std::move(kernel.bytes);
        artifact.packet = kernel.packet;
        artifact.one_packet = ir::runs_by_packet(function);
        artifact.whole_block = function.splits;
        artifact.lanes = request.options.lanes;
    }
    const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - begin;
    artifact.compile_ms = spent.count();
    return artifact;
}

std::string Compiler::dump(const CompileRequest& given, const std::string& stage) {
    if (stage == "ir") return ir::print(frontend::lower(given));
    if (stage == "types") return frontend::describe_types(given);
    if (stage == "waits") {
        ir::Function function = frontend::lower(given);
        passes::mark_spins(function);
        return ir::has_spin(function) || ir::meets_grid(function) ? "true" : "";
    }
    CompileRequest request = given;
    const ir::Function function = lowered(request);
    if (stage == "passes") return ir::print(function);
    if (request.options.cuda_capability != 0) return dump_gpu(function, request, stage);
    const codegen::DebugSource source = debug_source(request);
    codegen::CpuKernelOptions options = options_of(request.options);
    options.debug = &source;
    if (stage == "llvm") return codegen::compile_cpu_kernel(function, options, codegen::CpuOutput::LlvmAfter).bytes;
    if (stage == "llvm-before")
        return codegen::compile_cpu_kernel(function, options, codegen::CpuOutput::LlvmBefore).bytes;
    if (stage == "asm") return codegen::compile_cpu_kernel(function, options, codegen::CpuOutput::Assembly).bytes;
    if (stage == "explain") return explain(function, request, codegen::packet_for(function, options));
    bad_stage(stage);
}

std::string Compiler::version() const { return "LLVM " + codegen::backend_version(); }

}  // namespace treadle::compiler

treadle::CompilerService* treadle_compiler_service() {
    static treadle::compiler::Compiler service;
    return &service;
}
