// Blocks with barriers: in loops over their packets, and with stacks for packets that wait.
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "codegen/cpu/compile_kernel.h"
#include "device/cpu/block_runner.h"
#include "device/cpu/cpu_kernel.h"
#include "ir/ir.h"
#include "passes/mark_spins.h"
#include "passes/pipeline.h"

namespace treadle {
namespace {

// Each thread stores its index, then reads that of its mirror image in the block; the threads from `limit` on leave
// first.
std::string mirror(const std::string& meeting) {
    return R"(kernel @mirror(ptr, int64, int64, int64) bounds=guard shared=8192 {
  %0 = param : ptr
  %1 = param {index=1} : int64
  %2 = param {index=2} : int64
  %3 = param {index=3} : int64
  %4 = thread_idx : int32
  %5 = cast %4 : int64
  %6 = lt %5, %3 : bool
  %7 = not %6 : bool
  if %7 {
    return
  } {
  }
  %8 = shared_array : ptr
  %9 = const {imm=1024} : int64
  %10 = const {imm=8} : int64
  store %8, %9, %10, %5, %5 {index=1, elem=int64, layout=1, space=1}
)" + meeting +
           R"(
  %20 = const {imm=1} : int64
  %21 = sub %3, %20 : int64
  %22 = sub %21, %5 : int64
  %23 = load %8, %9, %10, %22 {index=1, elem=int64, layout=1, space=1} : int64
  %24 = block_idx : int32
  %25 = cast %24 : int64
  %26 = block_dim : int32
  %27 = cast %26 : int64
  %28 = mul %25, %27 : int64
  %29 = add %28, %5 : int64
  store %0, %1, %2, %29, %23 {index=1, elem=int64, layout=1}
}
)";
}

std::vector<std::int64_t> run(const std::string& text, int threads, int limit, int packet, bool splits,
                              int blocks = 3) {
    ir::Function function = ir::parse(text);
    passes::PassContext context;
    if (splits) context.block = {threads, 1, 1};
    passes::mark_spins(function);
    passes::run_pipeline(function, context, "");
    EXPECT_EQ(function.splits, splits);
    codegen::CpuKernelOptions options;
    options.target = host_target();
    options.packet = packet;
    options.block = context.block;
    Artifact artifact;
    artifact.object = codegen::compile_cpu_kernel(function, options).bytes;
    artifact.packet = packet;
    artifact.one_packet = ir::runs_by_packet(function);
    artifact.whole_block = function.splits;
    artifact.has_barriers = ir::has_barrier(function);
    artifact.meets_grid = ir::meets_grid(function);
    artifact.blocks_wait = artifact.meets_grid || ir::has_spin(function);
    artifact.shared_bytes = static_cast<int>(function.shared_bytes);
    const device::CpuKernel kernel(artifact, nullptr);
    std::vector<std::int64_t> out(static_cast<std::size_t>(threads * blocks), -1);
    const std::uint64_t params[] = {reinterpret_cast<std::uint64_t>(out.data()), out.size(), 8,
                                    static_cast<std::uint64_t>(limit)};
    device::FaultSlot faults;
    LaunchInfo info{};
    info.block[0] = threads;
    info.grid[0] = blocks;
    info.block[1] = info.block[2] = info.grid[1] = info.grid[2] = 1;
    info.fault = device::FaultSlot::report;
    info.fault_state = &faults;
    info.stream_barrier = ~0ull;
    if (artifact.blocks_wait) {
        device::run_side_by_side(kernel, params, info, 2);
    } else {
        kernel.run(params, info, 0, blocks);
    }
    if (const std::exception_ptr error = faults.error(nullptr)) std::rethrow_exception(error);
    return out;
}

std::vector<std::int64_t> expected(int threads, int limit, int blocks = 3) {
    std::vector<std::int64_t> values;
    for (int block = 0; block < blocks; ++block) {
        for (int thread = 0; thread < threads; ++thread) values.push_back(thread < limit ? limit - 1 - thread : -1);
    }
    return values;
}

TEST(Blocks, meetAtBarriers) {
    for (const bool splits : {true, false}) {
        for (const int threads : {1, 7, 32, 100, 1024}) {
            for (const int packet : {1, 8, 32}) {
                for (const int limit : {threads, (threads + 1) / 2}) {
                    EXPECT_EQ(run(mirror("barrier"), threads, limit, packet, splits), expected(threads, limit))
                        << splits << " " << threads << " " << packet << " " << limit;
                }
            }
        }
    }
}

TEST(Blocks, meetAsAGrid) {
    for (const int threads : {5, 64})
        EXPECT_EQ(run(mirror("barrier {index=1}"), threads, threads, 8, false), expected(threads, threads));
}

TEST(Blocks, reportThreadsThatStayAway) {
    const std::string some =
        "%11 = const {imm=3} : int64\n%12 = lt %5, %11 : bool\nif %12 {\nbarrier {line=2}\n} {\n}\n";
    EXPECT_THROW(run(mirror(some), 64, 64, 8, false), Error);
    const std::string one_or_other =
        "%11 = const {imm=32} : int64\n%12 = lt %5, %11 : bool\nif %12 {\nbarrier {line=2}\n} {\nbarrier {line=3}\n}\n";
    EXPECT_THROW(run(mirror(one_or_other), 64, 64, 8, false), Error);
}

}  // namespace
}  // namespace treadle
