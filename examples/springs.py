"""Masses on a cloth of springs, kept as records. Run it with `treadle run examples/springs.py`."""

import math

import numpy as np
from numba import cuda

SIDE, STEPS = 64, 50
LENGTH, STIFFNESS, DAMPING, TIME = 1.0, 40.0, 0.995, 0.01
VECTOR = np.dtype([("x", "f8"), ("y", "f8"), ("z", "f8")])
MASS = np.dtype([("place", VECTOR), ("speed", VECTOR), ("weight", "f4"), ("fixed", "?")], align=True)
WAYS = ((1, 0), (-1, 0), (0, 1), (0, -1))


@cuda.jit(device=True)
def pull(own, other, force):
    """Adds what the spring between two masses does to the first."""
    dx, dy, dz = other.place.x - own.place.x, other.place.y - own.place.y, other.place.z - own.place.z
    length = math.sqrt(dx * dx + dy * dy + dz * dz)
    strength = STIFFNESS * (length - LENGTH) / length
    force[0] += strength * dx
    force[1] += strength * dy
    force[2] += strength * dz


@cuda.jit
def step(now, later, gravity):
    i, j = cuda.grid(2)
    if i >= SIDE or j >= SIDE:
        return
    own = now[i, j]
    later[i, j] = own
    if own.fixed:
        return
    force = cuda.local.array(3, np.float64)
    force[0], force[1], force[2] = 0.0, 0.0, -own.weight * gravity.z
    for di, dj in WAYS:
        if 0 <= i + di < SIDE and 0 <= j + dj < SIDE:
            pull(own, now[i + di, j + dj], force)
    result = later[i, j]
    result.speed.x = DAMPING * (own.speed.x + TIME * force[0] / own.weight)
    result.speed.y = DAMPING * (own.speed.y + TIME * force[1] / own.weight)
    result.speed.z = DAMPING * (own.speed.z + TIME * force[2] / own.weight)
    result.place.x += TIME * result.speed.x
    result.place.y += TIME * result.speed.y
    result.place.z += TIME * result.speed.z


def step_on_host(masses):
    place = np.stack([masses["place"][axis] for axis in "xyz"])
    force = np.zeros_like(place)
    force[2] = -9.81 * masses["weight"].astype("f8")
    for axis in (1, 2):
        ahead = np.diff(place, axis=axis)
        length = np.sqrt((ahead**2).sum(axis=0))
        tension = STIFFNESS * (length - LENGTH) / length * ahead
        front, back = [slice(None)] * 3, [slice(None)] * 3
        front[axis], back[axis] = slice(None, -1), slice(1, None)
        force[tuple(front)] += tension
        force[tuple(back)] -= tension
    for number, axis in enumerate("xyz"):
        speed = DAMPING * (masses["speed"][axis] + TIME * force[number] / masses["weight"])
        masses["speed"][axis] = np.where(masses["fixed"], masses["speed"][axis], speed)
        masses["place"][axis] += np.where(masses["fixed"], 0, TIME * masses["speed"][axis])


def main():
    masses = np.zeros((SIDE, SIDE), MASS)
    masses["place"]["x"], masses["place"]["y"] = np.mgrid[:SIDE, :SIDE]
    masses["weight"] = np.random.default_rng(1).uniform(0.5, 1.5, (SIDE, SIDE))
    masses["fixed"][0] = masses["fixed"][-1] = True
    gravity = np.array((0, 0, 9.81), VECTOR)[()]
    now, later = cuda.to_device(masses), cuda.device_array_like(masses)
    blocks = ((SIDE + 7) // 8, (SIDE + 31) // 32)
    for _ in range(STEPS):
        step[blocks, (8, 32)](now, later, gravity)
        now, later = later, now
        step_on_host(masses)
    got = now.copy_to_host()
    for axis in "xyz":
        np.testing.assert_allclose(got["place"][axis], masses["place"][axis], rtol=1e-9, atol=1e-9)
    print(f"after {STEPS} steps the middle of the cloth hangs at {got['place']['z'][SIDE // 2, SIDE // 2]:.4f}")


if __name__ == "__main__":
    main()
