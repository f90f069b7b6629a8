// The bench set in CUDA C++, as nvcc -O3 compiles it: the same work as kernels.py.
#define BLOCK 256
#define TILE 16
#define RADIUS 3
#define SIDE 32
#define BINS 256
typedef long long i64;

__device__ i64 grid1() { return (i64)blockIdx.x * blockDim.x + threadIdx.x; }

extern "C" __global__ void vecadd(const float* a, const float* b, float* c, i64 n) {
    i64 i = grid1();
    if (i < n) c[i] = a[i] + b[i];
}
extern "C" __global__ void saxpy(float a, const float* x, const float* y, float* out, i64 n) {
    i64 i = grid1();
    if (i < n) out[i] = a * x[i] + y[i];
}
extern "C" __global__ void fused(const float* x, const float* y, float* out, i64 n) {
    i64 i = grid1();
    if (i < n) out[i] = (x[i] + y[i]) * (x[i] - y[i]) + x[i] * 0.5f;
}
extern "C" __global__ void mandelbrot(int* image, int limit, int rows, int columns) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= rows || j >= columns) return;
    float cr = -2.0f + 3.0f * j / columns, ci = -1.5f + 3.0f * i / rows, zr = 0, zi = 0;
    int n = 0;
    while (n < limit && zr * zr + zi * zi < 4.0f) {
        float r = zr * zr - zi * zi + cr;
        zi = 2.0f * zr * zi + ci;
        zr = r;
        ++n;
    }
    image[(i64)i * columns + j] = n;
}
extern "C" __global__ void nbody(const float* x, const float* y, const float* z, const float* mass, float* ax, int n) {
    int i = grid1();
    if (i >= n) return;
    float total = 0;
    for (int j = 0; j < n; ++j) {
        float dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
        float d = dx * dx + dy * dy + dz * dz + 1e-3f;
        float r = 1.0f / sqrtf(d);
        total += mass[j] * dx * (r * r * r);
    }
    ax[i] = total;
}
extern "C" __global__ void black_scholes(const float* price, const float* strike, const float* years, float* call, i64 n) {
    i64 i = grid1();
    if (i >= n) return;
    float s = price[i], k = strike[i], t = years[i];
    float root = 0.3f * sqrtf(t);
    float d1 = (logf(s / k) + (0.02f + 0.045f) * t) / root;
    float d2 = d1 - root;
    float n1 = 0.5f * erfcf(-d1 * 0.70710678f), n2 = 0.5f * erfcf(-d2 * 0.70710678f);
    call[i] = s * n1 - k * expf(-0.02f * t) * n2;
}
extern "C" __global__ void matmul_naive(const float* a, const float* b, float* c, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    float total = 0;
    for (int k = 0; k < n; ++k) total += a[(i64)i * n + k] * b[(i64)k * n + j];
    c[(i64)i * n + j] = total;
}
extern "C" __global__ void matmul_tiled(const float* a, const float* b, float* c, int n) {
    __shared__ float sa[TILE][TILE], sb[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y, j = blockIdx.x * TILE + tx, i = blockIdx.y * TILE + ty;
    float total = 0;
    for (int tile = 0; tile < n / TILE; ++tile) {
        sa[ty][tx] = a[(i64)i * n + tile * TILE + tx];
        sb[ty][tx] = b[(i64)(tile * TILE + ty) * n + j];
        __syncthreads();
        for (int k = 0; k < TILE; ++k) total += sa[ty][k] * sb[k][tx];
        __syncthreads();
    }
    c[(i64)i * n + j] = total;
}
extern "C" __global__ void stencil(const float* u, float* out, int rows, int columns) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i <= 0 || j <= 0 || i >= rows - 1 || j >= columns - 1) return;
    i64 p = (i64)i * columns + j;
    out[p] = u[p] + 0.2f * (u[p - columns] + u[p + columns] + u[p - 1] + u[p + 1] - 4.0f * u[p]);
}
extern "C" __global__ void convolution(const float* image, const float* weights, float* out, int rows, int columns) {
    const int half = SIDE / 2, wide = half + 2 * RADIUS;
    __shared__ float tile[wide][wide];
    int tx = threadIdx.x, ty = threadIdx.y, x0 = blockIdx.x * half - RADIUS, y0 = blockIdx.y * half - RADIUS;
    for (int y = ty; y < wide; y += half)
        for (int x = tx; x < wide; x += half) {
            int i = y0 + y, j = x0 + x;
            tile[y][x] = i >= 0 && i < rows && j >= 0 && j < columns ? image[(i64)i * columns + j] : 0.0f;
        }
    __syncthreads();
    float total = 0;
    for (int v = 0; v < 2 * RADIUS + 1; ++v)
        for (int u = 0; u < 2 * RADIUS + 1; ++u) total += weights[v * (2 * RADIUS + 1) + u] * tile[ty + v][tx + u];
    int j = blockIdx.x * half + tx, i = blockIdx.y * half + ty;
    if (i < rows && j < columns) out[(i64)i * columns + j] = total;
}
extern "C" __global__ void transpose(const float* a, float* out, int n) {
    __shared__ float tile[SIDE][SIDE + 1];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * SIDE, y = blockIdx.y * SIDE;
    for (int k = 0; k < SIDE; k += 8) tile[ty + k][tx] = a[(i64)(y + ty + k) * n + x + tx];
    __syncthreads();
    for (int k = 0; k < SIDE; k += 8) out[(i64)(x + ty + k) * n + y + tx] = tile[tx][ty + k];
}
extern "C" __global__ void reduce_tree(const float* x, float* out, i64 n) {
    __shared__ float s[BLOCK];
    int t = threadIdx.x;
    i64 i = grid1();
    s[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int step = BLOCK / 2; step > 0; step /= 2) {
        if (t < step) s[t] += s[t + step];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}
extern "C" __global__ void reduce_shuffle(const float* x, float* out, i64 n) {
    __shared__ float warps[32];
    int t = threadIdx.x;
    float total = 0;
    for (i64 i = grid1(); i < n; i += (i64)blockDim.x * gridDim.x) total += x[i];
    for (int step = 16; step > 0; step /= 2) total += __shfl_down_sync(0xffffffff, total, step);
    if (t % 32 == 0) warps[t / 32] = total;
    __syncthreads();
    if (t == 0) {
        for (int w = 1; w < BLOCK / 32; ++w) total += warps[w];
        atomicAdd(out, total);
    }
}
extern "C" __global__ void block_scan(const float* x, float* out) {
    __shared__ float s[BLOCK];
    int t = threadIdx.x;
    i64 i = grid1();
    s[t] = x[i];
    __syncthreads();
    for (int step = 1; step < BLOCK; step *= 2) {
        float below = t >= step ? s[t - step] : 0.0f;
        __syncthreads();
        s[t] += below;
        __syncthreads();
    }
    out[i] = s[t];
}
extern "C" __global__ void histogram(const int* x, int* bins, i64 n) {
    __shared__ int own[BINS];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (i64 i = grid1(); i < n; i += (i64)blockDim.x * gridDim.x) atomicAdd(&own[x[i]], 1);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
extern "C" __global__ void bitonic(int* keys) {
    __shared__ int own[1024];
    int t = threadIdx.x;
    i64 start = (i64)blockIdx.x * 1024;
    own[t] = keys[start + t];
    own[t + 512] = keys[start + t + 512];
    for (int length = 2; length <= 1024; length *= 2)
        for (int step = length / 2; step > 0; step /= 2) {
            __syncthreads();
            int low = 2 * t - (t & (step - 1));
            int a = own[low], b = own[low + step];
            if ((a > b) == ((low & length) == 0)) {
                own[low] = b;
                own[low + step] = a;
            }
        }
    __syncthreads();
    keys[start + t] = own[t];
    keys[start + t + 512] = own[t + 512];
}
extern "C" __global__ void csr(const int* starts, const int* columns, const float* values, const float* x, float* y, int n) {
    int row = grid1();
    if (row >= n) return;
    float total = 0;
    for (int k = starts[row]; k < starts[row + 1]; ++k) total += values[k] * x[columns[k]];
    y[row] = total;
}
extern "C" __global__ void monte_carlo(const unsigned* seeds, int rounds, int* hits, int n) {
    int i = grid1();
    if (i >= n) return;
    unsigned state = seeds[i];
    int found = 0;
    for (int k = 0; k < rounds; ++k) {
        state = state * 1664525u + 1013904223u;
        float u = (state >> 8) * 5.9604645e-08f;
        state = state * 1664525u + 1013904223u;
        float v = (state >> 8) * 5.9604645e-08f;
        found += u * u + v * v < 1.0f;
    }
    hits[i] = found;
}
