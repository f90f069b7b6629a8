// Gathers and scatters, and the out-of-line functions that test lanes one by one.
#include "base/error.h"
#include "base/kernel_abi.h"
#include "codegen/cpu/emitter.h"

namespace treadle::codegen {

// Loads element base + offsets[lane] for every lane; all addresses can be read.
Emitter::Value* Emitter::gather(Value* base, Value* offsets, DType elem, Value* safe_mask, llvm::Align align) {
    if (safe_mask != nullptr)
        offsets = builder_.CreateSelect(safe_mask, offsets, llvm::Constant::getNullValue(offsets->getType()));
    llvm::Type* type = memory_type(elem);
    if (!base->getType()->isVectorTy()) base = splat(base);
    Value* addresses = builder_.CreateAdd(base, offsets);
    if (options_.target.isa == VectorIsa::Avx512 && size_of(elem) >= 4) {
        Value* pointers = builder_.CreateIntToPtr(addresses, vector_of(builder_.getPtrTy()));
        return builder_.CreateMaskedGather(vector_of(type), pointers, align, all_lanes());
    }
    Value* result = llvm::PoisonValue::get(vector_of(type));
    for (int lane = 0; lane < width_; ++lane) {
        const auto index = static_cast<std::uint64_t>(lane);
        Value* pointer = builder_.CreateIntToPtr(builder_.CreateExtractElement(addresses, index), builder_.getPtrTy());
        result = builder_.CreateInsertElement(result, builder_.CreateAlignedLoad(type, pointer, align), index);
    }
    return result;
}

Emitter::Value* Emitter::strided_gather(Value* base, Value* offset, Value* stride, DType elem, llvm::Align align) {
    Value* steps = builder_.CreateMul(splat(stride), lane_numbers(builder_.getInt64Ty()));
    return gather(builder_.CreateAdd(base, offset), steps, elem, nullptr, align);
}

// Byte offsets of all lanes of an access with any indices, and the lanes that are inside; null where bounds are not
// tested.
std::pair<Emitter::Value*, Emitter::Value*> Emitter::varying_offsets(const Access& access) {
    Value* ok = nullptr;
    std::vector<Value*> indices;
    for (std::size_t axis = 0; axis < access.rank; ++axis) {
        Value* index = widen(access.indices[axis], access.shapes[axis], builder_.getInt64Ty());
        if (function_.bounds != ir::Bounds::Off) {
            Value* original = access.shapes[axis].is_uniform() ? access.originals[axis] : index;
            if (!access.is_wrapped[axis]) index = wrapped(access, axis, index);
            Value* one = inside(access, axis, index);
            if (function_.bounds == ir::Bounds::Raise) report_fault(access, axis, original, one);
            ok = mask_and(ok, one);
        }
        indices.push_back(index);
    }
    Value* offsets = offset_of(access, indices);
    if (access.op->space == ir::Space::Local)
        offsets = builder_.CreateAdd(offsets->getType()->isVectorTy() ? offsets : splat(offsets),
                                     lane_numbers(builder_.getInt64Ty(), size_of(access.op->elem)));
    return {offsets->getType()->isVectorTy() ? offsets : splat(offsets), ok};
}

// Loads through any indices. Lanes that are inactive or outside read element 0, and the latter give zero.
Emitter::Value* Emitter::varying_load(const Access& access) {
    const auto [offsets, ok] = varying_offsets(access);
    Value* loaded = gather(access.pointer, offsets, access.op->elem, mask_and(mask_, ok), align_of(*access.op));
    if (ok != nullptr) loaded = builder_.CreateSelect(ok, loaded, llvm::Constant::getNullValue(loaded->getType()));
    return from_memory(loaded, access.op->elem);
}

void Emitter::varying_store(const Access& access, Value* value) {
    const DType elem = access.op->elem;
    value = value->getType()->getScalarType() == memory_type(elem) ? value : to_memory(value, elem);
    if (options_.target.isa != VectorIsa::Avx512 || size_of(elem) < 4) {
        slow_store(access, value);
        return;
    }
    const auto [offsets, ok] = varying_offsets(access);
    Value* lanes = mask_and(mask_, ok);
    Value* base = access.pointer->getType()->isVectorTy() ? access.pointer : splat(access.pointer);
    Value* pointers = builder_.CreateIntToPtr(builder_.CreateAdd(base, offsets), vector_of(builder_.getPtrTy()));
    builder_.CreateMaskedScatter(value, pointers, align_of(*access.op), lanes != nullptr ? lanes : all_lanes());
}

// What the out-of-line functions are told of a lane: the pointer, then extent, stride and index of each axis. Constants
// and distances between lanes are part of the function; what differs irregularly between lanes goes through memory.
std::vector<Emitter::Quantity> Emitter::quantities(const Access& access) const {
    std::vector<Quantity> all = {{access.pointer, access.op->space == ir::Space::Local ? size_of(access.op->elem) : 0}};
    for (std::size_t axis = 0; axis < access.rank; ++axis) {
        all.push_back({access.shape[axis], 0});
        all.push_back({access.strides[axis], 0});
        all.push_back({access.originals[axis], access.shapes[axis].is_linear() ? access.shapes[axis].stride : 0});
    }
    return all;
}

std::string Emitter::Quantity::name() const {
    if (is_spread()) return "_v";
    const std::string first = constant() != nullptr ? std::to_string(constant()->getSExtValue()) : "x";
    return "_" + first + (step != 0 ? "s" + std::to_string(step) : "");
}

std::vector<Emitter::Value*> Emitter::slow_arguments(const Access& access) {
    std::vector<Value*> arguments = {mask_bits(mask_or_all()), info_, block_number_,
                                     builder_.CreateZExt(thread_base_, builder_.getInt64Ty()), i64(access.op->line)};
    for (const Quantity& quantity : quantities(access)) {
        if (quantity.constant() != nullptr) continue;
        Value* value = quantity.first;
        if (quantity.is_spread()) {
            Value* memory = slot(vector_of(builder_.getInt64Ty()), "lanes");
            builder_.CreateStore(value, memory);
            value = builder_.CreatePtrToInt(memory, builder_.getInt64Ty());
        }
        arguments.push_back(value);
    }
    return arguments;
}

Emitter::Value* Emitter::slow_load(const Access& access) {
    llvm::Type* type = vector_of(memory_type(access.op->elem));
    Value* result = slot(type, "slow_result");
    std::vector<Value*> arguments = slow_arguments(access);
    arguments.push_back(result);
    builder_.CreateCall(slow_function(Deed::Load, access), arguments);
    return builder_.CreateLoad(type, result);
}

void Emitter::slow_store(const Access& access, Value* value) {
    Value* memory = slot(value->getType(), "slow_value");
    std::vector<Value*> arguments = slow_arguments(access);
    builder_.CreateStore(value, memory);
    arguments.push_back(memory);
    builder_.CreateCall(slow_function(Deed::Store, access), arguments);
}

// Data: the operands, the second operands, room for the old values.
Emitter::Value* Emitter::slow_atomic(const Access& access, Value* value, Value* second) {
    llvm::Type* type = vector_of(memory_type(access.op->elem));
    Value* memory = slot(llvm::ArrayType::get(type, 3), "atomic");
    std::vector<Value*> arguments = slow_arguments(access);
    builder_.CreateStore(value, memory);
    if (second != nullptr) builder_.CreateStore(second, builder_.CreateConstInBoundsGEP1_64(type, memory, 1));
    Value* old = builder_.CreateConstInBoundsGEP1_64(type, memory, 2);
    const bool is_used = used_.contains(access.op->result);
    if (is_used) builder_.CreateStore(llvm::Constant::getNullValue(type), old);
    arguments.push_back(memory);
    builder_.CreateCall(slow_function(Deed::Atomic, access), arguments);
    return is_used ? static_cast<Value*>(builder_.CreateLoad(type, old)) : llvm::PoisonValue::get(type);
}

// What an out-of-line function does for one lane.
void Emitter::slow_access(Deed what, const ir::Op& op, Value* data, Value* element, Value* lane) {
    llvm::Type* type = memory_type(op.elem);
    const llvm::Align align = align_of(op.elem);  // of the packet's data
    Value* place = builder_.CreateGEP(type, data, lane);
    if (what != Deed::Atomic) {
        const bool is_store = what == Deed::Store;
        Value* loaded = builder_.CreateAlignedLoad(type, is_store ? place : element, is_store ? align : align_of(op));
        builder_.CreateAlignedStore(loaded, is_store ? element : place, is_store ? align_of(op) : align);
        return;
    }
    const auto part = [&](int number) {
        return builder_.CreateGEP(type, data, builder_.CreateAdd(lane, i64(std::int64_t{number} * width_)));
    };
    Value* value = builder_.CreateAlignedLoad(type, place, align);
    Value* second = nullptr;
    if (op.imm == static_cast<std::uint64_t>(ir::AtomicKind::Cas))
        second = builder_.CreateAlignedLoad(type, part(1), align);
    Value* old = atomic_lane(op, element, value, second);
    if (used_.contains(op.result)) builder_.CreateAlignedStore(old, part(2), align);
}

llvm::Function* Emitter::slow_function(Deed what, const Access& accessed) {
    const ir::Op& op = *accessed.op;
    const std::size_t rank = accessed.rank;
    const DType elem = op.elem;
    const std::vector<Quantity> told = quantities(accessed);
    static constexpr const char* kNames[] = {"load_", "store_", "atomic_"};
    std::string name = kNames[static_cast<int>(what)] + std::string(name_of(elem)) + "_" + std::to_string(rank);
    for (const Quantity& quantity : told) name += quantity.name();
    if (op.align != 0) name += "_align" + std::to_string(op.align);
    for (std::size_t axis = 0; axis < rank; ++axis) name += is_inside(accessed, axis) ? "_in" : "_test";
    if (what == Deed::Atomic) {
        name += "_" + std::to_string(op.imm) + (op.space == ir::Space::Global ? "" : "_own");
        if (!used_.contains(op.result)) name += "_unused";
    }
    llvm::Function*& function = slow_functions_[name];
    if (function != nullptr) return function;
    llvm::Type* number = builder_.getInt64Ty();
    llvm::Type* pointer = builder_.getPtrTy();
    std::vector<llvm::Type*> params = {number, pointer, number, number, number};
    std::vector<unsigned> places;  // of the arguments
    for (const Quantity& quantity : told) {
        places.push_back(static_cast<unsigned>(params.size()));
        if (quantity.constant() == nullptr) params.push_back(number);
    }
    params.push_back(pointer);
    function = llvm::Function::Create(llvm::FunctionType::get(builder_.getVoidTy(), params, false),
                                      llvm::Function::InternalLinkage, name, module_);
    function->addFnAttr(llvm::Attribute::NoUnwind);
    function->addFnAttr(llvm::Attribute::NoInline);
    function->addFnAttr("target-cpu", options_.target.cpu);

    const llvm::IRBuilderBase::InsertPointGuard guard(builder_);
    builder_.SetCurrentDebugLocation({});
    const auto make = [&](const char* label) { return llvm::BasicBlock::Create(context_, label, function); };
    llvm::BasicBlock* entry = make("entry");
    llvm::BasicBlock* loop = make("lane");
    llvm::BasicBlock* access = make("access");
    llvm::BasicBlock* next = make("next");
    llvm::BasicBlock* done = make("done");
    builder_.SetInsertPoint(entry);
    llvm::Type* type = memory_type(elem);
    Value* data = function->getArg(static_cast<unsigned>(params.size()) - 1);
    if (what == Deed::Load) builder_.CreateStore(llvm::Constant::getNullValue(vector_of(type)), data);
    Value* bits = function->getArg(0);
    builder_.CreateCondBr(builder_.CreateICmpEQ(bits, i64(0)), done, loop);
    builder_.SetInsertPoint(loop);
    llvm::PHINode* left = builder_.CreatePHI(number, 2);
    left->addIncoming(bits, entry);
    Value* lane = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, left, builder_.getTrue());
    const auto item = [&](unsigned which) -> Value* {
        const Quantity& quantity = told[which];
        Value* first = quantity.constant();
        if (first == nullptr) first = function->getArg(places[which]);
        if (quantity.is_spread())
            return builder_.CreateLoad(number,
                                       builder_.CreateGEP(number, builder_.CreateIntToPtr(first, pointer), lane));
        if (quantity.step == 0) return first;
        return builder_.CreateAdd(first, builder_.CreateMul(lane, i64(quantity.step)));
    };
    Value* address = item(0);
    for (unsigned axis = 0; axis < rank; ++axis) {
        Value* extent = item(1 + 3 * axis);
        Value* index = item(3 + 3 * axis);
        if (function_.bounds != ir::Bounds::Off && !is_inside(accessed, axis)) {
            Value* negative = builder_.CreateICmpSLT(index, i64(0));
            Value* at = builder_.CreateSelect(negative, builder_.CreateAdd(index, extent), index);
            llvm::BasicBlock* good = make("inside");
            llvm::BasicBlock* bad = next;
            if (function_.bounds == ir::Bounds::Raise) bad = make("outside");
            builder_.CreateCondBr(builder_.CreateICmpULT(at, extent), good, bad);
            if (function_.bounds == ir::Bounds::Raise) {
                builder_.SetInsertPoint(bad);
                auto* type_of_fault = llvm::FunctionType::get(
                    builder_.getVoidTy(), {pointer, number, number, number, pointer, number, number, number}, false);
                Value* shape = nullptr;
                {
                    llvm::IRBuilder<> at_entry(entry, entry->begin());
                    shape = at_entry.CreateAlloca(llvm::ArrayType::get(number, rank));
                }
                for (unsigned other = 0; other < rank; ++other) {
                    builder_.CreateStore(item(1 + 3 * other),
                                         builder_.CreateConstInBoundsGEP1_64(number, shape, other));
                }
                Value* info = function->getArg(1);
                Value* field =
                    builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), info, offsetof(LaunchInfo, fault));
                Value* thread = builder_.CreateAdd(function->getArg(3), lane);
                builder_.CreateCall(type_of_fault, builder_.CreateLoad(pointer, field),
                                    {info, function->getArg(4), i64(axis), index, shape,
                                     i64(static_cast<std::int64_t>(rank)), function->getArg(2), thread});
                builder_.CreateBr(next);
            }
            builder_.SetInsertPoint(good);
            index = at;
        }
        address = builder_.CreateAdd(address, builder_.CreateMul(index, item(2 + 3 * axis)));
    }
    builder_.CreateBr(access);
    builder_.SetInsertPoint(access);
    Value* element = builder_.CreateIntToPtr(address, pointer);
    slow_access(what, op, data, element, lane);
    builder_.CreateBr(next);
    builder_.SetInsertPoint(next);
    Value* rest = builder_.CreateAnd(left, builder_.CreateSub(left, i64(1)));
    left->addIncoming(rest, next);
    builder_.CreateCondBr(builder_.CreateICmpEQ(rest, i64(0)), done, loop);
    builder_.SetInsertPoint(done);
    builder_.CreateRetVoid();
    return function;
}

// Where bounds are reported, a failed inline test calls the host for the first active lane outside.
void Emitter::report_fault(const Access& access, std::size_t axis, Value* index, Value* inside) {
    llvm::BasicBlock* bad = block("fault");
    llvm::BasicBlock* after = block("no_fault");
    Value* outside = builder_.CreateNot(inside);
    if (!outside->getType()->isVectorTy()) outside = splat(outside);
    outside = mask_and(mask_, outside);
    unlikely(any(outside), bad, after);
    builder_.SetInsertPoint(bad);
    Value* lane = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, mask_bits(outside), builder_.getTrue());
    if (index->getType()->isVectorTy()) index = builder_.CreateExtractElement(index, lane);
    Value* shape = slot(llvm::ArrayType::get(builder_.getInt64Ty(), access.rank), "shape");
    for (unsigned other = 0; other < access.rank; ++other) {
        Value* extent = access.shape[other];
        if (extent->getType()->isVectorTy()) extent = builder_.CreateExtractElement(extent, lane);
        builder_.CreateStore(extent, builder_.CreateConstInBoundsGEP1_64(builder_.getInt64Ty(), shape, other));
    }
    call_fault(i64(access.op->line), static_cast<std::int64_t>(axis), index, shape,
               static_cast<std::int64_t>(access.rank), lane);
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
}

// Tells the host of a lane's fault; see FaultFunction.
void Emitter::call_fault(Value* line, std::int64_t axis, Value* index, Value* shape, std::int64_t rank, Value* lane) {
    llvm::Type* number = builder_.getInt64Ty();
    llvm::Type* pointer = builder_.getPtrTy();
    auto* type = llvm::FunctionType::get(builder_.getVoidTy(),
                                         {pointer, number, number, number, pointer, number, number, number}, false);
    Value* field = builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), info_, offsetof(LaunchInfo, fault));
    Value* thread = builder_.CreateAdd(builder_.CreateZExt(thread_base_, number), lane);
    builder_.CreateCall(type, builder_.CreateLoad(pointer, field),
                        {info_, line, i64(axis), index, shape, i64(rank), block_number_, thread});
}

}  // namespace treadle::codegen
