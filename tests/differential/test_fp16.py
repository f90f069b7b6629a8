"""cuda.fp16 against NumPy: all float16 values for functions of one, many pairs and triples for the others."""

import math
import operator
from fractions import Fraction

import numpy as np
import pytest

import treadle as td
from treadle import cuda
from treadle.cuda import fp16

ALL = np.arange(65536, dtype=np.uint16).view(np.float16)


def wide(function):
    return lambda x: function(x.astype("float64")).astype("float16")


UNARY = {
    "hneg": lambda x: -x,
    "habs": np.abs,
    "hsqrt": wide(np.sqrt),
    "hrsqrt": wide(lambda x: 1 / np.sqrt(x)),
    "hrcp": wide(lambda x: 1 / x),
    "hsin": wide(np.sin),
    "hcos": wide(np.cos),
    "hexp": wide(np.exp),
    "hexp2": wide(np.exp2),
    "hexp10": wide(lambda x: np.power(10.0, x)),
    "hlog": wide(np.log),
    "hlog2": wide(np.log2),
    "hlog10": wide(np.log10),
    "hfloor": np.floor,
    "hceil": np.ceil,
    "htrunc": np.trunc,
    "hrint": np.rint,
}
BINARY = {"hadd": np.add, "hsub": np.subtract, "hmul": np.multiply, "hdiv": np.divide, "hmax": np.fmax, "hmin": np.fmin}
COMPARE = {f"h{name}": getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}


def run(function, out, *arrays):
    if len(arrays) == 1:

        @cuda.jit
        def kernel(x, out):
            i = cuda.grid(1)
            out[i] = function(x[i])
    elif len(arrays) == 2:

        @cuda.jit
        def kernel(x, y, out):
            i = cuda.grid(1)
            out[i] = function(x[i], y[i])
    else:

        @cuda.jit
        def kernel(x, y, z, out):
            i = cuda.grid(1)
            out[i] = function(x[i], y[i], z[i])

    result = td.zeros(arrays[0].size, out)
    kernel[math.ceil(arrays[0].size / 256), 256](*map(td.array, arrays), result)
    return result.get()


def check(got, expected):
    np.testing.assert_array_equal(got, expected)
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got)[number], np.signbit(expected)[number])


def test_every_name_is_tested():
    assert sorted(fp16.__all__) == sorted([*UNARY, *BINARY, *COMPARE, "hfma"])
    assert cuda.fp16 is fp16 and set(dir(fp16)) == set(fp16.__all__)


@pytest.mark.parametrize("name", UNARY)
def test_one(name):
    with np.errstate(all="ignore"):
        check(run(getattr(fp16, name), "float16", ALL), UNARY[name](ALL))


def pairs(seed):
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(0, 65536, 100_000).astype(np.uint16).view(np.float16) for _ in range(2))
    b[:20_000] = a[:20_000] + rng.integers(-3, 4, 20_000).astype("float16")
    return a, b


@pytest.mark.parametrize("name", BINARY)
def test_two(name):
    with np.errstate(all="ignore"):
        a, b = pairs(1)
        if name in ("hmax", "hmin"):  # of zeros with two signs either may be taken
            both = (a == 0) & (b == 0)
            a, b = a[~both], b[~both]
        check(run(getattr(fp16, name), "float16", a, b), BINARY[name](a, b))


@pytest.mark.parametrize("name", COMPARE)
def test_comparisons(name):
    with np.errstate(all="ignore"):
        a, b = pairs(2)
    np.testing.assert_array_equal(run(getattr(fp16, name), "bool", a, b), COMPARE[name](a, b))


def nearest_half(x):
    """The float16 nearest to a Fraction, ties to even."""
    magnitude = abs(x)
    exponent = -14
    while magnitude >= Fraction(2) ** (exponent + 1):
        exponent += 1
    units = magnitude / Fraction(2) ** (exponent - 10)
    value = round(units) * Fraction(2) ** (exponent - 10)
    return math.copysign(math.inf if value >= 65536 else float(value), x)


def test_fma_rounds_once():
    rng = np.random.default_rng(3)
    n = 20_000
    a, b, c = ((rng.normal(size=n) * 2.0 ** rng.integers(-12, 7, n)).astype("float16") for _ in range(3))
    # Half: a product that is nearly half a unit of the third term, so that float32 sees a tie.
    half, k = n // 2, rng.integers(-3, 4, n // 2)
    a[:half] = (1 + rng.integers(-1, 2, half) * 2.0**-10) * 2.0**k
    b[:half] = (1 - rng.integers(-1, 2, half) * 2.0**-10) * 2.0**-k
    c[:half] = rng.integers(1024, 2048, half) * 2.0
    ok = np.isfinite(a) & np.isfinite(b) & np.isfinite(c) & (a != 0) & (b != 0) & (c != 0)
    a, b, c = a[ok], b[ok], c[ok]
    got = run(fp16.hfma, "float16", a, b, c)
    exact = [Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)) for x, y, z in zip(a, b, c, strict=True)]
    expected = np.array([nearest_half(value) if value else 0.0 for value in exact]).astype("float16")
    np.testing.assert_array_equal(got, expected)
    with np.errstate(all="ignore"):
        twice = (a.astype("float32") * b + c).astype("float16")
    assert np.any(twice != expected), "the samples tell one rounding from two"


def test_arguments_become_half():
    @cuda.jit
    def kernel(out):
        out[0] = cuda.fp16.hadd(0.1, 1)

    out = td.zeros(1, "float64")
    kernel[1, 1](out)
    assert out.get()[0] == np.float16(0.1) + np.float16(1)
