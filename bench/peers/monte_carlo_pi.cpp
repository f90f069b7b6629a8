// Random points and how many lie in the circle. `hits`: one stream after the other; `hits_abreast`: 16 streams side by
// side, which g++ turns into vectors. The streams are the kernel's.
#include <cstdint>

namespace {
inline uint32_t seed(uint32_t stream) {
    stream = (stream + 1u) * 0x9E3779B1u;
    stream ^= stream >> 15;
    stream *= 0x85EBCA77u;
    return (stream ^ stream >> 13) | 1u;
}

inline float next(uint32_t& state) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return static_cast<float>(static_cast<int32_t>(state >> 8)) * 0x1p-24f;
}

inline int32_t inside(uint32_t& state) {
    const float x = next(state), y = next(state);
    return x * x + y * y < 1.0f;
}
}  // namespace

extern "C" void hits(int64_t* total, int64_t streams, int64_t points) {
    int64_t sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int64_t i = 0; i < streams; ++i) {
        uint32_t state = seed(static_cast<uint32_t>(i));
        int32_t own = 0;
        for (int64_t k = 0; k < points; ++k) own += inside(state);
        sum += own;
    }
    *total = sum;
}

extern "C" void hits_abreast(int64_t* total, int64_t streams, int64_t points) {
    constexpr int64_t kLanes = 16;
    int64_t sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int64_t i = 0; i < streams; i += kLanes) {
        uint32_t state[kLanes];
        int32_t own[kLanes] = {};
        for (int64_t lane = 0; lane < kLanes; ++lane) state[lane] = seed(static_cast<uint32_t>(i + lane));
        for (int64_t k = 0; k < points; ++k) {
#pragma omp simd
            for (int64_t lane = 0; lane < kLanes; ++lane) own[lane] += inside(state[lane]);
        }
        for (int64_t lane = 0; lane < kLanes; ++lane) sum += own[lane];
    }
    *total = sum;
}
