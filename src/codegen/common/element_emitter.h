// What all targets share: operations on elements, as scalars or as vectors of lanes. The LLVM types of the operands say
// which.
#pragma once

#include <vector>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "ir/ir.h"

namespace treadle::codegen {

class ElementEmitter {
protected:
    using Value = llvm::Value;

    ElementEmitter(llvm::Module& module, const ir::Function& function)
        : module_(module), context_(module.getContext()), function_(function), builder_(context_) {}
    ~ElementEmitter() = default;

    // element_emitter.cpp
    llvm::Type* scalar_type(DType type);
    llvm::Type* memory_type(DType type);
    llvm::Type* scalar_type(ir::Type type);
    static llvm::Type* like(Value* value, llvm::Type* element);  // a vector where the value is one
    Value* i64(std::int64_t value);
    Value* from_memory(Value* value, DType type);
    Value* to_memory(Value* value, DType type);
    // emit_bfloat16.cpp
    Value* rounded(Value* value, DType type);
    Value* widened_bfloat16(Value* bits);
    Value* upper_half(Value* value);
    void unlikely(Value* condition, llvm::BasicBlock* rare, llvm::BasicBlock* usual);
    llvm::Constant* table_memory(const ir::Table& table, unsigned address_space);
    Value* constant(const ir::Op& op);
    Value* arithmetic(const ir::Op& op, const std::vector<Value*>& operands, DType type);
    Value* integer_division(ir::Opcode code, Value* a, Value* b, DType type);
    Value* float_op(const ir::Op& op, const std::vector<Value*>& operands);
    Value* compare(ir::Opcode code, Value* a, Value* b, DType type);
    Value* cast(const ir::Op& op, Value* value, DType from, DType to);
    Value* mul_high(Value* a, Value* b, DType type);
    // emit_atomic.cpp
    Value* combined(ir::AtomicKind kind, DType type, Value* old, Value* value, Value* second);
    Value* combined_values(ir::AtomicKind kind, DType type, Value* old, Value* value);
    Value* bits_of_value(Value* value);
    // alone: nobody else reaches the memory meanwhile. Takes values and gives the old one as memory has them.
    Value* atomic_one(ir::AtomicKind kind, DType elem, bool alone, Value* address, Value* value, Value* second);

    llvm::Module& module_;
    llvm::LLVMContext& context_;
    const ir::Function& function_;
    llvm::IRBuilder<> builder_;
    bool adds_floats_ = false;      // the target has an instruction for atomic sums of them
    bool rounds_bfloat16_ = false;  // and one that makes a bfloat16 of a float32
};

}  // namespace treadle::codegen
