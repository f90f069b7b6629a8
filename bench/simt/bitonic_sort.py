"""Bitonic sort of 2**17 int32: exchanges up to 512 apart run in shared memory, wider ones in a launch each."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from harness import cpp_peer, measure, report

import treadle as td
from treadle import cuda

SIZE = 2**17
BLOCK = 512
CHUNK = 2 * BLOCK


@cuda.jit(device=True)
def exchange(keys, low, step, up):
    a, b = keys[low], keys[low + step]
    if (a > b) == up:
        keys[low] = b
        keys[low + step] = a


@cuda.jit
def sort_chunks(source, keys):
    own = cuda.shared.array(CHUNK, np.int32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * CHUNK
    own[t] = source[start + t]
    own[t + BLOCK] = source[start + t + BLOCK]
    length = 2
    while length <= CHUNK:
        step = length // 2
        while step > 0:
            cuda.syncthreads()
            low = 2 * t - (t & (step - 1))
            exchange(own, low, step, ((start + low) & length) == 0)
            step //= 2
        length *= 2
    cuda.syncthreads()
    keys[start + t] = own[t]
    keys[start + t + BLOCK] = own[t + BLOCK]


@cuda.jit
def exchange_far(keys, step, length):
    t = cuda.grid(1)
    low = 2 * t - (t & (step - 1))
    exchange(keys, low, step, (low & length) == 0)


@cuda.jit
def exchange_near(keys, length):
    own = cuda.shared.array(CHUNK, np.int32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * CHUNK
    own[t] = keys[start + t]
    own[t + BLOCK] = keys[start + t + BLOCK]
    up = (start & length) == 0
    step = BLOCK
    while step > 0:
        cuda.syncthreads()
        exchange(own, 2 * t - (t & (step - 1)), step, up)
        step //= 2
    cuda.syncthreads()
    keys[start + t] = own[t]
    keys[start + t + BLOCK] = own[t + BLOCK]


def main():
    source = np.random.default_rng(10).integers(-(2**31), 2**31, SIZE).astype(np.int32)
    keys = np.zeros_like(source)
    device_source = td.asarray(source)
    device_keys = td.zeros_like(device_source)
    blocks = SIZE // CHUNK

    def ours():
        sort_chunks[blocks, BLOCK](device_source, device_keys)
        length = 2 * CHUNK
        while length <= SIZE:
            step = length // 2
            while step > BLOCK:
                exchange_far[blocks, BLOCK](device_keys, step, length)
                step //= 2
            exchange_near[blocks, BLOCK](device_keys, length)
            length *= 2
        cuda.synchronize()

    ours()
    exact = np.sort(source)
    np.testing.assert_array_equal(td.asnumpy(device_keys), exact)
    peers = {
        "g++": cpp_peer("bitonic_sort", "bitonic", source, keys, SIZE, fast_math=True),
        "std::sort": cpp_peer("bitonic_sort", "standard", source, keys, SIZE, fast_math=True),
        "numpy": lambda: np.copyto(keys, np.sort(source)),
    }
    for peer in filter(None, peers.values()):
        keys[...] = 0
        peer()
        np.testing.assert_array_equal(keys, exact)
    report("simt/bitonic_sort", measure({"treadle": ours, **peers}, repeats=9))


if __name__ == "__main__":
    main()
