// DWARF for kernels: the user's file and lines, and in full the variables with their names and types. Independent of
// the target: an emitter begins with the function that it fills, calls enter() before each operation, and end() at
// last.
//
//     DebugInfo debug(module, function, source);
//     debug.begin(kernel, builder);          // arguments: declare_parameters
//     debug.enter(op, builder, variables);   // the place of what follows; variables are described at their first store
//     debug.end();
//
// The IR has no calls: an operation of a device function is described as inlined where its call stands, which is the
// line that sets the first of its parameters. What the front end named "x<float32>" is a pointer to elements of an
// array x.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/IRBuilder.h>

#include "codegen/debug_source.h"
#include "ir/ir.h"

namespace treadle::codegen {

class DebugInfo {
public:
    DebugInfo(llvm::Module& module, const ir::Function& function, const DebugSource& source);

    // The function that holds the kernel's code. Without optimisation what stands before the first operation has no
    // line, so that a breakpoint at the function stops in each thread.
    void begin(llvm::Function* kernel, llvm::IRBuilder<>& builder);
    // The memory that parameters lie in, as 8-byte words.
    void declare_parameters(llvm::Value* words, llvm::IRBuilder<>& builder);
    // Three int32 named x, y and z.
    void declare_index(const char* name, llvm::AllocaInst* memory, llvm::IRBuilder<>& builder);
    void enter(const ir::Op& op, llvm::IRBuilder<>& builder, const std::vector<llvm::AllocaInst*>& variables);
    // What follows belongs to no statement.
    void leave(llvm::IRBuilder<>& builder);
    void end() { builder_.finalize(); }
    bool describes_variables() const { return source_.level == DebugLevel::Full; }

private:
    llvm::DIFile* file(const std::string& path);
    llvm::DISubprogram* subprogram(std::size_t function);
    llvm::DILocation* location(std::int32_t line);
    int definition_line(std::size_t function) const;
    int line_in_file(std::size_t function, std::int32_t line) const;
    llvm::DIType* type_of(DType dtype);
    llvm::DIType* type_of(llvm::Type* memory, ir::Type type);
    llvm::DIType* array_type(DType element, int rank);
    void declare(const ir::Op& set, llvm::AllocaInst* memory, llvm::IRBuilder<>& builder);
    void declare_parameter(std::size_t variable, const std::vector<llvm::AllocaInst*>& variables,
                           llvm::IRBuilder<>& builder);
    std::size_t variable_named(const std::string& name) const;
    std::size_t function_named(const std::string& name) const;

    const ir::Function& function_;
    const DebugSource& source_;
    llvm::DIBuilder builder_;
    llvm::LLVMContext& context_;
    llvm::DICompileUnit* unit_ = nullptr;
    std::map<std::string, llvm::DIFile*> files_;
    std::map<std::size_t, llvm::DISubprogram*> subprograms_;
    std::map<std::string, llvm::DILocation*> calls_;         // by the prefix of a call's variables
    std::map<std::size_t, llvm::DILocation*> latest_calls_;  // by function
    std::map<int, llvm::DIType*> types_;                     // by dtype
    std::vector<bool> declared_;                             // by variable
    llvm::DILocation* latest_ = nullptr;
};

}  // namespace treadle::codegen
