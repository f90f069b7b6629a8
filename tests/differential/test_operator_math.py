"""The functions of operator and math in kernels against the same functions on the host, over types and as arguments."""

import math
import operator

import numpy as np
import pytest

import treadle as td
from treadle import cuda
from treadle.cuda._operators import BODIES
from treadle.errors import CompileError, TypingError, UnsupportedError

INTEGERS = ("int32", "int64", "uint32")
FLOATS = ("float32", "float64")
TYPES = INTEGERS + FLOATS
VALUES = {
    "int32": [0, 1, -1, 2, 3, -7, 12, 100, -100, 2**30],
    "int64": [0, 1, -1, 2, 3, -7, 12, 100, -100, 2**40],
    "uint32": [0, 1, 5, 2, 3, 7, 12, 100, 99, 2**31],
    "float32": [0.0, 1.0, -1.0, 0.5, -0.5, 2.25, -7.5, 0.125, 30.0, 1e-3],
    "float64": [0.0, 1.0, -1.0, 0.5, -0.5, 2.25, -7.5, 0.1, 30.0, 1e-9],
}


def apply(function, out, *arrays):
    """function in a kernel, called directly."""

    @cuda.jit
    def one(x, out):
        i = cuda.grid(1)
        out[i] = function(x[i])

    @cuda.jit
    def two(x, y, out):
        i = cuda.grid(1)
        out[i] = function(x[i], y[i])

    result = td.zeros(len(arrays[0]), out)
    (one if len(arrays) == 1 else two)[1, len(arrays[0])](*map(td.array, arrays), result)
    return result.get()


def pairs(dtype, no_zero=False):
    x, y = (np.array(part).ravel() for part in np.meshgrid(VALUES[dtype], VALUES[dtype]))
    if no_zero:
        x, y = x[y != 0], y[y != 0]
    return x.astype(dtype), y.astype(dtype)


ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod")
BITWISE = ("and_", "or_", "xor")
SHIFTS = ("lshift", "rshift")
COMPARISONS = ("lt", "le", "eq", "ne", "ge", "gt")


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic(name, dtype):
    x, y = pairs(dtype, name in ("truediv", "floordiv", "mod"))
    result = dtype if dtype in FLOATS else ("float64" if name == "truediv" else "int64")
    # Python's numbers, rounded to the type that numba gives the result.
    with np.errstate(all="ignore"):
        expected = [getattr(operator, name)(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    if dtype == "uint32" and name == "sub":
        expected = [value % 2**64 for value in expected]
        expected = [value - 2**64 if value >= 2**63 else value for value in expected]
    if dtype == "float32" and name in ("floordiv", "mod"):
        np.testing.assert_allclose(apply(getattr(operator, name), result, x, y), expected, rtol=2e-7)
        return
    got = apply(getattr(operator, name), result, x, y)
    expected = [
        value if dtype in FLOATS or name == "truediv" else (value + 2**63) % 2**64 - 2**63 for value in expected
    ]
    np.testing.assert_array_equal(got, np.array(expected).astype(result))
    if name in ("add", "sub", "mul"):
        np.testing.assert_array_equal(apply(getattr(operator, f"i{name}"), result, x, y), got)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", BITWISE)
def test_bitwise(name, dtype):
    x, y = pairs(dtype)
    expected = getattr(operator, name)(x.astype("int64"), y.astype("int64"))
    np.testing.assert_array_equal(apply(getattr(operator, name), "int64", x, y), expected)
    in_place = getattr(operator, "i" + name.strip("_"))
    np.testing.assert_array_equal(apply(in_place, "int64", x, y), expected)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", SHIFTS)
def test_shifts(name, dtype):
    x = np.array(VALUES[dtype], dtype)
    n = np.arange(len(x)).astype(dtype)
    expected = getattr(operator, name)(x.astype("int64"), n.astype("int64"))
    for function in (getattr(operator, name), getattr(operator, "i" + name)):
        np.testing.assert_array_equal(apply(function, "int64", x, n), expected)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons(name, dtype):
    x, y = pairs(dtype)
    np.testing.assert_array_equal(apply(getattr(operator, name), "bool", x, y), getattr(operator, name)(x, y))


@pytest.mark.parametrize("dtype", TYPES)
def test_unary(dtype):
    x = np.array(VALUES[dtype], dtype)
    wide = x if dtype in FLOATS else x.astype("int64")
    np.testing.assert_array_equal(apply(operator.pos, wide.dtype, x), wide)
    np.testing.assert_array_equal(apply(operator.abs, wide.dtype, x), np.abs(wide))
    np.testing.assert_array_equal(apply(operator.not_, "bool", x), x == 0)
    np.testing.assert_array_equal(apply(operator.truth, "bool", x), x != 0)
    if dtype != "uint32":
        np.testing.assert_array_equal(apply(operator.neg, wide.dtype, x), -wide)
    if dtype in INTEGERS:
        np.testing.assert_array_equal(apply(operator.index, "int64", x), wide)
    if dtype in ("int32", "int64"):
        for function in (operator.invert, operator.inv):
            np.testing.assert_array_equal(apply(function, "int64", x), ~wide)


@pytest.mark.parametrize("dtype", TYPES)
def test_pow(dtype):
    x = np.array(VALUES[dtype], dtype)
    n = np.array([2, 3, 4, 0, 1, 5, 2, 3, 4, 1]).astype(dtype)
    if dtype in FLOATS:
        expected = np.power(x.astype("float64"), n.astype("float64"))
        for function in (operator.pow, operator.ipow, math.pow):
            np.testing.assert_allclose(
                apply(function, dtype, x, n), expected, rtol=3e-7 if dtype == "float32" else 4e-16
            )
    else:
        expected = [int(a) ** int(b) for a, b in zip(x, n, strict=True)]
        for function in (operator.pow, operator.ipow):
            np.testing.assert_array_equal(apply(function, "int64", x, n), np.array(expected))


def fold(op, a, b, c):
    return op(op(a, b), c)


def choose(test, op, other, a, b):
    return op(a, b) if test(a, b) else other(a, b)


@cuda.jit(device=True)
def through(op, a, b, c):
    return fold(op, a, b, c)


@cuda.jit
def passing(x, y, out):
    i = cuda.grid(1)
    out[i, 0] = fold(operator.add, x[i], y[i], 1.0)
    out[i, 1] = through(operator.mul, x[i], y[i], 2.0)
    out[i, 2] = choose(operator.lt, operator.sub, operator.truediv, x[i], y[i])
    out[i, 3] = fold(max, x[i], y[i], 0.5)
    out[i, 4] = fold(math.hypot, x[i], y[i], 1.0)
    # Kept in a variable.
    op = operator.sub
    out[i, 5] = op(x[i], y[i])
    out[i, 6] = operator.getitem(x, i)
    operator.setitem(out, (i, 7), y[i])


def test_functions_as_arguments():
    x, y = np.linspace(-2, 2, 8), np.linspace(3, 1.5, 8)
    out = td.zeros((8, 8))
    passing[1, 8](td.array(x), td.array(y), out)
    expected = [
        x + y + 1,
        x * y * 2,
        np.where(x < y, x - y, x / y),
        np.maximum(np.maximum(x, y), 0.5),
        np.hypot(np.hypot(x, y), 1),
        x - y,
        x,
        y,
    ]
    np.testing.assert_allclose(out.get(), np.array(expected).T, rtol=4e-16)


def test_every_operator_exists():
    for name in BODIES:
        assert callable(getattr(operator, name)), name


def test_tuples_and_none():
    @cuda.jit
    def kernel(out):
        a = operator.concat((1, 2), (3,))
        out[0] = a[2]
        out[1] = operator.is_(None, None)
        out[2] = operator.is_not(out, None)

    out = td.zeros(3)
    kernel[1, 1](out)
    np.testing.assert_array_equal(out.get(), [3, 1, 1])


def test_errors():
    @cuda.jit
    def floats_have_no_bits(x):
        x[0] = operator.and_(x[0], x[0])

    with pytest.raises(TypingError, match="unsupported operand types for &"):
        floats_have_no_bits[1, 1](td.zeros(1))

    @cuda.jit
    def no_such(x):
        x[0] = operator.countOf(x, 1)

    with pytest.raises((UnsupportedError, CompileError), match="operator.countOf"):
        no_such[1, 1](td.zeros(1))


# ----------------------------------------------------------------------------------------------------------------- math

CONSTANTS = ("pi", "e", "tau", "inf", "nan")


def test_constants():
    @cuda.jit
    def kernel(out):
        out[0] = math.pi
        out[1] = math.e
        out[2] = math.tau
        out[3] = math.inf
        out[4] = math.nan

    out = td.zeros(5)
    kernel[1, 1](out)
    np.testing.assert_array_equal(out.get(), [getattr(math, name) for name in CONSTANTS])


# What numba.cuda supports of math: how many arguments, and where functions are defined.
EVERYWHERE, POSITIVE, UNIT, AT_LEAST_1 = (-np.inf, np.inf), (1e-9, np.inf), (-1, 1), (1, np.inf)
ONE = {
    "acos": UNIT,
    "acosh": AT_LEAST_1,
    "asin": UNIT,
    "asinh": EVERYWHERE,
    "atan": EVERYWHERE,
    "atanh": (-0.9, 0.9),
    "ceil": EVERYWHERE,
    "cos": EVERYWHERE,
    "cosh": (-80, 80),
    "degrees": EVERYWHERE,
    "erf": EVERYWHERE,
    "erfc": EVERYWHERE,
    "exp": (-80, 80),
    "expm1": (-80, 80),
    "fabs": EVERYWHERE,
    "floor": EVERYWHERE,
    "gamma": (0.1, 30),
    "isfinite": EVERYWHERE,
    "isinf": EVERYWHERE,
    "isnan": EVERYWHERE,
    "lgamma": (3, np.inf),
    "log": POSITIVE,
    "log10": POSITIVE,
    "log1p": (-0.9, np.inf),
    "log2": POSITIVE,
    "radians": EVERYWHERE,
    "sin": EVERYWHERE,
    "sinh": (-80, 80),
    "sqrt": (0, np.inf),
    "tan": EVERYWHERE,
    "tanh": EVERYWHERE,
    "trunc": EVERYWHERE,
}
PREDICATES = ("isfinite", "isinf", "isnan")


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ONE)
def test_math_one(name, dtype):
    low, high = ONE[name]
    x = np.array([value for value in VALUES[dtype] if low <= value <= high], dtype)
    function = getattr(math, name)
    out = "bool" if name in PREDICATES else "float32" if dtype == "float32" else "float64"
    expected = np.array([function(value) for value in x.tolist()], "float64" if out != "bool" else "bool")
    tolerance = 4e-7 if out == "float32" else 8e-16
    np.testing.assert_allclose(apply(function, out, x), expected, rtol=tolerance, atol=1e-300)
    if name in PREDICATES and dtype in FLOATS:
        special = np.array([np.inf, -np.inf, np.nan, 1], dtype)
        np.testing.assert_array_equal(apply(function, out, special), [function(value) for value in special.tolist()])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ("atan2", "copysign", "fmod", "hypot", "remainder"))
def test_math_two(name, dtype):
    x, y = pairs(dtype, no_zero=True)
    out = "float32" if dtype == "float32" else "float64"
    expected = [getattr(math, name)(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    tolerance = 3e-7 if out == "float32" else 4e-16
    np.testing.assert_allclose(apply(getattr(math, name), out, x, y), expected, rtol=tolerance)


@cuda.jit
def parts(x, n, out):
    i = cuda.grid(1)
    out[i, 0], out[i, 1] = math.modf(x[i])
    out[i, 2], out[i, 3] = math.frexp(x[i])
    out[i, 4] = math.ldexp(x[i], n[i])


@pytest.mark.parametrize("dtype", TYPES)
def test_math_parts(dtype):
    x = np.array(VALUES[dtype], dtype)
    n = np.arange(len(x), dtype="int32") - 4
    out = td.zeros((len(x), 5))
    parts[1, len(x)](td.array(x), td.array(n), out)
    expected = [[*math.modf(a), *math.frexp(a), math.ldexp(a, b)] for a, b in zip(x.tolist(), n.tolist(), strict=True)]
    np.testing.assert_array_equal(out.get(), expected)
