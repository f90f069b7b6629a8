"""c = a + b over 2**24 float32: what memory gives."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from harness import cpp_peer, in_threads, measure, optional, report

import treadle as td
from treadle import cuda

SIZE = 2**24
BLOCK = 256


@cuda.jit
def vecadd(a, b, c):
    i = cuda.grid(1)
    c[i] = a[i] + b[i]


def numba_peer(a, b, c):
    numba = optional("numba")
    if numba is None:
        return None

    @numba.njit(parallel=True, fastmath=True)
    def add(a, b, c):
        for i in numba.prange(a.size):
            c[i] = a[i] + b[i]

    return lambda: add(a, b, c)


def main():
    rng = np.random.default_rng(1)
    a, b = (rng.random(SIZE, dtype=np.float32) for _ in range(2))
    c = np.zeros_like(a)
    device_a, device_b = td.asarray(a), td.asarray(b)
    device_c = td.zeros_like(device_a)

    def ours():
        vecadd[SIZE // BLOCK, BLOCK](device_a, device_b, device_c)
        cuda.synchronize()

    ours()
    np.testing.assert_array_equal(td.asnumpy(device_c), a + b)
    times = measure(
        {
            "treadle": ours,
            "g++": cpp_peer("stream", "vecadd", a, b, c, SIZE),
            "numpy": in_threads(lambda a, b, c: np.add(a, b, out=c), a, b, c),
            "numba": numba_peer(a, b, c),
        }
    )
    report("stream/vecadd", times, targets={"g++": 1.0, "numpy": 1.0}, bytes=3 * a.nbytes)


if __name__ == "__main__":
    main()
