#include "passes/analyze_shapes.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "base/error.h"

namespace treadle::passes {
namespace {

using ir::Op;
using ir::Opcode;
using ir::Shape;

// Regions and the operations that own them form a tree of nodes: a region's parent is its operation, an operation's
// parent is the region it stands in.
struct TreeNode {
    int parent = -1;
    int depth = 0;
    Op* op = nullptr;  // of an operation node
};

constexpr std::uint8_t kUnknownBits = 64;

class Analysis {
public:
    Analysis(ir::Function& function, const PassContext& context) : function_(function), context_(context) {}

    void run() {
        function_.value_shapes.assign(function_.values.size(), Shape::uniform());
        function_.variable_shapes.assign(function_.variables.size(), Shape::uniform());
        function_.nonnegative.assign(function_.values.size(), true);
        assigned_.assign(function_.variables.size(), false);
        variable_nonnegative_.assign(function_.variables.size(), true);
        function_.width_bits.assign(function_.values.size(), 0);
        variable_bits_.assign(function_.variables.size(), 0);
        definitions_.assign(function_.values.size(), nullptr);
        constants_.assign(function_.values.size(), std::nullopt);
        homes_.assign(function_.variables.size(), -1);
        nodes_.push_back({});
        for (const std::int32_t variable : function_.results) homes_[static_cast<std::size_t>(variable)] = 0;
        place(function_.body, 0);
        do {
            changed_ = false;
            TREADLE_CHECK(++rounds_ < 200, "shapes do not settle");
            next_node_ = 0;
            visit(function_.body, take_node());
        } while (changed_);
    }

private:
    // Builds the node tree and each variable's home: the innermost node that holds all its uses.
    void place(ir::Region& region, int node) {
        for (Op& op : region) {
            op.divergent = op.blend = false;
            if (op.code == Opcode::VarGet || op.code == Opcode::VarSet) {
                int& home = homes_[static_cast<std::size_t>(op.index)];
                home = home < 0 ? node : common(home, node);
            }
            if (op.regions.empty()) continue;
            const int owner = add_node(node, &op);
            for (ir::Region& inner : op.regions) place(inner, add_node(owner, nullptr));
        }
    }

    int add_node(int parent, Op* op) {
        nodes_.push_back({parent, nodes_[static_cast<std::size_t>(parent)].depth + 1, op});
        return static_cast<int>(nodes_.size()) - 1;
    }

    const TreeNode& node(int index) const { return nodes_[static_cast<std::size_t>(index)]; }

    int common(int a, int b) const {
        while (a != b)
            (node(a).depth >= node(b).depth ? a : b) = node(a).depth >= node(b).depth ? node(a).parent : node(b).parent;
        return a;
    }

    // Nodes are met in the order in which place made them.
    int take_node() { return next_node_++; }

    void visit(ir::Region& region, int here) {
        for (Op& op : region) {
            if (op.regions.empty()) {
                visit(op, here);
                continue;
            }
            const int owner = take_node();
            if (op.code == Opcode::If) mark(op.divergent, !shape(op.operands[0]).is_uniform());
            for (std::size_t i = 0; i < op.regions.size(); ++i) {
                ir::Region& inner = op.regions[i];
                visit(inner, take_node());
                if (op.code == Opcode::Loop && i == 1)
                    mark(op.divergent, !shape(inner.back().operands[0]).is_uniform());
            }
            (void)owner;
        }
    }

    void visit(Op& op, int here) {
        switch (op.code) {
            case Opcode::VarSet: assign(op, here); return;
            case Opcode::Break:
            case Opcode::Continue: jump(op, here, Opcode::Loop); return;
            case Opcode::Leave: jump(op, here, Opcode::Scope); return;
            case Opcode::Return:
                for (int at = here; at >= 0; at = node(at).parent)
                    mark(op.divergent, node(at).op != nullptr && node(at).op->divergent);
                return;
            default: break;
        }
        if (op.result == ir::kNoValue) return;
        if (op.code == Opcode::Const) constants_[op.result] = op.imm;
        set_shape(function_.value_shapes[op.result], result_shape(op));
        definitions_[op.result] = &op;
        widen(function_.width_bits[op.result], bits_of_result(op));
        const bool nonnegative = is_nonnegative(op);
        if (function_.nonnegative[op.result] && !nonnegative) {
            function_.nonnegative[op.result] = false;
            changed_ = true;
        }
    }

    // Lanes that jump wait at the target: everything they leave on the way is divergent when they do not all jump.
    void jump(Op& op, int here, Opcode target) {
        int end = here;
        while (node(end).op == nullptr || node(end).op->code != target) end = node(end).parent;
        bool divergent = false;
        for (int at = here;; at = node(at).parent) {
            divergent = divergent || (node(at).op != nullptr && node(at).op->divergent);
            if (at == end) break;
        }
        mark(op.divergent, divergent);
        if (!divergent) return;
        for (int at = here;; at = node(at).parent) {
            Op* owner = node(at).op;
            if (owner != nullptr && owner->code != Opcode::If) mark(owner->divergent, true);
            if (at == end) break;
        }
    }

    void assign(Op& op, int here) {
        const auto variable = static_cast<std::size_t>(op.index);
        bool blend = false;
        for (int at = here; at != homes_[variable]; at = node(at).parent) {
            blend = blend || (node(at).op != nullptr && node(at).op->divergent);
        }
        mark(op.blend, blend);
        Shape& old = function_.variable_shapes[variable];
        const Shape value = blend ? Shape::varying() : shape(op.operands[0]);
        set_shape(old, assigned_[variable] ? join(old, value) : value);
        assigned_[variable] = true;
        widen(variable_bits_[variable], bits_of_assignment(op));
        if (variable_nonnegative_[variable] && !function_.nonnegative[op.operands[0]]) {
            variable_nonnegative_[variable] = false;
            changed_ = true;
        }
    }

    Shape result_shape(const Op& op) const {
        switch (op.code) {
            case Opcode::ThreadIdx:
                if (context_.lanes == ir::Lanes::Flat || context_.whole_block) return Shape::varying();
                return op.index == 0 ? Shape::linear(1) : Shape::uniform();
            case Opcode::VarGet: return function_.variable_shapes[static_cast<std::size_t>(op.index)];
            case Opcode::Load:
                // Other packets may write between the reads of two packets.
                if (context_.whole_block) return Shape::varying();
                return op.space == ir::Space::Local ? Shape::varying() : load_shape(op);
            case Opcode::Atomic:
            case Opcode::Call: return Shape::varying();
            case Opcode::Param: return function_.is_called ? Shape::varying() : Shape::uniform();
            case Opcode::LaneId: return Shape::linear(1);
            case Opcode::Match:
                return op.index == 1 && shape(op.operands[0]).is_uniform() ? Shape::uniform() : Shape::varying();
            case Opcode::Vote: return shape(op.operands[0]).is_uniform() ? Shape::uniform() : Shape::varying();
            case Opcode::Shuffle: return shape(op.operands[0]).is_uniform() ? Shape::uniform() : Shape::varying();
            case Opcode::BarrierReduce: return Shape::uniform();
            default: break;
        }
        bool all_uniform = true;
        for (const ir::ValueId operand : op.operands) all_uniform = all_uniform && shape(operand).is_uniform();
        if (all_uniform) return Shape::uniform();
        return linear_shape(op);
    }

    Shape load_shape(const Op& op) const {
        bool all_uniform = true;
        // The last index does not move a broadcast array.
        const std::size_t count =
            op.operands.size() - (op.layout == ir::Layout::InnerZero && function_.bounds != ir::Bounds::Raise ? 1 : 0);
        for (std::size_t i = 0; i < count; ++i) all_uniform = all_uniform && shape(op.operands[i]).is_uniform();
        return all_uniform ? Shape::uniform() : Shape::varying();
    }

    // Only 64-bit integers stay linear: their arithmetic does not wrap inside a packet. A thread index is small, so it
    // stays linear when it is widened.
    Shape linear_shape(const Op& op) const {
        if (op.operands.empty() || !op.type.is_scalar() || op.type.dtype != DType::Int64) return Shape::varying();
        const Shape a = shape(op.operands[0]);
        if (op.code == Opcode::Cast) return a.is_linear() ? a : Shape::varying();
        if (op.operands.size() != 2) return Shape::varying();
        const Shape b = shape(op.operands[1]);
        if (a.is_varying() || b.is_varying()) return Shape::varying();
        const auto factor = [&](ir::ValueId value) {
            return constants_[value] ? static_cast<std::int64_t>(*constants_[value]) : 0;
        };
        switch (op.code) {
            case Opcode::Add: return Shape::linear(a.stride + b.stride);
            case Opcode::Sub: return Shape::linear(a.stride - b.stride);
            case Opcode::Mul:
                if (constants_[op.operands[1]]) return small(a.stride * factor(op.operands[1]));
                if (constants_[op.operands[0]]) return small(b.stride * factor(op.operands[0]));
                return Shape::varying();
            case Opcode::Shl:
                if (constants_[op.operands[1]] && factor(op.operands[1]) < 16)
                    return small(a.stride << factor(op.operands[1]));
                return Shape::varying();
            default: return Shape::varying();
        }
    }

    static Shape small(std::int64_t stride) {
        return stride > -(1 << 20) && stride < (1 << 20) ? Shape::linear(stride) : Shape::varying();
    }

    bool is_nonnegative(const Op& op) const {
        const auto all = [&] {
            for (const ir::ValueId operand : op.operands) {
                if (!function_.nonnegative[operand]) return false;
            }
            return true;
        };
        switch (op.code) {
            case Opcode::Const: return !is_signed(op.type.dtype) || (op.imm >> (bits_of(op.type.dtype) - 1)) == 0;
            case Opcode::ThreadIdx:
            case Opcode::BlockIdx:
            case Opcode::BlockDim:
            case Opcode::GridDim:
            case Opcode::SharedBytes:
            case Opcode::LaneId:
            case Opcode::BarrierReduce: return true;
            case Opcode::VarGet: return variable_nonnegative_[static_cast<std::size_t>(op.index)];
            case Opcode::Cast: return op.type.is_scalar() && op.type.dtype == DType::Int64 && all();
            case Opcode::Add:
            case Opcode::Mul:
            case Opcode::FloorDiv:
            case Opcode::Mod:
            case Opcode::Min:
            case Opcode::Max:
            case Opcode::Shr: return is_integer(op.type.dtype) && all();
            case Opcode::And: return function_.nonnegative[op.operands[0]] || function_.nonnegative[op.operands[1]];
            case Opcode::Select: return function_.nonnegative[op.operands[1]] && function_.nonnegative[op.operands[2]];
            default: return op.type.is_scalar() && (is_unsigned(op.type.dtype) || is_bool(op.type.dtype));
        }
    }

    std::uint8_t bits(ir::ValueId value) const { return function_.width_bits[value]; }

    void widen(std::uint8_t& into, std::uint8_t value) {
        if (value <= into) return;
        into = value;
        changed_ = true;
    }

    // A counter that goes up by small steps does not reach 2 ** 63 before the end of time.
    std::uint8_t bits_of_assignment(const Op& op) const {
        const Op* source = definitions_[op.operands[0]];
        if (source != nullptr && source->code == Opcode::Add) {
            for (int side = 0; side < 2; ++side) {
                const ir::ValueId step = source->operands[static_cast<std::size_t>(1 - side)];
                const Op* counter = definitions_[source->operands[static_cast<std::size_t>(side)]];
                const bool counts = counter != nullptr && counter->code == Opcode::VarGet && counter->index == op.index;
                if (counts && constants_[step] && bits(step) <= 32)
                    return std::max<std::uint8_t>(variable_bits_[static_cast<std::size_t>(op.index)], 1) < kUnknownBits
                               ? 63
                               : kUnknownBits;
            }
        }
        return bits(op.operands[0]);
    }

    // Strict: holds whatever overflows.
    std::uint8_t bits_of_result(const Op& op) const {
        if (!op.type.is_scalar() || is_float(op.type.dtype)) return kUnknownBits;
        const int width = bits_of(op.type.dtype);
        const int limit = is_signed(op.type.dtype) ? width - 1 : std::min(width, 63);
        const auto at_most = [&](int needed) {
            return static_cast<std::uint8_t>(needed <= limit ? needed : kUnknownBits);
        };
        const auto a = [&] { return bits(op.operands[0]); };
        const auto b = [&] { return bits(op.operands[1]); };
        switch (op.code) {
            case Opcode::Const: return at_most(static_cast<int>(std::bit_width(op.imm)));
            case Opcode::ThreadIdx: {
                // Packets reach at most to the next power of two above the block's extent.
                const std::int32_t extent = context_.block[static_cast<std::size_t>(op.index)];
                return extent == 0 ? 16 : static_cast<std::uint8_t>(std::bit_width(static_cast<unsigned>(extent - 1)));
            }
            case Opcode::BlockDim:
            case Opcode::BarrierReduce: return 16;
            case Opcode::SharedBytes: return 31;
            case Opcode::LaneId: return 5;
            case Opcode::BlockIdx:
            case Opcode::GridDim: return 31;
            case Opcode::VarGet: return variable_bits_[static_cast<std::size_t>(op.index)];
            case Opcode::Cast: {
                const ir::Type from = function_.values[op.operands[0]];
                return from.is_scalar() && !is_float(from.dtype) ? at_most(a()) : kUnknownBits;
            }
            case Opcode::Add: return at_most(std::max(a(), b()) + 1);
            case Opcode::Mul: return at_most(a() + b());
            case Opcode::FloorDiv:
            case Opcode::Shr: return b() < kUnknownBits ? a() : kUnknownBits;
            case Opcode::Mod: return a() < kUnknownBits ? b() : kUnknownBits;
            case Opcode::And: return std::min(a(), b());
            case Opcode::Min:
            case Opcode::Max:
            case Opcode::Or:
            case Opcode::Xor: return std::max(a(), b());
            case Opcode::Select: return std::max(b(), bits(op.operands[2]));
            default:
                if (is_bool(op.type.dtype)) return 1;
                return is_unsigned(op.type.dtype) && width < 64 ? static_cast<std::uint8_t>(width) : kUnknownBits;
        }
    }

    Shape shape(ir::ValueId value) const { return function_.value_shapes[value]; }

    void set_shape(Shape& into, Shape value) {
        if (into == value) return;
        into = value;
        changed_ = true;
    }

    void mark(bool& flag, bool value) {
        if (!value || flag) return;
        flag = true;
        changed_ = true;
    }

    ir::Function& function_;
    const PassContext& context_;
    std::vector<TreeNode> nodes_;
    std::vector<int> homes_;
    std::vector<bool> assigned_;
    std::vector<bool> variable_nonnegative_;
    std::vector<std::uint8_t> variable_bits_;
    std::vector<const Op*> definitions_;
    std::vector<std::optional<std::uint64_t>> constants_;
    int next_node_ = 0;
    int rounds_ = 0;
    bool changed_ = false;
};

}  // namespace

bool analyze_shapes(ir::Function& function, const PassContext& context) {
    Analysis(function, context).run();
    return false;
}

}  // namespace treadle::passes
