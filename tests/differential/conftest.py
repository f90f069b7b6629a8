"""Numbers to compute with and the comparison in units of the last place."""

import json
from pathlib import Path

import numpy as np
import pytest

BOOL = ("bool",)
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
ALL = BOOL + SIGNED + UNSIGNED + FLOATS
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, np.inf, -np.inf, np.nan, 1e-3, 100.0)


def sample(dtype, size, seed=0, special=True):
    """Numbers of a dtype: mostly small, some at the limits of the type."""
    rng = np.random.default_rng([seed, *dtype.encode()])
    if dtype == "bool":
        return rng.random(size) < 0.5
    if dtype in FLOATS:
        info = np.finfo(dtype)
        values = (rng.normal(size=size) * 10.0 ** rng.integers(-2, 2, size)).astype(dtype)
        if special:
            edges = np.array(
                [*SPECIAL, info.max, -info.max, info.tiny, info.smallest_subnormal, -info.smallest_subnormal]
            )
            places = rng.permutation(size)[: len(edges)]
            values[places] = edges[: len(places)].astype(dtype)
        return values
    info = np.iinfo(dtype)
    values = rng.integers(max(info.min, -30), min(info.max, 30), size).astype(dtype)
    edges = np.array([0, 1, info.max, info.min, info.max - 1, info.min + 1], dtype=dtype)
    places = rng.permutation(size)[: len(edges)]
    values[places] = edges[: len(places)]
    return values


def ulps_between(got, exact, dtype):
    """Distance of results from exact values in units of the last place; infinite for a wrong NaN, infinity or sign of zero."""
    wide = np.asarray(exact)
    with np.errstate(all="ignore"):
        rounded = wide.astype(dtype)
        if dtype == "float16":
            unit = np.maximum(2.0 ** (np.floor(np.log2(np.abs(wide).astype("float64"))) - 10), 2.0**-24)
        else:
            digits = 23 if dtype == "float32" else 52
            low = -149 if dtype == "float32" else -1074
            exponent = np.frexp(wide)[1].astype("float64") - 1 - digits
            unit = np.exp2(np.maximum(exponent, low).astype(wide.dtype))
        distance = np.abs(got.astype(wide.dtype) - wide) / np.where(np.isfinite(unit) & (unit > 0), unit, 1)
    distance = np.where(np.isnan(rounded) & np.isnan(got), 0, distance)
    distance = np.where(got == rounded, 0, distance)
    distance = np.where(np.isnan(rounded) != np.isnan(got), np.inf, distance)
    return np.where(np.isinf(got) & (got != rounded), np.inf, distance)


@pytest.fixture(scope="session")
def numbers():
    return sample


@pytest.fixture(scope="session")
def ulps():
    return ulps_between


@pytest.fixture(scope="session")
def accuracy():
    """The bounds that the function library promises, {function: {dtype: ULPs}}."""
    import treadle

    root = Path(treadle.__file__).resolve().parents[2]
    for folder in (root, Path(__file__).resolve().parents[2]):
        if (folder / "src/library/accuracy.json").exists():
            return json.loads((folder / "src/library/accuracy.json").read_text())
    pytest.skip("accuracy.json belongs to the source tree")


@pytest.fixture(scope="session")
def same():
    """same(device array, host array): equal in dtype, shape, values and the signs of zeros."""

    def check(device, host, message=""):
        host = np.asarray(host)
        got = device.get()
        assert got.dtype == host.dtype, f"dtype {got.dtype}, expected {host.dtype} {message}"
        assert got.shape == host.shape, f"shape {got.shape}, expected {host.shape} {message}"
        np.testing.assert_array_equal(got, host, err_msg=message)
        if host.dtype.kind == "f":
            plain = ~np.isnan(host)
            np.testing.assert_array_equal(np.signbit(got)[plain], np.signbit(host)[plain], err_msg=f"sign {message}")

    return check
