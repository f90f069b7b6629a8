"""7 x 7 convolution of 2048 x 2048 float32 with zeros outside: a block loads its tile and the border around it into shared memory."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from harness import cpp_peer, measure, optional, report

import treadle as td
from treadle import cuda

SIZE = 2048
RADIUS = 3
SIDE = 2 * RADIUS + 1
WIDTH, HEIGHT = 32, 16
ZERO = np.float32(0.0)
WEIGHTS = np.random.default_rng(8).random((SIDE, SIDE), dtype=np.float32)


@cuda.jit
def convolve(source, out):
    weights = cuda.const.array_like(WEIGHTS)
    tile = cuda.shared.array((HEIGHT + 2 * RADIUS, WIDTH + 2 * RADIUS), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    left = cuda.blockIdx.x * WIDTH - RADIUS
    top = cuda.blockIdx.y * HEIGHT - RADIUS
    for y in range(ty, HEIGHT + 2 * RADIUS, HEIGHT):
        for x in range(tx, WIDTH + 2 * RADIUS, WIDTH):
            i, j = top + y, left + x
            inside = 0 <= i < source.shape[0] and 0 <= j < source.shape[1]
            tile[y, x] = source[i, j] if inside else ZERO
    cuda.syncthreads()
    total = ZERO
    for dy in range(SIDE):
        for dx in range(SIDE):
            total += weights[dy, dx] * tile[ty + dy, tx + dx]
    out[top + RADIUS + ty, left + RADIUS + tx] = total


def numba_peer(padded, out):
    numba = optional("numba")
    if numba is None:
        return None

    @numba.njit(parallel=True, fastmath=True)
    def peer(padded, out):
        for i in numba.prange(out.shape[0]):
            for j in range(out.shape[1]):
                total = ZERO
                for dy in range(SIDE):
                    for dx in range(SIDE):
                        total += WEIGHTS[dy, dx] * padded[i + dy, j + dx]
                out[i, j] = total

    return lambda: peer(padded, out)


def expected(padded):
    windows = np.lib.stride_tricks.sliding_window_view(padded, (SIDE, SIDE))
    return np.einsum("ijyx,yx->ij", windows, WEIGHTS.astype(np.float64), optimize=True)


def main():
    source = np.random.default_rng(7).random((SIZE, SIZE), dtype=np.float32)
    padded = np.pad(source, RADIUS)
    out = np.zeros_like(source)
    device_source = td.asarray(source)
    device_out = td.zeros_like(device_source)
    grid = (SIZE // WIDTH, SIZE // HEIGHT)

    def ours():
        convolve[grid, (WIDTH, HEIGHT)](device_source, device_out)
        cuda.synchronize()

    ours()
    exact = expected(padded)
    np.testing.assert_allclose(td.asnumpy(device_out), exact, rtol=1e-4)
    peers = {
        "g++": cpp_peer("convolution", "convolve", source, WEIGHTS, out, SIZE, fast_math=True),
        "numba": numba_peer(padded, out),
    }
    for peer in filter(None, peers.values()):
        out[...] = 0
        peer()
        np.testing.assert_allclose(out, exact, rtol=1e-4)
    report("simt/convolution", measure({"treadle": ours, **peers}, repeats=9), flops=2 * SIDE**2 * SIZE**2)


if __name__ == "__main__":
    main()
