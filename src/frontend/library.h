// The built-in function library (src/library), embedded as kernel syntax text when Treadle is built.
#pragma once

#include <string_view>

namespace treadle::frontend {

// The text "(fn name (params) ...)" of a library function such as sin_f32; empty when there is none.
std::string_view library_text(std::string_view name);

}  // namespace treadle::frontend
