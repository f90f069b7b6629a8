#include "device/reports.h"

#include <algorithm>

#include "base/error.h"

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

std::exception_ptr depth_error(const FaultRecord& fault, const KernelDebug* debug) {
    const std::string text =
        "RecursionError: more than " + std::to_string(fault.index) + " calls inside each other (kernel " +
        (debug != nullptr ? "'" + debug->name + "'" : std::string("")) + ", block " + coordinates(fault.block) +
        ", thread " + coordinates(fault.thread) + ")" + other_place(debug, fault.line);
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

std::exception_ptr fault_error(const FaultRecord& fault, const KernelDebug* debug) {
    if (fault.axis == kRaised) return raised_error(fault, debug);
    if (fault.axis == kTooDeep) return depth_error(fault, debug);
    if (fault.axis < 0) return parted_error(fault, debug);
    std::string text = "kernel " + (debug != nullptr ? "'" + debug->name + "'" : std::string("")) + ": index " +
                       std::to_string(fault.index) + " is out of bounds for axis " + std::to_string(fault.axis) +
                       " of an array of shape " + shape_text(fault) + " (block " + coordinates(fault.block) +
                       ", thread " + coordinates(fault.thread) + ")";
    if (debug != nullptr) text += place(*debug, fault.line);
    return std::make_exception_ptr(Error(ErrorKind::Index, text));
}

void set_coordinates(std::int32_t* into, std::int64_t linear, const std::int32_t* extents) {
    into[0] = static_cast<std::int32_t>(linear % extents[0]);
    into[1] = static_cast<std::int32_t>(linear / extents[0] % extents[1]);
    into[2] = static_cast<std::int32_t>(linear / extents[0] / extents[1]);
}

void sort_by_thread(std::vector<Printed>& lines) {
    std::stable_sort(lines.begin(), lines.end(), [](const Printed& a, const Printed& b) {
        return a.block != b.block ? a.block < b.block : a.thread < b.thread;
    });
}

}  // namespace treadle::device
