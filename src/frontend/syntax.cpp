#include "frontend/syntax.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/error.h"

namespace treadle::frontend {
namespace {

constexpr std::array kHeads = {
#define TREADLE_HEAD(Name, text) std::string_view(#text),
#include "frontend/syntax.def"
#undef TREADLE_HEAD
};

Head head_from_text(std::string_view text) {
    for (std::size_t i = 0; i < kHeads.size(); ++i) {
        if (kHeads[i] == text) return static_cast<Head>(i);
    }
    return Head::List;
}

class Reader {
public:
    explicit Reader(std::string_view text) : text_(text) {}

    bool at_end() {
        skip_spaces();
        return at_ >= text_.size();
    }

    Node node() {
        skip_spaces();
        if (at_ >= text_.size()) fail("unexpected end");
        if (text_[at_] == ')') fail("unexpected ')'");
        if (text_[at_] != '(') return {Head::Atom, text_[at_] == '"' ? quoted() : atom(), {}, {}};
        ++at_;
        Node list;
        list.head = Head::List;
        skip_spaces();
        if (peek() != '(' && peek() != ')' && peek() != '@') {
            const std::size_t before = at_;
            list.head = head_from_text(atom());
            if (list.head == Head::List) at_ = before;
        }
        skip_spaces();
        if (peek() == '@') list.span = span();
        for (skip_spaces(); peek() != ')'; skip_spaces()) list.items.push_back(node());
        ++at_;
        return list;
    }

private:
    char peek() const {
        if (at_ >= text_.size()) fail("unexpected end");
        return text_[at_];
    }

    void skip_spaces() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    }

    std::string_view atom() {
        const std::size_t begin = at_;
        while (at_ < text_.size() && text_[at_] != ' ' && text_[at_] != '\n' && text_[at_] != '(' && text_[at_] != ')')
            ++at_;
        return text_.substr(begin, at_ - begin);
    }

    std::string_view quoted() {
        const std::size_t begin = at_++;
        while (peek() != '"') at_ += peek() == '\\' ? 2 : 1;
        ++at_;
        return text_.substr(begin, at_ - begin);
    }

    Span span() {
        ++at_;
        Span result;
        result.line = number();
        ++at_;
        result.column = number();
        ++at_;
        result.end = number();
        return result;
    }

    int number() {
        int value = 0;
        const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
        if (error != std::errc()) fail("bad span");
        at_ = static_cast<std::size_t>(end - text_.data());
        return value;
    }

    [[noreturn]] void fail(const char* what) const {
        throw Error(ErrorKind::Internal, "[syntax] at byte " + std::to_string(at_) + ": " + what);
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

bool gives_value(const Node& node) {
    if (node.head == Head::Return) return !node.items.empty();
    return std::any_of(node.items.begin(), node.items.end(), gives_value);
}

int count_returns(const Node& node) {
    int count = node.head == Head::Return;
    for (const Node& item : node.items) count += count_returns(item);
    return count;
}

}  // namespace

std::vector<FunctionSyntax> parse_program(std::string_view text) {
    Reader reader(text);
    std::vector<FunctionSyntax> program;
    while (!reader.at_end()) {
        Node node = reader.node();
        if (node.head != Head::Fn || node.items.size() < 2)
            throw Error(ErrorKind::Internal, "[syntax] expected (fn name (params) ...)");
        FunctionSyntax function;
        function.name = node.items[0].atom;
        // The first parameter may bear the name of a head.
        const Head first = node.items[1].head;
        if (first != Head::List && first != Head::Atom)
            function.params.emplace_back(kHeads[static_cast<std::size_t>(first)]);
        for (const Node& param : node.items[1].items) function.params.emplace_back(param.atom);
        const bool is_declared = node.items.size() > 2 && node.items[2].head == Head::Types;
        if (is_declared) {
            for (const Node& type : node.items[2].items) function.types.push_back(dtype_from_name(type.atom));
            function.result = function.types.front();
            function.types.erase(function.types.begin());
        }
        function.body.assign(std::make_move_iterator(node.items.begin() + (is_declared ? 3 : 2)),
                             std::make_move_iterator(node.items.end()));
        int returns = 0;
        for (const Node& statement : function.body) {
            returns += count_returns(statement);
            function.gives_value = function.gives_value || gives_value(statement);
        }
        function.single_exit = returns == 0 || (returns == 1 && function.body.back().head == Head::Return);
        program.push_back(std::move(function));
    }
    return program;
}

Node parse_node(std::string_view text) { return Reader(text).node(); }

}  // namespace treadle::frontend
