// Four rows of the result and four of b at a time: what a row of b is loaded for serves 16 products, and the inner loop
// is a vector's.
#include <algorithm>
#include <cstdint>

extern "C" void matmul(const float* __restrict a, const float* __restrict b, float* __restrict c, int64_t n) {
    constexpr int64_t kDepth = 128, kWidth = 512;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i += 4) {
        float* __restrict c0 = c + i * n;
        float* __restrict c1 = c0 + n;
        float* __restrict c2 = c1 + n;
        float* __restrict c3 = c2 + n;
        std::fill(c0, c0 + 4 * n, 0.0f);
        for (int64_t first = 0; first < n; first += kWidth) {
            const int64_t last = std::min(n, first + kWidth);
            for (int64_t start = 0; start < n; start += kDepth) {
                for (int64_t k = start; k < std::min(n, start + kDepth); k += 4) {
                    const float* a0 = a + i * n + k;
                    const float *a1 = a0 + n, *a2 = a1 + n, *a3 = a2 + n;
                    const float* __restrict b0 = b + k * n;
                    const float* __restrict b1 = b0 + n;
                    const float* __restrict b2 = b1 + n;
                    const float* __restrict b3 = b2 + n;
#pragma omp simd
                    for (int64_t j = first; j < last; ++j) {
                        c0[j] += a0[0] * b0[j] + a0[1] * b1[j] + a0[2] * b2[j] + a0[3] * b3[j];
                        c1[j] += a1[0] * b0[j] + a1[1] * b1[j] + a1[2] * b2[j] + a1[3] * b3[j];
                        c2[j] += a2[0] * b0[j] + a2[1] * b1[j] + a2[2] * b2[j] + a2[3] * b3[j];
                        c3[j] += a3[0] * b0[j] + a3[1] * b1[j] + a3[2] * b2[j] + a3[3] * b3[j];
                    }
                }
            }
        }
    }
}
