#include <cctype>
#include <charconv>

#include "base/error.h"
#include "ir/ir.h"

namespace treadle::ir {
namespace {

class Parser {
public:
    explicit Parser(std::string_view text) : text_(text) {}

    Function run() {
        expect("kernel");
        expect("@");
        function_.name = word();
        expect("(");
        while (!accept(")")) {
            function_.params.push_back(type());
            accept(",");
        }
        header_flags();
        expect("{");
        while (true) {
            if (accept_word("var")) {
                expect("$");
                number();
                std::string name = word();
                expect(":");
                function_.variables.push_back({std::move(name), type()});
            } else if (accept_word("text")) {
                skip_spaces();
                const std::size_t end = text_.find('\n', at_);
                function_.texts += std::string(text_.substr(at_, end - at_)) + "\n";
                at_ = end;
            } else if (accept_word("table")) {
                table();
            } else if (accept_word("external")) {
                external();
            } else {
                break;
            }
        }
        function_.body = region();
        return std::move(function_);
    }

private:
    void header_flags() {
        while (true) {
            if (accept_word("contract")) {
                contract_ = true;
            } else if (accept_word("fastmath")) {
                function_.fastmath = true;
            } else if (accept_word("shared")) {
                expect("=");
                function_.shared_bytes = static_cast<std::uint32_t>(number());
            } else if (accept_word("bounds")) {
                expect("=");
                const std::string mode = word();
                function_.bounds = mode == "raise" ? Bounds::Raise : mode == "off" ? Bounds::Off : Bounds::Guard;
            } else {
                break;
            }
        }
        function_.contract = contract_;
    }

    void external() {
        External external;
        external.name = word();
        external.status = accept_word("status");
        expect("(");
        while (!accept(")")) {
            external.params.push_back(type());
            accept(",");
        }
        expect(":");
        external.result = type();
        function_.externals.push_back(std::move(external));
    }

    void table() {
        Table table{type().dtype, {}};
        skip_spaces(false);
        while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) {
            table.bits.push_back(number());
            skip_spaces(false);
        }
        function_.tables.push_back(std::move(table));
    }

    Region region() {
        Region result;
        while (!accept("}")) result.push_back(op());
        return result;
    }

    Op op() {
        Op op;
        if (accept("%")) {
            op.result = static_cast<ValueId>(number());
            expect("=");
        }
        const std::string name = word();
        op.code = opcode_from_text(name);
        if (op.code == Opcode::Count) fail("unknown operation '" + name + "'");
        // Operands stand on the line of their operation: the next line may begin with a result.
        while (skip_spaces(false), at_ < text_.size() && text_[at_] == '%') {
            ++at_;
            op.operands.push_back(static_cast<ValueId>(number()));
            if (!accept(",")) break;
        }
        // An attribute list opens with {name=; a region opens with anything else.
        if (peek_attributes()) attributes(op);
        if (accept(":")) op.type = type();
        if (op.result != kNoValue) {
            if (function_.values.size() <= op.result) function_.values.resize(op.result + 1);
            function_.values[op.result] = op.type;
        }
        for (int i = 0; i < info(op.code).regions; ++i) {
            expect("{");
            op.regions.push_back(region());
        }
        return op;
    }

    bool peek_attributes() {
        const std::size_t before = at_;
        bool found = false;
        if (accept("{")) {
            skip_spaces();
            std::size_t end = at_;
            while (end < text_.size() && std::isalpha(static_cast<unsigned char>(text_[end]))) ++end;
            found = end > at_ && end < text_.size() && text_[end] == '=';
        }
        at_ = before;
        return found;
    }

    void attributes(Op& op) {
        expect("{");
        while (!accept("}")) {
            const std::string name = word();
            expect("=");
            if (name == "elem") {
                op.elem = type().dtype;
            } else {
                const std::uint64_t value = number();
                if (name == "imm") op.imm = value;
                if (name == "index") op.index = static_cast<std::int32_t>(value);
                if (name == "align") op.align = static_cast<std::uint8_t>(value);
                if (name == "layout") op.layout = static_cast<Layout>(value);
                if (name == "space") op.space = static_cast<Space>(value);
                if (name == "line") op.line = static_cast<std::int32_t>(value);
                if (name == "exact") op.exact = value != 0;
            }
            accept(",");
        }
    }

    Type type() {
        const std::string name = word();
        if (name == "ptr") return Type::pointer();
        if (name == "none") return Type::none();
        const DType dtype = dtype_from_name(name);
        if (dtype == DType::Count) fail("unknown type '" + name + "'");
        return Type::scalar(dtype);
    }

    std::uint64_t number() {
        skip_spaces();
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
        if (error != std::errc()) fail("expected a number");
        at_ = static_cast<std::size_t>(end - text_.data());
        return value;
    }

    std::string word() {
        skip_spaces();
        const std::size_t begin = at_;
        while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_' ||
                                      text_[at_] == '.' || text_[at_] == '<' || text_[at_] == '>')) {
            ++at_;
        }
        if (at_ == begin) fail("expected a word");
        return std::string(text_.substr(begin, at_ - begin));
    }

    bool accept(std::string_view token) {
        skip_spaces();
        if (text_.substr(at_, token.size()) != token) return false;
        at_ += token.size();
        return true;
    }

    bool accept_word(std::string_view token) {
        skip_spaces();
        const std::size_t end = at_ + token.size();
        if (text_.substr(at_, token.size()) != token) return false;
        if (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '_'))
            return false;
        at_ = end;
        return true;
    }

    void expect(std::string_view token) {
        if (!accept(token)) fail("expected '" + std::string(token) + "'");
    }

    void skip_spaces(bool lines = true) {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || (lines && text_[at_] == '\n'))) ++at_;
    }

    [[noreturn]] void fail(const std::string& what) const {
        std::size_t line = 1;
        for (std::size_t i = 0; i < at_ && i < text_.size(); ++i) line += text_[i] == '\n';
        throw Error(ErrorKind::Compile, "[ir] line " + std::to_string(line) + ": " + what);
    }

    std::string_view text_;
    std::size_t at_ = 0;
    bool contract_ = false;
    Function function_;
};

}  // namespace

Function parse(std::string_view text) { return Parser(text).run(); }

}  // namespace treadle::ir
