// The kernel syntax tree: what docs/design/syntax.md describes, parsed.
//
//     Program program = parse_program("(fn f (x) (set y (bin + x 1)))");
//     program.functions[0].node.items[3].head == Head::Set
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace treadle::frontend {

// A place in the source of one function: line counted from the function's first line (0), columns from 0; end
// exclusive.
struct Span {
    int line = -1;
    int column = 0;
    int end = 0;
};

// The first atom of a list.
enum class Head {
#define TREADLE_HEAD(Name, text) Name,
#include "frontend/syntax.def"
#undef TREADLE_HEAD
    Atom,  // not a list
    List,  // a list that begins with another list, or is empty
};

struct Node {
    Head head = Head::Atom;
    std::string_view atom;    // of an Atom; points into the program text
    std::vector<Node> items;  // of a list, without its head atom
    Span span;

    bool is_atom() const { return head == Head::Atom; }
};

struct FunctionSyntax {
    std::string name;
    std::vector<std::string> params;
    std::vector<Node> body;
    bool single_exit = false;  // its only return is its last statement
    bool gives_value = false;  // some return has one
    // Declared types of numbers, to which arguments and results are converted; Count where there is none.
    std::vector<DType> types;  // of the parameters; empty: nothing is declared
    DType result = DType::Count;
};

// The node tree points into text, which must outlive it.
std::vector<FunctionSyntax> parse_program(std::string_view text);
// One expression by itself; the same holds.
Node parse_node(std::string_view text);

}  // namespace treadle::frontend
