"""512 x 512 float32 matrix product: one output a thread, its sum serial, nothing shared."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from harness import cpp_peer, measure, optional, report

import treadle as td
from treadle import cuda

SIZE = 512


@cuda.jit
def matmul(a, b, c):
    j, i = cuda.grid(2)
    total = np.float32(0.0)
    for k in range(a.shape[1]):
        total += a[i, k] * b[k, j]
    c[i, j] = total


def numba_peer(a, b, c):
    numba = optional("numba")
    if numba is None:
        return None

    @numba.njit(parallel=True, fastmath=True)
    def peer(a, b, c):
        for i in numba.prange(c.shape[0]):
            for j in range(c.shape[1]):
                total = np.float32(0.0)
                for k in range(a.shape[1]):
                    total += a[i, k] * b[k, j]
                c[i, j] = total

    return lambda: peer(a, b, c)


def main():
    rng = np.random.default_rng(3)
    a, b = (rng.random((SIZE, SIZE), dtype=np.float32) for _ in range(2))
    c = np.zeros_like(a)
    device_a, device_b = td.asarray(a), td.asarray(b)
    peers = {
        "g++": cpp_peer("matmul_naive", "matmul", a, b, c, SIZE, fast_math=True),
        "numba": numba_peer(a, b, c),
        "numpy": lambda: np.matmul(a, b, out=c),  # its BLAS, for scale
    }
    for block in ((16, 16), (32, 8)):
        device_c = td.zeros_like(device_a)
        grid = (SIZE // block[0], SIZE // block[1])

        def ours(grid=grid, block=block, device_c=device_c):
            matmul[grid, block](device_a, device_b, device_c)
            cuda.synchronize()

        ours()
        np.testing.assert_allclose(td.asnumpy(device_c), a.astype(np.float64) @ b, rtol=1e-4)
        times = measure({"treadle": ours, **peers}, repeats=9)
        report(f"simt/matmul_naive {block[0]}x{block[1]}", times, targets={"g++": 15.0}, flops=2 * SIZE**3)


if __name__ == "__main__":
    main()
