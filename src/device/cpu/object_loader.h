// Maps a relocatable x86-64 ELF object with one kernel into memory and links it, so that cached kernels need no LLVM.
//
//     CodeBlock code = load_object(bytes);
//     auto* kernel = reinterpret_cast<KernelFunction>(code.symbol("treadle_kernel"));
//
// An object with debug information is made known to gdb as long as its code is there.
//
// Throws Error(Device) when the object is malformed or needs a symbol that kernels may not use. The code is mapped
// readable and executable, never writable at the same time.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "device/cpu/jit_debug.h"

namespace treadle::device {

// Bytes of the frames of a code's functions.
struct StackSizes {
    std::size_t all = 0;
    std::size_t largest = 0;
};

class CodeBlock {
public:
    CodeBlock() = default;
    CodeBlock(CodeBlock&& other) noexcept;
    CodeBlock& operator=(CodeBlock&& other) noexcept;
    ~CodeBlock();

    void* symbol(const std::string& name) const;
    std::size_t size_bytes() const { return size_bytes_; }
    const StackSizes& stack_sizes() const { return stack_sizes_; }

private:
    friend CodeBlock load_object(std::string_view bytes);
    void* memory_ = nullptr;
    std::size_t size_bytes_ = 0;
    StackSizes stack_sizes_;
    std::map<std::string, void*> symbols_;
    RegisteredObject debugged_;  // where the object has debug information
};

CodeBlock load_object(std::string_view bytes);

}  // namespace treadle::device
