"""Bodies that attract each other; a block brings the bodies tile by tile. Run it with `treadle run examples/nbody.py`."""

import math

import numpy as np
from numba import cuda, float64

BLOCK = 128
SOFTENING = 0.01


@cuda.jit
def accelerations(position, mass, out):
    tile = cuda.shared.array((BLOCK, 4), float64)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    x, y, z = position[i, 0], position[i, 1], position[i, 2]
    ax, ay, az = 0.0, 0.0, 0.0
    for start in range(0, mass.size, BLOCK):
        for k in range(3):
            tile[t, k] = position[start + t, k]
        tile[t, 3] = mass[start + t]
        cuda.syncthreads()
        for j in range(BLOCK):
            dx, dy, dz = tile[j, 0] - x, tile[j, 1] - y, tile[j, 2] - z
            inverse = 1 / math.sqrt(dx * dx + dy * dy + dz * dz + SOFTENING)
            pull = tile[j, 3] * inverse * inverse * inverse
            ax += pull * dx
            ay += pull * dy
            az += pull * dz
        cuda.syncthreads()
    out[i, 0], out[i, 1], out[i, 2] = ax, ay, az


@cuda.jit
def move(position, velocity, acceleration, time):
    i = cuda.grid(1)
    for k in range(3):
        velocity[i, k] += time * acceleration[i, k]
        position[i, k] += time * velocity[i, k]


def accelerations_on_host(position, mass):
    apart = position[None] - position[:, None]
    pull = mass / ((apart**2).sum(axis=2) + SOFTENING) ** 1.5
    return (pull[:, :, None] * apart).sum(axis=1)


def main():
    rng = np.random.default_rng(1)
    bodies, time = 4 * BLOCK, 0.001
    position, velocity, mass = rng.normal(size=(bodies, 3)), np.zeros((bodies, 3)), rng.random(bodies)
    x, v, m = cuda.to_device(position), cuda.to_device(velocity), cuda.to_device(mass)
    a = cuda.device_array((bodies, 3))
    for _ in range(10):
        accelerations[bodies // BLOCK, BLOCK](x, m, a)
        move[bodies // BLOCK, BLOCK](x, v, a, time)
        velocity += time * accelerations_on_host(position, mass)
        position += time * velocity
    np.testing.assert_allclose(x.copy_to_host(), position, rtol=1e-9, atol=1e-9)
    energy = 0.5 * (mass * (velocity**2).sum(axis=1)).sum()
    print(f"{bodies} bodies after 10 steps have the kinetic energy {energy:.2f}")


if __name__ == "__main__":
    main()
