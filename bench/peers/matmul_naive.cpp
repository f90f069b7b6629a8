// One output after the other with the sum over k innermost: the loop order of the kernel it is compared with.
#include <cstdint>

extern "C" void matmul(const float* __restrict a, const float* __restrict b, float* __restrict c, int64_t n) {
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < n; ++j) {
            float total = 0.0f;
            for (int64_t k = 0; k < n; ++k) total += a[i * n + k] * b[k * n + j];
            c[i * n + j] = total;
        }
    }
}
