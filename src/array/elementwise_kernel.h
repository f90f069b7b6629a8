// The kernels behind element-wise operations: their text, and launching them over any number of dimensions.
#pragma once

#include "array/elementwise.h"

namespace treadle::array {

// Computes operation on operands, which broadcast to out's shape, in types.compute and writes out (converting to its
// type).
void run_elementwise(const Operation& operation, const OperationTypes& types, std::span<const Operand> operands,
                     const Array& out);

// The kernel syntax text for arrays of a rank; scalars is a bit mask of the operands that are numbers. For tests and
// prefilling.
std::string elementwise_program(const Operation& operation, const OperationTypes& types,
                                std::span<const DType> operand_types, unsigned scalars, int rank);

}  // namespace treadle::array
