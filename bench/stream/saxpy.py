"""y = factor * x + y over 2**24 float32, in place."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from harness import cpp_peer, in_threads, measure, optional, report

import treadle as td
from treadle import cuda

SIZE = 2**24
BLOCK = 256
FACTOR = np.float32(1e-3)  # small: y grows with every call


@cuda.jit
def saxpy(factor, x, y):
    i = cuda.grid(1)
    y[i] = factor * x[i] + y[i]


def numba_peer(x, y):
    numba = optional("numba")
    if numba is None:
        return None

    @numba.njit(parallel=True, fastmath=True)
    def peer(factor, x, y):
        for i in numba.prange(x.size):
            y[i] = factor * x[i] + y[i]

    return lambda: peer(FACTOR, x, y)


def numpy_saxpy(x, y, scaled):
    np.multiply(x, FACTOR, out=scaled)
    np.add(scaled, y, out=y)


def main():
    rng = np.random.default_rng(2)
    x, y = (rng.random(SIZE, dtype=np.float32) for _ in range(2))
    device_x, device_y = td.asarray(x), td.asarray(y)

    def ours():
        saxpy[SIZE // BLOCK, BLOCK](FACTOR, device_x, device_y)
        cuda.synchronize()

    ours()
    np.testing.assert_allclose(td.asnumpy(device_y), FACTOR * x + y, rtol=1e-6)
    times = measure(
        {
            "treadle": ours,
            "g++": cpp_peer("stream", "saxpy", float(FACTOR), x, y, SIZE),
            "numpy": in_threads(numpy_saxpy, x, y, np.empty_like(x)),
            "numba": numba_peer(x, y),
        }
    )
    report("stream/saxpy", times, targets={"g++": 1.0, "numpy": 1.0}, bytes=3 * x.nbytes)


if __name__ == "__main__":
    main()
