"""Conway's game of life on a torus. Run it with `treadle run examples/life.py`."""

import numpy as np
from numba import cuda


@cuda.jit
def step(now, after):
    x, y = cuda.grid(2)
    height, width = now.shape
    if x < width and y < height:
        neighbours = 0
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                if dx != 0 or dy != 0:
                    neighbours += now[(y + dy) % height, (x + dx) % width]
        after[y, x] = neighbours == 3 or (neighbours == 2 and now[y, x] == 1)


def step_on_host(now):
    shifts = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0)]
    neighbours = sum(np.roll(now, shift, (0, 1)) for shift in shifts)
    return ((neighbours == 3) | ((neighbours == 2) & (now == 1))).astype(np.uint8)


def main():
    cells = (np.random.default_rng(1).random((200, 310)) < 0.3).astype(np.uint8)
    now, after = cuda.to_device(cells), cuda.to_device(cells)
    for _ in range(50):
        step[(20, 25), (16, 8)](now, after)
        now, after = after, now
        cells = step_on_host(cells)
    np.testing.assert_array_equal(now.copy_to_host(), cells)
    print(f"after 50 steps {cells.sum()} cells live")


if __name__ == "__main__":
    main()
