// How often each of 256 digits occurs: four tables a thread, so that equal digits in a row do not wait for each other.
#include <cstdint>

extern "C" void histogram(const uint32_t* keys, int32_t* counts, int64_t shift, int64_t size) {
    constexpr int64_t kBins = 256;
    for (int64_t bin = 0; bin < kBins; ++bin) counts[bin] = 0;
#pragma omp parallel
    {
        int32_t own[4][kBins] = {};
#pragma omp for schedule(static) nowait
        for (int64_t i = 0; i < size / 4; ++i) {
            for (int64_t k = 0; k < 4; ++k) ++own[k][keys[4 * i + k] >> shift & (kBins - 1)];
        }
#pragma omp critical
        for (int64_t bin = 0; bin < kBins; ++bin) counts[bin] += own[0][bin] + own[1][bin] + own[2][bin] + own[3][bin];
    }
    for (int64_t i = size / 4 * 4; i < size; ++i) ++counts[keys[i] >> shift & (kBins - 1)];
}
