// What the processor can do, found without LLVM, so that a cached artifact can be looked up before LLVM is loaded.
#pragma once

#include <string>

namespace treadle {

enum class VectorIsa { Sse, Avx2, Avx512 };

struct CpuTarget {
    VectorIsa isa;
    std::string cpu;       // LLVM's name of the baseline: x86-64, x86-64-v3, x86-64-v4
    std::string features;  // LLVM feature string beyond the baseline
    int vector_bytes() const { return isa == VectorIsa::Avx512 ? 64 : isa == VectorIsa::Avx2 ? 32 : 16; }
    std::string key() const { return cpu + "/" + features; }
};

// The host's target; TREADLE_CPU=x86-64|x86-64-v3|x86-64-v4 lowers it (raising it is refused). Read once.
const CpuTarget& host_target();

// Short name of the processor for reports.
std::string host_cpu_name();

}  // namespace treadle
