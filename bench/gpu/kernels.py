"""Kernels of the bench set, for any module that speaks numba.cuda's language."""

from types import SimpleNamespace
from typing import Any

import numpy as np

BLOCK = 256
TILE = 16
RADIUS = 3
SIDE = 32
BINS = 256
PADDED = SIDE + 1
HALF = SIDE // 2
WIDE = HALF + 2 * RADIUS


def define(cuda: Any, math: Any, **options: Any) -> SimpleNamespace:
    """The kernels, compiled by this module with these options of `jit`."""
    jit = cuda.jit(**options) if options else cuda.jit
    float32, int32 = np.float32, np.int32

    @jit
    def vecadd(a, b, c):
        i = cuda.grid(1)
        if i < c.size:
            c[i] = a[i] + b[i]

    @jit
    def saxpy(a, x, y, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a * x[i] + y[i]

    @jit
    def fused(x, y, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = (x[i] + y[i]) * (x[i] - y[i]) + x[i] * float32(0.5)

    @jit
    def mandelbrot(image, limit):
        j, i = cuda.grid(2)
        if i < image.shape[0] and j < image.shape[1]:
            cr = float32(-2) + float32(3) * float32(j) / float32(image.shape[1])
            ci = float32(-1.5) + float32(3) * float32(i) / float32(image.shape[0])
            zr, zi, n = float32(0), float32(0), 0
            while n < limit and zr * zr + zi * zi < float32(4):
                zr, zi = zr * zr - zi * zi + cr, float32(2) * zr * zi + ci
                n += 1
            image[i, j] = n

    @jit
    def nbody(x, y, z, mass, ax):
        i = cuda.grid(1)
        if i < x.size:
            total = float32(0)
            for j in range(x.size):
                dx, dy, dz = x[j] - x[i], y[j] - y[i], z[j] - z[i]
                d = dx * dx + dy * dy + dz * dz + float32(1e-3)
                r = float32(1) / math.sqrt(d)
                total += mass[j] * dx * (r * r * r)
            ax[i] = total

    @jit
    def black_scholes(price, strike, years, call):
        i = cuda.grid(1)
        if i < call.size:
            s, k, t = price[i], strike[i], years[i]
            root = float32(0.3) * math.sqrt(t)
            d1 = (math.log(s / k) + (float32(0.02) + float32(0.045)) * t) / root
            d2 = d1 - root
            n1 = float32(0.5) * math.erfc(-d1 * float32(0.70710678))
            n2 = float32(0.5) * math.erfc(-d2 * float32(0.70710678))
            call[i] = s * n1 - k * math.exp(float32(-0.02) * t) * n2

    @jit
    def matmul_naive(a, b, c):
        j, i = cuda.grid(2)
        if i < c.shape[0] and j < c.shape[1]:
            total = float32(0)
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            c[i, j] = total

    @jit
    def matmul_tiled(a, b, c):
        sa = cuda.shared.array((TILE, TILE), float32)
        sb = cuda.shared.array((TILE, TILE), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        j, i = cuda.grid(2)
        total = float32(0)
        for tile in range(a.shape[1] // TILE):
            sa[ty, tx] = a[i, tile * TILE + tx]
            sb[ty, tx] = b[tile * TILE + ty, j]
            cuda.syncthreads()
            for k in range(TILE):
                total += sa[ty, k] * sb[k, tx]
            cuda.syncthreads()
        c[i, j] = total

    @jit
    def stencil(u, out):
        j, i = cuda.grid(2)
        if 0 < i < u.shape[0] - 1 and 0 < j < u.shape[1] - 1:
            out[i, j] = u[i, j] + float32(0.2) * (
                u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - float32(4) * u[i, j]
            )

    @jit
    def convolution(image, weights, out):
        tile = cuda.shared.array((WIDE, WIDE), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        x0, y0 = cuda.blockIdx.x * HALF - RADIUS, cuda.blockIdx.y * HALF - RADIUS
        for y in range(ty, WIDE, HALF):
            for x in range(tx, WIDE, HALF):
                i, j = y0 + y, x0 + x
                inside = 0 <= i < image.shape[0] and 0 <= j < image.shape[1]
                tile[y, x] = image[i, j] if inside else float32(0)
        cuda.syncthreads()
        total = float32(0)
        for v in range(2 * RADIUS + 1):
            for u in range(2 * RADIUS + 1):
                total += weights[v, u] * tile[ty + v, tx + u]
        j, i = cuda.grid(2)
        if i < out.shape[0] and j < out.shape[1]:
            out[i, j] = total

    @jit
    def transpose(a, out):
        tile = cuda.shared.array((SIDE, PADDED), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        x, y = cuda.blockIdx.x * SIDE, cuda.blockIdx.y * SIDE
        for k in range(0, SIDE, 8):
            tile[ty + k, tx] = a[y + ty + k, x + tx]
        cuda.syncthreads()
        for k in range(0, SIDE, 8):
            out[x + ty + k, y + tx] = tile[tx, ty + k]

    @jit
    def reduce_tree(x, out):
        s = cuda.shared.array(BLOCK, float32)
        t = cuda.threadIdx.x
        i = cuda.grid(1)
        s[t] = x[i] if i < x.size else float32(0)
        cuda.syncthreads()
        step = BLOCK // 2
        while step > 0:
            if t < step:
                s[t] += s[t + step]
            cuda.syncthreads()
            step //= 2
        if t == 0:
            out[cuda.blockIdx.x] = s[0]

    @jit
    def reduce_shuffle(x, out):
        warps = cuda.shared.array(32, float32)
        t = cuda.threadIdx.x
        total = float32(0)
        for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
            total += x[i]
        for step in (16, 8, 4, 2, 1):
            total += cuda.shfl_down_sync(0xFFFFFFFF, total, step)
        if t % 32 == 0:
            warps[t // 32] = total
        cuda.syncthreads()
        if t == 0:
            for w in range(1, BLOCK // 32):
                total += warps[w]
            cuda.atomic.add(out, 0, total)

    @jit
    def block_scan(x, out):
        s = cuda.shared.array(BLOCK, float32)
        t = cuda.threadIdx.x
        i = cuda.grid(1)
        s[t] = x[i]
        cuda.syncthreads()
        step = 1
        while step < BLOCK:
            below = s[t - step] if t >= step else float32(0)
            cuda.syncthreads()
            s[t] += below
            cuda.syncthreads()
            step *= 2
        out[i] = s[t]

    @jit
    def histogram(x, bins):
        own = cuda.shared.array(BINS, int32)
        own[cuda.threadIdx.x] = 0
        cuda.syncthreads()
        for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
            cuda.atomic.add(own, x[i], 1)
        cuda.syncthreads()
        cuda.atomic.add(bins, cuda.threadIdx.x, own[cuda.threadIdx.x])

    @jit
    def bitonic(keys):
        own = cuda.shared.array(1024, int32)
        t = cuda.threadIdx.x
        start = cuda.blockIdx.x * 1024
        own[t] = keys[start + t]
        own[t + 512] = keys[start + t + 512]
        length = 2
        while length <= 1024:
            step = length // 2
            while step > 0:
                cuda.syncthreads()
                low = 2 * t - (t & (step - 1))
                a, b = own[low], own[low + step]
                if (a > b) == ((low & length) == 0):
                    own[low] = b
                    own[low + step] = a
                step //= 2
            length *= 2
        cuda.syncthreads()
        keys[start + t] = own[t]
        keys[start + t + 512] = own[t + 512]

    @jit
    def csr(starts, columns, values, x, y):
        row = cuda.grid(1)
        if row < y.size:
            total = float32(0)
            for k in range(starts[row], starts[row + 1]):
                total += values[k] * x[columns[k]]
            y[row] = total

    @jit
    def monte_carlo(seeds, rounds, hits):
        i = cuda.grid(1)
        if i < seeds.size:
            state = seeds[i]
            found = int32(0)
            for _ in range(rounds):
                state = np.uint32(state * np.uint32(1664525) + np.uint32(1013904223))
                u = float32(state >> np.uint32(8)) * float32(5.9604645e-08)
                state = np.uint32(state * np.uint32(1664525) + np.uint32(1013904223))
                v = float32(state >> np.uint32(8)) * float32(5.9604645e-08)
                if u * u + v * v < float32(1):
                    found += int32(1)
            hits[i] = found

    return SimpleNamespace(**{name: value for name, value in locals().items() if hasattr(value, "py_func")})
