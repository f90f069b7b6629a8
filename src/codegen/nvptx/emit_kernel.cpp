// The frame of a kernel: its parameters, and who its threads are.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "base/cuda_kernel_abi.h"
#include "base/error.h"
#include "codegen/nvptx/address_spaces.h"
#include "codegen/nvptx/emitter.h"

namespace treadle::codegen::nvptx {

Emitter::Emitter(llvm::Module& module, const ir::Function& function, const KernelOptions& options)
    : ElementEmitter(module, function), options_(options) {
    adds_floats_ = true;
    rounds_bfloat16_ = options.capability >= 80;
    for (const ir::Table& table : function.tables) tables_.push_back(table_memory(table, kGlobal));
    if (ir::uses_block(function)) {
        // All shared memory is sized by the launch: what is said in the kernel may not exceed 48 KiB.
        auto* bytes = llvm::ArrayType::get(builder_.getInt8Ty(), 0);
        shared_ = new llvm::GlobalVariable(module, bytes, false, llvm::GlobalValue::ExternalLinkage, nullptr, "shared",
                                           nullptr, llvm::GlobalValue::NotThreadLocal, kShared);
        shared_->setAlignment(llvm::Align(ir::kSharedAlign));
    }
}

void Emitter::run(const char* entry, int copies) {
    threads_.assign(static_cast<std::size_t>(copies), {});
    make_callees();
    make_kernel(entry);
    end_ = block("end");
    if (!callees_.empty()) {
        depth_ = builder_.getInt32(0);
        stack_top_ = stack_place();
    }
    make_threads(copies);
    threads_that_exist([&] { region(function_.body); });
    branch_to(end_);
    builder_.SetInsertPoint(end_);
    builder_.CreateRetVoid();
}

void Emitter::make_kernel(const char* entry) {
    const std::vector<llvm::Type*> words(function_.params.size() + kTailWords, builder_.getInt64Ty());
    auto* type = llvm::FunctionType::get(builder_.getVoidTy(), words, false);
    kernel_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, entry, module_);
    kernel_->addFnAttr(llvm::Attribute::NoUnwind);
    llvm::NamedMDNode* annotations = module_.getOrInsertNamedMetadata("nvvm.annotations");
    const auto annotate = [&](const char* name, int value) {
        llvm::Metadata* items[] = {llvm::ValueAsMetadata::get(kernel_), llvm::MDString::get(context_, name),
                                   llvm::ConstantAsMetadata::get(builder_.getInt32(static_cast<std::uint32_t>(value)))};
        annotations->addOperand(llvm::MDNode::get(context_, items));
    };
    annotate("kernel", 1);
    // Without it the assembler may take more registers than the largest block leaves to a thread. Functions that are
    // linked have the registers that they were compiled with, and linkers refuse kernels with fewer.
    if (!ir::needs_links(function_)) annotate("maxntidx", options_.threads_per_block);
    // What only moves data needs all the threads that the GPU has room for.
    constexpr int kLight = 60;
    int ops = 0;
    ir::walk(function_.body, [&](const ir::Op&) { ++ops; });
    if (options_.min_blocks != 0) {
        annotate("minctasm", options_.min_blocks);
    } else if (threads_.size() > 1 && ops <= kLight) {
        annotate("minctasm", 2048 / options_.threads_per_block);
    }
    if (options_.max_registers != 0) annotate("maxnreg", options_.max_registers);
    builder_.SetInsertPoint(block("entry"));
    bound_extents();
}

// Extents are no negative numbers: tests of indices by the program and by the guard then become the same test.
void Emitter::bound_extents() {
    const auto grid_x = static_cast<unsigned>(function_.params.size() + offsetof(LaunchTail, grid_x) / 8);
    const llvm::ConstantRange blocks(llvm::APInt(64, 1), llvm::APInt(64, kMostBlocks));
    kernel_->addParamAttr(grid_x, llvm::Attribute::get(context_, llvm::Attribute::Range, blocks));
    std::map<ir::ValueId, std::int32_t> parameters;
    ir::walk(function_.body, [&](const ir::Op& op) {
        if (op.code == ir::Opcode::Param) parameters[op.result] = op.index;
    });
    const llvm::ConstantRange range(llvm::APInt(64, 0), llvm::APInt(64, std::uint64_t{1} << extent_bits()));
    const auto attribute = llvm::Attribute::get(context_, llvm::Attribute::Range, range);
    ir::walk(function_.body, [&](const ir::Op& op) {
        const bool reaches =
            op.code == ir::Opcode::Load || op.code == ir::Opcode::Store || op.code == ir::Opcode::Atomic;
        for (std::size_t axis = 0; reaches && axis < static_cast<std::size_t>(op.index); ++axis) {
            const auto found = parameters.find(op.operands[1 + axis]);
            if (found == parameters.end()) continue;
            extents_.insert(found->first);
            const auto number = static_cast<unsigned>(found->second);
            if (!kernel_->hasParamAttribute(number, llvm::Attribute::Range)) kernel_->addParamAttr(number, attribute);
        }
    });
}

// A number of the launch, which lies below a limit.
Emitter::Value* Emitter::launch_fact(llvm::Intrinsic::ID id, std::uint64_t least, std::uint64_t limit) {
    llvm::CallInst* call = builder_.CreateIntrinsic(id, {}, {});
    call->addRangeRetAttr(llvm::ConstantRange(llvm::APInt(32, least), llvm::APInt(32, limit)));
    return call;
}

Emitter::Value* Emitter::tail_word(std::size_t offset) {
    return kernel_->getArg(static_cast<unsigned>(function_.params.size() + offset / 8));
}

void Emitter::make_threads(int copies) {
    const auto count = static_cast<unsigned>(copies);
    active_.clear();
    Value* device_block = launch_fact(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, 0, kMostBlocks);
    Value* first = copies == 1 ? device_block : builder_.CreateNSWMul(device_block, builder_.getInt32(count));
    Value* grid = builder_.CreateTrunc(tail_word(offsetof(LaunchTail, grid_x)), builder_.getInt32Ty());
    for (unsigned k = 0; k < count; ++k) {
        Thread& thread = threads_[k];
        make_thread(thread, k == 0 ? first : builder_.CreateNSWAdd(first, builder_.getInt32(k)));
        if (k != 0) thread.exists = builder_.CreateICmpULT(thread.block_x, grid);
        active_.push_back(&thread);
    }
}

void Emitter::make_thread(Thread& thread, Value* block_x) {
    thread.values.assign(function_.values.size(), nullptr);
    thread.block_x = block_x;
    for (const ir::Variable& variable : function_.variables) {
        thread.variables.push_back(slot(scalar_type(variable.type), "var"));
        // A variable that a path leaves unassigned reads as zero.
        builder_.CreateStore(llvm::Constant::getNullValue(scalar_type(variable.type)), thread.variables.back());
    }
}

// All together where all exist, else one after another.
void Emitter::threads_that_exist(const std::function<void()>& body) {
    if (threads_.size() == 1) {
        body();
        return;
    }
    llvm::BasicBlock* some = block("some");
    llvm::BasicBlock* all = block("all");
    unlikely(builder_.CreateNot(threads_.back().exists), some, all);
    builder_.SetInsertPoint(all);
    body();
    branch_to(end_);
    builder_.SetInsertPoint(some);
    for (Thread& thread : threads_) {
        if (thread.exists != nullptr) {
            llvm::BasicBlock* next = block("next");
            builder_.CreateCondBr(thread.exists, next, end_);
            builder_.SetInsertPoint(next);
        }
        active_ = {&thread};
        body();
        if (ended()) builder_.SetInsertPoint(block("unreached"));
    }
}

llvm::AllocaInst* Emitter::slot(llvm::Type* type, const char* name) {
    llvm::BasicBlock& entry = kernel_->getEntryBlock();
    llvm::IRBuilder<> at_entry(&entry, entry.begin());
    return at_entry.CreateAlloca(type, nullptr, name);
}

void Emitter::branch_to(llvm::BasicBlock* target) {
    if (!ended()) builder_.CreateBr(target);
}

namespace {

bool jumps(const ir::Op& op) {
    return op.code == ir::Opcode::Break || op.code == ir::Opcode::Continue || op.code == ir::Opcode::Leave ||
           op.code == ir::Opcode::Return;
}

// Whether some thread may jump where others do not.
bool may_part(const ir::Region& region, bool in_branch) {
    for (std::size_t i = 0; i < region.size(); ++i) {
        if (jumps(region[i]) && (in_branch || i + 1 != region.size())) return true;
        for (const ir::Region& inner : region[i].regions) {
            if (may_part(inner, in_branch || region[i].code == ir::Opcode::If)) return true;
        }
    }
    return false;
}

}  // namespace

bool can_coarsen(const ir::Function& function) {
    constexpr int kMostOps = 400;
    int ops = 0;
    bool plain = !ir::uses_block(function) && !ir::uses_warp(function) && !may_part(function.body, false);
    bool has_memory = false;
    ir::walk(function.body, [&](const ir::Op& op) {
        ++ops;
        switch (op.code) {
            case ir::Opcode::Loop:
            case ir::Opcode::Call:
            case ir::Opcode::Atomic:
            case ir::Opcode::Fence:
            case ir::Opcode::ExternalCall:
            case ir::Opcode::Print:
            case ir::Opcode::Raise:
            case ir::Opcode::LocalArray: plain = false; break;
            case ir::Opcode::Load:
            case ir::Opcode::Store: has_memory = true; break;
            default: break;
        }
    });
    return plain && has_memory && ops <= kMostOps;
}

}  // namespace treadle::codegen::nvptx
