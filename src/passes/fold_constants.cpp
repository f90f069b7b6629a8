#include "passes/fold_constants.h"

#include <optional>
#include <unordered_map>

namespace treadle::passes {
namespace {

using ir::Op;
using ir::Opcode;
using ir::ValueId;

std::uint64_t fit(DType type, std::uint64_t bits) {
    const int width = bits_of(type);
    return width == 64 ? bits : bits & ((1ull << width) - 1);
}

// The value of a constant as a 64-bit integer with its sign.
std::int64_t extended(DType type, std::uint64_t bits) {
    const int width = bits_of(type);
    if (!is_signed(type) || width == 64) return static_cast<std::int64_t>(bits);
    const int shift = 64 - width;
    return static_cast<std::int64_t>(bits << shift) >> shift;
}

class Folder {
public:
    bool run(ir::Region& region) {
        ir::walk(region, [&](Op& op) { visit(op); });
        return changed_;
    }

private:
    void visit(Op& op) {
        for (ValueId& operand : op.operands) {
            const auto same = replaced_.find(operand);
            if (same != replaced_.end()) {
                operand = same->second;
                changed_ = true;
            }
        }
        if (op.code == Opcode::Const) constants_[op.result] = op.imm;
        if (op.result == ir::kNoValue || !op.type.is_scalar() || is_float(op.type.dtype)) return;
        const DType type = op.type.dtype;
        if (op.code == Opcode::Cast) {
            const auto value = constant(op.operands[0]);
            const auto from = types_.find(op.operands[0]);
            if (value && from != types_.end() && is_integer(from->second))
                become(op, static_cast<std::uint64_t>(extended(from->second, *value)));
        } else if (is_integer(type) && op.operands.size() == 2) {
            binary(op);
        }
        types_[op.result] = type;
    }

    void binary(Op& op) {
        const auto a = constant(op.operands[0]);
        const auto b = constant(op.operands[1]);
        if (a && b) {
            switch (op.code) {
                case Opcode::Add: become(op, *a + *b); return;
                case Opcode::Sub: become(op, *a - *b); return;
                case Opcode::Mul: become(op, *a * *b); return;
                case Opcode::And: become(op, *a & *b); return;
                case Opcode::Or: become(op, *a | *b); return;
                case Opcode::Xor: become(op, *a ^ *b); return;
                default: return;
            }
        }
        const bool is_product = op.code == Opcode::Mul;
        const std::uint64_t neutral = is_product ? 1 : 0;
        if (b && *b == neutral && (is_product || op.code == Opcode::Add || op.code == Opcode::Sub))
            replaced_[op.result] = op.operands[0];
        if (a && *a == neutral && (is_product || op.code == Opcode::Add)) replaced_[op.result] = op.operands[1];
    }

    void become(Op& op, std::uint64_t bits) {
        op.code = Opcode::Const;
        op.operands.clear();
        op.index = 0;
        op.imm = fit(op.type.dtype, bits);
        constants_[op.result] = op.imm;
        changed_ = true;
    }

    std::optional<std::uint64_t> constant(ValueId value) const {
        const auto found = constants_.find(value);
        if (found == constants_.end()) return std::nullopt;
        return found->second;
    }

    std::unordered_map<ValueId, std::uint64_t> constants_;
    std::unordered_map<ValueId, DType> types_;
    std::unordered_map<ValueId, ValueId> replaced_;
    bool changed_ = false;
};

}  // namespace

bool fold_constants(ir::Function& function, const PassContext&) { return Folder().run(function.body); }

}  // namespace treadle::passes
