// Kernel IR -> LLVM IR for NVIDIA GPUs: the code of one thread, with branches where the IR has structure.
//
// A kernel can also be emitted for several threads of the grid at once, which lie one block apart (kCoarse of them):
// each operation is emitted for all of them before the next one, so that their loads are under way together. That is
// what it takes to reach the memory's bandwidth; threads of a grid have no order among each other, so it changes
// nothing.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "codegen/common/element_emitter.h"
#include "codegen/nvptx/compile_kernel.h"

namespace treadle::codegen::nvptx {

class Emitter : private ElementEmitter {
public:
    Emitter(llvm::Module& module, const ir::Function& function, const KernelOptions& options);
    // entry: the symbol; copies: threads that one thread of the device runs.
    void run(const char* entry, int copies);

private:
    Emitter(Emitter& caller, const ir::Function& callee);

    // One thread of the program's grid.
    struct Thread {
        std::vector<Value*> values;
        std::vector<llvm::AllocaInst*> variables;
        std::map<ir::ValueId, Value*> memory;  // arrays that the kernel makes, as pointers LLVM can follow
        Value* block_x = nullptr;
        Value* exists = nullptr;    // null: it does
        Value* assigns = nullptr;   // whether assignments take place; null: they do
        std::vector<Value*> outer;  // assigns of the branches around
    };
    struct Access {
        Value* address;
        Value* inside;              // null: known to be
        std::vector<Value*> tests;  // of each axis; null: known
        std::vector<Value*> indices;
        std::vector<Value*> shape;
    };
    struct Exits {
        llvm::BasicBlock* loop_exit = nullptr;
        llvm::BasicBlock* loop_step = nullptr;
        llvm::BasicBlock* scope_exit = nullptr;
        const ir::Op* loop = nullptr;
    };

    // emit_kernel.cpp
    void make_kernel(const char* entry);
    void make_threads(int copies);
    void make_thread(Thread& thread, Value* block_x);
    void threads_that_exist(const std::function<void()>& body);
    void bound_extents();
    static constexpr std::uint64_t kMostBlocks = std::uint64_t{1} << 31;
    Value* launch_fact(llvm::Intrinsic::ID id, std::uint64_t least, std::uint64_t limit);
    Value* tail_word(std::size_t offset);
    llvm::AllocaInst* slot(llvm::Type* type, const char* name);
    llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(context_, name, kernel_); }
    bool ended() const { return builder_.GetInsertBlock()->getTerminator() != nullptr; }
    void branch_to(llvm::BasicBlock* target);
    // emit_calls.cpp
    llvm::Type* passed_type(ir::Type type);
    Value* passed(Value* value, ir::Type type);
    Value* taken(Value* value, ir::Type type);
    void make_callees();
    Value* extra_argument(unsigned which);
    void run_called(llvm::Function* function);
    Value* stack_place();
    void check_depth();
    void end_thread();
    Value* call(const ir::Op& op, Thread& thread);
    Value* call_result(const ir::Op& op);
    // emit_operations.cpp
    void region(const ir::Region& region);
    void emit_op(const ir::Op& op);
    Value* value_of(const ir::Op& op, Thread& thread);
    void assign(const Thread& thread, const ir::Op& op);
    Value* parameter(const ir::Op& op);
    Value* thread_query(const ir::Op& op, const Thread& thread);
    Value* get(const Thread& thread, ir::ValueId id) const { return thread.values[id]; }
    DType dtype(ir::ValueId id) const { return function_.values[id].dtype; }
    Value* without_overflow(const ir::Op& op, const std::vector<Value*>& operands);
    int bits(ir::ValueId id) const;
    Value* of_short(const ir::Op& op, Value* value);
    Value* saturated(const ir::Op& op, Value* value, DType from);
    // emit_control.cpp
    void emit_if(const ir::Op& op);
    void emit_chosen(const ir::Op& op);
    void emit_one_if(const ir::Op& op);
    void emit_loop(const ir::Op& op);
    void watch(const ir::Op& loop, llvm::AllocaInst* since);
    void emit_scope(const ir::Op& op);
    void emit_jump(const ir::Op& op);
    // emit_rounds.cpp
    void unroll(const ir::Op& loop, llvm::BranchInst* back);
    bool has_known_rounds(const ir::Op& loop) const;
    // emit_memory.cpp
    Access access_of(const ir::Op& op, Thread& thread);
    Value* pointer_to(const ir::Op& op, Thread& thread, Value* offset);
    Value* made_pointer(const ir::Op& op, Thread& thread);
    Value* element_pointer(const ir::Op& op, Thread& thread);
    Value* table_load(const ir::Op& op, const Thread& thread);
    void emit_access(const ir::Op& op);
    // The element is reached where it is inside; fills the result of a load or an atomic.
    void guarded(const ir::Op& op, Thread& thread, const Access& access);
    Value* reach(const ir::Op& op, Thread& thread, Value* address);
    void report_outside(const ir::Op& op, const Thread& thread, const Access& access);
    // emit_block.cpp
    void emit_barrier(const ir::Op& op, Thread& thread);
    void meet_grid(const Thread& thread);
    void emit_fence(const ir::Op& op, const Thread& thread);
    Value* linear_thread();
    Value* linear_block(const Thread& thread);
    // emit_reports.cpp
    llvm::Function* fault_function(std::size_t rank);
    void fault(const Thread& thread, std::int64_t line, std::int64_t axis, Value* index,
               const std::vector<Value*>& shape);
    void emit_print(const ir::Op& op, const Thread& thread);
    // emit_external.cpp
    Value* call_external(const ir::Op& op, Thread& thread);
    llvm::FunctionCallee external_function(const ir::External& external);
    llvm::Type* external_type(ir::Type type) {
        return type.is_scalar() ? memory_type(type.dtype) : builder_.getPtrTy();
    }
    // emit_warp.cpp
    Value* warp(const ir::Op& op, const Thread& thread);
    Value* shuffled(const ir::Op& op, const Thread& thread);
    Value* shuffled_word(ir::ShuffleKind kind, Value* word, Value* lane, Value* members);

    const KernelOptions& options_;
    llvm::Function* kernel_ = nullptr;
    std::vector<Thread> threads_;
    std::vector<Thread*> active_;  // for which operations are emitted now
    Exits exits_;
    int extent_bits() const { return options_.small_numbers ? 31 : 48; }
    std::set<ir::ValueId> extents_;  // parameters that are extents of arrays
    bool steps_ = false;             // the step of a counting loop is being emitted
    int waiting_ = 0;                // loops around that wait for other threads
    llvm::BasicBlock* end_ = nullptr;
    std::vector<llvm::Constant*> tables_;
    llvm::GlobalVariable* shared_ = nullptr;
    std::map<std::size_t, llvm::Function*> fault_functions_;
    std::vector<llvm::Function*> callees_;
    std::map<ir::ValueId, Value*> calls_;       // all that they gave
    Value* depth_ = nullptr;                    // of calls, where there are any
    std::int64_t called_bytes_ = 0;             // see ir::called_bytes
    Value* stack_top_ = nullptr;                // where the kernel's frame lies
    llvm::AllocaInst* thread_ended_ = nullptr;  // in a function that is called
};

// Whether a thread of the device can run several threads of the kernel at once.
bool can_coarsen(const ir::Function& function);

}  // namespace treadle::codegen::nvptx
