#include "device/cpu/cpu_kernel.h"

#include <algorithm>

#include "base/error.h"
#include "device/cpu/block_runner.h"
#include "device/reports.h"

namespace treadle::device {
CpuKernel::CpuKernel(const Artifact& artifact, std::shared_ptr<const KernelDebug> source)
    : lanes(artifact.lanes),
      whole_block(artifact.whole_block),
      has_barriers(artifact.has_barriers),
      blocks_wait(artifact.blocks_wait),
      meets_grid(artifact.meets_grid),
      recurses(artifact.recurses),
      code_(load_object(artifact.object)) {
    packet = artifact.packet;
    has_loops = artifact.has_loops;
    shared_bytes = artifact.shared_bytes;
    code_bytes = artifact.object.size();
    debug = std::move(source);
    // A call needs a frame, what aligns it (to a packet of 64 lanes at most), and the way back.
    constexpr std::size_t kCallBytes = 64 * 8 + 128;
    stack_bytes = code_.stack_sizes().all;
    if (recurses) stack_bytes += kMostCalls * (code_.stack_sizes().largest + kCallBytes);
    if (artifact.one_packet) {
        packet_function = reinterpret_cast<PacketFunction>(code_.symbol(kPacketSymbol));
    } else {
        function = reinterpret_cast<KernelFunction>(code_.symbol(kKernelSymbol));
    }
}

void CpuKernel::run(const std::uint64_t* params, const LaunchInfo& info, std::int64_t begin, std::int64_t end) const {
    if (function != nullptr) {
        function(params, &info, begin, end);
    } else {
        run_blocks(*this, params, info, begin, end, nullptr);
    }
}

void FaultSlot::report(const LaunchInfo* info, std::int64_t line, std::int64_t axis, std::int64_t index,
                       const std::int64_t* shape, std::int64_t rank, std::int64_t block, std::int64_t thread) {
    auto* slot = static_cast<FaultSlot*>(info->fault_state);
    const std::lock_guard lock(slot->mutex_);
    if (slot->first_) return;
    FaultRecord record{line, axis, index, rank, {}, {}, {}};
    if (shape != nullptr) std::copy_n(shape, std::min<std::int64_t>(rank, FaultRecord::kMostAxes), record.shape);
    set_coordinates(record.block, block, info->grid);
    set_coordinates(record.thread, thread, info->block);
    slot->first_ = record;
}

std::exception_ptr FaultSlot::error(const KernelDebug* debug) const {
    return first_ ? fault_error(*first_, debug) : nullptr;
}

void PrintBuffer::print(const LaunchInfo* info, std::int64_t text, std::int64_t block, std::int64_t thread,
                        std::uint64_t mask, const std::uint64_t* words, std::int64_t values, std::int64_t lanes) {
    auto* buffer = static_cast<PrintBuffer*>(info->print_state);
    const std::lock_guard lock(buffer->mutex_);
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
        if ((mask >> lane & 1) == 0) continue;
        Printed line{buffer->kernel_, text, block, thread + lane, {}};
        for (std::int64_t i = 0; i < values; ++i) line.words.push_back(words[i * lanes + lane]);
        buffer->lines_.push_back(std::move(line));
    }
}

std::vector<Printed> PrintBuffer::take() {
    sort_by_thread(lines_);
    return std::move(lines_);
}

}  // namespace treadle::device
