"""How often each of the 256 values of a byte occurs in 2**22 uint32: atomics on a table in shared memory, then on the result."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from harness import cpp_peer, measure, optional, report

import treadle as td
from treadle import cuda

SIZE = 2**22
BINS = 256
SHIFT = 8
BLOCKS, BLOCK = 128, 256


@cuda.jit
def histogram(keys, counts, shift):
    own = cuda.shared.array(BINS, np.int32)
    t = cuda.threadIdx.x
    own[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), keys.size, cuda.gridsize(1)):
        cuda.atomic.add(own, (keys[i] >> shift) & (BINS - 1), 1)
    cuda.syncthreads()
    cuda.atomic.add(counts, t, own[t])


@cuda.jit
def clear(counts):
    counts[cuda.grid(1)] = 0


def numba_peer(keys, counts, parts):
    numba = optional("numba")
    if numba is None:
        return None

    @numba.njit(parallel=True, fastmath=True)
    def peer(keys, counts, shift, parts):
        tables = np.zeros((parts, BINS), np.int32)
        size = keys.size // parts
        for part in numba.prange(parts):
            for i in range(part * size, keys.size if part == parts - 1 else (part + 1) * size):
                tables[part, (keys[i] >> shift) & (BINS - 1)] += 1
        for k in range(BINS):
            counts[k] = tables[:, k].sum()

    return lambda: peer(keys, counts, np.uint32(SHIFT), parts)


def main():
    keys = np.random.default_rng(9).integers(0, 2**32, SIZE, dtype=np.uint32)
    counts = np.zeros(BINS, np.int32)
    device_keys, device_counts = td.asarray(keys), td.asarray(counts)

    def ours():
        clear[1, BINS](device_counts)
        histogram[BLOCKS, BLOCK](device_keys, device_counts, np.uint32(SHIFT))
        cuda.synchronize()

    ours()
    exact = np.bincount((keys >> SHIFT) & (BINS - 1), minlength=BINS)
    np.testing.assert_array_equal(td.asnumpy(device_counts), exact)
    peers = {
        "g++": cpp_peer("histogram", "histogram", keys, counts, SHIFT, SIZE, fast_math=True),
        "numba": numba_peer(keys, counts, 16),
    }
    for peer in filter(None, peers.values()):
        counts[...] = 0
        peer()
        np.testing.assert_array_equal(counts, exact)
    report("simt/histogram", measure({"treadle": ours, **peers}, repeats=9), bytes=keys.nbytes)


if __name__ == "__main__":
    main()
