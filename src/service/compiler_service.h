// The one door to the compiler: plain data in, an artifact out. The library behind it (and LLVM) is loaded at the first
// call that is not answered by a cache.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/artifact.h"
#include "base/code_image.h"
#include "base/dtype.h"
#include "base/kernel_facts.h"

namespace treadle {

// The type of one kernel argument.
struct ArgType {
    enum class Kind : std::uint8_t { Scalar, Array, Tuple, None, Record };  // Record: a copy that is only read
    Kind kind = Kind::Scalar;
    DType dtype = DType::Count;
    std::uint8_t rank = 0;
    Layout layout = Layout::Any;
    std::string record;              // layout of a Record, or of the elements of an Array that holds records
    std::vector<ArgType> items;      // of a Tuple
    std::vector<std::string> names;  // of the items of a named tuple

    bool operator==(const ArgType&) const = default;
};

struct CompileOptions {
    Bounds bounds = Bounds::Guard;
    bool contract = true;
    bool fastmath = false;
    bool strict_types = false;  // operands must agree, literals adapt: library and array code
    Lanes lanes = Lanes::Line;
    bool full_packets = false;  // the threads that packets run over are a multiple of packet_limit
    int packet_limit = 64;      // lanes, a power of two; the compiler chooses up to this
    int packet = 0;             // lanes, for tests; 0: the compiler chooses
    DebugLevel debug = DebugLevel::None;
    bool optimize = true;     // false: variables stay in memory, and a packet is one thread where it may be
    BlockDims block{};        // threads of a block where the kernel is made for one shape, else zeros
    int cuda_capability = 0;  // of the GPU that it is for, 10 * major + minor; 0: this machine's CPU
    int most_threads = 1024;  // of a block on a GPU
    bool coarse = false;      // for a large grid: a block of the GPU may run several of the program's
    // Which extents of the array arguments are equal: for each, in order, the number of the first one that is. Empty:
    // nothing is known. Tests of indices that one extent bounds then stand for those of the others.
    std::string equal_extents;
    // Whether extents, strides and 64-bit integers among the arguments lie in [-2 ** 31, 2 ** 31): GPUs count in 32
    // bits twice as fast.
    bool small_numbers = false;
    int min_blocks = 0;           // that a multiprocessor of the GPU has room for; 0: any number
    int max_registers = 0;        // of a thread of a GPU; 0: as many as the block leaves
    std::string disabled_passes;  // comma-separated

    bool operator==(const CompileOptions&) const = default;
    std::string key() const;
};

struct CompileRequest {
    std::string program;  // kernel syntax text, the kernel first
    std::vector<ArgType> args;
    CompileOptions options;
    std::vector<SourceText> sources;          // one for each function of the program; may be empty
    std::shared_ptr<const CodeImages> links;  // what the functions that it declares are found in; may be null
};

class CompilerService {
public:
    virtual ~CompilerService() = default;
    virtual Artifact compile(const CompileRequest& request) = 0;
    // A stage as text: "ir" (after the front end), "types" (frontend/lowering.h), "waits" (whether
    // threads wait in loops or for the grid: "true" or nothing), "passes", "llvm", "asm".
    virtual std::string dump(const CompileRequest& request, const std::string& stage) = 0;
    virtual std::string version() const = 0;
};

// The symbol that libtreadle_compiler.so exports.
inline constexpr const char* kCompilerServiceSymbol = "treadle_compiler_service";

}  // namespace treadle
