"""Histogram: blocks count in shared memory, then add up. Run it with `treadle run examples/histogram.py`."""

import numpy as np
from numba import cuda, int32

BINS = 64


@cuda.jit
def histogram(x, low, high, counts):
    own = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x
    if t < BINS:
        own[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        if low <= x[i] < high:
            cuda.atomic.add(own, int((x[i] - low) / (high - low) * BINS), 1)
    cuda.syncthreads()
    if t < BINS:
        cuda.atomic.add(counts, t, own[t])


def main():
    x = np.random.default_rng(1).normal(size=1_000_000)
    low, high = -4.0, 4.0  # a power of two apart, so that bins of kernel and NumPy have the same edges
    counts = cuda.to_device(np.zeros(BINS, np.int32))
    histogram[64, 128](cuda.to_device(x), low, high, counts)
    expected, _ = np.histogram(x[x < high], BINS, (low, high))
    np.testing.assert_array_equal(counts.copy_to_host(), expected)
    print(f"histogram of {x.size} numbers is correct, the fullest bin has {expected.max()}")


if __name__ == "__main__":
    main()
