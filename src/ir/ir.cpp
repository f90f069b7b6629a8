#include "ir/ir.h"

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

bool uses_block(const Function& function) {
    bool found = false;
    walk(function.body, [&](const Op& op) {
        found = found || op.code == Opcode::Barrier || op.code == Opcode::BarrierReduce ||
                op.code == Opcode::SharedArray;
    });
    return found;
}

bool has_barrier(const Function& function) {
    bool found = false;
    walk(function.body, [&](const Op& op) {
        found = found || op.code == Opcode::Barrier || op.code == Opcode::BarrierReduce;
    });
    return found;
}

}  // namespace treadle::ir
