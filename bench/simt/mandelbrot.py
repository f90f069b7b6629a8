"""Escape times on 1024 x 1024 points, up to 256 iterations, float32: loops that threads leave one by one."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from harness import cpp_peer, measure, optional, report

import treadle as td
from treadle import cuda

SIZE = 1024
LIMIT = 256
LEFT, TOP, WIDTH = np.float32(-2.0), np.float32(-1.25), np.float32(2.5)
STEP = WIDTH / np.float32(SIZE)
TWO, FOUR = np.float32(2.0), np.float32(4.0)
BLOCK = (32, 8)


@cuda.jit
def mandelbrot(out, left, top, step):
    x, y = cuda.grid(2)
    cr = left + step * np.float32(x)
    ci = top + step * np.float32(y)
    zr = np.float32(0.0)
    zi = np.float32(0.0)
    count = 0
    while count < LIMIT and zr * zr + zi * zi <= FOUR:
        real = zr * zr - zi * zi + cr
        zi = TWO * zr * zi + ci
        zr = real
        count += 1
    out[y, x] = count


@cuda.jit
def mandelbrot_for(out, left, top, step):
    x, y = cuda.grid(2)
    cr = left + step * np.float32(x)
    ci = top + step * np.float32(y)
    zr = np.float32(0.0)
    zi = np.float32(0.0)
    count = LIMIT
    for k in range(LIMIT):
        if zr * zr + zi * zi > FOUR:
            count = k
            break
        real = zr * zr - zi * zi + cr
        zi = TWO * zr * zi + ci
        zr = real
    out[y, x] = count


def numba_peer(out):
    numba = optional("numba")
    if numba is None:
        return None

    @numba.njit(parallel=True, fastmath=True)
    def peer(out, left, top, step):
        for y in numba.prange(out.shape[0]):
            ci = top + step * np.float32(y)
            for x in range(out.shape[1]):
                cr = left + step * np.float32(x)
                zr = np.float32(0.0)
                zi = np.float32(0.0)
                count = 0
                while count < LIMIT and zr * zr + zi * zi <= FOUR:
                    real = zr * zr - zi * zi + cr
                    zi = TWO * zr * zi + ci
                    zr = real
                    count += 1
                out[y, x] = count

    return lambda: peer(out, LEFT, TOP, STEP)


def expected(stride):
    """The same in NumPy, on every stride-th point of both axes."""
    axis = np.arange(0, SIZE, stride).astype(np.float32)
    c = (LEFT + STEP * axis)[None, :] + 1j * (TOP + STEP * axis)[:, None]
    z, count = np.zeros_like(c), np.zeros(c.shape, np.int32)
    inside = np.ones(c.shape, bool)
    for _ in range(LIMIT):
        inside &= z.real**2 + z.imag**2 <= FOUR
        count += inside
        z = np.where(inside, z * z + c, z)
    return count


def main():
    out = np.zeros((SIZE, SIZE), np.int32)
    device_out = td.zeros((SIZE, SIZE), dtype=np.int32)
    grid = (SIZE // BLOCK[0], SIZE // BLOCK[1])
    scalars = (float(LEFT), float(TOP), float(STEP), SIZE, SIZE, LIMIT)
    peers = {
        "g++": cpp_peer("mandelbrot", "mandelbrot", out, *scalars, fast_math=True),
        "numba": numba_peer(out.copy()),
    }
    reference = expected(8)
    for name, kernel in (("while", mandelbrot), ("for", mandelbrot_for)):

        def ours(kernel=kernel):
            kernel[grid, BLOCK](device_out, LEFT, TOP, STEP)
            cuda.synchronize()

        device_out[...] = 0
        ours()
        different = np.mean(td.asnumpy(device_out)[::8, ::8] != reference)
        assert different < 0.01, f"{different:.1%} of the points differ from NumPy"  # the border is chaotic
        report(f"simt/mandelbrot {name}", measure({"treadle": ours, **peers}), targets={"g++": 8.0})


if __name__ == "__main__":
    main()
