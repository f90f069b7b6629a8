// What threads tell the host: the first fault of a stream (that of the first thread in the first launch that has one),
// and printed lines. Both are written to memory that the host
// reaches; nothing stops, so the context lives on.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "base/cuda_kernel_abi.h"
#include "base/error.h"
#include "codegen/nvptx/address_spaces.h"
#include "codegen/nvptx/emitter.h"

namespace treadle::codegen::nvptx {

namespace In = llvm::Intrinsic;

// void fault(report, scratch, launch, line, axis, index, block x, block, thread, shape...): writes the record, unless
// there is one of a launch or a thread before. block and thread are linear.
llvm::Function* Emitter::fault_function(std::size_t rank) {
    llvm::Function*& function = fault_functions_[rank];
    if (function != nullptr) return function;
    enum Argument : unsigned { Report, Scratch, Launch, Line, Axis, Index, BlockX, Block, ThreadNumber, Shape };
    llvm::Type* number = builder_.getInt64Ty();
    llvm::Type* word = builder_.getInt32Ty();
    auto* type = llvm::FunctionType::get(builder_.getVoidTy(), std::vector<llvm::Type*>(Shape + rank, number), false);
    function = llvm::Function::Create(type, llvm::Function::InternalLinkage, "fault", module_);
    for (const auto attribute : {llvm::Attribute::NoUnwind, llvm::Attribute::NoInline, llvm::Attribute::Cold})
        function->addFnAttr(attribute);
    const auto make = [&](const char* name) { return llvm::BasicBlock::Create(context_, name, function); };
    llvm::IRBuilder<> builder(make("entry"));
    const auto argument = [&](unsigned which) { return function->getArg(which); };
    const auto place = [&](unsigned base, std::size_t offset) {
        Value* pointer = builder.CreateIntToPtr(argument(base), builder.getPtrTy(kGlobal));
        return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), pointer, offset);
    };
    const auto read = [&](std::size_t offset) {
        llvm::LoadInst* load = builder.CreateLoad(number, place(Scratch, offset));
        load->setVolatile(true);
        return load;
    };
    Value* own = builder.CreateOr(builder.CreateShl(argument(Block), 32), argument(ThreadNumber));
    const auto is_first = [&] {
        Value* launch = read(offsetof(DeviceScratch, fault_launch));
        Value* before = builder.CreateAnd(builder.CreateICmpEQ(launch, argument(Launch)),
                                          builder.CreateICmpULT(own, read(offsetof(DeviceScratch, fault_thread))));
        return builder.CreateOr(builder.CreateICmpEQ(launch, builder.getInt64(0)), before);
    };
    llvm::BasicBlock* wait = make("wait");
    llvm::BasicBlock* locked = make("locked");
    llvm::BasicBlock* write = make("write");
    llvm::BasicBlock* unlock = make("unlock");
    llvm::BasicBlock* done = make("done");
    builder.CreateCondBr(is_first(), wait, done);
    builder.SetInsertPoint(wait);
    constexpr auto kOrder = llvm::AtomicOrdering::Monotonic;
    Value* pair = builder.CreateAtomicCmpXchg(place(Scratch, offsetof(DeviceScratch, lock)), builder.getInt32(0),
                                              builder.getInt32(1), llvm::Align(4), kOrder, kOrder);
    builder.CreateCondBr(builder.CreateExtractValue(pair, 1), locked, wait);
    builder.SetInsertPoint(locked);
    builder.CreateIntrinsic(In::nvvm_membar_gl, {}, {});
    builder.CreateCondBr(is_first(), write, unlock);
    builder.SetInsertPoint(write);
    const auto put = [&](unsigned base, std::size_t offset, Value* value) {
        builder.CreateStore(value, place(base, offset), /*isVolatile=*/true);
    };
    put(Scratch, offsetof(DeviceScratch, fault_launch), argument(Launch));
    put(Scratch, offsetof(DeviceScratch, fault_thread), own);
    put(Report, offsetof(DeviceReport, launch), argument(Launch));
    put(Report, offsetof(DeviceReport, line), argument(Line));
    put(Report, offsetof(DeviceReport, axis), argument(Axis));
    put(Report, offsetof(DeviceReport, index), argument(Index));
    put(Report, offsetof(DeviceReport, rank), builder.getInt64(rank));
    for (unsigned i = 0; i < std::min<std::size_t>(rank, FaultRecord::kMostAxes); ++i)
        put(Report, offsetof(DeviceReport, shape) + 8 * i, argument(Shape + i));
    put(Report, offsetof(DeviceReport, block), builder.CreateTrunc(argument(BlockX), word));
    static constexpr In::ID kPlaces[] = {In::nvvm_read_ptx_sreg_ctaid_y, In::nvvm_read_ptx_sreg_ctaid_z,
                                         In::nvvm_read_ptx_sreg_tid_x, In::nvvm_read_ptx_sreg_tid_y,
                                         In::nvvm_read_ptx_sreg_tid_z};
    for (std::size_t i = 0; i < std::size(kPlaces); ++i)
        put(Report, offsetof(DeviceReport, block) + 4 * (i + 1), builder.CreateIntrinsic(kPlaces[i], {}, {}));
    builder.CreateBr(unlock);
    builder.SetInsertPoint(unlock);
    builder.CreateIntrinsic(In::nvvm_membar_sys, {}, {});
    builder.CreateAtomicRMW(llvm::AtomicRMWInst::Xchg, place(Scratch, offsetof(DeviceScratch, lock)),
                            builder.getInt32(0), llvm::Align(4), kOrder);
    builder.CreateBr(done);
    builder.SetInsertPoint(done);
    builder.CreateRetVoid();
    return function;
}

void Emitter::fault(const Thread& thread, std::int64_t line, std::int64_t axis, Value* index,
                    const std::vector<Value*>& shape) {
    std::vector<Value*> arguments = {tail_word(offsetof(LaunchTail, report)),
                                     tail_word(offsetof(LaunchTail, scratch)),
                                     tail_word(offsetof(LaunchTail, launch)),
                                     i64(line),
                                     i64(axis),
                                     index,
                                     builder_.CreateZExt(thread.block_x, builder_.getInt64Ty()),
                                     linear_block(thread),
                                     builder_.CreateZExt(linear_thread(), builder_.getInt64Ty())};
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
    Value* begin = builder_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, field(offsetof(DeviceReport, print_cursor)),
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
