// Array elements. Three ways to reach them, by the shapes of the indices:
//   uniform   one scalar access with one scalar test
//   linear    the packet's first and last index are tested with scalars; inside, it is one vector access (or W scalar loads with a
//             fixed distance); where a lane may be outside, an out-of-line function goes through the lanes one by one
//   varying   a vector test; lanes outside read element 0 of the array and drop it
// Every array's first element can be read, whatever its size: the launcher sees to it.
#include "base/error.h"
#include "codegen/cpu/emitter.h"

namespace treadle::codegen {

using ir::Opcode;

Emitter::Access Emitter::access_of(const ir::Op& op) {
    Access access;
    access.op = &op;
    access.rank = static_cast<std::size_t>(op.index);
    access.pointer = get(op.operands[0]);
    for (std::size_t i = 0; i < access.rank; ++i) {
        access.shape.push_back(get(op.operands[1 + i]));
        access.strides.push_back(get(op.operands[1 + access.rank + i]));
        access.indices.push_back(get(op.operands[1 + 2 * access.rank + i]));
        access.shapes.push_back(shape(op.operands[1 + 2 * access.rank + i]));
    }
    if (access.rank != 0) {
        const bool dense = op.layout == ir::Layout::Dense || op.layout == ir::Layout::InnerDense;
        if (dense) access.strides.back() = i64(size_of(op.elem));
        if (op.layout == ir::Layout::InnerZero) access.strides.back() = i64(0);
    }
    return access;
}

namespace {

enum class Reach { Uniform, Linear, Varying };

}  // namespace

void Emitter::emit_load(const ir::Op& op) {
    const Access access = access_of(op);
    if (shape(op.result).is_uniform()) {
        values_[op.result] = uniform_load(access);
        return;
    }
    bool linear = true;
    for (const ir::ValueId operand : op.operands) linear = linear && !get(operand)->getType()->isVectorTy();
    values_[op.result] = linear ? linear_load(access) : varying_load(access);
}

void Emitter::emit_store(const ir::Op& op) {
    const Access access = access_of(op);
    const ir::ValueId stored = op.operands.back();
    Reach reach = Reach::Uniform;
    for (std::size_t i = 0; i + 1 < op.operands.size(); ++i) {
        const ir::Shape one = shape(op.operands[i]);
        if (one.is_varying()) reach = Reach::Varying;
        if (one.is_linear() && reach == Reach::Uniform) reach = Reach::Linear;
    }
    switch (reach) {
        case Reach::Uniform: uniform_store(access, shape(stored).is_uniform() ? get(stored) : vector(stored)); break;
        case Reach::Linear: linear_store(access, vector(stored)); break;
        case Reach::Varying: varying_store(access, vector(stored)); break;
    }
}

void Emitter::emit_element_ptr(const ir::Op& op) {
    Access access = access_of(op);
    if (!shape(op.result).is_varying()) {
        values_[op.result] = builder_.CreateAdd(access.pointer, offset_of(access, access.indices));
        return;
    }
    for (std::size_t i = 0; i < access.rank; ++i) access.indices[i] = vector(op.operands[1 + 2 * access.rank + i]);
    Value* base = vector(op.operands[0]);
    values_[op.result] = builder_.CreateAdd(base, offset_of(access, access.indices));
}

void Emitter::emit_table_load(const ir::Op& op) {
    const auto number = static_cast<std::size_t>(op.index);
    const ir::Table& table = function_.tables[number];
    // Lanes that are not active may hold any index.
    const auto limit = static_cast<std::uint64_t>(table.bits.size() - 1);
    Value* index = get(op.operands[0]);
    Value* last = llvm::ConstantInt::get(index->getType(), limit);
    index = builder_.CreateSelect(builder_.CreateICmpULT(index, last), index, last);
    llvm::Type* element = scalar_type(table.dtype);
    if (!index->getType()->isVectorTy()) {
        values_[op.result] = builder_.CreateLoad(element, builder_.CreateGEP(element, tables_[number], index));
        return;
    }
    Value* base = builder_.CreatePtrToInt(tables_[number], builder_.getInt64Ty());
    Value* offsets = builder_.CreateMul(builder_.CreateZExt(index, vector_of(builder_.getInt64Ty())), splat(i64(size_of(table.dtype))));
    values_[op.result] = gather(base, offsets, table.dtype, nullptr);
}

// index inside [0, extent), as unsigned numbers: a negative one is outside as well.
Emitter::Value* Emitter::inside(const Access& access, std::size_t axis, Value* index) {
    Value* extent = access.shape[axis];
    if (index->getType()->isVectorTy() && !extent->getType()->isVectorTy()) extent = splat(extent);
    if (!index->getType()->isVectorTy() && extent->getType()->isVectorTy()) index = splat(index);
    return builder_.CreateICmpULT(index, extent);
}

Emitter::Value* Emitter::wrapped(const Access& access, std::size_t axis, Value* index) {
    if (function_.nonnegative[access.op->operands[1 + 2 * access.rank + axis]]) return index;
    Value* extent = access.shape[axis];
    if (index->getType()->isVectorTy() && !extent->getType()->isVectorTy()) extent = splat(extent);
    if (!index->getType()->isVectorTy() && extent->getType()->isVectorTy()) index = splat(index);
    Value* negative = builder_.CreateICmpSLT(index, llvm::Constant::getNullValue(index->getType()));
    return builder_.CreateSelect(negative, builder_.CreateAdd(index, extent), index);
}

Emitter::Value* Emitter::offset_of(const Access& access, const std::vector<Value*>& indices) {
    Value* offset = i64(0);
    for (std::size_t axis = 0; axis < access.rank; ++axis) {
        Value* index = indices[axis];
        Value* stride = access.strides[axis];
        if (index->getType()->isVectorTy() != stride->getType()->isVectorTy()) {
            (index->getType()->isVectorTy() ? stride : index) = splat(index->getType()->isVectorTy() ? stride : index);
        }
        Value* term = builder_.CreateMul(index, stride);
        if (term->getType()->isVectorTy() && !offset->getType()->isVectorTy()) offset = splat(offset);
        if (!term->getType()->isVectorTy() && offset->getType()->isVectorTy()) term = splat(term);
        offset = builder_.CreateAdd(offset, term);
    }
    return offset;
}

Emitter::Value* Emitter::uniform_load(const Access& access) {
    llvm::Type* type = memory_type(access.op->elem);
    Value* ok = nullptr;
    std::vector<Value*> indices;
    // A broadcast axis has a stride of zero, so its varying index may be left out.
    for (std::size_t axis = 0; axis < access.rank; ++axis) {
        if (access.indices[axis]->getType()->isVectorTy() || !access.shapes[axis].is_uniform()) {
            indices.push_back(i64(0));
            continue;
        }
        indices.push_back(function_.bounds == ir::Bounds::Off ? access.indices[axis] : wrapped(access, axis, access.indices[axis]));
        if (function_.bounds == ir::Bounds::Off) continue;
        Value* one = inside(access, axis, indices.back());
        ok = ok == nullptr ? one : builder_.CreateAnd(ok, one);
        if (function_.bounds == ir::Bounds::Raise) report_fault(access, axis, access.indices[axis], one);
    }
    Value* offset = offset_of(access, indices);
    if (ok != nullptr) offset = builder_.CreateSelect(ok, offset, i64(0));
    Value* address = builder_.CreateIntToPtr(builder_.CreateAdd(access.pointer, offset), builder_.getPtrTy());
    Value* loaded = builder_.CreateAlignedLoad(type, address, llvm::Align(static_cast<std::uint64_t>(size_of(access.op->elem))));
    if (ok != nullptr) loaded = builder_.CreateSelect(ok, loaded, llvm::Constant::getNullValue(type));
    return from_memory(loaded, access.op->elem);
}

// All active lanes write one element; the last of them is seen afterwards.
void Emitter::uniform_store(const Access& access, Value* value) {
    Value* ok = mask_ == nullptr ? static_cast<Value*>(builder_.getTrue()) : any(mask_);
    std::vector<Value*> indices;
    for (std::size_t axis = 0; axis < access.rank; ++axis) {
        if (function_.bounds == ir::Bounds::Off) {
            indices.push_back(access.indices[axis]);
            continue;
        }
        indices.push_back(wrapped(access, axis, access.indices[axis]));
        Value* one = inside(access, axis, indices.back());
        if (function_.bounds == ir::Bounds::Raise) report_fault(access, axis, access.indices[axis], one);
        ok = builder_.CreateAnd(ok, one);
    }
    llvm::BasicBlock* write = block("write");
    llvm::BasicBlock* after = block("written");
    builder_.CreateCondBr(ok, write, after);
    builder_.SetInsertPoint(write);
    if (value->getType()->isVectorTy()) {
        Value* last = i64(width_ - 1);
        if (mask_ != nullptr) {
            Value* zeros = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, mask_bits(mask_), builder_.getTrue());
            last = builder_.CreateSub(i64(63), zeros);
        }
        value = builder_.CreateExtractElement(value, last);
    }
    Value* address = builder_.CreateIntToPtr(builder_.CreateAdd(access.pointer, offset_of(access, indices)), builder_.getPtrTy());
    builder_.CreateAlignedStore(to_memory(value, access.op->elem), address, llvm::Align(static_cast<std::uint64_t>(size_of(access.op->elem))));
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
}

// The packet as a whole is inside: first and last lane of every index, as scalars.
Emitter::Value* Emitter::linear_inside(const Access& access) {
    Value* ok = nullptr;
    for (std::size_t axis = 0; axis < access.rank; ++axis) {
        Value* first = access.indices[axis];
        Value* one = inside(access, axis, first);
        if (access.shapes[axis].is_linear()) {
            Value* last = builder_.CreateAdd(first, i64(access.shapes[axis].stride * (width_ - 1)));
            one = builder_.CreateAnd(one, inside(access, axis, last));
        }
        ok = ok == nullptr ? one : builder_.CreateAnd(ok, one);
    }
    return ok;
}

bool Emitter::is_contiguous(const Access& access) const {
    if (access.rank == 0) return false;
    for (std::size_t axis = 0; axis + 1 < access.rank; ++axis) {
        if (!access.shapes[axis].is_uniform()) return false;
    }
    const bool dense = access.op->layout == ir::Layout::Dense || access.op->layout == ir::Layout::InnerDense;
    return dense && access.shapes.back() == ir::Shape::linear(1);
}

// Byte offset of lane 0 and the distance between lanes.
std::pair<Emitter::Value*, Emitter::Value*> Emitter::linear_offset(const Access& access) {
    Value* stride = i64(0);
    for (std::size_t axis = 0; axis < access.rank; ++axis) {
        if (!access.shapes[axis].is_linear()) continue;
        stride = builder_.CreateAdd(stride, builder_.CreateMul(i64(access.shapes[axis].stride), access.strides[axis]));
    }
    return {offset_of(access, access.indices), stride};
}

Emitter::Value* Emitter::linear_load(const Access& access) {
    const DType elem = access.op->elem;
    const auto fast = [&]() -> Value* {
        const auto [offset, stride] = linear_offset(access);
        if (!is_contiguous(access)) return strided_gather(access.pointer, offset, stride, elem);
        Value* address = builder_.CreateIntToPtr(builder_.CreateAdd(access.pointer, offset), builder_.getPtrTy());
        return builder_.CreateAlignedLoad(vector_of(memory_type(elem)), address, llvm::Align(static_cast<std::uint64_t>(size_of(elem))));
    };
    if (function_.bounds == ir::Bounds::Off) {
        // Without tests only active lanes may touch memory.
        if (mask_ == nullptr) return from_memory(fast(), elem);
        return varying_load(access);
    }
    llvm::BasicBlock* usual = block("load");
    llvm::BasicBlock* rare = block("load_guarded");
    llvm::BasicBlock* after = block("loaded");
    unlikely(builder_.CreateNot(linear_inside(access)), rare, usual);
    builder_.SetInsertPoint(usual);
    Value* quick = fast();
    llvm::BasicBlock* usual_end = builder_.GetInsertBlock();
    builder_.CreateBr(after);
    builder_.SetInsertPoint(rare);
    Value* slow = slow_load(access);
    llvm::BasicBlock* rare_end = builder_.GetInsertBlock();
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
    llvm::PHINode* result = builder_.CreatePHI(quick->getType(), 2);
    result->addIncoming(quick, usual_end);
    result->addIncoming(slow, rare_end);
    return from_memory(result, elem);
}

void Emitter::linear_store(const Access& access, Value* value) {
    const DType elem = access.op->elem;
    if (!is_contiguous(access)) {
        varying_store(access, value);
        return;
    }
    value = to_memory(value, elem);
    const llvm::Align align(static_cast<std::uint64_t>(size_of(elem)));
    Value* ok = function_.bounds == ir::Bounds::Off ? static_cast<Value*>(builder_.getTrue()) : linear_inside(access);
    llvm::BasicBlock* usual = block("store");
    llvm::BasicBlock* rare = block("store_guarded");
    llvm::BasicBlock* after = block("stored");
    unlikely(builder_.CreateNot(ok), rare, usual);
    builder_.SetInsertPoint(usual);
    Value* address = builder_.CreateIntToPtr(builder_.CreateAdd(access.pointer, linear_offset(access).first), builder_.getPtrTy());
    if (mask_ == nullptr) {
        builder_.CreateAlignedStore(value, address, align);
        builder_.CreateBr(after);
    } else {
        llvm::BasicBlock* whole = block("store_all");
        llvm::BasicBlock* part = block("store_part");
        builder_.CreateCondBr(all(mask_), whole, part);
        builder_.SetInsertPoint(whole);
        builder_.CreateAlignedStore(value, address, align);
        builder_.CreateBr(after);
        builder_.SetInsertPoint(part);
        if (size_of(elem) >= 4 || options_.target.isa == VectorIsa::Avx512) {
            builder_.CreateMaskedStore(value, address, align, mask_);
        } else {
            slow_store(access, value);
        }
        builder_.CreateBr(after);
    }
    builder_.SetInsertPoint(rare);
    slow_store(access, value);
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
}

}  // namespace treadle::codegen
