// The kernels of reductions, over views [outer, length, inner]:
//   columns  a thread runs down one column (fixed outer and inner index); lanes lie along inner
//   lanes    the threads of a packet run along the length side by side and leave one partial result each
//   block    as lanes, and the threads of a block combine theirs to one result
#pragma once

#include <tuple>

#include "array/reduction.h"
#include "runtime/function.h"

namespace treadle::array {

inline constexpr int kReductionThreads = 512;  // of a block, at most; a power of two

// One way to run a kernel: which form, the element types, and whether indices come with the values (from the second
// round of argmin on).
struct ReductionForm {
    enum class Walk : std::uint8_t { Columns, Lanes, Block };
    const Reduction* reduction;
    Walk walk;
    bool with_indices;
    DType input;
    DType compute;
    DType output;

    auto key() const { return std::tuple(reduction, walk, with_indices, input, compute, output); }
    bool operator<(const ReductionForm& other) const { return key() < other.key(); }
};

runtime::Function& reduction_function(const ReductionForm& form);

}  // namespace treadle::array
