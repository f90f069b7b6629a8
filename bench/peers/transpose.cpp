// A square matrix transposed through tiles that fit into the nearest cache: what is read and written are whole lines.
#include <cstdint>

extern "C" void transpose(const float* __restrict in, float* __restrict out, int64_t n) {
    constexpr int64_t kTile = 64;  // divides n
#pragma omp parallel for collapse(2) schedule(static)
    for (int64_t top = 0; top < n; top += kTile) {
        for (int64_t left = 0; left < n; left += kTile) {
            float tile[kTile][kTile + 1];
            for (int64_t i = 0; i < kTile; ++i) {
                for (int64_t j = 0; j < kTile; ++j) tile[i][j] = in[(top + i) * n + left + j];
            }
            for (int64_t j = 0; j < kTile; ++j) {
                for (int64_t i = 0; i < kTile; ++i) out[(left + j) * n + top + i] = tile[i][j];
            }
        }
    }
}
