"""Accelerations of 8192 bodies by all others, float32: a thread for each body, a serial loop over the others."""

import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from harness import cpp_peer, measure, optional, report

import treadle as td
from treadle import cuda

SIZE = 8192
BLOCK = 128
SOFTENING = np.float32(1e-3)
ZERO = np.float32(0.0)


@cuda.jit
def nbody(x, y, z, mass, ax, ay, az):
    i = cuda.grid(1)
    xi, yi, zi = x[i], y[i], z[i]
    sum_x, sum_y, sum_z = ZERO, ZERO, ZERO
    for j in range(x.size):
        dx, dy, dz = x[j] - xi, y[j] - yi, z[j] - zi
        square = dx * dx + dy * dy + dz * dz + SOFTENING
        weight = mass[j] / (square * math.sqrt(square))
        sum_x += dx * weight
        sum_y += dy * weight
        sum_z += dz * weight
    ax[i] = sum_x
    ay[i] = sum_y
    az[i] = sum_z


def numba_peer(inputs, outputs):
    numba = optional("numba")
    if numba is None:
        return None

    @numba.njit(parallel=True, fastmath=True, error_model="numpy")
    def peer(x, y, z, mass, ax, ay, az):
        for i in numba.prange(x.size):
            xi, yi, zi = x[i], y[i], z[i]
            sum_x, sum_y, sum_z = ZERO, ZERO, ZERO
            for j in range(x.size):
                dx, dy, dz = x[j] - xi, y[j] - yi, z[j] - zi
                square = dx * dx + dy * dy + dz * dz + SOFTENING
                weight = mass[j] / (square * math.sqrt(square))
                sum_x += dx * weight
                sum_y += dy * weight
                sum_z += dz * weight
            ax[i] = sum_x
            ay[i] = sum_y
            az[i] = sum_z

    return lambda: peer(*inputs, *outputs)


def expected(inputs, bodies):
    """The accelerations of some bodies in float64."""
    x, y, z, mass = (array.astype(np.float64) for array in inputs)
    apart = [axis[None, :] - axis[bodies, None] for axis in (x, y, z)]
    square = sum(axis**2 for axis in apart) + float(SOFTENING)
    weight = mass[None, :] / square**1.5
    return [(axis * weight).sum(1) for axis in apart]


def main():
    rng = np.random.default_rng(5)
    inputs = [rng.random(SIZE, dtype=np.float32) for _ in range(4)]
    outputs = [np.zeros(SIZE, np.float32) for _ in range(3)]
    device_inputs = [td.asarray(array) for array in inputs]
    device_outputs = [td.asarray(array) for array in outputs]

    def ours():
        nbody[SIZE // BLOCK, BLOCK](*device_inputs, *device_outputs)
        cuda.synchronize()

    ours()
    bodies = np.arange(0, SIZE, 61)
    for actual, exact in zip(device_outputs, expected(inputs, bodies), strict=True):
        np.testing.assert_allclose(td.asnumpy(actual)[bodies], exact, rtol=1e-3, atol=1.0)
    times = measure(
        {
            "treadle": ours,
            "g++": cpp_peer("nbody", "nbody", *inputs, *outputs, float(SOFTENING), SIZE, fast_math=True),
            "numba": numba_peer(inputs, outputs),
        }
    )
    report("simt/nbody", times, flops=20 * SIZE**2)


if __name__ == "__main__":
    main()
