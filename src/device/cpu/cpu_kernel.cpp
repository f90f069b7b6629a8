#include "device/cpu/cpu_kernel.h"

#include <algorithm>

#include "base/error.h"
#include "device/cpu/block_runner.h"

namespace treadle::device {
namespace {

constexpr int kLineBits = 20;  // ir::kLineBits; checked by a test

std::string coordinates(const std::int32_t* values) {
    return "(" + std::to_string(values[0]) + ", " + std::to_string(values[1]) + ", " + std::to_string(values[2]) + ")";
}

std::string shape_text(const FaultRecord& fault) {
    std::string text = "(";
    for (std::int64_t i = 0; i < fault.rank; ++i) {
        if (i == FaultRecord::kMostAxes) return text + ", ...)";
        text += (i != 0 ? ", " : "") + std::to_string(fault.shape[i]);
    }
    return text + (fault.rank == 1 ? ",)" : ")");
}

std::string place(const KernelDebug& debug, std::int64_t line) {
    const auto function = static_cast<std::size_t>(line >> kLineBits);
    const std::int64_t in_function = (line & ((1 << kLineBits) - 1)) - 1;
    if (function >= debug.sources.size() || in_function < 0) return "";
    const SourceText& source = debug.sources[function];
    return "\n  File \"" + source.file + "\", line " + std::to_string(source.first_line + in_function);
}

// Where there is text, the line that a fault speaks of.
std::string other_place(const KernelDebug* debug, std::int64_t line) {
    return debug != nullptr && line != 0 ? place(*debug, line) : "";
}

// The text is ["name","message"]; the error's text begins with the name of its Python class.
std::exception_ptr raised_error(const FaultRecord& fault, const KernelDebug* debug) {
    std::string text = "Exception: ";
    if (debug != nullptr && static_cast<std::size_t>(fault.index) < debug->texts.size()) {
        const std::string& json = debug->texts[static_cast<std::size_t>(fault.index)];
        const std::size_t comma = json.find(',');
        text = json.substr(2, comma - 3) + ": " + json.substr(comma + 2, json.size() - comma - 4);
    }
    text += " (kernel " + (debug != nullptr ? "'" + debug->name + "'" : std::string("")) + ", block " +
            coordinates(fault.block) + ", thread " + coordinates(fault.thread) + ")" + other_place(debug, fault.line);
    return std::make_exception_ptr(Error(ErrorKind::Raised, text));
}

std::exception_ptr parted_error(const FaultRecord& fault, const KernelDebug* debug) {
    if (fault.axis == kSpinsForEver) {
        return std::make_exception_ptr(Error(
            ErrorKind::Barrier, "kernel " + (debug != nullptr ? "'" + debug->name + "'" : std::string("")) +
                                    ": thread " + coordinates(fault.thread) + " of block " + coordinates(fault.block) +
                                    " waited for " + std::to_string(fault.index) +
                                    " s in a loop for something that no other thread does" +
                                    other_place(debug, fault.line) + "\n  hint: TREADLE_WATCHDOG sets the seconds"));
    }
    std::string text = "kernel " + (debug != nullptr ? "'" + debug->name + "'" : std::string("")) +
                       ": a barrier was reached by some threads of block " + coordinates(fault.block) +
                       " only, while others went another way";
    if (fault.axis == kPartedInPacket) text += " (thread " + coordinates(fault.thread) + " among them)";
    text += other_place(debug, fault.line);
    if (fault.index != 0) {
        text += fault.axis == kPartedInPacket ? "\n  the threads parted at" : "\n  the others waited at";
        text += other_place(debug, fault.index);
    }
    text +=
        "\n  hint: all threads of a block must come to the same barrier; move it out of the branch, or let the others "
        "return";
    return std::make_exception_ptr(Error(ErrorKind::Barrier, text));
}

}  // namespace

CpuKernel::CpuKernel(const Artifact& artifact, std::shared_ptr<const KernelDebug> source)
    : lanes(artifact.lanes),
      whole_block(artifact.whole_block),
      has_barriers(artifact.has_barriers),
      blocks_wait(artifact.blocks_wait),
      meets_grid(artifact.meets_grid),
      code_(load_object(artifact.object)) {
    packet = artifact.packet;
    has_loops = artifact.has_loops;
    shared_bytes = artifact.shared_bytes;
    code_bytes = artifact.object.size();
    debug = std::move(source);
    stack_bytes = code_.stack_bytes();
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
    record.block[0] = static_cast<std::int32_t>(block % info->grid[0]);
    record.block[1] = static_cast<std::int32_t>(block / info->grid[0] % info->grid[1]);
    record.block[2] = static_cast<std::int32_t>(block / info->grid[0] / info->grid[1]);
    record.thread[0] = static_cast<std::int32_t>(thread % info->block[0]);
    record.thread[1] = static_cast<std::int32_t>(thread / info->block[0] % info->block[1]);
    record.thread[2] = static_cast<std::int32_t>(thread / info->block[0] / info->block[1]);
    slot->first_ = record;
}

std::exception_ptr FaultSlot::error(const KernelDebug* debug) const {
    if (!first_) return nullptr;
    const FaultRecord& fault = *first_;
    if (fault.axis == kRaised) return raised_error(fault, debug);
    if (fault.axis < 0) return parted_error(fault, debug);
    std::string text = "kernel " + (debug != nullptr ? "'" + debug->name + "'" : std::string("")) + ": index " +
                       std::to_string(fault.index) + " is out of bounds for axis " + std::to_string(fault.axis) +
                       " of an array of shape " + shape_text(fault) + " (block " + coordinates(fault.block) +
                       ", thread " + coordinates(fault.thread) + ")";
    if (debug != nullptr) text += place(*debug, fault.line);
    return std::make_exception_ptr(Error(ErrorKind::Index, text));
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
    std::stable_sort(lines_.begin(), lines_.end(), [](const Printed& a, const Printed& b) {
        return a.block != b.block ? a.block < b.block : a.thread < b.thread;
    });
    return std::move(lines_);
}

}  // namespace treadle::device
