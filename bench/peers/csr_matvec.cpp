// A sparse matrix in compressed rows times a vector.
#include <cstdint>

extern "C" void matvec(const int32_t* __restrict starts, const int32_t* __restrict columns,
                       const float* __restrict values, const float* __restrict x, float* __restrict y, int64_t rows) {
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows; ++row) {
        float total = 0.0f;
        for (int32_t k = starts[row]; k < starts[row + 1]; ++k) total += values[k] * x[columns[k]];
        y[row] = total;
    }
}
