// Vector add and saxpy as plain loops: what the compiler makes of them is the peer.
#include <cstdint>

extern "C" void vecadd(const float* __restrict a, const float* __restrict b, float* __restrict c, int64_t size) {
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < size; ++i) c[i] = a[i] + b[i];
}

extern "C" void saxpy(float factor, const float* __restrict x, float* __restrict y, int64_t size) {
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < size; ++i) y[i] = factor * x[i] + y[i];
}
