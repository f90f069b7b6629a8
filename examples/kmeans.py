"""K-means: points go to the nearest centre, centres to the mean of their points. Run it with `treadle run examples/kmeans.py`."""

import numpy as np
from numba import cuda, float64, int64

CENTRES = 5
BLOCK = 256


@cuda.jit
def assign(points, centres, label, sums, counts):
    own_sums = cuda.shared.array((CENTRES, 2), float64)
    own_counts = cuda.shared.array(CENTRES, int64)
    t = cuda.threadIdx.x
    if t < CENTRES:
        own_sums[t, 0], own_sums[t, 1], own_counts[t] = 0, 0, 0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < label.size:
        x, y = points[i, 0], points[i, 1]
        best, least = 0, np.inf
        for c in range(CENTRES):
            distance = (x - centres[c, 0]) ** 2 + (y - centres[c, 1]) ** 2
            if distance < least:
                best, least = c, distance
        label[i] = best
        cuda.atomic.add(own_sums, (best, 0), x)
        cuda.atomic.add(own_sums, (best, 1), y)
        cuda.atomic.add(own_counts, best, 1)
    cuda.syncthreads()
    if t < CENTRES:
        cuda.atomic.add(sums, (t, 0), own_sums[t, 0])
        cuda.atomic.add(sums, (t, 1), own_sums[t, 1])
        cuda.atomic.add(counts, t, own_counts[t])


@cuda.jit
def move(centres, sums, counts):
    c = cuda.threadIdx.x
    for k in range(2):
        if counts[c] > 0:
            centres[c, k] = sums[c, k] / counts[c]
        sums[c, k] = 0
    counts[c] = 0


def main():
    rng = np.random.default_rng(1)
    middles = np.array([[0, 0], [6, 1], [1, 7], [-6, 2], [2, -7]], np.float64)
    points = np.concatenate([rng.normal(middle, 1, (20_000, 2)) for middle in middles])
    start = points[::20_000].copy()
    p, centres = cuda.to_device(points), cuda.to_device(start)
    label = cuda.device_array(len(points), np.int64)
    sums, counts = cuda.to_device(np.zeros((CENTRES, 2))), cuda.to_device(np.zeros(CENTRES, np.int64))
    for _ in range(10):
        assign[(len(points) + BLOCK - 1) // BLOCK, BLOCK](p, centres, label, sums, counts)
        move[1, CENTRES](centres, sums, counts)
        nearest = ((points[:, None] - start) ** 2).sum(axis=2).argmin(axis=1)
        start = np.array([points[nearest == c].mean(axis=0) for c in range(CENTRES)])
    np.testing.assert_allclose(centres.copy_to_host(), start, rtol=1e-9)
    np.testing.assert_array_equal(label.copy_to_host(), nearest)
    print(f"the {CENTRES} centres of {len(points)} points are found, the largest has {np.bincount(nearest).max()}")


if __name__ == "__main__":
    main()
