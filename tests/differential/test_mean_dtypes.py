"""Means, sums and products in a dtype that is asked for, against NumPy."""

import numpy as np
import pytest

import treadle as td

SOURCES = {
    "integers": np.array([[1, 2, 4], [-9, 5, 7]]),
    "floats": np.array([[1.75, 2.75, -0.5], [3.5, 1.25, 100.5]]),
    "bytes": np.array([[200, 100, 7], [255, 255, 254]], "uint8"),
    "flags": np.array([[True, False, True], [False, False, True]]),
}


@pytest.mark.parametrize("dtype", ("bool", "int8", "int32", "int64", "uint16", "float32", "float64", "complex64"))
@pytest.mark.parametrize("axis", (None, 0, 1))
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", ("mean", "sum", "prod"))
def test_dtypes(name, source, axis, dtype):
    host = SOURCES[source]
    if source == "floats" and dtype.startswith("u"):
        host = np.abs(host)  # what a negative float is as an unsigned integer differs between machines
    expected = getattr(np, name)(host, axis=axis, dtype=dtype)
    got = getattr(td, name)(td.asarray(host), axis=axis, dtype=dtype).get()
    assert got.dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_empty():
    with pytest.warns(RuntimeWarning):
        expected = np.mean(np.zeros((0, 3)), axis=0)
    np.testing.assert_array_equal(td.zeros((0, 3)).mean(axis=0).get(), expected)
