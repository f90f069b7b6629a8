// Stacks that a thread runs on in turn: a packet that waits at a barrier keeps its place while the others come up.
//
//     Stacks stacks;
//     stacks.prepare(packets, bytes);
//     fiber.start(stacks, number, entry, argument);
//     switch_to(&current.stack_pointer, fiber.stack_pointer);
//
// Ours, because a library's switch saves the signal mask and floating-point state as well, which costs a hundred times
// what a barrier may cost.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/kernel_abi.h"

namespace treadle::device {

// Saves the registers that a callee keeps, stores the stack pointer, and goes on where the other stack was left.
extern "C" void treadle_switch_stack(void** save, void* to);

// What kernels call at a barrier. Saves the registers, asks treadle_arrive on which stack to go on, and returns there:
// with the value that lies where *stack pointed when that stack was left.
extern "C" std::int64_t treadle_barrier(BlockContext* context, std::int64_t line, std::int64_t count);

// Given by the runner of blocks. stack: the caller's, whose first word is to be set to where its result will lie.
extern "C" void* treadle_arrive(BlockContext* context, std::int64_t line, std::int64_t count,
                                const std::int64_t** stack);

class Stacks {
public:
    Stacks() = default;
    ~Stacks();
    Stacks(const Stacks&) = delete;
    Stacks& operator=(const Stacks&) = delete;

    // Room for count stacks of at least bytes each. Throws std::bad_alloc.
    void prepare(std::size_t count, std::size_t bytes);
    // A stack pointer from which treadle_switch_stack begins entry(argument), which must not return.
    void* begin(std::size_t number, void (*entry)(void*), void* argument) const;

private:
    void* memory_ = nullptr;
    std::size_t size_bytes_ = 0;
    std::size_t stride_ = 0;
};

}  // namespace treadle::device
