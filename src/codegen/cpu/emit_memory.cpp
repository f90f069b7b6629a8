// Array elements. Three ways to reach them, by the shapes of the indices:
//   uniform   one scalar access with one scalar test
//   linear    the packet's first and last index are tested with scalars; inside, it is one vector access (or W scalar
//   loads with a
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
    if (op.code != Opcode::Atomic && op.imm != 0) {
        // A part of an element; in memory of threads the parts of all lanes lie together.
        Value* offset = i64(static_cast<std::int64_t>(op.imm) * (op.space == ir::Space::Local ? width_ : 1));
        const bool wide = access.pointer->getType()->isVectorTy();
        access.pointer = builder_.CreateAdd(access.pointer, wide ? splat(offset) : offset);
    }
    for (std::size_t i = 0; i < access.rank; ++i) {
        access.shape.push_back(get(op.operands[1 + i]));
        access.strides.push_back(get(op.operands[1 + access.rank + i]));
        access.indices.push_back(get(op.operands[1 + 2 * access.rank + i]));
        access.shapes.push_back(shape(op.operands[1 + 2 * access.rank + i]));
    }
    access.originals = access.indices;
    access.is_wrapped.assign(access.rank, false);
    if (function_.bounds != ir::Bounds::Off) {
        // A uniform index wraps once, as a scalar; lanes wrap where they may be negative.
        for (std::size_t i = 0; i < access.rank; ++i) {
            access.is_wrapped[i] = access.shapes[i].is_uniform() && !access.shape[i]->getType()->isVectorTy();
            if (access.is_wrapped[i]) access.indices[i] = wrapped(access, i, access.indices[i]);
        }
    }
    if (access.rank != 0) {
        const bool dense = op.layout == ir::Layout::Dense || op.layout == ir::Layout::InnerDense;
        if (dense) access.strides.back() = i64(size_of(op.elem));
        if (op.layout == ir::Layout::InnerZero) access.strides.back() = i64(0);
        if (op.space == ir::Space::Local) {
            for (Value*& stride : access.strides)
                stride = builder_.CreateMul(stride, stride->getType()->isVectorTy() ? splat(i64(width_)) : i64(width_));
        }
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
    Reach reach = op.space == ir::Space::Local ? Reach::Linear : Reach::Uniform;
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
    Value* base = access.pointer->getType()->isVectorTy() ? access.pointer : splat(access.pointer);
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
    llvm::Type* element = memory_type(table.dtype);
    if (!index->getType()->isVectorTy()) {
        Value* loaded = builder_.CreateLoad(element, builder_.CreateGEP(element, tables_[number], index));
        values_[op.result] = from_memory(loaded, table.dtype);
        return;
    }
    Value* base = builder_.CreatePtrToInt(tables_[number], builder_.getInt64Ty());
    Value* offsets = builder_.CreateMul(builder_.CreateZExt(index, vector_of(builder_.getInt64Ty())),
                                        splat(i64(size_of(table.dtype))));
    Value* loaded = gather(base, offsets, table.dtype, nullptr, align_of(table.dtype));
    values_[op.result] = from_memory(loaded, table.dtype);
}

// Known when compiled.
bool Emitter::is_inside(const Access& access, std::size_t axis) const {
    const std::uint8_t bits = function_.width_bits[access.op->operands[1 + 2 * access.rank + axis]];
    const auto* extent = llvm::dyn_cast<llvm::ConstantInt>(access.shape[axis]);
    return extent != nullptr && bits < 63 && extent->getSExtValue() >= (std::int64_t{1} << bits);
}

// index inside [0, extent), as unsigned numbers: a negative one is outside as well.
Emitter::Value* Emitter::inside(const Access& access, std::size_t axis, Value* index) {
    Value* extent = access.shape[axis];
    if (is_inside(access, axis)) return index->getType()->isVectorTy() ? all_lanes() : builder_.getTrue();
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
        indices.push_back(access.indices[axis]);
        if (function_.bounds == ir::Bounds::Off) continue;
        Value* one = inside(access, axis, indices.back());
        ok = ok == nullptr ? one : builder_.CreateAnd(ok, one);
        if (function_.bounds == ir::Bounds::Raise) report_fault(access, axis, access.originals[axis], one);
    }
    Value* offset = offset_of(access, indices);
    if (ok != nullptr) offset = builder_.CreateSelect(ok, offset, i64(0));
    Value* address = builder_.CreateIntToPtr(builder_.CreateAdd(access.pointer, offset), builder_.getPtrTy());
    Value* loaded = builder_.CreateAlignedLoad(type, address, align_of(*access.op));
    if (ok != nullptr) loaded = builder_.CreateSelect(ok, loaded, llvm::Constant::getNullValue(type));
    return from_memory(loaded, access.op->elem);
}

// Calls write(address) where any lane is active and the element is there.
void Emitter::uniform_write(const Access& access, const std::function<void(Value*)>& write) {
    Value* ok = mask_ == nullptr ? static_cast<Value*>(builder_.getTrue()) : any(mask_);
    for (std::size_t axis = 0; axis < access.rank && function_.bounds != ir::Bounds::Off; ++axis) {
        Value* one = inside(access, axis, access.indices[axis]);
        if (function_.bounds == ir::Bounds::Raise) report_fault(access, axis, access.originals[axis], one);
        ok = builder_.CreateAnd(ok, one);
    }
    llvm::BasicBlock* inside_block = block("write");
    llvm::BasicBlock* after = block("written");
    builder_.CreateCondBr(ok, inside_block, after);
    builder_.SetInsertPoint(inside_block);
    write(builder_.CreateIntToPtr(builder_.CreateAdd(access.pointer, offset_of(access, access.indices)),
                                  builder_.getPtrTy()));
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
}

// All active lanes write one element; the last of them is seen afterwards.
void Emitter::uniform_store(const Access& access, Value* value) {
    uniform_write(access, [&](Value* address) {
        if (value->getType()->isVectorTy()) {
            Value* last = i64(width_ - 1);
            if (mask_ != nullptr) {
                Value* zeros =
                    builder_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, mask_bits(mask_), builder_.getTrue());
                last = builder_.CreateSub(i64(63), zeros);
            }
            value = builder_.CreateExtractElement(value, last);
        }
        builder_.CreateAlignedStore(to_memory(value, access.op->elem), address, align_of(*access.op));
    });
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
    if (access.op->space == ir::Space::Local) {
        for (const ir::Shape index : access.shapes) {
            if (!index.is_uniform()) return false;
        }
        return true;
    }
    if (access.rank == 0) return false;
    for (std::size_t axis = 0; axis + 1 < access.rank; ++axis) {
        if (!access.shapes[axis].is_uniform()) return false;
    }
    const bool dense = access.op->layout == ir::Layout::Dense || access.op->layout == ir::Layout::InnerDense;
    return dense && access.shapes.back() == ir::Shape::linear(1);
}

// Byte offset of lane 0 and the distance between lanes.
std::pair<Emitter::Value*, Emitter::Value*> Emitter::linear_offset(const Access& access) {
    Value* stride = i64(access.op->space == ir::Space::Local ? size_of(access.op->elem) : 0);
    for (std::size_t axis = 0; axis < access.rank; ++axis) {
        if (!access.shapes[axis].is_linear()) continue;
        stride = builder_.CreateAdd(stride, builder_.CreateMul(i64(access.shapes[axis].stride), access.strides[axis]));
    }
    return {offset_of(access, access.indices), stride};
}

// Lanes of a contiguous access whose last index is inside, when the first lane's is not negative; none where another
// index is outside.
Emitter::Value* Emitter::inside_lanes(const Access& access) {
    Value* left = builder_.CreateSub(access.shape.back(), access.indices.back());
    for (std::size_t axis = 0; axis + 1 < access.rank; ++axis) {
        left = builder_.CreateSelect(inside(access, axis, access.indices[axis]), left, i64(0));
    }
    Value* lanes = lanes_below(left);
    return may_be_negative(access) ? builder_.CreateAnd(lanes, builder_.CreateNot(lanes_below_zero(access))) : lanes;
}

// Lanes whose last index is negative.
Emitter::Value* Emitter::lanes_below_zero(const Access& access) {
    return lanes_below(builder_.CreateNeg(access.indices.back()));
}

// The first lanes, as many as count says.
Emitter::Value* Emitter::lanes_below(Value* count) {
    count = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, count, i64(0));
    count = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, count, i64(width_));
    return builder_.CreateICmpSGT(splat(builder_.CreateTrunc(count, builder_.getInt32Ty())),
                                  lane_numbers(builder_.getInt32Ty()));
}

// Whether a packet that is partly outside can be accessed under a mask; else it goes lane by lane.
bool Emitter::can_mask(const Access& access) const {
    const bool has_instruction = size_of(access.op->elem) >= 4 || options_.target.isa == VectorIsa::Avx512;
    const bool has_end = access.op->space != ir::Space::Local;  // else all lanes are inside or none
    return is_contiguous(access) && has_instruction && has_end && function_.bounds == ir::Bounds::Guard;
}

bool Emitter::may_be_negative(const Access& access) const {
    return !function_.nonnegative[access.op->operands[3 * access.rank]];
}

Emitter::Value* Emitter::linear_address(const Access& access) {
    return builder_.CreateIntToPtr(builder_.CreateAdd(access.pointer, linear_offset(access).first),
                                   builder_.getPtrTy());
}

Emitter::Value* Emitter::linear_load(const Access& access) {
    const DType elem = access.op->elem;
    llvm::Type* type = vector_of(memory_type(elem));
    const llvm::Align align = align_of(*access.op);
    if (function_.bounds == ir::Bounds::Off && mask_ != nullptr)
        return varying_load(access);  // only active lanes may touch memory
    const auto whole = [&]() -> Value* {
        if (is_contiguous(access)) return builder_.CreateAlignedLoad(type, linear_address(access), align);
        const auto [offset, stride] = linear_offset(access);
        return strided_gather(access.pointer, offset, stride, elem, align);
    };
    if (function_.bounds == ir::Bounds::Off) return from_memory(whole(), elem);
    llvm::BasicBlock* after = block("loaded");
    std::vector<std::pair<Value*, llvm::BasicBlock*>> results;
    const auto arrive = [&](Value* value) {
        results.emplace_back(value, builder_.GetInsertBlock());
        builder_.CreateBr(after);
    };
    split_by_place(
        access, [&] { arrive(whole()); },
        [&] {
            arrive(builder_.CreateMaskedLoad(type, linear_address(access), align, inside_lanes(access),
                                             llvm::Constant::getNullValue(type)));
        },
        [&] { arrive(slow_load(access)); });
    builder_.SetInsertPoint(after);
    llvm::PHINode* result = builder_.CreatePHI(type, 2);
    for (const auto& [value, from] : results) result->addIncoming(value, from);
    return from_memory(result, elem);
}

// Emits the code for a packet that is wholly inside, one that is partly outside above, and the general case.
template <class Whole, class Masked, class Slow>
void Emitter::split_by_place(const Access& access, const Whole& whole, const Masked& masked, const Slow& slow) {
    llvm::BasicBlock* usual = block("whole");
    llvm::BasicBlock* rare = block("partly");
    unlikely(builder_.CreateNot(linear_inside(access)), rare, usual);
    builder_.SetInsertPoint(usual);
    whole();
    builder_.SetInsertPoint(rare);
    if (!can_mask(access)) {
        slow();
        return;
    }
    if (may_be_negative(access)) {
        // Only lanes that take part count from the end.
        llvm::BasicBlock* above = block("above");
        llvm::BasicBlock* below = block("below");
        builder_.CreateCondBr(any(mask_and(mask_, lanes_below_zero(access))), below, above);
        builder_.SetInsertPoint(below);
        slow();
        builder_.SetInsertPoint(above);
    }
    masked();
}

void Emitter::linear_store(const Access& access, Value* value) {
    const DType elem = access.op->elem;
    if (!is_contiguous(access)) {
        varying_store(access, value);
        return;
    }
    value = to_memory(value, elem);
    const llvm::Align align = align_of(*access.op);
    llvm::BasicBlock* after = block("stored");
    const auto whole = [&] {
        Value* address = linear_address(access);
        if (mask_ != nullptr) {
            llvm::BasicBlock* all_active = block("store_all");
            llvm::BasicBlock* part = block("store_part");
            builder_.CreateCondBr(all(mask_), all_active, part);
            builder_.SetInsertPoint(part);
            if (size_of(elem) >= 4 || options_.target.isa == VectorIsa::Avx512) {
                builder_.CreateMaskedStore(value, address, align, mask_);
            } else {
                slow_store(access, value);
            }
            builder_.CreateBr(after);
            builder_.SetInsertPoint(all_active);
        }
        plain_store(access, value, address);
        builder_.CreateBr(after);
    };
    if (function_.bounds == ir::Bounds::Off) {
        whole();
    } else {
        split_by_place(
            access, whole,
            [&] {
                builder_.CreateMaskedStore(value, linear_address(access), align, mask_and(inside_lanes(access), mask_));
                builder_.CreateBr(after);
            },
            [&] {
                slow_store(access, value);
                builder_.CreateBr(after);
            });
    }
    builder_.SetInsertPoint(after);
}

// Large results that the kernel does not read go past the caches, when the launcher says that they will not fit and the
// address is aligned: without that every line would be read before it is overwritten.
void Emitter::plain_store(const Access& access, Value* value, Value* address) {
    const llvm::Align align = align_of(*access.op);
    const int vector_bytes = options_.target.vector_bytes();
    const int packet_bytes = width_ * size_of(access.op->elem);
    if (!is_write_only(access) || packet_bytes < vector_bytes) {
        builder_.CreateAlignedStore(value, address, align);
        return;
    }
    streams_ = true;
    llvm::BasicBlock* cached = block("store_cached");
    llvm::BasicBlock* streamed = block("store_streamed");
    llvm::BasicBlock* done = block("store_done");
    Value* bits = builder_.CreateOr(builder_.CreatePtrToInt(address, builder_.getInt64Ty()), stream_barrier_);
    Value* off = builder_.CreateAnd(bits, i64(vector_bytes - 1));
    builder_.CreateCondBr(builder_.CreateICmpEQ(off, i64(0)), streamed, cached);
    builder_.SetInsertPoint(cached);
    builder_.CreateAlignedStore(value, address, align);
    builder_.CreateBr(done);
    builder_.SetInsertPoint(streamed);
    llvm::StoreInst* store =
        builder_.CreateAlignedStore(value, address, llvm::Align(static_cast<std::uint64_t>(vector_bytes)));
    llvm::Metadata* one = llvm::ConstantAsMetadata::get(builder_.getInt32(1));
    store->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(context_, one));
    builder_.CreateBr(done);
    builder_.SetInsertPoint(done);
}

// The array is a parameter, and no load goes through it. (Another parameter may be the same memory: that is only
// slower.)
bool Emitter::is_write_only(const Access& access) const { return streamable_.contains(access.op->operands[0]); }

}  // namespace treadle::codegen
