"""A sphere over a floor, drawn by steps as long as the way to the nearest thing. Run it with `treadle run examples/ray_marcher.py`."""

import math

import numpy as np
from numba import cuda

WIDTH, HEIGHT = 320, 240
RADIUS = 1.0


@cuda.jit(device=True)
def distance(x, y, z):
    """To the nearest of a sphere around the origin and the floor at y = -1."""
    return min(math.sqrt(x * x + y * y + z * z) - RADIUS, y + 1.0)


@cuda.jit
def march(image):
    column, row = cuda.grid(2)
    if column >= WIDTH or row >= HEIGHT:
        return
    # The eye stands at z = -4; the picture is as wide as it is far.
    dx, dy, dz = (column + 0.5) / WIDTH - 0.5, (HEIGHT / 2 - row - 0.5) / WIDTH, 1.0
    length = math.sqrt(dx * dx + dy * dy + dz * dz)
    dx, dy, dz = dx / length, dy / length, dz / length
    way = 0.0
    for _ in range(200):
        step = distance(way * dx, way * dy, way * dz - 4.0)
        way += step
        if step < 1e-6 or way > 50.0:
            break
    image[row, column] = way if way <= 50.0 else np.inf


def exact():
    """The same picture by the formulas for a sphere and a plane."""
    x, y = (np.arange(WIDTH) + 0.5) / WIDTH - 0.5, (HEIGHT / 2 - np.arange(HEIGHT) - 0.5) / WIDTH
    direction = np.stack([*np.meshgrid(x, y), np.ones((HEIGHT, WIDTH))], axis=2)
    direction /= np.linalg.norm(direction, axis=2, keepdims=True)
    middle = 4 * direction[:, :, 2]
    with np.errstate(invalid="ignore", divide="ignore"):
        sphere = middle - np.sqrt(middle**2 - 16 + RADIUS**2)
        floor = np.where(direction[:, :, 1] < 0, -1 / direction[:, :, 1], np.inf)
    way = np.fmin(sphere, floor)
    return np.where(way <= 50, way, np.inf)


def main():
    image = cuda.device_array((HEIGHT, WIDTH), np.float64)
    march[(WIDTH // 16, HEIGHT // 8), (16, 8)](image)
    way, expected = image.copy_to_host(), exact()
    # Rays that graze the sphere, or are nearly level with the floor, take more steps than there are.
    assert np.isclose(way, expected, rtol=1e-3).mean() > 0.98
    print(f"picture of {WIDTH} x {HEIGHT} points, {np.isfinite(way).mean():.1%} of them hit")


if __name__ == "__main__":
    main()
