"""Matrix product by tiles in shared memory. Run it with `treadle run examples/matmul.py`.

The sizes are no multiples of the tile: elements outside of the matrices are put into the tiles as zeros.
"""

import numpy as np
from numba import cuda, float32

TILE = 16


@cuda.jit
def matmul(a, b, c):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    column, row = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for start in range(0, a.shape[1], TILE):
        tile_a[y, x] = a[row, start + x] if row < a.shape[0] and start + x < a.shape[1] else 0
        tile_b[y, x] = b[start + y, column] if start + y < b.shape[0] and column < b.shape[1] else 0
        cuda.syncthreads()
        for k in range(TILE):
            total += tile_a[y, k] * tile_b[k, x]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


def main():
    rng = np.random.default_rng(1)
    a = rng.normal(size=(300, 410)).astype(np.float32)
    b = rng.normal(size=(410, 270)).astype(np.float32)
    c = cuda.device_array((300, 270), np.float32)
    grid = (c.shape[1] + TILE - 1) // TILE, (c.shape[0] + TILE - 1) // TILE
    matmul[grid, (TILE, TILE)](cuda.to_device(a), cuda.to_device(b), c)
    np.testing.assert_allclose(c.copy_to_host(), a @ b, atol=1e-3)
    print(f"product of {a.shape[0]} x {a.shape[1]} and {b.shape[0]} x {b.shape[1]} is correct")


if __name__ == "__main__":
    main()
