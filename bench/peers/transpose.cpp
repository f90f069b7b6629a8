// A square matrix transposed tile by tile, so that both sides stay in the nearest cache.
#include <algorithm>
#include <cstdint>

extern "C" void transpose(const float* __restrict in, float* __restrict out, int64_t n) {
    constexpr int64_t kTile = 32;
#pragma omp parallel for collapse(2) schedule(static)
    for (int64_t top = 0; top < n; top += kTile) {
        for (int64_t left = 0; left < n; left += kTile) {
            for (int64_t j = left; j < std::min(n, left + kTile); ++j) {
                for (int64_t i = top; i < std::min(n, top + kTile); ++i) out[j * n + i] = in[i * n + j];
            }
        }
    }
}
