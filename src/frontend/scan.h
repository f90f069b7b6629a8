// Which local names of a function need a variable of their own, and which are plain names for values.
//
// A name whose assignments all stand in one statement list, and whose uses all come after the first of them in that
// list or in lists inside it, just names the latest value: each assignment may then have a type of its own, as in
// straight-line code of numba. Every other name (set on one side of an if, carried round a loop) is a variable with one
// unified type.
#pragma once

#include <set>
#include <string>

#include "frontend/syntax.h"

namespace treadle::frontend {

std::set<std::string, std::less<>> names_that_need_variables(const FunctionSyntax& function);

}  // namespace treadle::frontend
