"""Complex numbers in kernels and arrays, against NumPy and cmath."""

import cmath

import numpy as np
import pytest

import treadle as td
from treadle import cuda

DTYPES = ("complex64", "complex128")
TOLERANCE = {"complex64": 4e-6, "complex128": 1e-14}


def numbers(dtype, n=300, seed=0):
    rng = np.random.default_rng(seed)
    z = (rng.normal(size=n) + 1j * rng.normal(size=n)) * 2.0 ** rng.integers(-3, 4, n)
    z[:6] = [0, 1, -1, 1j, -1j, 2]
    return z.astype(dtype)


def close(got, expected, dtype, tolerance=1):
    scale = np.maximum(np.abs(expected), 1e-30)
    assert np.max(np.abs(got - expected) / scale) < tolerance * TOLERANCE[dtype]


@cuda.jit
def mixed(x, y, scale, out, sizes):
    i = cuda.grid(1)
    if i >= x.size:
        return
    z = x[i] * y[i] + 1j
    w = z / (y[i] + 3)
    if z.real > 0:
        z = z * scale
    elif z == 1j:
        z = 0
    total = complex(0, 0)
    for k in range(3):
        total += w**k - w.conjugate()
    out[i] = z - total if w.imag > 0.1 else -z
    sizes[i] = abs(w) + z.imag


@pytest.mark.parametrize("dtype", DTYPES)
def test_mixed(dtype):
    x, y = numbers(dtype), numbers(dtype, seed=1)
    out, sizes = td.zeros(x.size, "complex128"), td.zeros(x.size)
    scale = np.complex64(1 + 2j)
    mixed[3, 128](td.array(x), td.array(y), scale, out, sizes)
    a, b = x.astype("complex128"), y.astype("complex128")
    z = a * b + 1j
    w = z / (b + 3)
    z = np.where(z.real > 0, z * complex(scale), np.where(z == 1j, 0, z))
    total = sum(w**k - w.conj() for k in range(3))
    expected = np.where(w.imag > 0.1, z - total, -z)
    np.testing.assert_allclose(out.get(), expected, rtol=1e-4 if dtype == "complex64" else 1e-12, atol=1e-5)
    np.testing.assert_allclose(sizes.get(), abs(w) + z.imag, rtol=1e-4, atol=1e-5)


FUNCTIONS = "exp log log10 sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh".split()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_cmath(name):
    function = getattr(cmath, name)

    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        out[i] = function(x[i])

    x = numbers("complex128")[6:]
    out = td.zeros(x.size, "complex128")
    kernel[1, x.size](td.array(x), out)
    close(out.get(), np.array([function(z) for z in x]), "complex128", 5 if "atan" in name else 1)


def test_cmath_others():
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        r, phi = cmath.polar(x[i])
        out[i, 0] = cmath.rect(r, phi)
        out[i, 1] = cmath.phase(x[i])
        out[i, 2] = cmath.isfinite(x[i]) + 10 * cmath.isnan(x[i]) + 100 * cmath.isinf(x[i])
        out[i, 3] = x[i] ** (0.5 + 1j)
        out[i, 4] = x[i] ** -3

    x = numbers("complex128")
    x[0], x[1] = complex(np.inf, 0), complex(0, np.nan)
    out = td.zeros((x.size, 5), "complex128")
    kernel[1, x.size](td.array(x), out)
    got = out.get()
    close(got[2:, 0], x[2:], "complex128")
    np.testing.assert_allclose(got[2:, 1], np.angle(x[2:]), rtol=1e-15)
    np.testing.assert_array_equal(got[:3, 2], [100, 10, 1])
    close(got[2:, 3], x[2:] ** (0.5 + 1j), "complex128")
    close(got[2:, 4], x[2:] ** -3, "complex128")


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_of_blocks_and_threads(dtype):
    constants = numbers(dtype, 8)

    @cuda.jit
    def kernel(x, out):
        s = cuda.shared.array(64, dtype)
        mine = cuda.local.array((2, 3), dtype)
        t = cuda.threadIdx.x
        s[t] = x[t]
        cuda.syncthreads()
        for k in range(6):
            mine[k // 3, k % 3] = s[(t + k) % 60] * (k + 1)
        out[t, 0] = mine[t % 2, t % 3]
        out[t, 1] = mine[1][2] + constants[t % 8]
        out[-1 - t, 2] = x[::2][t // 2]

    x = numbers(dtype, 60)
    out = td.zeros((60, 3), dtype)
    kernel[1, 60](td.array(x), out)
    t = np.arange(60)
    k = t % 2 * 3 + t % 3
    expected = np.stack([x[(t + k) % 60] * (k + 1), x[(t + 5) % 60] * 6 + constants[t % 8], x[::2][t // 2][::-1]], 1)
    np.testing.assert_allclose(out.get(), expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("other", ("bool", "int8", "int32", "uint64", "float16", "float32", "float64", *DTYPES))
def test_array_arithmetic(dtype, other):
    x = numbers(dtype)
    y = (
        numbers(other)
        if other in DTYPES
        else np.random.default_rng(2).integers(0, 2 if other == "bool" else 9, x.size).astype(other)
    )
    a, b = td.array(x), td.array(y)
    with np.errstate(all="ignore"):
        cases = [
            (a + b, x + y),
            (b - a, y - x),
            (a * b, x * y),
            (a[1:] / (b[1:] + 11), x[1:] / (y[1:] + 11)),
            (a == b, x == y),
            (a != b, x != y),
            (td.where(b == b, a, b), np.where(y == y, x, y)),
        ]
    for got, expected in cases:
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got.get(), expected, rtol=2e-6 if expected.dtype == "complex64" else 1e-14)


@pytest.mark.parametrize("dtype", DTYPES)
def test_array_functions(dtype):
    x = numbers(dtype, 120).reshape(6, 20)
    a = td.array(x)
    cases = [
        (-a, -x),
        (abs(a), abs(x)),
        (td.real(a), x.real),
        (td.imag(a), x.imag),
        (td.conjugate(a), x.conj()),
        (td.square(a), x**2),
        (a[:, ::3].T + 1, x[:, ::3].T + 1),
        (a * 2j, x * 2j),
        (1.5 - a, 1.5 - x),
        (a.sum(), x.sum()),
        (a.sum(axis=0), x.sum(axis=0)),
        (a.mean(axis=1), x.mean(axis=1)),
        (a.prod(axis=0), x.prod(axis=0)),
        (a.astype("complex128"), x.astype("complex128")),
        (td.full(5, 1 + 2j, dtype), np.full(5, 1 + 2j, dtype)),
        (a.astype("bool"), x.astype("bool")),
        (td.real(td.arange(4)), np.arange(4)),
    ]
    for got, expected in cases:
        assert got.dtype == expected.dtype and got.shape == expected.shape
        np.testing.assert_allclose(
            got.get(), expected, rtol=2e-5 if dtype == "complex64" else 1e-13, atol=1e-6 if dtype == "complex64" else 0
        )
    assert a[2, 3] == x[2, 3]
    a[2, 3] = 7 - 1j
    assert a.get()[2, 3] == 7 - 1j
    assert td.array(x).tolist() == x.tolist()


def test_weak_numbers_keep_the_dtype():
    for dtype, expected in (
        ("float32", "complex64"),
        ("float64", "complex128"),
        ("int8", "complex128"),
        ("complex64", "complex64"),
    ):
        assert (td.ones(2, dtype) + 1j).dtype == expected
        assert (np.ones(2, dtype) + 1j).dtype == expected
