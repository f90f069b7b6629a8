#include "codegen/cpu/packet_width.h"

#include <algorithm>
#include <vector>

namespace treadle::codegen {
namespace {

int weight(DType type) { return is_bool(type) ? 0 : std::max(1, size_of(type) / 4); }

// Live ranges in program order; a variable lives from its first to its last use.
class Pressure {
public:
    explicit Pressure(const ir::Function& function) : function_(function) {
        value_ends_.assign(function.values.size(), -1);
        variable_begins_.assign(function.variables.size(), -1);
        variable_ends_.assign(function.variables.size(), -1);
        measure(function.body);
        changes_.assign(static_cast<std::size_t>(position_) + 2, 0);
        position_ = 0;
        add(function.body);
        for (std::size_t i = 0; i < function.variables.size(); ++i) {
            if (variable_begins_[i] < 0 || !function.variable_shapes[i].is_varying()) continue;
            change(variable_begins_[i], variable_ends_[i],
                   weight(function.variables[i].type.is_scalar() ? function.variables[i].type.dtype : DType::Int64));
        }
    }

    int highest() const {
        int now = 0;
        int most = 0;
        for (const int step : changes_) most = std::max(most, now += step);
        return most;
    }

private:
    void measure(const ir::Region& region) {
        for (const ir::Op& op : region) {
            ++position_;
            for (const ir::ValueId operand : op.operands) value_ends_[operand] = position_;
            if (op.code == ir::Opcode::VarGet || op.code == ir::Opcode::VarSet) {
                const auto variable = static_cast<std::size_t>(op.index);
                if (variable_begins_[variable] < 0) variable_begins_[variable] = position_;
                variable_ends_[variable] = position_;
            }
            for (const ir::Region& inner : op.regions) measure(inner);
        }
    }

    void add(const ir::Region& region) {
        for (const ir::Op& op : region) {
            ++position_;
            // A read of a variable is the variable itself.
            const bool counts = op.result != ir::kNoValue && op.code != ir::Opcode::VarGet && op.type.is_scalar() &&
                                function_.value_shapes[op.result].is_varying();
            if (counts) change(position_, value_ends_[op.result], weight(op.type.dtype));
            for (const ir::Region& inner : op.regions) add(inner);
        }
    }

    void change(int begin, int end, int by) {
        if (end <= begin) return;
        changes_[static_cast<std::size_t>(begin)] += by;
        changes_[static_cast<std::size_t>(end)] -= by;
    }

    const ir::Function& function_;
    std::vector<int> value_ends_;
    std::vector<int> variable_begins_;
    std::vector<int> variable_ends_;
    std::vector<int> changes_;
    int position_ = 0;
};

}  // namespace

int pressure(const ir::Function& function) { return Pressure(function).highest(); }

int choose_packet(const ir::Function& function, const CpuTarget& target) {
    const int lanes = target.vector_bytes() / 4;
    const int live = std::max(1, pressure(function));
    const int registers = target.isa == VectorIsa::Avx512 ? 32 : 16;
    // Some spilling costs less than idle execution units: measured on Mandelbrot and matrix product.
    const int vectors = 2 * live <= registers + 8 ? 4 : live <= registers ? 2 : 1;
    return std::min(64, lanes * vectors);
}

}  // namespace treadle::codegen
