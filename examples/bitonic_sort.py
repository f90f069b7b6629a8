"""Bitonic sort: each launch compares pairs at one distance. Run it with `treadle run examples/bitonic_sort.py`."""

import numpy as np
from numba import cuda


@cuda.jit
def compare_and_swap(x, distance, run):
    i = cuda.grid(1)
    other = i ^ distance
    if i < other < x.size:
        ascending = i & run == 0
        if (x[i] > x[other]) == ascending:
            x[i], x[other] = x[other], x[i]


def sort(x):
    """Sorts a device array whose size is a power of two."""
    run = 2
    while run <= x.size:
        distance = run // 2
        while distance > 0:
            compare_and_swap[(x.size + 255) // 256, 256](x, distance, run)
            distance //= 2
        run *= 2


def main():
    numbers = np.random.default_rng(1).normal(size=1 << 17).astype(np.float32)
    x = cuda.to_device(numbers)
    sort(x)
    np.testing.assert_array_equal(x.copy_to_host(), np.sort(numbers))
    print(f"{numbers.size} numbers are sorted")


if __name__ == "__main__":
    main()
