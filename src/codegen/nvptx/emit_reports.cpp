// What threads tell the host: the first fault of a stream, and printed lines. Both are written to memory that the host
// reaches; nothing stops, so the context lives on.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "base/cuda_kernel_abi.h"
#include "base/error.h"
#include "codegen/nvptx/address_spaces.h"
#include "codegen/nvptx/emitter.h"

namespace treadle::codegen::nvptx {

namespace In = llvm::Intrinsic;

// void fault(report, launch, line, axis, index, block x, shape...): writes the record, if it is the first.
llvm::Function* Emitter::fault_function(std::size_t rank) {
    llvm::Function*& function = fault_functions_[rank];
    if (function != nullptr) return function;
    llvm::Type* number = builder_.getInt64Ty();
    const std::vector<llvm::Type*> words(6 + rank, number);
    auto* type = llvm::FunctionType::get(builder_.getVoidTy(), words, false);
    function = llvm::Function::Create(type, llvm::Function::InternalLinkage, "fault", module_);
    function->addFnAttr(llvm::Attribute::NoUnwind);
    function->addFnAttr(llvm::Attribute::NoInline);
    function->addFnAttr(llvm::Attribute::Cold);
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context_, "entry", function));
    auto* first = llvm::BasicBlock::Create(context_, "first", function);
    auto* done = llvm::BasicBlock::Create(context_, "done", function);
    Value* report = builder.CreateIntToPtr(function->getArg(0), builder.getPtrTy(kGlobal));
    const auto field = [&](std::size_t offset) {
        return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), report, offset);
    };
    constexpr auto kOrder = llvm::AtomicOrdering::Monotonic;
    Value* pair = builder.CreateAtomicCmpXchg(field(offsetof(DeviceReport, fault_state)), builder.getInt32(0),
                                              builder.getInt32(1), llvm::Align(4), kOrder, kOrder);
    builder.CreateCondBr(builder.CreateExtractValue(pair, 1), first, done);
    builder.SetInsertPoint(first);
    const auto put = [&](std::size_t offset, Value* value) { builder.CreateStore(value, field(offset)); };
    put(offsetof(DeviceReport, launch), function->getArg(1));
    put(offsetof(DeviceReport, line), function->getArg(2));
    put(offsetof(DeviceReport, axis), function->getArg(3));
    put(offsetof(DeviceReport, index), function->getArg(4));
    put(offsetof(DeviceReport, block), builder.CreateTrunc(function->getArg(5), builder.getInt32Ty()));
    static constexpr In::ID kPlaces[] = {In::nvvm_read_ptx_sreg_ctaid_y, In::nvvm_read_ptx_sreg_ctaid_z,
                                         In::nvvm_read_ptx_sreg_tid_x, In::nvvm_read_ptx_sreg_tid_y,
                                         In::nvvm_read_ptx_sreg_tid_z};
    for (std::size_t i = 0; i < std::size(kPlaces); ++i)
        put(offsetof(DeviceReport, block) + 4 * (i + 1), builder.CreateIntrinsic(kPlaces[i], {}, {}));
    put(offsetof(DeviceReport, rank), builder.getInt64(rank));
    for (unsigned i = 0; i < std::min<std::size_t>(rank, FaultRecord::kMostAxes); ++i)
        put(offsetof(DeviceReport, shape) + 8 * i, function->getArg(6 + i));
    builder.CreateBr(done);
    builder.SetInsertPoint(done);
    builder.CreateRetVoid();
    return function;
}

void Emitter::fault(const Thread& thread, std::int64_t line, std::int64_t axis, Value* index,
                    const std::vector<Value*>& shape) {
    std::vector<Value*> arguments = {tail_word(offsetof(LaunchTail, report)),
                                     tail_word(offsetof(LaunchTail, launch)),
                                     i64(line),
                                     i64(axis),
                                     index,
                                     builder_.CreateZExt(thread.block_x, builder_.getInt64Ty())};
    arguments.insert(arguments.end(), shape.begin(), shape.end());
    builder_.CreateCall(fault_function(shape.size()), arguments);
}

void Emitter::emit_print(const ir::Op& op, const Thread& thread) {
    llvm::Type* number = builder_.getInt64Ty();
    const std::size_t count = op.operands.size();
    const std::uint64_t words = sizeof(PrintLine) / 8 + count;
    Value* report = builder_.CreateIntToPtr(tail_word(offsetof(LaunchTail, report)), builder_.getPtrTy(kGlobal));
    const auto field = [&](std::size_t offset) {
        return builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), report, offset);
    };
    Value* begin =
        builder_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, field(offsetof(DeviceReport, print_cursor)),
                                 builder_.getInt64(words), llvm::Align(8), llvm::AtomicOrdering::Monotonic);
    llvm::BasicBlock* room = block("room");
    llvm::BasicBlock* after = block("printed");
    builder_.CreateCondBr(builder_.CreateICmpULE(begin, builder_.getInt64(DeviceReport::kPrintWords - words)), room,
                          after);
    builder_.SetInsertPoint(room);
    Value* line = builder_.CreateGEP(number, field(offsetof(DeviceReport, prints)), begin);
    std::size_t at = 0;
    const auto put = [&](Value* value) {
        builder_.CreateStore(value, builder_.CreateConstInBoundsGEP1_64(number, line, at++));
    };
    put(tail_word(offsetof(LaunchTail, launch)));
    put(builder_.getInt64(static_cast<std::uint64_t>(op.index) << 32 | count));
    put(linear_block(thread));
    put(builder_.CreateZExt(linear_thread(), number));
    for (const ir::ValueId operand : op.operands) {
        const DType type = dtype(operand);
        Value* value = get(thread, operand);
        if (is_float(type)) {
            value = builder_.CreateBitCast(builder_.CreateFPCast(value, builder_.getDoubleTy()), number);
        } else {
            value = is_signed(type) ? builder_.CreateSExt(value, number) : builder_.CreateZExt(value, number);
        }
        put(value);
    }
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
}

}  // namespace treadle::codegen::nvptx
