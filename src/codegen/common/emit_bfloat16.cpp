// bfloat16 is the upper half of a float32. Values of it are float32 whose lower half is zero: operations are those of
// float32, whose results are rounded to nearest even, and memory holds 16 bits. LLVM's own type is not used: its
// conversions call libraries or lose denormals on processors that have instructions for them.
#include "codegen/common/element_emitter.h"

namespace treadle::codegen {

ElementEmitter::Value* ElementEmitter::widened_bfloat16(Value* bits) {
    Value* word = builder_.CreateShl(builder_.CreateZExt(bits, like(bits, builder_.getInt32Ty())), 16);
    return builder_.CreateBitCast(word, like(bits, builder_.getFloatTy()));
}

ElementEmitter::Value* ElementEmitter::upper_half(Value* value) {
    Value* word = builder_.CreateBitCast(value, like(value, builder_.getInt32Ty()));
    return builder_.CreateTrunc(builder_.CreateLShr(word, 16), like(value, builder_.getInt16Ty()));
}

// A float32 as a value of a type.
ElementEmitter::Value* ElementEmitter::rounded(Value* value, DType type) {
    if (type != DType::BFloat16) return value;
    llvm::Type* half = like(value, builder_.getInt16Ty());
    if (rounds_bfloat16_) {
        Value* narrow = builder_.CreateFPTrunc(value, like(value, builder_.getBFloatTy()));
        return widened_bfloat16(builder_.CreateBitCast(narrow, half));
    }
    llvm::Type* whole = like(value, builder_.getInt32Ty());
    const auto number = [&](std::uint32_t bits) { return llvm::ConstantInt::get(whole, bits); };
    Value* word = builder_.CreateBitCast(value, whole);
    Value* odd = builder_.CreateAnd(builder_.CreateLShr(word, 16), number(1));
    Value* nearest = builder_.CreateAdd(builder_.CreateAdd(word, number(0x7fff)), odd);
    // A NaN keeps its sign and becomes quiet: adding could make a number of it.
    Value* quiet = builder_.CreateOr(word, number(0x00400000));
    word = builder_.CreateSelect(builder_.CreateFCmpUNO(value, value), quiet, nearest);
    return builder_.CreateBitCast(builder_.CreateAnd(word, number(0xffff0000)), value->getType());
}

}  // namespace treadle::codegen
