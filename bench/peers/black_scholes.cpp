// Prices of European calls and puts; the normal distribution by a polynomial of degree five.
#include <cmath>
#include <cstdint>

namespace {
inline float normal(float d) {
    const float k = 1.0f / (1.0f + 0.2316419f * std::fabs(d));
    const float sum =
        k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    const float tail = 0.39894228f * std::exp(-0.5f * d * d) * sum;
    return d > 0.0f ? 1.0f - tail : tail;
}
}  // namespace

extern "C" void black_scholes(const float* __restrict price, const float* __restrict strike,
                              const float* __restrict years, float* __restrict call, float* __restrict put, float rate,
                              float volatility, int64_t size) {
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < size; ++i) {
        const float root = std::sqrt(years[i]);
        const float d1 =
            (std::log(price[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) / (volatility * root);
        const float n1 = normal(d1), n2 = normal(d1 - volatility * root);
        const float discounted = strike[i] * std::exp(-rate * years[i]);
        call[i] = price[i] * n1 - discounted * n2;
        put[i] = discounted * (1.0f - n2) - price[i] * (1.0f - n1);
    }
}
