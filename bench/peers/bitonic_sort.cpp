// Two sorts of int32: the same network as the kernels', pass after pass over the whole array, and the standard
// library's on one core.
#include <algorithm>
#include <cstdint>

extern "C" void bitonic(const int32_t* __restrict in, int32_t* __restrict keys, int64_t size) {
    std::copy(in, in + size, keys);
    for (int64_t length = 2; length <= size; length *= 2) {
        for (int64_t step = length / 2; step > 0; step /= 2) {
#pragma omp parallel for schedule(static)
            for (int64_t first = 0; first < size; first += 2 * step) {
                const bool up = (first & length) == 0;
                int32_t* __restrict low = keys + first;
                int32_t* __restrict high = low + step;
                for (int64_t i = 0; i < step; ++i) {
                    const int32_t least = std::min(low[i], high[i]), most = std::max(low[i], high[i]);
                    low[i] = up ? least : most;
                    high[i] = up ? most : least;
                }
            }
        }
    }
}

extern "C" void standard(const int32_t* in, int32_t* keys, int64_t size) {
    std::copy(in, in + size, keys);
    std::sort(keys, keys + size);
}
