"""512 x 512 float32 matrix product through tiles of 16 x 16 in shared memory, two barriers a tile."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from harness import cpp_peer, measure, optional, report

import treadle as td
from treadle import cuda

SIZE = 512
TILE = 16


@cuda.jit
def matmul(a, b, c):
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    total = np.float32(0.0)
    for start in range(0, a.shape[1], TILE):
        tile_a[y, x] = a[i, start + x]
        tile_b[y, x] = b[start + y, j]
        cuda.syncthreads()
        for k in range(TILE):
            total += tile_a[y, k] * tile_b[k, x]
        cuda.syncthreads()
    c[i, j] = total


def numba_peer(a, b, c):
    numba = optional("numba")
    if numba is None:
        return None

    @numba.njit(parallel=True, fastmath=True)
    def peer(a, b, c):
        for i in numba.prange(c.shape[0]):
            c[i] = 0
            for k in range(a.shape[1]):
                for j in range(c.shape[1]):
                    c[i, j] += a[i, k] * b[k, j]

    return lambda: peer(a, b, c)


def main():
    rng = np.random.default_rng(3)
    a, b = (rng.random((SIZE, SIZE), dtype=np.float32) for _ in range(2))
    c = np.zeros_like(a)
    device_a, device_b = td.asarray(a), td.asarray(b)
    device_c = td.zeros_like(device_a)
    grid = (SIZE // TILE, SIZE // TILE)

    def ours():
        matmul[grid, (TILE, TILE)](device_a, device_b, device_c)
        cuda.synchronize()

    ours()
    exact = a.astype(np.float64) @ b
    np.testing.assert_allclose(td.asnumpy(device_c), exact, rtol=1e-4)
    peers = {
        "g++": cpp_peer("matmul_tiled", "matmul", a, b, c, SIZE, fast_math=True),
        "numba": numba_peer(a, b, c),
        "numpy": lambda: np.matmul(a, b, out=c),  # its BLAS, for scale
    }
    for peer in filter(None, peers.values()):
        c[...] = 0
        peer()
        np.testing.assert_allclose(c, exact, rtol=1e-4)
    times = measure({"treadle": ours, **peers}, repeats=9)
    report("simt/matmul_tiled", times, flops=2 * SIZE**3)


if __name__ == "__main__":
    main()
