"""Records for tests: numbers in every field, and a comparison that leaves the bytes between fields alone."""

import numpy as np


def values(dtype, n, seed=0):
    """Records with numbers in every field."""
    rng = np.random.default_rng(seed)
    result = np.zeros(n, dtype)
    if dtype.names is None:
        return _numbers(dtype, n, rng)
    for name in dtype.names:
        base, shape = dtype[name].base, dtype[name].shape
        part = values(base, n * int(np.prod(shape)), rng.integers(1 << 30))
        result[name] = part.reshape(n, *shape)
    return result


def _numbers(dtype, n, rng):
    if dtype.kind == "b":
        return rng.random(n) < 0.5
    if dtype.kind == "c":
        return (rng.normal(size=n) + 1j * rng.normal(size=n)).astype(dtype)
    if dtype.kind == "f":
        return rng.normal(size=n).astype(dtype)
    return rng.integers(0, 100, n).astype("i8").astype(dtype)


def same(got, expected):
    assert got.dtype == expected.dtype and got.shape == expected.shape
    for name in expected.dtype.names or ():
        same(got[name], expected[name])
    if expected.dtype.names is None:
        np.testing.assert_array_equal(got, expected)
