"""Reductions against NumPy: dtypes, axes, shapes, layouts, special values, out= and dtype=."""

import itertools

import numpy as np
import pytest

import treadle as td

DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()
NAMES = ("sum", "prod", "min", "max", "any", "all", "argmin", "argmax", "mean")
SHAPES = [(1,), (2,), (31,), (64,), (1009,), (3, 5), (64, 33), (1, 7), (7, 1), (2, 3, 4), (5, 1, 6, 2), (2, 3, 2, 3, 2)]


def axes_of(rank):
    for count in range(1, rank + 1):
        yield from itertools.combinations(range(rank), count)


def check(name, a, x, message="", **options):
    with np.errstate(all="ignore"):
        expected = np.asarray(getattr(np, name)(x, **options))
        got = getattr(td, name)(a, **options)
    assert got.shape == expected.shape, message
    assert got.dtype == expected.dtype, (name, x.dtype, message)
    if expected.dtype.kind == "f":
        size = max(1, x.size)
        rtol = {"float16": 2e-3, "float32": 2e-7 * size**0.5 * 4, "float64": 2e-16 * size**0.5 * 4}[expected.dtype.name]
        finite = x[np.isfinite(x)].astype("float64")
        atol = rtol * float(np.abs(finite).max(initial=0)) * (size if name == "sum" else 1)
        np.testing.assert_allclose(
            got.get().astype("float64"), expected.astype("float64"), rtol, atol, err_msg=f"{name} {message}"
        )
    else:
        np.testing.assert_array_equal(got.get(), expected, err_msg=f"{name} {message}")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_dtypes(name, dtype, numbers):
    x = numbers(dtype, 113, 1, special=False)
    if dtype == "float16":
        x = (np.clip(x, -3, 3)).astype("float16")
    if name == "prod" and np.dtype(dtype).kind == "f":
        x = (1 + np.abs(x) % 0.25).astype(dtype)
    check(name, td.asarray(x), x)
    y = x[:112].reshape(7, 16)
    for axis in (0, 1, -1, (0, 1)):
        if name.startswith("arg") and isinstance(axis, tuple):
            continue
        check(name, td.asarray(y), y, str(axis), axis=axis)
        check(name, td.asarray(y)[::-1, ::2], y[::-1, ::2], f"strided {axis}", axis=axis)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["sum", "max", "any", "mean", "argmin"])
def test_axes(name, shape, numbers):
    x = numbers("float64", int(np.prod(shape)), 2, special=False).reshape(shape)
    a = td.asarray(x)
    for keepdims in (False, True):
        check(name, a, x, keepdims=keepdims)
        for axes in axes_of(len(shape)):
            axis = axes[0] if len(axes) == 1 else axes
            if name == "argmin" and isinstance(axis, tuple):
                continue
            check(name, a, x, f"axis {axis}", axis=axis, keepdims=keepdims)
            check(name, a.T, x.T, f"transposed axis {axis}", axis=axis, keepdims=keepdims)


@pytest.mark.parametrize("size", [1, 2, 255, 256, 257, 4096, 65537, 1_000_003])
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "uint8"])
def test_sizes(size, dtype):
    x = (np.arange(size) * 7919 % 251).astype(dtype)
    x[size // 2] = 252
    x[size // 3] = 253 if size > 4 else x[size // 3]
    a = td.asarray(x)
    for name in ("min", "max", "argmin", "argmax", "mean"):
        check(name, a, x, str(size))
    assert float(a.sum()) == pytest.approx(float(x.sum(dtype="float64")), rel=1e-6)
    assert float(a[::-3].sum()) == pytest.approx(float(x[::-3].sum(dtype="float64")), rel=1e-6)


@pytest.mark.parametrize(
    "shape", [(1000, 3), (3, 1000), (100000, 2), (2, 100000), (300, 300), (17, 4099), (10, 20, 5000)], ids=str
)
@pytest.mark.parametrize("name", ["sum", "min", "argmax", "all"])
def test_large(name, shape):
    x = (np.arange(np.prod(shape)) * 7919 % 10007).astype("int64").reshape(shape)
    a = td.asarray(x)
    for axis in (None, *range(len(shape))):
        check(name, a, x, str(axis), axis=axis)
    check(name, a[..., ::-2], x[..., ::-2], "reversed", axis=0)


EMPTY = [
    ((0,), None),
    ((0, 3), 0),
    ((0, 3), 1),
    ((3, 0), 1),
    ((3, 0), 0),
    ((2, 0, 3), 1),
    ((2, 0, 3), (0, 2)),
    ((0, 0), None),
]


@pytest.mark.parametrize(("shape", "axis"), EMPTY, ids=str)
@pytest.mark.parametrize("name", ["sum", "prod", "any", "all", "min", "max", "argmin"])
def test_empty(name, shape, axis):
    for dtype in ("int32", "float32"):
        x = np.zeros(shape, dtype)
        if name == "argmin" and isinstance(axis, tuple):
            continue
        try:
            expected = getattr(np, name)(x, axis=axis)
        except ValueError:
            with pytest.raises(ValueError, match=name):
                getattr(td, name)(td.asarray(x), axis=axis)
            continue
        got = getattr(td, name)(td.asarray(x), axis=axis)
        assert got.dtype == np.asarray(expected).dtype
        np.testing.assert_array_equal(got.get(), expected)


def test_mean_of_nothing():
    assert np.isnan(float(td.zeros(0).mean()))
    assert np.isnan(td.zeros((0, 3)).mean(axis=0).get()).all()


def test_zero_dimensions():
    x = np.float32(3.5)
    a = td.asarray(x)
    for name in NAMES:
        assert getattr(td, name)(a).get() == getattr(np, name)(x)
    assert a.sum(axis=()).get() == x
    b = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(td.asarray(b).sum(axis=()).get(), b.sum(axis=()))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("size", [3, 40, 1000, 70001])
def test_special_values(dtype, size):
    x = np.linspace(-1, 1, size).astype(dtype)
    for place in (0, size // 2, size - 1):
        for value in (np.nan, np.inf, -np.inf):
            y = x.copy()
            y[place] = value
            for name in ("min", "max", "argmin", "argmax", "sum", "any", "all"):
                with np.errstate(all="ignore"):
                    expected = getattr(np, name)(y)
                got = getattr(td, name)(td.asarray(y)).get()
                if name == "sum" and np.isfinite(expected):
                    continue
                np.testing.assert_array_equal(got, expected, err_msg=f"{name} {value} at {place} of {size}")
    y = np.full(size, np.nan, dtype)
    assert td.asarray(y).argmax().get() == 0
    y = np.zeros(size, dtype)
    assert td.asarray(y).argmin().get() == 0 and td.asarray(y).argmax().get() == 0


def test_first_of_equals():
    x = np.array([3, 1, 1, 3, 0, 0, 3] * 999)
    a = td.asarray(x)
    assert int(a.argmin()) == 4 and int(a.argmax()) == 0
    y = x.reshape(-1, 7)
    np.testing.assert_array_equal(td.asarray(y).argmin(axis=1).get(), y.argmin(axis=1))
    np.testing.assert_array_equal(td.asarray(y).argmax(axis=0).get(), y.argmax(axis=0))


@pytest.mark.parametrize("to", ["float32", "float64", "int64", "int32"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtype_argument(dtype, to, numbers):
    x = numbers(dtype, 50, 3, special=False)
    if dtype != "bool":
        x = np.round(np.clip(x.astype("float64"), -50, 50)).astype(dtype)
    got = td.sum(td.asarray(x), dtype=to)
    assert got.dtype == np.dtype(to)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(got.get(), x.sum(dtype=to), rtol=1e-5)


def test_out_and_methods():
    x = np.arange(12.0).reshape(3, 4)
    a = td.asarray(x)
    out = td.zeros(4)
    assert td.sum(a, axis=0, out=out) is out
    np.testing.assert_array_equal(out.get(), x.sum(axis=0))
    assert a.max(axis=1, out=td.zeros(3)).tolist() == x.max(axis=1).tolist()
    for name in NAMES:
        np.testing.assert_array_equal(getattr(a, name)().get(), getattr(x, name)())
    assert td.amax is td.max and td.amin is td.min


def test_wrapping_sums():
    x = np.full(100, 100, "int8")
    assert td.asarray(x).sum().get() == 10000
    y = np.full(3, 2**62, "int64")
    with np.errstate(all="ignore"):
        assert td.asarray(y).sum().get() == y.sum()
        assert td.asarray(y).prod().get() == y.prod()
    z = np.full(3, 2**63, "uint64")
    assert td.asarray(z).sum().get() == z.sum()


def test_precision_of_float32_sums():
    x = np.full(2**22, 0.1, "float32")
    assert float(td.asarray(x).sum()) == pytest.approx(float(x.sum(dtype="float64")), rel=1e-6)


def test_precision_of_float16_sums():
    h = np.full(2**16, 0.1, "float16")
    assert float(td.asarray(h[:30000]).sum()) == pytest.approx(float(h[:30000].sum(dtype="float64")), rel=1e-3)


def test_same_result_every_time():
    x = td.random.normal(size=300_001, dtype="float32")
    first = x.sum().get()
    assert all(x.sum().get() == first for _ in range(10))
