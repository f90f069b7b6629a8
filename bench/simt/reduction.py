"""Sum of 2**22 float32, a thread for each: a tree in shared memory, and shuffles within warps. Integers, so that sums are exact."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from harness import cpp_peer, measure, optional, report

import treadle as td
from treadle import cuda

SIZE = 2**22
BLOCK = 256
WARPS = BLOCK // 32
FULL = 0xFFFFFFFF
ZERO = np.float32(0.0)


@cuda.jit
def tree(values, sums):
    partial = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    partial[t] = values[i] if i < values.size else ZERO
    cuda.syncthreads()
    step = BLOCK // 2
    while step > 0:
        if t < step:
            partial[t] += partial[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = partial[0]


@cuda.jit(device=True)
def warp_sum(value):
    for step in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(FULL, value, step)
    return value


@cuda.jit
def shuffle(values, sums):
    partial = cuda.shared.array(WARPS, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    total = warp_sum(values[i] if i < values.size else ZERO)
    if t % 32 == 0:
        partial[t // 32] = total
    cuda.syncthreads()
    if t < 32:
        total = warp_sum(partial[t] if t < WARPS else ZERO)
        if t == 0:
            sums[cuda.blockIdx.x] = total


def numba_peer(values):
    numba = optional("numba")
    if numba is None:
        return None

    @numba.njit(parallel=True, fastmath=True)
    def peer(values):
        total = ZERO
        for i in numba.prange(values.size):
            total += values[i]
        return total

    return lambda: str(peer(values))  # a float would be taken for the time


def main():
    values = np.random.default_rng(4).integers(0, 4, SIZE).astype(np.float32)
    device_values = td.asarray(values)
    blocks = [SIZE // BLOCK]
    while blocks[-1] > 1:
        blocks.append(-(-blocks[-1] // BLOCK))
    sums = [td.zeros(count, np.float32) for count in blocks]
    peers = {
        "g++": cpp_peer("sum", "sum", values, SIZE, fast_math=True),
        "numba": numba_peer(values),
        "numpy": lambda: str(values.sum()),
    }
    for name, kernel in (("tree", tree), ("shuffle", shuffle)):

        def ours(kernel=kernel):
            source = device_values
            for count, target in zip(blocks, sums, strict=True):
                kernel[count, BLOCK](source, target)
                source = target
            cuda.synchronize()

        sums[-1][...] = 0
        ours()
        assert float(sums[-1].get()[0]) == values.sum(dtype=np.float64)
        report(f"simt/reduction {name}", measure({"treadle": ours, **peers}, repeats=9), bytes=values.nbytes)


if __name__ == "__main__":
    main()
