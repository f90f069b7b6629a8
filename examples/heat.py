"""The heat equation on a plate with edges kept at their temperatures. Run it with `treadle run examples/heat.py`."""

import numpy as np
from numba import cuda

RATE = 0.2  # diffusivity * time step / grid spacing ** 2; stable below 1/4


@cuda.jit
def step(now, after):
    x, y = cuda.grid(2)
    if 0 < x < now.shape[1] - 1 and 0 < y < now.shape[0] - 1:
        around = now[y - 1, x] + now[y + 1, x] + now[y, x - 1] + now[y, x + 1]
        after[y, x] = now[y, x] + RATE * (around - 4 * now[y, x])


def main():
    plate = np.zeros((256, 256))
    plate[0] = 100.0
    now, after = cuda.to_device(plate), cuda.to_device(plate)
    for _ in range(200):
        step[(8, 32), (32, 8)](now, after)
        now, after = after, now
        inner = plate[1:-1, 1:-1]
        around = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]
        plate[1:-1, 1:-1] = inner + RATE * (around - 4 * inner)
    np.testing.assert_allclose(now.copy_to_host(), plate, rtol=1e-12, atol=1e-12)
    print(f"after 200 steps the plate has {plate.mean():.2f} degrees on average")


if __name__ == "__main__":
    main()
