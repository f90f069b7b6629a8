#include "ir/ir.h"

#include <algorithm>
#include <array>

namespace treadle::ir {
namespace {

constexpr std::array<OpInfo, static_cast<std::size_t>(Opcode::Count)> kOps = {{
#define TREADLE_OP(Name, text, operands, result, regions, traits) {#text, operands, result, regions, traits},
#include "ir/ops.def"
#undef TREADLE_OP
}};

}  // namespace

const OpInfo& info(Opcode code) { return kOps[static_cast<std::size_t>(code)]; }

Opcode opcode_from_text(std::string_view text) {
    for (std::size_t i = 0; i < kOps.size(); ++i) {
        if (kOps[i].text == text) return static_cast<Opcode>(i);
    }
    return Opcode::Count;
}

std::string to_string(Type type) {
    if (type.is_pointer()) return "ptr";
    if (type.is_scalar()) return std::string(name_of(type.dtype));
    return "none";
}

namespace {

template <class Test>
bool holds(const Region& region, const Test& test) {
    bool found = false;
    walk(region, [&](const Op& op) { found = found || test(op); });
    return found;
}

template <class Test>
bool holds(const Function& kernel, const Test& test) {
    bool found = false;
    walk_all(kernel, [&](const Op& op) { found = found || test(op); });
    return found;
}

bool needs_warp(const Op& op) {
    switch (op.code) {
        case Opcode::LaneId:
        case Opcode::ActiveMask:
        case Opcode::Shuffle:
        case Opcode::Vote:
        case Opcode::Match: return true;
        case Opcode::Fence: return op.index == static_cast<std::int32_t>(FenceKind::Warp);
        default: return false;
    }
}

}  // namespace

bool uses_block(const Function& function) {
    return holds(function, [](const Op& op) { return is_barrier(op) || op.code == Opcode::SharedArray; });
}

bool has_barrier(const Region& region) { return holds(region, is_barrier); }

bool uses_warp(const Function& function) { return holds(function, needs_warp); }

bool needs_links(const Function& function) {
    return holds(function, [](const Op& op) { return op.code == Opcode::ExternalCall; });
}

bool meets_grid(const Function& function) {
    return holds(function, [](const Op& op) { return op.code == Opcode::Barrier && op.index == 1; });
}

bool has_spin(const Function& function) {
    return holds(function, [](const Op& op) { return op.code == Opcode::Loop && op.index == 1; });
}

namespace {

// Whether the operation leaves a construct outside itself.
bool jumps_out(const Op& op, bool in_loop, bool in_scope) {
    switch (op.code) {
        case Opcode::Break:
        case Opcode::Continue: return !in_loop;
        case Opcode::Leave: return !in_scope;
        default: break;
    }
    for (const Region& region : op.regions) {
        for (const Op& inner : region) {
            if (jumps_out(inner, in_loop || op.code == Opcode::Loop, in_scope || op.code == Opcode::Scope)) return true;
        }
    }
    return false;
}

}  // namespace

bool is_block_construct(const Op& op) {
    if (op.regions.empty()) return false;
    return std::any_of(op.regions.begin(), op.regions.end(),
                       [](const Region& region) { return has_barrier(region); }) ||
           jumps_out(op, false, false);
}

std::int64_t local_bytes(const Function& function) {
    std::int64_t total = 0;
    walk_all(function, [&](const Op& op) {
        if (op.code == Opcode::LocalArray) total += static_cast<std::int64_t>(op.imm) * size_of(op.elem);
    });
    return total;
}

std::int64_t called_bytes(const Function& function) {
    std::int64_t most = 0;
    for (const Function& callee : function.callees) most = std::max(most, local_bytes(callee));
    return most;
}

}  // namespace treadle::ir
