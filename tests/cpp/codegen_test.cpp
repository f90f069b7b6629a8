#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/kernel_abi.h"
#include "codegen/cpu/compile_kernel.h"
#include "codegen/cpu/packet_width.h"
#include "device/cpu/object_loader.h"
#include "ir/ir.h"
#include "passes/pipeline.h"

namespace treadle {
namespace {

// y[i] = x[i] + x[i] for int64 arrays; parameters are two times pointer, shape, stride.
constexpr const char* kDouble = R"(kernel @double(ptr, int64, int64, ptr, int64, int64) bounds=guard {
  %0 = param : ptr
  %1 = param {index=1} : int64
  %2 = param {index=2} : int64
  %3 = param {index=3} : ptr
  %4 = param {index=4} : int64
  %5 = param {index=5} : int64
  %6 = thread_idx : int32
  %7 = cast %6 : int64
  %8 = load %0, %1, %2, %7 {index=1, elem=int64, layout=1} : int64
  %9 = add %8, %8 : int64
  store %3, %4, %5, %7, %9 {index=1, elem=int64, layout=1}
}
)";

ir::Function prepared(const char* text) {
    ir::Function function = ir::parse(text);
    passes::run_pipeline(function, {}, "");
    return function;
}

std::vector<CpuTarget> targets() {
    std::vector<CpuTarget> result = {{VectorIsa::Sse, "x86-64", ""}};
    if (host_target().isa >= VectorIsa::Avx2) result.push_back({VectorIsa::Avx2, "x86-64-v3", ""});
    if (host_target().isa >= VectorIsa::Avx512) result.push_back({VectorIsa::Avx512, "x86-64-v4", ""});
    return result;
}

TEST(CpuCodegen, runsOnEveryTargetAndPacketWidth) {
    const ir::Function function = prepared(kDouble);
    for (const CpuTarget& target : targets()) {
        for (const int packet : {4, 8, 16, 32, 64}) {
            const codegen::CpuKernel kernel =
                codegen::compile_cpu_kernel(function, {target, ir::Lanes::Line, false, 64, packet, {}});
            EXPECT_EQ(kernel.packet, packet);
            const device::CodeBlock code = device::load_object(kernel.bytes);
            std::vector<std::int64_t> x(100), y(100, -1);
            for (std::int64_t i = 0; i < 100; ++i) x[static_cast<std::size_t>(i)] = i;
            const std::int64_t size = 77;
            const std::uint64_t params[] = {reinterpret_cast<std::uint64_t>(x.data()), 100,  8,
                                            reinterpret_cast<std::uint64_t>(y.data()), size, 8};
            LaunchInfo info{{90, 1, 1}, {1, 1, 1}, nullptr, nullptr, ~0ull, 0};
            reinterpret_cast<KernelFunction>(code.symbol(kKernelSymbol))(params, &info, 0, 1);
            for (std::int64_t i = 0; i < 100; ++i)
                EXPECT_EQ(y[static_cast<std::size_t>(i)], i < size ? 2 * i : -1)
                    << target.cpu << " " << packet << " " << i;
        }
    }
}

TEST(CpuCodegen, printsEveryStage) {
    const ir::Function function = prepared(kDouble);
    const codegen::CpuKernelOptions options{host_target(), ir::Lanes::Line, true, 64, 8};
    EXPECT_NE(codegen::compile_cpu_kernel(function, options, codegen::CpuOutput::LlvmBefore)
                  .bytes.find("define void @treadle_kernel"),
              std::string::npos);
    EXPECT_NE(codegen::compile_cpu_kernel(function, options, codegen::CpuOutput::LlvmAfter).bytes.find("<8 x i64>"),
              std::string::npos);
    EXPECT_NE(
        codegen::compile_cpu_kernel(function, options, codegen::CpuOutput::Assembly).bytes.find("treadle_kernel:"),
        std::string::npos);
}

TEST(PacketWidth, growsUntilRegistersRunOut) {
    const CpuTarget avx2{VectorIsa::Avx2, "x86-64-v3", ""};
    EXPECT_EQ(codegen::choose_packet(prepared(kDouble), avx2), 32);
    std::string text = kDouble;
    std::string sum;
    for (int i = 10; i < 40; ++i) sum += "%" + std::to_string(i) + " = mul %8, %8 : int64\n";
    for (int i = 40; i < 69; ++i)
        sum += "%" + std::to_string(i) + " = add %" + std::to_string(i - 30) + ", %" +
               std::to_string(i == 40 ? 39 : i - 1) + " : int64\n";
    text.replace(text.find("  store"), 0, sum);
    text.replace(text.find("%9 {index"), 2, "%68");
    EXPECT_EQ(codegen::choose_packet(prepared(text.c_str()), avx2), 8);
}

TEST(DebugInfo, describesLinesAndVariablesUnoptimised) {
    constexpr const char* kText = R"(
kernel @twice(ptr, int64, int64) bounds=guard {
  var $0 x<int64> : ptr
  var $1 i : int64
  var $2 a : int64
  %0 = param : ptr
  %1 = param {index=1} : int64
  %2 = param {index=2} : int64
  %3 = block_idx {line=2} : int32
  %4 = cast %3 {line=2} : int64
  var_set %4 {index=1, line=2}
  %5 = load %0, %1, %2, %4 {index=1, elem=int64, layout=1, line=3} : int64
  var_set %5 {index=2, line=3}
  %6 = add %5, %5 {line=1048578} : int64
  store %0, %1, %2, %4, %6 {index=1, layout=1, elem=int64, line=3}
}
)";
    ir::Function function = ir::parse(kText);
    function.variables[2].name = "half#0/a";
    passes::run_pipeline(function, {}, "eliminate_dead_code,fold_constants");
    codegen::DebugSource source;
    source.level = DebugLevel::Full;
    source.optimized = false;
    source.sources = {{"/tmp/a.py", 10, "@jit\ndef twice(x):\n"}, {"/tmp/b.py", 50, "def half(a):\n"}};
    source.functions = {"twice", "half"};
    source.parameters = {{"x", DType::Int64, 1, 0}};
    codegen::CpuKernelOptions options{host_target(), ir::Lanes::Line, false, 64, 1};
    options.optimize = false;
    options.debug = &source;
    const std::string text = codegen::compile_cpu_kernel(function, options, codegen::CpuOutput::LlvmAfter).bytes;
    for (const char* part :
         {"DISubprogram(name: \"twice\"", "line: 11", "DISubprogram(name: \"half\"", "filename: \"b.py\"",
          "DILocalVariable(name: \"x\", arg: 1", "DILocalVariable(name: \"i\"", "DILocalVariable(name: \"a\"",
          "DILocation(line: 51,", "inlinedAt:", "name: \"threadIdx\"", "isOptimized: false"})
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    const device::CodeBlock code = device::load_object(codegen::compile_cpu_kernel(function, options).bytes);
    std::int64_t x[] = {1, 2, 3};
    const std::uint64_t params[] = {reinterpret_cast<std::uint64_t>(x), 3, 8};
    LaunchInfo info{{1, 1, 1}, {3, 1, 1}, nullptr, nullptr, ~0ull, 0};
    reinterpret_cast<KernelFunction>(code.symbol(kKernelSymbol))(params, &info, 0, 3);
    EXPECT_EQ(x[0] + 10 * x[1] + 100 * x[2], 642);
}

TEST(ObjectLoader, refusesDamagedObjects) {
    const std::string good =
        codegen::compile_cpu_kernel(prepared(kDouble), {host_target(), ir::Lanes::Line, true, 64, 8}).bytes;
    EXPECT_THROW(device::load_object(""), Error);
    EXPECT_THROW(device::load_object("not an object, but long enough to hold a header of sixty-four bytes"), Error);
    for (std::size_t length = 16; length < good.size(); length += good.size() / 7)
        EXPECT_THROW(device::load_object(good.substr(0, length)), Error) << length;
    EXPECT_THROW(device::load_object(good).symbol("nothing"), Error);
}

}  // namespace
}  // namespace treadle
