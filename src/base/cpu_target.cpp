#include "base/cpu_target.h"

#include <cstdlib>
#include <fstream>

#include "base/error.h"

namespace treadle {
namespace {

CpuTarget target_named(const std::string& cpu) {
    if (cpu == "x86-64-v4") return {VectorIsa::Avx512, cpu, ""};
    if (cpu == "x86-64-v3") return {VectorIsa::Avx2, cpu, ""};
    return {VectorIsa::Sse, "x86-64", ""};
}

CpuTarget detect() {
    __builtin_cpu_init();
    std::string best = "x86-64";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
        best = "x86-64-v3";
    if (best == "x86-64-v3" && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512cd")) {
        best = "x86-64-v4";
    }
    if (const char* asked = std::getenv("TREADLE_CPU"); asked != nullptr && *asked != '\0') {
        const std::string name = asked;
        if (name != "x86-64" && name != "x86-64-v3" && name != "x86-64-v4") {
            throw Error(ErrorKind::Argument,
                        "[TREADLE_CPU] expected x86-64, x86-64-v3 or x86-64-v4, got '" + name + "'");
        }
        if (name > best) {
            throw Error(ErrorKind::Argument,
                        "[TREADLE_CPU] this processor is at most " + best + ", got '" + name + "'");
        }
        best = name;
    }
    CpuTarget target = target_named(best);
    return target;
}

}  // namespace

const CpuTarget& host_target() {
    static const CpuTarget target = detect();
    return target;
}

std::string host_cpu_name() {
    std::ifstream file("/proc/cpuinfo");
    std::string line;
    while (std::getline(file, line)) {
        const auto colon = line.find(": ");
        if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
    }
    return "CPU";
}

}  // namespace treadle
