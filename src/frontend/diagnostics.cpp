#include "frontend/diagnostics.h"

#include <algorithm>

namespace treadle::frontend {
namespace {

std::string line_of(const std::string& text, int number) {
    std::size_t begin = 0;
    for (; number > 0; --number) {
        begin = text.find('\n', begin);
        if (begin == std::string::npos) return "";
        ++begin;
    }
    return text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace

void Diagnostics::fail(ErrorKind kind, std::size_t function, Span span, const std::string& message,
                       const std::string& hint) const {
    std::string text = message;
    if (function < sources_.size() && span.line >= 0) {
        const SourceText& source = sources_[function];
        const std::string line = line_of(source.text, span.line);
        text +=
            "\n  File \"" + source.file + "\", line " + std::to_string(source.first_line + span.line) + "\n    " + line;
        const int end = std::max(span.end, span.column + 1);
        std::string margin = line.substr(0, static_cast<std::size_t>(span.column));
        for (char& letter : margin) letter = letter == '\t' ? '\t' : ' ';
        text += "\n    " + margin + std::string(static_cast<std::size_t>(end - span.column), '^');
    }
    if (!hint.empty()) text += "\n  hint: " + hint;
    throw Error(kind, text);
}

}  // namespace treadle::frontend
