// Kernel IR -> LLVM IR for the CPU: a packet of W threads is a vector <W x T>, control flow that diverges is a mask.
//
// Values follow their shape: uniform ones are scalars, linear ones a scalar base (the stride is in the shape), varying
// ones vectors. A mask is a <W x i1>, or null while all lanes are known to be active. Between regions masks live in
// stack slots, one for each construct that lanes can leave early; on targets without mask registers such a slot holds
// full-width lanes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/cpu_target.h"
#include "codegen/common/element_emitter.h"
#include "codegen/debug_info.h"
#include "ir/ir.h"

namespace treadle::codegen {

struct EmitOptions {
    CpuTarget target;
    int packet = 8;
    ir::Lanes lanes = ir::Lanes::Line;
    bool full_packets = false;
    BlockDims block{};
    const DebugSource* debug = nullptr;  // null: no debug information
};

class Emitter : private ElementEmitter {
public:
    Emitter(llvm::Module& module, const ir::Function& function, const EmitOptions& options);
    void run();
    bool unrolls() const { return unrolls_; }  // loops are marked for it

private:
    // What lanes can leave early: a stack slot with the lanes that are still in.
    struct Exits {
        llvm::AllocaInst* in_loop = nullptr;       // innermost loop: not left by break
        llvm::AllocaInst* in_iteration = nullptr;  // innermost loop: not left by continue
        llvm::AllocaInst* in_scope = nullptr;
        llvm::BasicBlock* loop_exit = nullptr;
        llvm::BasicBlock* loop_step = nullptr;
        llvm::BasicBlock* scope_exit = nullptr;
        const ir::Op* leave = nullptr;  // the innermost loop
    };
    struct Jumps {
        bool breaks = false, continues = false, leaves = false, returns = false;
        bool any() const { return breaks || continues || leaves || returns; }
    };
    // How an element access is addressed; see emit_memory.cpp.
    struct Access {
        const ir::Op* op;
        std::size_t rank;
        Value* pointer;             // scalar, or vector of i64 addresses
        std::vector<Value*> shape;  // scalars or vectors
        std::vector<Value*> strides;
        std::vector<Value*> indices;  // as their shapes say; uniform ones are wrapped
        std::vector<bool> is_wrapped;
        std::vector<Value*> originals;  // before wrapping
        std::vector<ir::Shape> shapes;
    };

    // emit_kernel.cpp: the loops over blocks and packets, or one packet of a block that the device runs as a whole
    void launch_facts();
    void read_params();
    void block_facts();
    void blocks();
    void packets(Value* block);
    void packet(Value* thread, Value* y, Value* z, Value* limit);
    void set_threads(Value* thread, Value* y, Value* z, Value* limit);
    void clear_variables();
    void begin_debug();
    llvm::AllocaInst* debug_index(const char* name);
    void show_index(llvm::AllocaInst* memory, Value* const* index);
    Value* cleared(std::size_t variable);
    void flat_indices(Value* thread);
    struct PacketPlace {
        Value *x, *y, *z;
        Value* limit;  // threads of the row, or of the block
    };
    void prepare();
    void set_target(llvm::Function& function);
    void block_place();
    PacketPlace packet_place();
    // emit_calls.cpp
    void make_callees();
    void run_called(llvm::Function* function);
    std::int64_t first_line() const;
    void give(Value* ended);
    void emit_call(const ir::Op& op);
    void emit_call_result(const ir::Op& op);
    // emit_segments.cpp
    // A stretch of a block's code: a segment of operations that every packet runs, or one operation of the whole block.
    struct Piece {
        const ir::Op* op = nullptr;
        std::vector<std::vector<Piece>> regions;  // of op
        std::vector<const ir::Op*> ops;           // of a segment
        int number = -1;
    };
    struct VariableUse {
        bool is_met = false;
        bool is_kept = false;          // from one segment to another, or from one round to the next
        bool starts_assigned = false;  // before anything reads it
    };
    std::vector<Piece> pieces_of(const ir::Region& region, bool in_loop);
    void note_uses(const Piece& segment, bool in_loop);
    enum class First : std::uint8_t { Nothing, Assignment, Read };
    static First begins_with_assignment(const std::vector<const ir::Op*>& ops, std::int32_t variable);
    int cost_of(const ir::Op& op) const;
    void split_block();
    llvm::AllocaInst* per_packet(llvm::Type* type, const char* name);
    Value* of_packet(llvm::AllocaInst* memory);
    void packet_loop(const std::function<void()>& body);
    void segment(const Piece& piece);
    void fetch(ir::ValueId value);
    void keep(ir::ValueId value);
    void pieces(const std::vector<Piece>& all);
    void block_if(const Piece& piece);
    void block_loop(const Piece& piece);
    // emit_control.cpp
    void region(const ir::Region& region);
    void sequence(const std::vector<const ir::Op*>& ops);
    void go_on_in(llvm::BasicBlock* block);
    void emit_if(const ir::Op& op);
    void emit_uniform_if(const ir::Op& op);
    bool is_short(const ir::Op& loop) const;
    void unroll(llvm::BranchInst* back);
    void emit_loop(const ir::Op& op);
    void leave(const ir::Op& loop, Value* lanes);
    void emit_scope(const ir::Op& op);
    void emit_jump(const ir::Op& op);
    Value* remaining(Value* mask, const Jumps& jumps);
    static Jumps jumps_of(const ir::Op& op);
    static Jumps jumps_of(const ir::Region& region);
    static bool is_cheap(const ir::Region& region);
    // emit_arithmetic.cpp
    void emit_op(const ir::Op& op);
    Value* linear_result(const ir::Op& op);
    Value* linear_compare(const ir::Op& op);
    // emit_memory.cpp, emit_guards.cpp
    void emit_load(const ir::Op& op);
    void emit_store(const ir::Op& op);
    void emit_element_ptr(const ir::Op& op);
    void emit_table_load(const ir::Op& op);
    Access access_of(const ir::Op& op);
    bool is_inside(const Access& access, std::size_t axis) const;
    Value* inside(const Access& access, std::size_t axis, Value* index);
    Value* wrapped(const Access& access, std::size_t axis, Value* index);
    Value* linear_inside(const Access& access);
    Value* offset_of(const Access& access, const std::vector<Value*>& indices);
    Value* inside_lanes(const Access& access);
    Value* lanes_below(Value* count);
    bool can_mask(const Access& access) const;
    bool may_be_negative(const Access& access) const;
    Value* linear_address(const Access& access);
    template <class Whole, class Masked, class Slow>
    void split_by_place(const Access& access, const Whole& whole, const Masked& masked, const Slow& slow);
    void plain_store(const Access& access, Value* value, Value* address);
    bool is_write_only(const Access& access) const;
    struct Quantity {
        Value* first;  // of lane 0; a vector where lanes differ irregularly
        std::int64_t step;
        bool is_spread() const { return first->getType()->isVectorTy(); }
        llvm::ConstantInt* constant() const { return llvm::dyn_cast<llvm::ConstantInt>(first); }
        std::string name() const;
    };
    std::vector<Quantity> quantities(const Access& access) const;
    Value* lanes_below_zero(const Access& access);
    Value* uniform_load(const Access& access);
    Value* linear_load(const Access& access);
    std::pair<Value*, Value*> varying_offsets(const Access& access);
    Value* varying_load(const Access& access);
    void uniform_write(const Access& access, const std::function<void(Value*)>& write);
    void uniform_store(const Access& access, Value* value);
    void linear_store(const Access& access, Value* value);
    void varying_store(const Access& access, Value* value);
    bool is_contiguous(const Access& access) const;
    std::pair<Value*, Value*> linear_offset(const Access& access);
    Value* gather(Value* base, Value* offsets, DType elem, Value* safe_mask, llvm::Align align);
    Value* strided_gather(Value* base, Value* offset, Value* stride, DType elem, llvm::Align align);
    // The out-of-line path: any lanes, any indices, tested one by one.
    Value* slow_load(const Access& access);
    void slow_store(const Access& access, Value* value);
    Value* slow_atomic(const Access& access, Value* value, Value* second);
    enum class Deed : std::uint8_t { Load, Store, Atomic };
    llvm::Function* slow_function(Deed what, const Access& access);
    void slow_access(Deed what, const ir::Op& op, Value* data, Value* element, Value* lane);
    std::vector<Value*> slow_arguments(const Access& access);
    void call_fault(Value* line, std::int64_t axis, Value* index, Value* shape, std::int64_t rank, Value* lane);
    void report_fault(const Access& access, std::size_t axis, Value* index, Value* inside);

    // emit_block.cpp
    Value* context_field(llvm::Type* type, std::size_t offset);
    void emit_block_array(const ir::Op& op);
    Value* meet(const ir::Op& op, Value* count);
    Value* votes_for(const ir::Op& op);
    Value* reduced_total(const ir::Op& op, Value* total);
    Value* wait(const ir::Op& op, Value* count);
    void let_others_run(const ir::Op& loop);
    void emit_barrier(const ir::Op& op);
    void emit_fence(const ir::Op& op);
    void emit_print(const ir::Op& op);
    void emit_raise(const ir::Op& op);
    // emit_warp.cpp
    void emit_warp(const ir::Op& op);
    Value* shuffled(const ir::Op& op);
    Value* permuted(Value* value, Value* lanes);
    Value* vote(const ir::Op& op);
    Value* match(const ir::Op& op);
    Value* warp_bits(Value* lanes);
    // emit_atomics.cpp
    void emit_atomic(const ir::Op& op);
    Value* atomic_lane(const ir::Op& op, Value* address, Value* value, Value* second);
    Value* reduced(const ir::Op& op, Value* values);

    // emit_values.cpp
    Value* get(ir::ValueId id) const { return values_[id]; }
    ir::Shape shape(ir::ValueId id) const { return function_.value_shapes[id]; }
    DType dtype(ir::ValueId id) const { return function_.values[id].dtype; }
    Value* vector(ir::ValueId id);  // the value with one element a lane
    Value* widen(Value* value, ir::Shape shape, llvm::Type* element);
    Value* splat(Value* scalar);
    Value* lane_numbers(llvm::Type* element, std::int64_t stride = 1);
    llvm::VectorType* vector_of(llvm::Type* element);
    llvm::AllocaInst* slot(llvm::Type* type, const char* name);
    llvm::AllocaInst* mask_slot(Value* mask, const char* name);
    llvm::Type* mask_slot_type();
    Value* all_lanes();
    Value* mask_or_all() { return mask_ != nullptr ? mask_ : all_lanes(); }
    Value* load_mask(llvm::AllocaInst* slot);
    void store_mask(Value* mask, llvm::AllocaInst* slot);
    Value* mask_and(Value* a, Value* b);
    Value* any(Value* mask);
    Value* all(Value* mask);
    Value* mask_bits(Value* mask);  // i64
    // Of the addresses that an access reaches.
    static llvm::Align align_of(DType elem) { return llvm::Align(static_cast<std::uint64_t>(size_of(elem))); }
    static llvm::Align align_of(const ir::Op& op) { return op.align != 0 ? llvm::Align(op.align) : align_of(op.elem); }
    llvm::BasicBlock* block(const char* name);
    void branch_to(llvm::BasicBlock* target);  // unless the current block has ended
    bool ended() const;

    EmitOptions options_;
    int width_;
    llvm::Function* kernel_ = nullptr;
    Value* params_ = nullptr;
    Value* info_ = nullptr;
    Value* block_number_ = nullptr;
    Value* thread_base_ = nullptr;  // linear index of lane 0 in its block
    std::vector<Value*> param_values_;
    Value* block_dim_[3] = {};
    Value* grid_dim_[3] = {};
    Value* block_idx_[3] = {};
    Value* thread_idx_[3] = {};
    std::vector<Value*> values_;
    std::vector<llvm::AllocaInst*> variables_;
    std::vector<llvm::Constant*> tables_;
    llvm::Constant* nothing_ = nullptr;  // what empty arrays point to
    Value* mask_ = nullptr;
    Value* initial_mask_ = nullptr;        // threads that there are
    std::vector<const ir::Op*> branches_;  // on which lanes may have parted, the innermost last
    Value* block_context_ = nullptr;       // where one packet of a block is compiled
    Value* shared_bytes_ = nullptr;
    Value* shared_ = nullptr;     // the block's shared memory, as an integer
    std::set<ir::ValueId> used_;  // values that some operation reads
    // of blocks that are split
    std::size_t segment_count_ = 0;
    std::int32_t packets_in_row_ = 0;
    std::int32_t packet_count_ = 0;
    Value* packet_number_ = nullptr;
    std::map<ir::ValueId, const ir::Op*> definitions_;  // outside inner control flow
    std::vector<int> home_;                             // by value: the segment that defines it
    std::vector<bool> used_elsewhere_;
    std::vector<int> costs_;  // of making a value anew
    std::vector<VariableUse> variable_uses_;
    std::vector<llvm::AllocaInst*> kept_variables_;
    std::map<ir::ValueId, llvm::AllocaInst*> kept_values_;
    std::map<ir::ValueId, llvm::AllocaInst*> totals_;  // of counting barriers
    std::map<ir::ValueId, llvm::AllocaInst*> locals_;  // arrays of threads
    std::set<ir::ValueId> recomputed_;
    llvm::AllocaInst* kept_alive_ = nullptr;
    const std::vector<Piece>* leaving_ = nullptr;  // what the innermost loop's leaving runs
    Exits exits_;
    llvm::AllocaInst* alive_ = nullptr;  // lanes that have not returned
    llvm::BasicBlock* packet_end_ = nullptr;
    std::map<std::string, llvm::Function*> slow_functions_;
    std::vector<llvm::Function*> callees_;
    std::map<ir::ValueId, Value*> calls_;  // all that they gave
    Value* depth_ = nullptr;               // of calls, in functions that are called and kernels that call them
    std::unique_ptr<DebugInfo> debug_;
    llvm::AllocaInst* shown_thread_ = nullptr;  // thread and block for a debugger, where packets are single threads
    llvm::AllocaInst* shown_block_ = nullptr;
    std::set<ir::ValueId> streamable_;  // pointers of arguments that the kernel does not read
    Value* stream_barrier_ = nullptr;   // 0 where large stores may go past the caches, else all ones
    bool streams_ = false;
    bool unrolls_ = false;
    std::map<ir::ValueId, std::int64_t> constants_;
};

}  // namespace treadle::codegen
