"""A sparse 2**16 x 2**16 matrix of float32 in compressed rows of 8 to 56 elements, times a vector: a thread or a warp for each row."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from harness import cpp_peer, measure, optional, report

import treadle as td
from treadle import cuda

ROWS = 2**16
BLOCK = 256
FULL = 0xFFFFFFFF
ZERO = np.float32(0.0)


@cuda.jit
def by_thread(starts, columns, values, x, y):
    row = cuda.grid(1)
    if row < y.size:
        total = ZERO
        for k in range(starts[row], starts[row + 1]):
            total += values[k] * x[columns[k]]
        y[row] = total


@cuda.jit
def by_warp(starts, columns, values, x, y):
    row = cuda.grid(1) // 32
    lane = cuda.threadIdx.x % 32
    if row < y.size:
        total = ZERO
        for k in range(starts[row] + lane, starts[row + 1], 32):
            total += values[k] * x[columns[k]]
        for step in (16, 8, 4, 2, 1):
            total += cuda.shfl_down_sync(FULL, total, step)
        if lane == 0:
            y[row] = total


def numba_peer(starts, columns, values, x, y):
    numba = optional("numba")
    if numba is None:
        return None

    @numba.njit(parallel=True, fastmath=True)
    def peer(starts, columns, values, x, y):
        for row in numba.prange(y.size):
            total = ZERO
            for k in range(starts[row], starts[row + 1]):
                total += values[k] * x[columns[k]]
            y[row] = total

    return lambda: peer(starts, columns, values, x, y)


def main():
    rng = np.random.default_rng(11)
    starts = np.concatenate([[0], np.cumsum(rng.integers(8, 57, ROWS))]).astype(np.int32)
    count = int(starts[-1])
    columns = rng.integers(0, ROWS, count).astype(np.int32)
    values, x = rng.random(count, dtype=np.float32), rng.random(ROWS, dtype=np.float32)
    y = np.zeros(ROWS, np.float32)
    inputs = (starts, columns, values, x)
    device_inputs = [td.asarray(array) for array in inputs]
    device_y = td.asarray(y)
    exact = np.add.reduceat(values.astype(np.float64) * x[columns], starts[:-1])
    peers = {
        "g++": cpp_peer("csr_matvec", "matvec", *inputs, y, ROWS, fast_math=True),
        "numba": numba_peer(*inputs, y),
    }
    for peer in filter(None, peers.values()):
        y[...] = 0
        peer()
        np.testing.assert_allclose(y, exact, rtol=1e-4)
    for name, kernel, threads in (("thread", by_thread, ROWS), ("warp", by_warp, 32 * ROWS)):

        def ours(kernel=kernel, blocks=threads // BLOCK):
            kernel[blocks, BLOCK](*device_inputs, device_y)
            cuda.synchronize()

        device_y[...] = 0
        ours()
        np.testing.assert_allclose(td.asnumpy(device_y), exact, rtol=1e-4)
        times = measure({"treadle": ours, **peers}, repeats=9)
        report(f"simt/csr_matvec {name}", times, bytes=8 * count + 8 * ROWS, flops=2 * count)


if __name__ == "__main__":
    main()
