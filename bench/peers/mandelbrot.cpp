// Escape times, one pixel after the other; rows are dealt out as threads become free.
#include <cstdint>

extern "C" void mandelbrot(int32_t* out, float left, float top, float step, int64_t width, int64_t height,
                           int64_t limit) {
#pragma omp parallel for schedule(dynamic, 8)
    for (int64_t y = 0; y < height; ++y) {
        const float ci = top + step * static_cast<float>(y);
        for (int64_t x = 0; x < width; ++x) {
            const float cr = left + step * static_cast<float>(x);
            float zr = 0.0f, zi = 0.0f;
            int32_t count = 0;
            while (count < limit && zr * zr + zi * zi <= 4.0f) {
                const float real = zr * zr - zi * zi + cr;
                zi = 2.0f * zr * zi + ci;
                zr = real;
                ++count;
            }
            out[y * width + x] = count;
        }
    }
}
