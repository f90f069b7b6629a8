#include "device/cpu/fiber.h"

#include <algorithm>
#include <cstdint>
#include <new>

#include <sys/mman.h>

// A stack that waits holds, from its pointer up: the address of its result, the callee-saved registers of the System V
// ABI, and where to go on; kernels leave the control words alone. Stacks are left by a jump: a return would be
// predicted to go where the last one called from.
asm(R"(
    .text
    .globl treadle_barrier
    .hidden treadle_barrier
    .type treadle_barrier, @function
treadle_barrier:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    subq $8, %rsp
    movq %rsp, %rcx
    call treadle_arrive
    movq %rax, %rsp
treadle_resume:
    popq %rax
    movq (%rax), %rax
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    popq %rcx
    jmp *%rcx
    .size treadle_barrier, . - treadle_barrier

    .globl treadle_switch_stack
    .hidden treadle_switch_stack
    .type treadle_switch_stack, @function
treadle_switch_stack:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    pushq %rdi
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    jmp treadle_resume
    .size treadle_switch_stack, . - treadle_switch_stack

    .globl treadle_enter_fiber
    .hidden treadle_enter_fiber
    .type treadle_enter_fiber, @function
treadle_enter_fiber:
    movq %r12, %rdi
    call *%rbx
    ud2
    .size treadle_enter_fiber, . - treadle_enter_fiber
)");

extern "C" void treadle_enter_fiber();

namespace treadle::device {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kLine = 64;

}  // namespace

Stacks::~Stacks() {
    if (memory_ != nullptr) munmap(memory_, size_bytes_);
}

void Stacks::prepare(std::size_t count, std::size_t bytes) {
    // An odd number of lines apart, so that the stacks of a block do not meet in the same sets of the caches.
    const std::size_t stride = ((bytes + kLine - 1) / kLine | 1) * kLine;
    stride_ = stride;
    const std::size_t needed = (count * stride + 2 * kPage) / kPage * kPage;
    if (needed <= size_bytes_) return;
    if (memory_ != nullptr) munmap(memory_, size_bytes_);
    memory_ = nullptr;
    size_bytes_ = std::max(needed, 2 * size_bytes_);
    void* memory =
        mmap(nullptr, size_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        size_bytes_ = 0;
        throw std::bad_alloc();
    }
    memory_ = memory;
}

void* Stacks::begin(std::size_t number, void (*entry)(void*), void* argument) const {
    auto top = reinterpret_cast<std::uintptr_t>(memory_) + (number + 1) * stride_;
    top -= top % 16;
    auto* words = reinterpret_cast<std::uint64_t*>(top) - 10;
    words[0] = reinterpret_cast<std::uint64_t>(memory_);              // a result that nobody reads
    words[1] = words[2] = words[3] = 0;                               // r15, r14, r13
    words[4] = reinterpret_cast<std::uint64_t>(argument);             // r12
    words[5] = reinterpret_cast<std::uint64_t>(entry);                // rbx
    words[6] = 0;                                                     // rbp
    words[7] = reinterpret_cast<std::uint64_t>(treadle_enter_fiber);  // which finds the stack aligned for a call
    words[8] = words[9] = 0;
    return words;
}

}  // namespace treadle::device
