"""Pi from random points: each thread has a generator of its own. Run it with `treadle run examples/monte_carlo_pi.py`."""

import math

import numpy as np
from numba import cuda
from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32


@cuda.jit
def count_hits(states, points, hits):
    i = cuda.grid(1)
    inside = 0
    for _ in range(points):
        x = xoroshiro128p_uniform_float32(states, i)
        y = xoroshiro128p_uniform_float32(states, i)
        if x * x + y * y <= 1:
            inside += 1
    hits[i] = inside


def main():
    threads, points = 64 * 256, 1000
    states = create_xoroshiro128p_states(threads, seed=1)
    hits = cuda.device_array(threads, np.int64)
    count_hits[64, 256](states, points, hits)
    total = threads * points
    pi = 4 * hits.copy_to_host().sum() / total
    deviation = math.sqrt(math.pi * (4 - math.pi) / total)
    assert abs(pi - math.pi) < 5 * deviation
    print(f"pi is about {pi:.5f}, from {total} points")


if __name__ == "__main__":
    main()
