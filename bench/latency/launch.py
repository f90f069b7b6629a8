"""Host time of a launch: one block of 32 threads with three arrays, 10**4 times."""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from harness import measure, optional, report

import treadle as td
from treadle import cuda

LAUNCHES = 10**4
THREADS = 32


@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    c[i] = a[i] + b[i]


def numba_peer(a, b, c):
    numba = optional("numba")
    if numba is None:
        return None

    @numba.njit
    def peer(a, b, c):
        for i in range(a.size):
            c[i] = a[i] + b[i]

    def run():
        for _ in range(LAUNCHES):
            peer(a, b, c)

    return run


def main():
    rng = np.random.default_rng(10)
    a, b = (rng.random(THREADS, dtype=np.float32) for _ in range(2))
    c = np.zeros_like(a)
    device_a, device_b, device_c = td.asarray(a), td.asarray(b), td.asarray(c)

    def launches():
        start = time.perf_counter()
        for _ in range(LAUNCHES):
            add[1, THREADS](device_a, device_b, device_c)
        seconds = time.perf_counter() - start
        cuda.synchronize()
        return seconds

    def launches_of_configured():
        configured = add[1, THREADS]
        start = time.perf_counter()
        for _ in range(LAUNCHES):
            configured(device_a, device_b, device_c)
        seconds = time.perf_counter() - start
        cuda.synchronize()
        return seconds

    def finished_launches():
        for _ in range(LAUNCHES):
            add[1, THREADS](device_a, device_b, device_c)
        cuda.synchronize()

    def numpy_peer():
        for _ in range(LAUNCHES):
            np.add(a, b, out=c)

    launches()
    np.testing.assert_array_equal(td.asnumpy(device_c), a + b)
    peers = {"numpy": numpy_peer, "numba": numba_peer(a, b, c)}
    report("latency/launch", measure({"treadle": launches, **peers}, calls=LAUNCHES), limit=2e-6)
    report("latency/launch configured", measure({"treadle": launches_of_configured, **peers}, calls=LAUNCHES))
    report("latency/launch finished", measure({"treadle": finished_launches, **peers}, calls=LAUNCHES))


if __name__ == "__main__":
    main()
