"""Sparse matrix times vector, rows compressed (CSR), a warp for each row. Run it with `treadle run examples/spmv.py`."""

import numpy as np
from numba import cuda

FULL = 0xFFFFFFFF


@cuda.jit
def multiply(starts, columns, values, x, y):
    row = cuda.grid(1) // 32
    if row >= y.size:
        return
    total = 0.0
    for k in range(starts[row] + cuda.laneid, starts[row + 1], 32):
        total += values[k] * x[columns[k]]
    step = 16
    while step > 0:
        total += cuda.shfl_down_sync(FULL, total, step)
        step //= 2
    if cuda.laneid == 0:
        y[row] = total


def main():
    rng = np.random.default_rng(1)
    rows, width = 5000, 3000
    lengths = rng.integers(0, 100, rows)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    columns = rng.integers(0, width, starts[-1])
    values = rng.normal(size=starts[-1])
    x = rng.normal(size=width)
    y = cuda.device_array(rows, np.float64)
    multiply[(rows * 32 + 255) // 256, 256](*map(cuda.to_device, (starts, columns, values, x)), y)
    expected = np.bincount(np.repeat(np.arange(rows), lengths), values * x[columns], rows)
    np.testing.assert_allclose(y.copy_to_host(), expected, rtol=1e-12, atol=1e-12)
    print(f"product of a matrix with {values.size} of {rows * width} elements is correct")


if __name__ == "__main__":
    main()
