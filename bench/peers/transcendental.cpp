// sqrt(sin(x) * cos(y) + exp(-z * z) + log(x + 1)); with -ffast-math the functions are libmvec's.
#include <cmath>
#include <cstdint>

extern "C" void transcendental(const float* __restrict x, const float* __restrict y, const float* __restrict z,
                               float* __restrict out, int64_t size) {
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < size; ++i) {
        out[i] = std::sqrt(std::sin(x[i]) * std::cos(y[i]) + std::exp(-z[i] * z[i]) + std::log(x[i] + 1.0f));
    }
}
