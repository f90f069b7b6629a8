// Errors in the user's kernel: file, line, the source line with a caret, and a hint.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "frontend/syntax.h"
#include "service/compiler_service.h"

namespace treadle::frontend {

class Diagnostics {
public:
    explicit Diagnostics(const std::vector<SourceText>& sources) : sources_(sources) {}

    // Throws. function is the index of the function in the program that span belongs to.
    [[noreturn]] void fail(ErrorKind kind, std::size_t function, Span span, const std::string& message,
                           const std::string& hint = "") const;

private:
    const std::vector<SourceText>& sources_;
};

}  // namespace treadle::frontend
