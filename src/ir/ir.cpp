#include "ir/ir.h"

#include <algorithm>
#include <array>
#include <initializer_list>

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

bool holds_any(const Function& function, std::initializer_list<Opcode> codes) {
    bool found = false;
    walk(function.body,
         [&](const Op& op) { found = found || std::find(codes.begin(), codes.end(), op.code) != codes.end(); });
    return found;
}

}  // namespace

bool uses_block(const Function& function) {
    return has_barrier(function) || holds_any(function, {Opcode::SharedArray});
}

bool has_barrier(const Function& function) { return holds_any(function, {Opcode::Barrier, Opcode::BarrierReduce}); }

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

bool holds_barrier(const Op& op) {
    if (op.code == Opcode::Barrier || op.code == Opcode::BarrierReduce) return true;
    for (const Region& region : op.regions) {
        for (const Op& inner : region) {
            if (holds_barrier(inner)) return true;
        }
    }
    return false;
}

}  // namespace

bool is_block_construct(const Op& op) {
    return !op.regions.empty() && (holds_barrier(op) || jumps_out(op, false, false));
}

bool meets_grid(const Function& function) {
    bool found = false;
    walk(function.body, [&](const Op& op) { found = found || (op.code == Opcode::Barrier && op.index == 1); });
    return found;
}

bool has_spin(const Function& function) {
    bool found = false;
    walk(function.body, [&](const Op& op) { found = found || (op.code == Opcode::Loop && op.index == 1); });
    return found;
}

std::int64_t local_bytes(const Function& function) {
    std::int64_t total = 0;
    walk(function.body, [&](const Op& op) {
        if (op.code == Opcode::LocalArray) total += static_cast<std::int64_t>(op.imm) * size_of(op.elem);
    });
    return total;
}

bool uses_warp(const Function& function) {
    bool meets = false;
    walk(function.body, [&](const Op& op) {
        meets = meets || (op.code == Opcode::Fence && op.index == static_cast<std::int32_t>(FenceKind::Warp));
    });
    return meets ||
           holds_any(function, {Opcode::LaneId, Opcode::ActiveMask, Opcode::Shuffle, Opcode::Vote, Opcode::Match});
}

}  // namespace treadle::ir
