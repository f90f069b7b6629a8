// Loads libtreadle_compiler.so beside this library at the first compilation.
#pragma once

#include "service/compiler_service.h"

namespace treadle::runtime {

// Throws Error(Unsupported) when the library is not there.
CompilerService& compiler();
bool compiler_is_loaded();
double compiler_load_ms();  // 0 before it is loaded

}  // namespace treadle::runtime
