// Errors. User-visible failures are thrown as Error with a kind; broken invariants of ours go through TREADLE_CHECK.
//
//     throw Error(ErrorKind::Argument, "[reshape] expected 12 elements, got shape (5, 2)");
//
// The binding maps kinds to Python exceptions with the one table in errors.def.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace treadle {

enum class ErrorKind {
#define TREADLE_ERROR(Kind, python) Kind,
#include "base/errors.def"
#undef TREADLE_ERROR
};

class Error : public std::runtime_error {
public:
    Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
    ErrorKind kind() const noexcept { return kind_; }

private:
    ErrorKind kind_;
};

// Driver error names, the same on every device: CUDA_ERROR_INVALID_VALUE and so on.
[[noreturn]] void throw_device_error(std::string_view driver_name, const std::string& message);

[[noreturn]] void fail_check(const char* condition, const char* file, int line, const std::string& detail);

}  // namespace treadle

#define TREADLE_CHECK(condition, ...)                                                                      \
    do {                                                                                                   \
        if (!(condition)) ::treadle::fail_check(#condition, __FILE__, __LINE__, std::string(__VA_ARGS__)); \
    } while (false)
