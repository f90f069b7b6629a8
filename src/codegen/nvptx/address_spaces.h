// NVPTX's numbers for its memories.
#pragma once

namespace treadle::codegen::nvptx {

inline constexpr unsigned kGeneric = 0;
inline constexpr unsigned kGlobal = 1;
inline constexpr unsigned kShared = 3;

}  // namespace treadle::codegen::nvptx
