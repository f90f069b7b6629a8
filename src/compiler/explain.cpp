#include "compiler/explain.h"

#include <map>
#include <vector>

namespace treadle::compiler {
namespace {

using ir::Op;
using ir::Opcode;
using ir::Shape;

// What the two kinds of devices make of the same facts.
struct Words {
    const char* parted;
    const char* leaving;
    const char* own_atomic;
    const char* global_atomic;
    const char* local_uniform;
    const char* local_varying;
    const char* one;
    const char* contiguous;
    const char* apart;
};
constexpr Words kCpu = {"threads may part: both sides run under masks",
                        "threads leave the loop one by one: it runs until the last has left",
                        "plain instructions: the memory is this block's",
                        "locked instructions",
                        "all lanes side by side",
                        "lane by lane, by index",
                        "one element for the packet",
                        "one contiguous access",
                        "elements at a fixed distance"};
constexpr Words kGpu = {"threads of a warp may part",
                        "threads of a warp leave the loop one by one",
                        "in the block's shared memory",
                        "in global memory",
                        "the thread's own memory",
                        "the thread's own memory, by index",
                        "one element for neighbouring threads",
                        "neighbouring elements for neighbouring threads",
                        "elements at a fixed distance for neighbouring threads"};

class Explanation {
public:
    Explanation(const ir::Function& function, const CompileRequest& request)
        : function_(function), request_(request), words_(request.options.cuda_capability != 0 ? kGpu : kCpu) {
        constants_.assign(function.values.size(), -1);
        ir::walk(function.body, [&](const Op& op) {
            if (op.code == Opcode::Const && op.type.is_scalar())
                constants_[op.result] = static_cast<std::int64_t>(op.imm);
        });
    }

    std::string run(int packet) {
        std::string text = (request_.options.cuda_capability != 0 ? gpu_layout() : layout(packet)) + notes();
        for (const ir::Function& callee : function_.callees) text += Explanation(callee, request_).notes();
        return text;
    }

private:
    std::string notes() {
        std::string text;
        ir::walk(function_.body, [&](const Op& op) { note(op); });
        for (const auto& [line, facts] : lines_) {
            for (const auto& [fact, count] : facts)
                text += place(line) + fact + (count > 1 ? " (" + std::to_string(count) + " times)" : "") + "\n";
        }
        return text;
    }

    std::string layout(int packet) const {
        static constexpr const char* kLanes[] = {"along x", "along x, row by row", "along the linear index"};
        std::string text =
            "threads: packets of " + std::to_string(packet) + " " + kLanes[static_cast<int>(request_.options.lanes)];
        text += request_.options.full_packets ? ", all full\n" : ", the last one masked\n";
        if (ir::has_spin(function_) && !ir::uses_warp(function_)) {
            text += "blocks: threads wait for each other, so each has a stack of its own and none runs in step\n";
        } else if (function_.splits) {
            text += "blocks: loops over all packets, from barrier to barrier\n";
        } else if (ir::has_barrier(function_)) {
            text +=
                "blocks: packets have stacks of their own, since a barrier stands in control flow that depends on "
                "data\n";
        } else {
            text += "blocks: one packet after the other\n";
        }
        text += calls("; packets run on stacks of their own");
        return text + shared();
    }

    std::string gpu_layout() const {
        std::string text =
            "threads: the GPU's own, in blocks of at most " + std::to_string(request_.options.most_threads) + "\n";
        if (ir::has_spin(function_)) text += "blocks: threads wait for each other, watched by a clock\n";
        if (ir::meets_grid(function_)) text += "blocks: meet, so all of a grid run at once\n";
        if (ir::has_barrier(function_)) text += "blocks: threads meet at barriers\n";
        text += calls("");
        return text + shared();
    }

    std::string calls(const std::string& how) const {
        std::string text;
        for (const ir::Function& callee : function_.callees)
            text += "calls: '" + callee.name + "' calls itself, so it is not inlined" + how + "\n";
        return text;
    }

    std::string shared() const {
        if (function_.shared_bytes == 0) return "";
        return "shared memory: " + std::to_string(function_.shared_bytes) + " bytes a block\n";
    }

    // The line of the file, or of the function where its text is not known.
    std::string place(std::int32_t line) const {
        const auto function = static_cast<std::size_t>(line >> ir::kLineBits);
        std::int32_t number = line & ((1 << ir::kLineBits) - 1);
        if (function < request_.sources.size()) number += request_.sources[function].first_line - 1;
        return "line " + std::to_string(number) + ": ";
    }

    void note(const Op& op) {
        switch (op.code) {
            case Opcode::If:
                if (op.divergent) add(op, words_.parted);
                break;
            case Opcode::Loop:
                if (op.index == 1) add(op, "waits for another thread");
                if (op.divergent) add(op, words_.leaving);
                break;
            case Opcode::Load: add(op, "load, " + reach(op) + unaligned(op) + bounds(op)); break;
            case Opcode::Store: add(op, "store, " + reach(op) + unaligned(op) + bounds(op)); break;
            case Opcode::Atomic: {
                const bool own = op.space != ir::Space::Global;
                add(op, std::string("atomic, ") + (own ? words_.own_atomic : words_.global_atomic) + bounds(op));
                break;
            }
            default: break;
        }
    }

    std::string reach(const Op& op) const {
        const auto rank = static_cast<std::size_t>(op.index);
        bool varying = false;
        bool uniform = true;
        bool last_linear = rank != 0;
        for (std::size_t i = 0; i < 3 * rank + 1; ++i) {
            const Shape shape = function_.value_shapes[op.operands[i]];
            varying = varying || shape.is_varying();
            uniform = uniform && shape.is_uniform();
            if (i < 3 * rank && !shape.is_uniform()) last_linear = false;
        }
        if (op.space == ir::Space::Local) return uniform ? words_.local_uniform : words_.local_varying;
        if (uniform) return words_.one;
        if (varying) return op.code == Opcode::Load ? "gathered by index" : "scattered by index";
        const bool dense = op.layout == ir::Layout::Dense || op.layout == ir::Layout::InnerDense;
        const bool step_of_one = function_.value_shapes[op.operands[3 * rank]] == Shape::linear(1);
        if (last_linear && dense && step_of_one) return words_.contiguous;
        return words_.apart;
    }

    static std::string unaligned(const Op& op) {
        return op.align == 0 ? "" : ", at multiples of " + std::to_string(op.align);
    }

    std::string bounds(const Op& op) const {
        if (function_.bounds == ir::Bounds::Off) return "; bounds not tested";
        const auto rank = static_cast<std::size_t>(op.index);
        bool tested = false;
        for (std::size_t axis = 0; axis < rank; ++axis) {
            const std::int64_t extent = constants_[op.operands[1 + axis]];
            const std::uint8_t bits = function_.width_bits[op.operands[1 + 2 * rank + axis]];
            tested = tested || extent < 0 || bits >= 63 || extent < (std::int64_t{1} << bits);
        }
        return tested ? "; bounds tested" : "; bounds known";
    }

    void add(const Op& op, const std::string& fact) { ++lines_[op.line][fact]; }

    const ir::Function& function_;
    const CompileRequest& request_;
    const Words& words_;
    std::vector<std::int64_t> constants_;  // by value; -1: none
    std::map<std::int32_t, std::map<std::string, int>> lines_;
};

}  // namespace

std::string explain(const ir::Function& function, const CompileRequest& request, int packet) {
    return Explanation(function, request).run(packet);
}

}  // namespace treadle::compiler
