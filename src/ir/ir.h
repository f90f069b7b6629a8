// The kernel IR: typed operations in structured regions, with mutable per-thread variables.
//
//     kernel @scale(%0: ptr, %1: int64, %2: int64) bounds=guard {
//       %3 = thread_idx : int32
//       %4 = cast %3 : int64
//       %5 = load %0, %1, %2, %4 {index=1, layout=1} : float32
//       %6 = add %5, %5 : float32
//       store %0, %1, %2, %4, %6 {index=1, layout=1, elem=float32}
//     }
//
// Values are defined once and visible in the rest of their region and in regions inside it. What changes lives in
// variables (var_get, var_set), so that control flow needs no joins and masks can be laid over it; LLVM makes registers
// of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/kernel_facts.h"
#include "ir/shape.h"

namespace treadle::ir {

enum class Opcode : std::uint8_t {
#define TREADLE_OP(Name, text, operands, result, regions, traits) Name,
#include "ir/ops.def"
#undef TREADLE_OP
    Count
};

struct OpInfo {
    std::string_view text;
    int operands;
    char result;
    int regions;
    std::string_view traits;
    bool has(char trait) const { return traits.find(trait) != std::string_view::npos; }
};
const OpInfo& info(Opcode code);
Opcode opcode_from_text(std::string_view text);  // Opcode::Count when unknown

// The type of a value: an element type, a pointer, or nothing.
struct Type {
    enum class Kind : std::uint8_t { None, Scalar, Pointer };
    Kind kind = Kind::None;
    DType dtype = DType::Count;

    static Type none() { return {}; }
    static Type scalar(DType dtype) { return {Kind::Scalar, dtype}; }
    static Type pointer() { return {Kind::Pointer, DType::Count}; }
    bool is_scalar() const { return kind == Kind::Scalar; }
    bool is_pointer() const { return kind == Kind::Pointer; }
    bool operator==(const Type&) const = default;
};
std::string to_string(Type type);

using treadle::Bounds;
using treadle::Lanes;
using treadle::Layout;

enum class AtomicKind : std::uint8_t {
#define TREADLE_ATOMIC(Name, text, operands, types) Name,
#include "ir/atomics.def"
#undef TREADLE_ATOMIC
    Count
};

enum class BarrierKind : std::uint8_t { Count, And, Or };  // what syncthreads_count, _and and _or give

// Whose accesses a fence puts in order. A warp is a packet where it has one, and so needs no more than that.
enum class FenceKind : std::uint8_t { Block, Device, Warp, System };
enum class ShuffleKind : std::uint8_t { Index, Up, Down, Xor };
enum class VoteKind : std::uint8_t { All, Any, Equal, Ballot };
inline constexpr int kWarp = 32;

// Whose memory a pointer points into.
enum class Space : std::uint8_t {
    Global,
    Shared,    // of a block
    Local,     // of a thread: the lanes of a packet lie side by side, so strides count packets
    Constant,  // read only
};

// A line number holds the function it counts in: (index in the program << kLineBits) | line, the first line being 1.
inline constexpr int kLineBits = 20;

using ValueId = std::uint32_t;
inline constexpr ValueId kNoValue = ~0u;

struct Op;
using Region = std::vector<Op>;

struct Op {
    Opcode code = Opcode::Const;
    Type type;  // of the result
    ValueId result = kNoValue;
    std::vector<ValueId> operands;
    std::vector<Region> regions;
    std::uint64_t imm = 0;      // Const: the bits, zero-extended
    std::int32_t index = 0;     // dimension, parameter, variable, rank or table
    DType elem = DType::Count;  // element type in memory
    std::uint8_t align = 0;     // bytes that divide the address of an access, where less than its type asks for; else 0
    Layout layout = Layout::Any;
    Space space = Space::Global;
    std::int32_t line = 0;  // see kLineBits
    bool exact = false;     // float operation that must not be contracted
    // filled in by passes/analyze_shapes, not part of the text
    bool divergent = false;  // control flow on which the lanes of a packet may part
    bool blend = false;      // var_set that must keep the old value of inactive lanes
};

struct Variable {
    std::string name;
    Type type;
};

struct Table {
    DType dtype;
    std::vector<std::uint64_t> bits;
};

// A function in code of another compiler, linked later.
struct External {
    std::string name;
    bool status = false;  // it returns a status and takes the address of its result before its parameters
    Type result;
    std::vector<Type> params;
    bool operator==(const External&) const = default;
};

struct Function {
    std::string name;
    std::vector<Type> params;
    std::vector<Variable> variables;
    std::vector<Table> tables;
    std::vector<External> externals;
    std::vector<Type> values;  // type of each value by id
    Bounds bounds = Bounds::Guard;
    bool contract = true;  // a * b + c may be rounded once
    bool fastmath = false;
    std::uint32_t shared_bytes = 0;  // of all shared arrays of known size
    std::string texts;               // what is printed and raised, a line of JSON each
    Region body;
    // Functions that are called, since they call themselves in the end; all others are inlined. Calls in any of them
    // name functions of the kernel's list.
    std::vector<Function> callees;
    bool is_called = false;             // one of those; its parameters differ between threads
    std::vector<std::int32_t> results;  // variables that hold what it gives
    // filled in by passes/split_blocks
    bool splits = false;                // packets run from barrier to barrier, all of them through each piece
    std::vector<bool> block_values;     // by value: computed once for a block
    std::vector<bool> block_variables;  // by variable: there is one for a block
    // filled in by passes/analyze_shapes
    std::vector<Shape> value_shapes;
    std::vector<Shape> variable_shapes;
    std::vector<bool> nonnegative;  // by value: >= 0 unless arithmetic overflowed; good for indices, which are tested
    std::vector<std::uint8_t> width_bits;  // by value: an integer in [0, 2 ** bits); 64 where that is not known

    ValueId new_value(Type type) {
        values.push_back(type);
        return static_cast<ValueId>(values.size() - 1);
    }
};

std::string print(const Function& function);
// Reads what print writes. Throws Error(Compile) with the line number on malformed text.
Function parse(std::string_view text);
// Checks operand counts, types, dominance and structure; throws Error(Internal) naming the operation.
void verify(const Function& function);

// Where a new shared array begins: behind those there are, aligned for any vector.
inline constexpr std::uint32_t kSharedAlign = 64;
inline std::uint32_t aligned_shared(std::uint64_t bytes) {
    return static_cast<std::uint32_t>((bytes + kSharedAlign - 1) / kSharedAlign * kSharedAlign);
}

// Whether the threads of a block meet or share memory: the block must then be run as a whole.
bool uses_block(const Function& function);
inline bool is_barrier(const Op& op) { return op.code == Opcode::Barrier || op.code == Opcode::BarrierReduce; }
bool has_barrier(const Region& region);
inline bool has_barrier(const Function& function) { return has_barrier(function.body); }
bool meets_grid(const Function& function);
// Control flow that holds a barrier, or leaves a loop or an inlined function that does.
bool is_block_construct(const Op& op);
// Loops that wait for another thread; passes/mark_spins finds them.
bool has_spin(const Function& function);
inline bool runs_by_packet(const Function& function) {
    return uses_block(function) || has_spin(function) || !function.callees.empty();
}
bool uses_warp(const Function& function);
// Whether it, or a function that it calls, calls code of another compiler.
bool needs_links(const Function& function);
// Of the local arrays of one thread, each function that is called counting once.
std::int64_t local_bytes(const Function& function);
// Of those of the function among the called ones that has most.
std::int64_t called_bytes(const Function& function);
// Of the local arrays of threads that run at once on the stack of a host thread.
inline constexpr std::int64_t kMostStackBytes = std::int64_t{1} << 20;

// Calls visit(op) for every operation, outer ones before inner ones.
template <class Region, class Visit>
void walk(Region& region, const Visit& visit) {
    for (auto& op : region) {
        visit(op);
        for (auto& inner : op.regions) walk(inner, visit);
    }
}

// The same for all operations of a kernel and of the functions it calls.
template <class Function, class Visit>
void walk_all(Function& kernel, const Visit& visit) {
    walk(kernel.body, visit);
    for (auto& callee : kernel.callees) walk(callee.body, visit);
}

}  // namespace treadle::ir
