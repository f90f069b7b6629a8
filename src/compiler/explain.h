// What became of a kernel, for its author: how its threads are laid out, where they part, how each access reaches
// memory and which bounds tests are left.
#pragma once

#include <string>

#include "base/cpu_target.h"
#include "ir/ir.h"
#include "service/compiler_service.h"

namespace treadle::compiler {

// One fact a line, in the order of the source; lines are "line N: ..." with numbers of the file where sources are
// known.
std::string explain(const ir::Function& function, const CompileRequest& request, int packet);

}  // namespace treadle::compiler
