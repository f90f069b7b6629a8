// Weighted sums over (2 * kRadius + 1)^2 neighbours, zeros outside; the number of weights is known, so that g++ unrolls
// the taps.
#include <algorithm>
#include <cstdint>

extern "C" void convolve(const float* __restrict in, const float* __restrict weights, float* __restrict out,
                         int64_t n) {
    constexpr int64_t kRadius = 3, kSide = 2 * kRadius + 1;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; ++i) {
        float* __restrict row = out + i * n;
        std::fill(row, row + n, 0.0f);
        for (int64_t dy = std::max<int64_t>(-kRadius, -i); dy <= std::min(kRadius, n - 1 - i); ++dy) {
            const float* from = in + (i + dy) * n;
            const float* taps = weights + (dy + kRadius) * kSide;
            for (int64_t j = kRadius; j < n - kRadius; ++j) {
                float total = row[j];
                for (int64_t dx = 0; dx < kSide; ++dx) total += taps[dx] * from[j + dx - kRadius];
                row[j] = total;
            }
            for (int64_t k = 0; k < 2 * kRadius; ++k) {
                const int64_t j = k < kRadius ? k : n - 2 * kRadius + k;
                for (int64_t dx = std::max<int64_t>(-kRadius, -j); dx <= std::min(kRadius, n - 1 - j); ++dx) {
                    row[j] += taps[dx + kRadius] * from[j + dx];
                }
            }
        }
    }
}
