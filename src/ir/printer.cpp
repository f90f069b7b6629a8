#include <sstream>

#include "ir/ir.h"

namespace treadle::ir {
namespace {

class Printer {
public:
    explicit Printer(const Function& function) : function_(function) {}

    std::string run() {
        out_ << (function_.is_called ? "function @" : "kernel @") << function_.name << "(";
        for (std::size_t i = 0; i < function_.params.size(); ++i) {
            out_ << (i ? ", " : "") << to_string(function_.params[i]);
        }
        static constexpr const char* kBounds[] = {"guard", "raise", "off"};
        out_ << ") bounds=" << kBounds[static_cast<int>(function_.bounds)];
        if (function_.contract) out_ << " contract";
        if (function_.fastmath) out_ << " fastmath";
        if (function_.shared_bytes != 0) out_ << " shared=" << function_.shared_bytes;
        if (!function_.results.empty()) out_ << " gives";
        for (const std::int32_t variable : function_.results) out_ << " $" << variable;
        out_ << " {\n";
        for (std::size_t i = 0; i < function_.variables.size(); ++i) {
            const Variable& variable = function_.variables[i];
            out_ << "  var $" << i << " " << variable.name << " : " << to_string(variable.type) << "\n";
        }
        for (std::size_t at = 0; at < function_.texts.size();) {
            const std::size_t end = function_.texts.find('\n', at);
            out_ << "  text " << function_.texts.substr(at, end - at) << "\n";
            at = end + 1;
        }
        for (const Table& table : function_.tables) {
            out_ << "  table " << name_of(table.dtype);
            for (const std::uint64_t bits : table.bits) out_ << " " << bits;
            out_ << "\n";
        }
        for (const External& external : function_.externals) {
            out_ << "  external " << external.name << (external.status ? " status" : "") << " (";
            for (std::size_t i = 0; i < external.params.size(); ++i)
                out_ << (i ? ", " : "") << to_string(external.params[i]);
            out_ << ") : " << to_string(external.result) << "\n";
        }
        region(function_.body, 1);
        out_ << "}\n";
        for (const Function& callee : function_.callees) out_ << print(callee);
        return out_.str();
    }

private:
    void indent(int depth) { out_ << std::string(2 * static_cast<std::size_t>(depth), ' '); }

    void region(const Region& region, int depth) {
        for (const Op& op : region) print_op(op, depth);
    }

    void print_op(const Op& op, int depth) {
        indent(depth);
        if (op.result != kNoValue) out_ << "%" << op.result << " = ";
        out_ << info(op.code).text;
        for (std::size_t i = 0; i < op.operands.size(); ++i) out_ << (i ? ", %" : " %") << op.operands[i];
        attributes(op);
        if (op.result != kNoValue) out_ << " : " << to_string(op.type);
        for (const Region& inner : op.regions) {
            out_ << " {\n";
            region(inner, depth + 1);
            indent(depth);
            out_ << "}";
        }
        out_ << "\n";
    }

    void attributes(const Op& op) {
        const char* separator = " {";
        const auto attribute = [&](const char* name, const auto& value) {
            out_ << separator << name << "=" << value;
            separator = ", ";
        };
        if (op.imm != 0) attribute("imm", op.imm);
        if (op.index != 0) attribute("index", op.index);
        if (op.elem != DType::Count) attribute("elem", name_of(op.elem));
        if (op.align != 0) attribute("align", static_cast<int>(op.align));
        if (op.layout != Layout::Any) attribute("layout", static_cast<int>(op.layout));
        if (op.space != Space::Global) attribute("space", static_cast<int>(op.space));
        if (op.line != 0) attribute("line", op.line);
        if (op.exact) attribute("exact", 1);
        if (*separator == ',') out_ << "}";
    }

    const Function& function_;
    std::ostringstream out_;
};

}  // namespace

std::string print(const Function& function) { return Printer(function).run(); }

}  // namespace treadle::ir
