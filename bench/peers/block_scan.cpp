// Running sums of the rows of a matrix, one row after the other; an inclusive scan is what g++ can vectorise.
#include <cstdint>

extern "C" void scan(const float* __restrict in, float* __restrict out, int64_t rows, int64_t width) {
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows; ++row) {
        const float* from = in + row * width;
        float* __restrict to = out + row * width;
        float total = 0.0f;
#pragma omp simd reduction(inscan, + : total)
        for (int64_t i = 0; i < width; ++i) {
            total += from[i];
#pragma omp scan inclusive(total)
            to[i] = total;
        }
    }
}
