// The one door to the compiler: plain data in, an artifact out. The library behind it (and LLVM) is loaded at the first call
// that is not answered by a cache.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace treadle {

// The type of one kernel argument. Layout codes are those of ir::Layout.
struct ArgType {
    enum class Kind : std::uint8_t { Scalar, Array, Tuple };
    Kind kind = Kind::Scalar;
    DType dtype = DType::Count;
    std::uint8_t rank = 0;
    std::uint8_t layout = 0;
    std::vector<ArgType> items;  // of a Tuple

    bool operator==(const ArgType&) const = default;
};

// How threads of a block map to vector lanes.
enum class ThreadLayout : std::uint8_t {
    Line,  // blocks of one dimension
    Rows,  // several dimensions, x long enough to fill packets
    Flat,  // several dimensions, packets run over the linear thread index
};

struct SourceText {
    std::string file;
    int first_line = 1;
    std::string text;  // the function's lines as written
};

struct CompileOptions {
    enum class Bounds : std::uint8_t { Guard, Raise, Off };
    Bounds bounds = Bounds::Guard;
    bool contract = true;
    bool fastmath = false;
    bool strict_types = false;  // operands must agree, literals adapt: library and array code
    ThreadLayout layout = ThreadLayout::Line;
    bool full_packets = false;  // the threads that packets run over are a multiple of packet_limit
    int packet_limit = 64;      // lanes, a power of two; the compiler chooses up to this
    int packet = 0;             // lanes, for tests; 0: the compiler chooses
    std::string disabled_passes;  // comma-separated

    bool operator==(const CompileOptions&) const = default;
    std::string key() const;
};

struct CompileRequest {
    std::string program;  // kernel syntax text, the kernel first
    std::vector<ArgType> args;
    CompileOptions options;
    std::vector<SourceText> sources;  // one for each function of the program; may be empty
};

struct Artifact {
    std::string object;   // relocatable object for the CPU device
    int packet = 0;       // lanes of a packet
    int param_slots = 0;  // 8-byte words of parameters
    double compile_ms = 0;
};

class CompilerService {
public:
    virtual ~CompilerService() = default;
    virtual Artifact compile(const CompileRequest& request) = 0;
    // A stage as text: "ir" (after the front end), "passes", "llvm", "asm".
    virtual std::string dump(const CompileRequest& request, const std::string& stage) = 0;
    virtual std::string version() const = 0;
};

// The symbol that libtreadle_compiler.so exports.
inline constexpr const char* kCompilerServiceSymbol = "treadle_compiler_service";

}  // namespace treadle
