"""Pi from 2**24 random points: a thread draws 256 of them with xorshift; a block adds up by shuffles and an atomic operation."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from harness import cpp_peer, measure, optional, report

import treadle as td
from treadle import cuda

STREAMS = 2**16
POINTS = 256
BLOCK = 256
FULL = 0xFFFFFFFF
ONE, UNIT = np.float32(1.0), np.float32(2.0**-24)
FIRST, SECOND = np.uint32(0x9E3779B1), np.uint32(0x85EBCA77)


def seed(stream):
    state = np.uint32(np.uint32(stream + 1) * FIRST)
    state = np.uint32((state ^ (state >> 15)) * SECOND)
    return np.uint32((state ^ (state >> 13)) | 1)


def step(state):
    state = np.uint32(state ^ (state << 13))
    state = np.uint32(state ^ (state >> 17))
    return np.uint32(state ^ (state << 5))


device_seed, device_step = cuda.jit(device=True)(seed), cuda.jit(device=True)(step)


@cuda.jit
def hits(total):
    state = device_seed(cuda.grid(1))
    own = 0
    for _ in range(POINTS):
        state = device_step(state)
        x = np.float32(np.int32(state >> 8)) * UNIT
        state = device_step(state)
        y = np.float32(np.int32(state >> 8)) * UNIT
        if x * x + y * y < ONE:
            own += 1
    for distance in (16, 8, 4, 2, 1):
        own += cuda.shfl_down_sync(FULL, own, distance)
    if cuda.laneid == 0:
        cuda.atomic.add(total, 0, own)


@cuda.jit
def clear(total):
    total[0] = 0


def numba_peer(total):
    numba = optional("numba")
    if numba is None:
        return None
    numba_seed, numba_step = numba.njit(seed), numba.njit(step)

    @numba.njit(fastmath=True)
    def of_stream(stream):
        state = numba_seed(stream)
        own = 0
        for _ in range(POINTS):
            state = numba_step(state)
            x = np.float32(np.int32(state >> 8)) * UNIT
            state = numba_step(state)
            y = np.float32(np.int32(state >> 8)) * UNIT
            if x * x + y * y < ONE:
                own += 1
        return own

    @numba.njit(parallel=True, fastmath=True)
    def peer(total):
        hits = 0
        for stream in numba.prange(STREAMS):
            hits += of_stream(stream)
        total[0] = hits

    return lambda: peer(total)


def expected():
    """The hits of the same streams in NumPy."""
    state = np.arange(1, STREAMS + 1, dtype=np.uint32) * FIRST
    state = (state ^ (state >> 15)) * SECOND
    state = (state ^ (state >> 13)) | np.uint32(1)
    total = 0
    for _ in range(POINTS):
        square = 0
        for _ in range(2):
            for shift in (13, -17, 5):
                state ^= state << np.uint32(shift) if shift > 0 else state >> np.uint32(-shift)
            square = square + ((state >> 8).astype(np.float32) * UNIT) ** 2
        total += int((square < ONE).sum())
    return total


def main():
    total = np.zeros(1, np.int64)
    device_total = td.asarray(total)

    def ours():
        clear[1, 1](device_total)
        hits[STREAMS // BLOCK, BLOCK](device_total)
        cuda.synchronize()

    ours()
    exact = expected()
    assert abs(4 * exact / (STREAMS * POINTS) - np.pi) < 0.002
    # A point on the circle may fall to either side: sums may be fused or not.
    np.testing.assert_allclose(td.asnumpy(device_total), exact, atol=20)
    peers = {
        "g++": cpp_peer("monte_carlo_pi", "hits", total, STREAMS, POINTS, fast_math=True),
        "g++ abreast": cpp_peer("monte_carlo_pi", "hits_abreast", total, STREAMS, POINTS, fast_math=True),
        "numba": numba_peer(total),
    }
    for peer in filter(None, peers.values()):
        total[...] = 0
        peer()
        np.testing.assert_allclose(total, exact, atol=20)
    report("simt/monte_carlo_pi", measure({"treadle": ours, **peers}, repeats=9), flops=10 * STREAMS * POINTS)


if __name__ == "__main__":
    main()
