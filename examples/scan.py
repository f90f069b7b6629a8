"""Running sums of a long array: of blocks, of the blocks' totals, and both added. Run it with `treadle run examples/scan.py`."""

import numpy as np
from numba import cuda, int64

BLOCK = 256


@cuda.jit
def scan_blocks(x, out, totals):
    shared = cuda.shared.array(BLOCK, int64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    shared[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    # After each round an element holds the sum of twice as many as before (Hillis and Steele).
    step = 1
    while step < BLOCK:
        below = shared[t - step] if t >= step else 0
        cuda.syncthreads()
        shared[t] += below
        cuda.syncthreads()
        step *= 2
    if i < x.size:
        out[i] = shared[t]
    if t == BLOCK - 1:
        totals[cuda.blockIdx.x] = shared[t]


@cuda.jit
def add_before(out, sums):
    i = cuda.grid(1)
    if i < out.size and cuda.blockIdx.x > 0:
        out[i] += sums[cuda.blockIdx.x - 1]


def scan(x):
    """Running sums of a device array of int64."""
    blocks = (x.size + BLOCK - 1) // BLOCK
    out = cuda.device_array(x.size, np.int64)
    totals = cuda.device_array(blocks, np.int64)
    scan_blocks[blocks, BLOCK](x, out, totals)
    if blocks > 1:
        add_before[blocks, BLOCK](out, scan(totals))
    return out


def main():
    x = np.random.default_rng(1).integers(-100, 100, 1_000_003)
    result = scan(cuda.to_device(x)).copy_to_host()
    np.testing.assert_array_equal(result, np.cumsum(x))
    print(f"running sums of {x.size} numbers are correct, the last is {result[-1]}")


if __name__ == "__main__":
    main()
