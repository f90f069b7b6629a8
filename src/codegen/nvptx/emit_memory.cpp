// Array elements. An index outside its array skips the access: a read gives zero. Several threads emitted together test
// all their indices at once, so that their accesses stand side by side.
#include "base/error.h"
#include "codegen/nvptx/address_spaces.h"
#include "codegen/nvptx/emitter.h"

namespace treadle::codegen::nvptx {

using ir::Opcode;
using ir::Space;

Emitter::Access Emitter::access_of(const ir::Op& op, Thread& thread) {
    Access access{};
    const auto rank = static_cast<std::size_t>(op.index);
    const bool tests = function_.bounds != ir::Bounds::Off && op.code != Opcode::ElementPtr;
    Value* offset = i64(op.code == Opcode::Atomic ? 0 : static_cast<std::int64_t>(op.imm));
    for (std::size_t axis = 0; axis < rank; ++axis) {
        const ir::ValueId id = op.operands[1 + 2 * rank + axis];
        Value* extent = get(thread, op.operands[1 + axis]);
        Value* stride = get(thread, op.operands[1 + rank + axis]);
        Value* index = get(thread, id);
        access.indices.push_back(index);
        access.shape.push_back(extent);
        if (function_.bounds != ir::Bounds::Off && !function_.nonnegative[id]) {
            Value* negative = builder_.CreateICmpSLT(index, i64(0));
            index = builder_.CreateSelect(negative, builder_.CreateAdd(index, extent), index);
        }
        const auto* known = llvm::dyn_cast<llvm::ConstantInt>(extent);
        const std::uint8_t bits = function_.width_bits[id];
        const bool fits = known != nullptr && bits < 63 && known->getSExtValue() >= (std::int64_t{1} << bits);
        // Two signed tests: that is how programs test their indices, and what is known of those settles these. Together
        // they become one unsigned test where nothing is known.
        access.tests.push_back(nullptr);
        if (tests && !fits)
            access.tests.back() =
                builder_.CreateAnd(builder_.CreateICmpSGE(index, i64(0)), builder_.CreateICmpSLT(index, extent));
        if (access.tests.back() != nullptr)
            access.inside =
                access.inside == nullptr ? access.tests.back() : builder_.CreateAnd(access.inside, access.tests.back());
        if (axis + 1 == rank) {
            if (op.layout == ir::Layout::Dense || op.layout == ir::Layout::InnerDense) stride = i64(size_of(op.elem));
            if (op.layout == ir::Layout::InnerZero) stride = i64(0);
        }
        offset = builder_.CreateAdd(offset, builder_.CreateMul(index, stride));
    }
    access.address = pointer_to(op, thread, offset);
    return access;
}

Emitter::Value* Emitter::pointer_to(const ir::Op& op, Thread& thread, Value* offset) {
    const auto made = thread.memory.find(op.operands[0]);
    if (made != thread.memory.end()) return builder_.CreateGEP(builder_.getInt8Ty(), made->second, offset);
    const unsigned space = op.space == Space::Shared ? kShared : op.space == Space::Local ? kGeneric : kGlobal;
    return builder_.CreateIntToPtr(builder_.CreateAdd(get(thread, op.operands[0]), offset), builder_.getPtrTy(space));
}

Emitter::Value* Emitter::made_pointer(const ir::Op& op, Thread& thread) {
    Value* pointer = nullptr;
    switch (op.code) {
        case Opcode::SharedArray: {
            const std::uint64_t offset = op.index == 1 ? ir::aligned_shared(function_.shared_bytes) : op.imm;
            pointer = builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), shared_, offset);
            break;
        }
        case Opcode::LocalArray: {
            const std::uint64_t count = std::max<std::uint64_t>(op.imm, 1);
            llvm::AllocaInst* memory = slot(llvm::ArrayType::get(memory_type(op.elem), count), "local");
            memory->setAlignment(llvm::Align(16));
            pointer = memory;
            break;
        }
        default: pointer = tables_[static_cast<std::size_t>(op.index)];
    }
    thread.memory[op.result] = pointer;
    return builder_.CreatePtrToInt(pointer, builder_.getInt64Ty());
}

Emitter::Value* Emitter::element_pointer(const ir::Op& op, Thread& thread) {
    Value* address = access_of(op, thread).address;
    thread.memory[op.result] = address;
    return builder_.CreatePtrToInt(address, builder_.getInt64Ty());
}

Emitter::Value* Emitter::table_load(const ir::Op& op, const Thread& thread) {
    const ir::Table& table = function_.tables[static_cast<std::size_t>(op.index)];
    Value* index = get(thread, op.operands[0]);
    Value* last = llvm::ConstantInt::get(index->getType(), table.bits.size() - 1);
    index = builder_.CreateSelect(builder_.CreateICmpULT(index, last), index, last);
    llvm::Type* element = memory_type(table.dtype);
    Value* place = builder_.CreateGEP(element, tables_[static_cast<std::size_t>(op.index)], index);
    llvm::LoadInst* loaded = builder_.CreateLoad(element, place);
    loaded->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
    return from_memory(loaded, table.dtype);
}

void Emitter::emit_access(const ir::Op& op) {
    std::vector<Access> accesses;
    Value* all = nullptr;
    for (Thread* thread : active_) {
        accesses.push_back(access_of(op, *thread));
        Value* inside = accesses.back().inside;
        if (inside != nullptr) all = all == nullptr ? inside : builder_.CreateAnd(all, inside);
    }
    if (active_.size() == 1) {
        guarded(op, *active_[0], accesses[0]);
        return;
    }
    const bool loads = op.code == Opcode::Load;
    std::vector<Value*> fast(active_.size());
    std::vector<Value*> slow(active_.size());
    llvm::BasicBlock* together = block("together");
    llvm::BasicBlock* apart = all == nullptr ? nullptr : block("apart");
    llvm::BasicBlock* after = block("accessed");
    if (all == nullptr) {
        builder_.CreateBr(together);
    } else {
        unlikely(builder_.CreateNot(all), apart, together);
    }
    builder_.SetInsertPoint(together);
    for (std::size_t i = 0; i < active_.size(); ++i) fast[i] = reach(op, *active_[i], accesses[i].address);
    builder_.CreateBr(after);
    if (apart != nullptr) {
        builder_.SetInsertPoint(apart);
        for (std::size_t i = 0; i < active_.size(); ++i) {
            guarded(op, *active_[i], accesses[i]);
            if (loads) slow[i] = get(*active_[i], op.result);
        }
        apart = builder_.GetInsertBlock();
        builder_.CreateBr(after);
    }
    builder_.SetInsertPoint(after);
    for (std::size_t i = 0; loads && i < active_.size(); ++i) {
        llvm::PHINode* value = builder_.CreatePHI(fast[i]->getType(), 2);
        value->addIncoming(fast[i], together);
        if (apart != nullptr) value->addIncoming(slow[i], apart);
        active_[i]->values[op.result] = value;
    }
}

void Emitter::guarded(const ir::Op& op, Thread& thread, const Access& access) {
    const bool gives = op.result != ir::kNoValue;
    if (access.inside == nullptr) {
        Value* value = reach(op, thread, access.address);
        if (gives) thread.values[op.result] = value;
        return;
    }
    llvm::BasicBlock* inside = block("inside");
    llvm::BasicBlock* outside = block("outside");
    llvm::BasicBlock* after = block("accessed");
    builder_.CreateCondBr(access.inside, inside, outside);
    builder_.SetInsertPoint(outside);
    if (function_.bounds == ir::Bounds::Raise) report_outside(op, thread, access);
    outside = builder_.GetInsertBlock();
    builder_.CreateBr(after);
    builder_.SetInsertPoint(inside);
    Value* value = reach(op, thread, access.address);
    inside = builder_.GetInsertBlock();
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
    if (!gives) return;
    llvm::PHINode* result = builder_.CreatePHI(value->getType(), 2);
    result->addIncoming(value, inside);
    result->addIncoming(llvm::Constant::getNullValue(value->getType()), outside);
    thread.values[op.result] = result;
}

Emitter::Value* Emitter::reach(const ir::Op& op, Thread& thread, Value* address) {
    const llvm::Align align(op.align != 0 ? op.align : static_cast<std::uint64_t>(size_of(op.elem)));
    if (op.code == Opcode::Load) {
        llvm::LoadInst* load = builder_.CreateAlignedLoad(memory_type(op.elem), address, align);
        // What another thread is to change must be read anew in every round.
        load->setVolatile(waiting_ != 0);
        return from_memory(load, op.elem);
    }
    if (op.code == Opcode::Store) {
        builder_.CreateAlignedStore(to_memory(get(thread, op.operands.back()), op.elem), address, align);
        return nullptr;
    }
    const std::size_t first = 1 + 3 * static_cast<std::size_t>(op.index);
    const auto operand = [&](std::size_t which) { return to_memory(get(thread, op.operands[which]), op.elem); };
    Value* second = op.operands.size() > first + 1 ? operand(first + 1) : nullptr;
    Value* old = atomic_one(static_cast<ir::AtomicKind>(op.imm), op.elem, op.space == Space::Local, address,
                            operand(first), second);
    return from_memory(old, op.elem);
}

// The first axis whose index lies outside.
void Emitter::report_outside(const ir::Op& op, const Thread& thread, const Access& access) {
    llvm::BasicBlock* reported = block("reported");
    for (std::size_t axis = 0; axis < access.tests.size(); ++axis) {
        if (access.tests[axis] == nullptr) continue;
        llvm::BasicBlock* here = block("report");
        llvm::BasicBlock* next = block("next_axis");
        builder_.CreateCondBr(access.tests[axis], next, here);
        builder_.SetInsertPoint(here);
        fault(thread, op.line, static_cast<std::int64_t>(axis), access.indices[axis], access.shape);
        builder_.CreateBr(reported);
        builder_.SetInsertPoint(next);
    }
    builder_.CreateBr(reported);
    builder_.SetInsertPoint(reported);
}

}  // namespace treadle::codegen::nvptx
