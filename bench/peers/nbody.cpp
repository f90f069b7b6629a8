// Accelerations of all bodies by all bodies; the inner loop is over the others.
#include <cmath>
#include <cstdint>

extern "C" void nbody(const float* __restrict x, const float* __restrict y, const float* __restrict z,
                      const float* __restrict mass, float* __restrict ax, float* __restrict ay, float* __restrict az,
                      float softening, int64_t size) {
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < size; ++i) {
        float sum_x = 0.0f, sum_y = 0.0f, sum_z = 0.0f;
        for (int64_t j = 0; j < size; ++j) {
            const float dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
            const float square = dx * dx + dy * dy + dz * dz + softening;
            const float weight = mass[j] / (square * std::sqrt(square));
            sum_x += dx * weight;
            sum_y += dy * weight;
            sum_z += dz * weight;
        }
        ax[i] = sum_x;
        ay[i] = sum_y;
        az[i] = sum_z;
    }
}
