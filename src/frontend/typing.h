// The typing rules: numba.cuda's for users' kernels, strict ones for the function library and array operations.
#pragma once

#include <string_view>

#include "base/dtype.h"
#include "frontend/entity.h"

namespace treadle::frontend {

// numba.cuda: result type of + - * and of the operands of other arithmetic. Integers grow to 64 bits; int64 with uint64
// is float64.
DType arithmetic_type(DType a, DType b);
// numba.cuda: result type of & | ^ and shifts.
DType bitwise_type(DType a, DType b);
// The type in which two numbers are compared; int64 with uint64 is answered by the caller.
DType comparison_type(DType a, DType b);
// The float type in which a math function of an argument of this type is computed.
DType math_type(DType a);

// The common type of two assignments to one variable. Returns false where there is none.
bool unify(VarType& into, const VarType& other);

}  // namespace treadle::frontend
