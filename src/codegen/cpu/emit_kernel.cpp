// The frame of a kernel: parameters, the loop over blocks, the loops over the packets of a block.
#include <llvm/IR/IntrinsicsX86.h>

#include "base/error.h"
#include "base/kernel_abi.h"
#include "codegen/cpu/emitter.h"

namespace treadle::codegen {

Emitter::Emitter(llvm::Module& module, const ir::Function& function, const EmitOptions& options)
    : ElementEmitter(module, function), options_(options), width_(options.packet) {}

void Emitter::run() {
    llvm::Type* pointer = builder_.getPtrTy();
    llvm::Type* number = builder_.getInt64Ty();
    llvm::Type* index = builder_.getInt32Ty();
    const bool one_packet = ir::runs_by_packet(function_);
    std::vector<llvm::Type*> params = {pointer, pointer, number, number};
    if (one_packet) params = {pointer, pointer, pointer, index, index, index};
    auto* type = llvm::FunctionType::get(builder_.getVoidTy(), params, false);
    kernel_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, one_packet ? kPacketSymbol : kKernelSymbol,
                                     module_);
    set_target(*kernel_);
    kernel_->addParamAttr(0, llvm::Attribute::NoAlias);
    kernel_->addParamAttr(1, llvm::Attribute::NoAlias);
    make_callees();
    depth_ = builder_.getInt32(0);
    builder_.SetInsertPoint(block("entry"));
    if (options_.debug != nullptr) begin_debug();
    prepare();
    read_params();
    if (one_packet) {
        block_facts();
    } else {
        blocks();
    }
    // Streamed stores are ordered before what follows the kernel.
    if (streams_) builder_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
    builder_.CreateRetVoid();
    if (debug_ != nullptr) debug_->end();
}

void Emitter::set_target(llvm::Function& function) {
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.addFnAttr("target-cpu", options_.target.cpu);
    if (options_.target.isa == VectorIsa::Avx512) function.addFnAttr("prefer-vector-width", "512");
}

// What is the same for kernels and for functions that are called.
void Emitter::prepare() {
    launch_facts();
    for (const ir::Table& table : function_.tables) tables_.push_back(table_memory(table, 0));
    values_.assign(function_.values.size(), nullptr);
    for (std::size_t i = 0; i < function_.variables.size(); ++i) {
        llvm::Type* element = scalar_type(function_.variables[i].type);
        variables_.push_back(slot(function_.variable_shapes[i].is_varying() ? vector_of(element) : element, "var"));
    }
}

void Emitter::begin_debug() {
    debug_ = std::make_unique<DebugInfo>(module_, function_, *options_.debug);
    debug_->begin(kernel_, builder_);
    if (!debug_->describes_variables()) return;
    llvm::AllocaInst* words = slot(builder_.getPtrTy(), "arguments");
    builder_.CreateStore(kernel_->getArg(0), words);
    debug_->declare_parameters(words, builder_);
    if (width_ != 1) return;
    shown_thread_ = debug_index("threadIdx");
    shown_block_ = debug_index("blockIdx");
}

llvm::AllocaInst* Emitter::debug_index(const char* name) {
    llvm::AllocaInst* memory = slot(llvm::ArrayType::get(builder_.getInt32Ty(), 3), name);
    debug_->declare_index(name, memory, builder_);
    return memory;
}

void Emitter::show_index(llvm::AllocaInst* memory, Value* const* index) {
    if (memory == nullptr) return;
    for (unsigned d = 0; d < 3; ++d) {
        Value* value = index[d];
        if (value->getType()->isVectorTy()) value = builder_.CreateExtractElement(value, std::uint64_t{0});
        builder_.CreateStore(value, builder_.CreateConstInBoundsGEP2_32(memory->getAllocatedType(), memory, 0, d));
    }
}

void Emitter::read_params() {
    llvm::Type* number = builder_.getInt64Ty();
    for (std::size_t i = 0; i < function_.params.size(); ++i) {
        llvm::Type* param = function_.params[i].is_scalar() ? memory_type(function_.params[i].dtype) : number;
        Value* address = builder_.CreateConstInBoundsGEP1_64(number, params_, i);
        Value* value = builder_.CreateLoad(param, address);
        param_values_.push_back(function_.params[i].is_scalar() ? from_memory(value, function_.params[i].dtype)
                                                                : value);
    }
}

void Emitter::launch_facts() {
    llvm::Type* number = builder_.getInt64Ty();
    params_ = kernel_->getArg(0);
    info_ = kernel_->getArg(1);
    for (unsigned d = 0; d < 3; ++d) {
        llvm::Type* dimension = builder_.getInt32Ty();
        block_dim_[d] = builder_.CreateLoad(dimension, builder_.CreateConstInBoundsGEP1_64(dimension, info_, d));
        grid_dim_[d] = builder_.CreateLoad(dimension, builder_.CreateConstInBoundsGEP1_64(dimension, info_, 3 + d));
    }
    for (unsigned d = 0; d < 3; ++d) {
        const std::int32_t extent = options_.block[d];
        if (extent != 0) block_dim_[d] = builder_.getInt32(static_cast<std::uint32_t>(extent));
    }
    if (options_.lanes == ir::Lanes::Line) block_dim_[1] = block_dim_[2] = builder_.getInt32(1);
    const auto field = [&](std::size_t offset) {
        return builder_.CreateLoad(number, builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), info_, offset));
    };
    stream_barrier_ = field(offsetof(LaunchInfo, stream_barrier));
    shared_bytes_ = field(offsetof(LaunchInfo, shared_bytes));
    ir::walk(function_.body, [&](const ir::Op& op) {
        if (op.code == ir::Opcode::Const) constants_[op.result] = static_cast<std::int64_t>(op.imm);
        used_.insert(op.operands.begin(), op.operands.end());
        if (op.code == ir::Opcode::Param && op.type.is_pointer() && !function_.is_called) streamable_.insert(op.result);
        const bool reads =
            op.code == ir::Opcode::Load || op.code == ir::Opcode::ElementPtr || op.code == ir::Opcode::Atomic;
        if (reads) streamable_.erase(op.operands[0]);
        if (op.code != ir::Opcode::Call) return;
        for (const ir::ValueId operand : op.operands) streamable_.erase(operand);
    });
}

void Emitter::block_place() {
    block_context_ = kernel_->getArg(2);
    for (unsigned d = 0; d < 3; ++d) block_idx_[d] = context_field(builder_.getInt32Ty(), 4 * d);
    block_number_ = context_field(builder_.getInt64Ty(), offsetof(BlockContext, number));
    shared_ = context_field(builder_.getInt64Ty(), offsetof(BlockContext, shared));
}

// The device calls for each packet of a block.
void Emitter::block_facts() {
    block_place();
    if (function_.splits) {
        split_block();
        return;
    }
    const auto [x, y, z, limit] = packet_place();
    packet(x, y, z, limit);
}

// Where the packet lies that the arguments name.
Emitter::PacketPlace Emitter::packet_place() {
    Value* x = kernel_->getArg(3);
    Value* y = kernel_->getArg(4);
    Value* z = kernel_->getArg(5);
    Value* limit = block_dim_[0];
    Value* row = builder_.CreateAdd(builder_.CreateMul(z, block_dim_[1]), y);
    if (options_.lanes == ir::Lanes::Flat)
        limit = builder_.CreateMul(limit, builder_.CreateMul(block_dim_[1], block_dim_[2]));
    thread_base_ =
        options_.lanes == ir::Lanes::Rows ? builder_.CreateAdd(builder_.CreateMul(row, block_dim_[0]), x) : x;
    if (options_.lanes != ir::Lanes::Rows) y = z = builder_.getInt32(0);
    return {x, y, z, limit};
}

void Emitter::blocks() {
    llvm::BasicBlock* before = builder_.GetInsertBlock();
    llvm::BasicBlock* body = block("block");
    llvm::BasicBlock* done = block("done");
    Value* begin = kernel_->getArg(2);
    Value* end = kernel_->getArg(3);
    builder_.CreateCondBr(builder_.CreateICmpSLT(begin, end), body, done);
    builder_.SetInsertPoint(body);
    llvm::PHINode* number = builder_.CreatePHI(builder_.getInt64Ty(), 2, "block");
    number->addIncoming(begin, before);
    block_number_ = number;
    // The division that finds the block's coordinates is skipped for grids of one dimension.
    Value* low = builder_.CreateTrunc(number, builder_.getInt32Ty());
    Value* gx = grid_dim_[0];
    Value* gy = grid_dim_[1];
    Value* flat = builder_.CreateAnd(builder_.CreateICmpEQ(gy, builder_.getInt32(1)),
                                     builder_.CreateICmpEQ(grid_dim_[2], builder_.getInt32(1)));
    llvm::BasicBlock* split = block("split");
    llvm::BasicBlock* ready = block("ready");
    llvm::BasicBlock* from = builder_.GetInsertBlock();
    builder_.CreateCondBr(flat, ready, split);
    builder_.SetInsertPoint(split);
    Value* wide_x = builder_.CreateZExt(gx, builder_.getInt64Ty());
    Value* wide_y = builder_.CreateZExt(gy, builder_.getInt64Ty());
    Value* rows = builder_.CreateUDiv(number, wide_x);
    Value* x = builder_.CreateTrunc(builder_.CreateURem(number, wide_x), builder_.getInt32Ty());
    Value* y = builder_.CreateTrunc(builder_.CreateURem(rows, wide_y), builder_.getInt32Ty());
    Value* z = builder_.CreateTrunc(builder_.CreateUDiv(rows, wide_y), builder_.getInt32Ty());
    builder_.CreateBr(ready);
    builder_.SetInsertPoint(ready);
    Value* coordinates[3] = {x, y, z};
    for (int d = 0; d < 3; ++d) {
        llvm::PHINode* index = builder_.CreatePHI(builder_.getInt32Ty(), 2);
        index->addIncoming(d == 0 ? low : builder_.getInt32(0), from);
        index->addIncoming(coordinates[d], split);
        block_idx_[d] = index;
    }
    packets(number);
    Value* next = builder_.CreateAdd(number, i64(1));
    number->addIncoming(next, builder_.GetInsertBlock());
    builder_.CreateCondBr(builder_.CreateICmpSLT(next, end), body, done);
    go_on_in(done);
}

// Line: x alone. Rows: packets along x, loops over y and z outside. Flat: packets along the linear thread index.
void Emitter::packets(Value*) {
    const bool rows = options_.lanes == ir::Lanes::Rows;
    llvm::Type* number = builder_.getInt32Ty();
    Value* limit = block_dim_[0];
    Value* row_count = builder_.CreateMul(block_dim_[1], block_dim_[2]);
    if (options_.lanes == ir::Lanes::Flat) limit = builder_.CreateMul(limit, row_count);

    llvm::BasicBlock* before = builder_.GetInsertBlock();
    llvm::BasicBlock* row_body = rows ? block("row") : nullptr;
    llvm::PHINode* row = nullptr;
    Value* y = builder_.getInt32(0);
    Value* z = builder_.getInt32(0);
    if (rows) {
        builder_.CreateBr(row_body);
        builder_.SetInsertPoint(row_body);
        row = builder_.CreatePHI(number, 2, "row");
        row->addIncoming(builder_.getInt32(0), before);
        z = builder_.CreateUDiv(row, block_dim_[1]);
        y = builder_.CreateSub(row, builder_.CreateMul(z, block_dim_[1]));
        before = row_body;
    }
    llvm::BasicBlock* body = block("packet");
    builder_.CreateBr(body);
    builder_.SetInsertPoint(body);
    llvm::PHINode* thread = builder_.CreatePHI(number, 2, "thread");
    thread->addIncoming(builder_.getInt32(0), before);
    thread_base_ = thread;
    if (rows) thread_base_ = builder_.CreateAdd(builder_.CreateMul(row, block_dim_[0]), thread);
    packet(thread, y, z, limit);
    Value* next = builder_.CreateAdd(thread, builder_.getInt32(static_cast<std::uint32_t>(width_)), "", true, true);
    thread->addIncoming(next, builder_.GetInsertBlock());
    llvm::BasicBlock* after = block("packets_done");
    builder_.CreateCondBr(builder_.CreateICmpSLT(next, limit), body, after);
    builder_.SetInsertPoint(after);
    if (!rows) return;
    Value* next_row = builder_.CreateAdd(row, builder_.getInt32(1));
    row->addIncoming(next_row, after);
    llvm::BasicBlock* rows_done = block("rows_done");
    builder_.CreateCondBr(builder_.CreateICmpSLT(next_row, row_count), row_body, rows_done);
    builder_.SetInsertPoint(rows_done);
}

// Which threads the lanes of a packet are; the mask leaves out those beyond the block.
void Emitter::set_threads(Value* thread, Value* y, Value* z, Value* limit) {
    mask_ = nullptr;
    if (!options_.full_packets) {
        Value* left = splat(builder_.CreateSub(limit, thread));
        mask_ = builder_.CreateICmpSGT(left, lane_numbers(builder_.getInt32Ty()));
    }
    initial_mask_ = mask_;
    thread_idx_[0] = thread;
    thread_idx_[1] = y;
    thread_idx_[2] = z;
    if (options_.lanes == ir::Lanes::Flat) flat_indices(thread);
}

void Emitter::packet(Value* thread, Value* y, Value* z, Value* limit) {
    set_threads(thread, y, z, limit);
    show_index(shown_thread_, thread_idx_);
    show_index(shown_block_, block_idx_);
    exits_ = {};
    alive_ = jumps_of(function_.body).returns ? mask_slot(mask_, "alive") : nullptr;
    packet_end_ = block("packet_end");
    clear_variables();
    region(function_.body);
    branch_to(packet_end_);
    go_on_in(packet_end_);
    if (debug_ != nullptr) debug_->leave(builder_);
}

// A variable that a path leaves unassigned reads as zero, and an array as an empty one: its pointer must still be
// readable.
void Emitter::clear_variables() {
    for (std::size_t i = 0; i < variables_.size(); ++i) builder_.CreateStore(cleared(i), variables_[i]);
}

Emitter::Value* Emitter::cleared(std::size_t variable) {
    llvm::Type* type = variables_[variable]->getAllocatedType();
    if (!function_.variables[variable].type.is_pointer()) return llvm::Constant::getNullValue(type);
    if (nothing_ == nullptr) {
        // Inactive lanes may read any part of an element there.
        std::uint64_t bytes = 64;
        ir::walk(function_.body, [&](const ir::Op& op) {
            if (op.code == ir::Opcode::Load) bytes = std::max(bytes, op.imm + 64);
        });
        auto* words = llvm::ArrayType::get(builder_.getInt64Ty(), (bytes + 7) / 8);
        nothing_ = new llvm::GlobalVariable(module_, words, true, llvm::GlobalValue::PrivateLinkage,
                                            llvm::Constant::getNullValue(words), "nothing");
    }
    Value* address = builder_.CreatePtrToInt(nothing_, builder_.getInt64Ty());
    return type->isVectorTy() ? splat(address) : address;
}

void Emitter::flat_indices(Value* thread) {
    Value* linear = builder_.CreateAdd(splat(thread), lane_numbers(builder_.getInt32Ty()));
    Value* extent_x = splat(block_dim_[0]);
    Value* extent_y = splat(block_dim_[1]);
    // A block has at most 1024 threads, so a float quotient with one correction step is exact and far cheaper than a
    // division.
    const auto divide = [&](Value* a, Value* b) {
        llvm::Type* real = vector_of(builder_.getFloatTy());
        Value* quotient = builder_.CreateFDiv(builder_.CreateSIToFP(a, real), builder_.CreateSIToFP(b, real));
        Value* whole = builder_.CreateFPToSI(quotient, a->getType());
        Value* rest = builder_.CreateSub(a, builder_.CreateMul(whole, b));
        Value* low = builder_.CreateICmpSLT(rest, llvm::Constant::getNullValue(a->getType()));
        whole = builder_.CreateAdd(whole, builder_.CreateSExt(low, a->getType()));
        Value* high = builder_.CreateICmpSGE(builder_.CreateSub(a, builder_.CreateMul(whole, b)), b);
        return builder_.CreateSub(whole, builder_.CreateSExt(high, a->getType()));
    };
    Value* row = divide(linear, extent_x);
    thread_idx_[0] = builder_.CreateSub(linear, builder_.CreateMul(row, extent_x));
    thread_idx_[2] = divide(row, extent_y);
    thread_idx_[1] = builder_.CreateSub(row, builder_.CreateMul(thread_idx_[2], extent_y));
}

}  // namespace treadle::codegen
