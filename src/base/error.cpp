#include "base/error.h"

namespace treadle {

void throw_device_error(std::string_view driver_name, const std::string& message) {
    throw Error(ErrorKind::Device, std::string(driver_name) + ": " + message);
}

void fail_check(const char* condition, const char* file, int line, const std::string& detail) {
    std::string text =
        "internal error: " + std::string(condition) + " does not hold at " + file + ":" + std::to_string(line);
    if (!detail.empty()) text += " (" + detail + ")";
    throw Error(ErrorKind::Internal, text);
}

}  // namespace treadle
