// Compiled code of other compilers, which is linked to kernels or to each other.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace treadle {

enum class CodeKind : std::uint8_t {
#define TREADLE_CODE_KIND(Name, text, driver, nvjitlink) Name,
#include "base/code_kinds.def"
#undef TREADLE_CODE_KIND
    Count
};

struct CodeKindInfo {
    std::string_view text;
    int driver;
    int nvjitlink;
};
inline constexpr CodeKindInfo kCodeKinds[] = {
#define TREADLE_CODE_KIND(Name, text, driver, nvjitlink) {text, driver, nvjitlink},
#include "base/code_kinds.def"
#undef TREADLE_CODE_KIND
};
inline const CodeKindInfo& info(CodeKind kind) { return kCodeKinds[static_cast<std::size_t>(kind)]; }

struct CodeImage {
    CodeKind kind = CodeKind::Ptx;
    std::string data;
    std::string name;  // in messages of linkers
};
using CodeImages = std::vector<CodeImage>;

}  // namespace treadle
