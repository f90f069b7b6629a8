"""Running sums of 8192 rows of 512 float32, a block for each row: doubling steps in shared memory, two barriers each."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from harness import cpp_peer, measure, optional, report

import treadle as td
from treadle import cuda

ROWS, WIDTH = 8192, 512
ZERO = np.float32(0.0)


@cuda.jit
def scan(source, out):
    sums = cuda.shared.array(WIDTH, np.float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x
    total = source[row, t]
    sums[t] = total
    cuda.syncthreads()
    step = 1
    while step < WIDTH:
        before = sums[t - step] if t >= step else ZERO
        cuda.syncthreads()
        total += before
        sums[t] = total
        cuda.syncthreads()
        step *= 2
    out[row, t] = total


def numba_peer(source, out):
    numba = optional("numba")
    if numba is None:
        return None

    @numba.njit(parallel=True, fastmath=True)
    def peer(source, out):
        for row in numba.prange(source.shape[0]):
            total = ZERO
            for i in range(source.shape[1]):
                total += source[row, i]
                out[row, i] = total

    return lambda: peer(source, out)


def main():
    # Small integers: sums are exact in any order.
    source = np.random.default_rng(4).integers(0, 10, (ROWS, WIDTH)).astype(np.float32)
    out = np.zeros_like(source)
    device_source = td.asarray(source)
    device_out = td.zeros_like(device_source)

    def ours():
        scan[ROWS, WIDTH](device_source, device_out)
        cuda.synchronize()

    ours()
    exact = source.cumsum(axis=1)
    np.testing.assert_array_equal(td.asnumpy(device_out), exact)
    peers = {
        "g++": cpp_peer("block_scan", "scan", source, out, ROWS, WIDTH, fast_math=True),
        "numba": numba_peer(source, out),
    }
    for peer in filter(None, peers.values()):
        out[...] = 0
        peer()
        np.testing.assert_array_equal(out, exact)
    report("simt/block_scan", measure({"treadle": ours, **peers}, repeats=9), bytes=2 * source.nbytes)


if __name__ == "__main__":
    main()
