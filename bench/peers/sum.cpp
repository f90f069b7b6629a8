// A sum with enough independent vectors in flight to be held up by memory alone.
#include <cstdint>

namespace {
constexpr int kLanes = 16;
constexpr int kVectors = 8;
constexpr int64_t kBlock = kLanes * kVectors;
typedef float Vector __attribute__((vector_size(kLanes * sizeof(float)), aligned(4)));
}  // namespace

extern "C" float sum(const float* values, int64_t size) {
    float total = 0.0f;
    const int64_t blocks = size / kBlock;
#pragma omp parallel reduction(+ : total)
    {
        Vector partial[kVectors] = {};
#pragma omp for schedule(static) nowait
        for (int64_t block = 0; block < blocks; ++block) {
            const Vector* from = reinterpret_cast<const Vector*>(values + block * kBlock);
#pragma GCC unroll 8
            for (int v = 0; v < kVectors; ++v) partial[v] += from[v];
        }
        for (int v = 0; v < kVectors; ++v) {
            for (int lane = 0; lane < kLanes; ++lane) total += partial[v][lane];
        }
    }
    for (int64_t i = blocks * kBlock; i < size; ++i) total += values[i];
    return total;
}
