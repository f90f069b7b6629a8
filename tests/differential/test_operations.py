"""Every element-wise operation against NumPy: dtypes, values, shapes, out=, operators, Python numbers."""

import itertools
import operator

import numpy as np
import pytest

import treadle as td

DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()
ROWS = {row.name: row for row in td._treadle.operations() if row.name not in ("copy", "where", "clip")}
UNARY = [name for name, row in ROWS.items() if row.nin == 1]
BINARY = [name for name, row in ROWS.items() if row.nin == 2]
LIBRARY = {
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
}
LIBRARY |= {"arctan2": "atan2", "power": "pow"}
# One operation of the processor, or a few of them: rounded once, or exactly.
EXACT = (
    "positive negative absolute square sign sqrt floor ceil trunc rint isnan isinf isfinite invert logical_not".split()
)
EXACT += "add subtract multiply divide remainder fmod copysign maximum minimum fmax fmin equal not_equal less".split()
EXACT += "less_equal greater greater_equal logical_and logical_or logical_xor reciprocal floor_divide".split()
EXACT += "bitwise_and bitwise_or bitwise_xor left_shift right_shift".split()


def numpy_result(name, *args):
    with np.errstate(all="ignore"):
        return getattr(np, name)(*args)


def wide_result(name, result, *args):
    """The result in more digits, to measure errors against."""
    wider = {"float16": "float64", "float32": "float64", "float64": "longdouble"}[result.dtype.name]
    args = [arg.astype(result.dtype).astype(wider) if isinstance(arg, np.ndarray) else arg for arg in args]
    return numpy_result(name, *args)


def check_values(name, got, args, accuracy, ulps):
    expected = numpy_result(name, *args)
    assert got.dtype == expected.dtype
    host = got.get()
    assert host.shape == expected.shape
    if expected.dtype.kind != "f" or name in EXACT:
        np.testing.assert_array_equal(host, expected)
        if expected.dtype.kind == "f" and name not in ("maximum", "minimum", "fmax", "fmin"):
            plain = ~np.isnan(expected)
            np.testing.assert_array_equal(np.signbit(host)[plain], np.signbit(expected)[plain], "signs")
        return
    dtype = expected.dtype.name
    exact = wide_result(name, expected, *args)
    promised = accuracy.get(LIBRARY.get(name, name), {}).get("float32" if dtype == "float16" else dtype, 2.0)
    bound = 0.51 + promised / 1000 if dtype == "float16" else promised + 0.001
    distance = ulps(host, exact, dtype)
    worst = np.unravel_index(np.argmax(distance), distance.shape) if distance.size else ()
    assert distance.size == 0 or distance[worst] <= bound, (
        f"{distance[worst]} ULP (at most {bound}) of {name}({', '.join(str(np.broadcast_to(a, host.shape)[worst]) for a in args)}): "
        f"{host[worst]!r}, expected {exact[worst]!r}"
    )


def refused_by_numpy(name, *dtypes):
    """Whether NumPy has no loop for the dtypes or one with Python objects."""
    try:
        numpy_result(name, *(np.ones(1, dtype) for dtype in dtypes))
    except TypeError:
        return True
    return False


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_unary(name, dtype, numbers, accuracy, ulps):
    x = numbers(dtype, 119)
    if name == "reciprocal" and x.dtype.kind in "iu":
        x[x == 0] = 3  # NumPy's result for 0 depends on the processor
    if refused_by_numpy(name, dtype):
        with pytest.raises(TypeError, match=name):
            td.ufuncs[name](td.asarray(x))
        return
    check_values(name, td.ufuncs[name](td.asarray(x)), (x,), accuracy, ulps)
    strided = np.ascontiguousarray(x[:117].reshape(9, 13)).T[::-2, ::2]
    on_device = td.asarray(x[:117].reshape(9, 13)).T[::-2, ::2]
    check_values(name, td.ufuncs[name](on_device), (strided,), accuracy, ulps)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BINARY)
def test_binary(name, dtype, numbers, accuracy, ulps):
    x, y = numbers(dtype, 119, 1), numbers(dtype, 119, 2)
    if name.endswith("shift"):
        y = (np.clip(np.nan_to_num(y), -99, 99).astype("int64") % (2 * max(8, y.dtype.itemsize * 8))).astype(dtype)
    if refused_by_numpy(name, dtype, dtype):
        with pytest.raises(TypeError, match=name):
            td.ufuncs[name](td.asarray(x), td.asarray(y))
        return
    if name == "power" and np.dtype(dtype).kind in "iu":
        y = (np.abs(y.astype("float64")) % 7).astype(dtype)
    check_values(name, td.ufuncs[name](td.asarray(x), td.asarray(y)), (x, y), accuracy, ulps)
    a, b = np.ascontiguousarray(x[:117].reshape(9, 13)).T[::-2], y[:9][::-1]
    check_values(
        name,
        td.ufuncs[name](td.asarray(x[:117].reshape(9, 13)).T[::-2], td.asarray(y[:9])[::-1]),
        (a, b),
        accuracy,
        ulps,
    )


MIXED = list(itertools.permutations(DTYPES, 2))


@pytest.mark.parametrize(
    "name", ["add", "divide", "less", "power", "bitwise_and", "maximum", "logical_or", "left_shift", "arctan2"]
)
def test_result_types(name):
    for pair in itertools.product(DTYPES, repeat=2):
        try:
            expected = numpy_result(name, *(np.ones(1, dtype) for dtype in pair)).dtype
        except TypeError:
            with pytest.raises(TypeError):
                td.ufuncs[name].result_type(*(td.ones(1, dtype) for dtype in pair))
            continue
        assert td.ufuncs[name].result_type(*(td.ones(1, dtype) for dtype in pair)) == expected, pair


@pytest.mark.parametrize(("first", "second"), MIXED[::7])
def test_mixed_values(first, second, numbers, accuracy, ulps):
    x, y = numbers(first, 61, 3), numbers(second, 61, 4)
    for name in ("add", "multiply", "divide", "less", "maximum", "equal", "greater_equal"):
        check_values(name, td.ufuncs[name](td.asarray(x), td.asarray(y)), (x, y), accuracy, ulps)


NUMBERS = [True, 0, 1, -1, 7, 255, 1.5, -0.0, float("inf"), float("nan"), 1e300]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["add", "multiply", "divide", "less", "equal", "maximum", "bitwise_or"])
def test_python_numbers(name, dtype, numbers):
    x = numbers(dtype, 37, 5)
    for number, swapped in itertools.product(NUMBERS, (False, True)):
        args = (number, x) if swapped else (x, number)
        on_device = [td.asarray(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
        try:
            expected = numpy_result(name, *args)
        except (TypeError, OverflowError) as error:
            with pytest.raises((type(error), ValueError, OverflowError)):
                td.ufuncs[name](*on_device)
            continue
        result = td.ufuncs[name](*on_device)
        assert result.dtype == expected.dtype, (name, dtype, number)
        np.testing.assert_array_equal(result.get(), expected, err_msg=f"{name} {dtype} {number}")


@pytest.mark.parametrize("number", [300, -1, 2**31, 2**40, 2**63, -(2**63), 2**64, -(2**70)])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_comparison_with_large_numbers(dtype, number, numbers):
    x = numbers(dtype, 37, 6)
    for name in ("less", "equal", "greater_equal", "not_equal"):
        np.testing.assert_array_equal(td.ufuncs[name](td.asarray(x), number).get(), getattr(np, name)(x, number), name)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64", "float32"])
def test_numpy_scalars(dtype, numbers):
    x = numbers(dtype, 11, 7)
    for scalar in (np.float32(1.5), np.float64(2.5), np.int8(3), np.uint64(5), np.bool_(True), np.float16(0.5)):
        for function in (operator.add, operator.mul, operator.lt):
            expected = function(x, scalar)
            got = function(td.asarray(x), scalar)
            assert got.dtype == expected.dtype
            np.testing.assert_array_equal(got.get(), expected)
            other = function(scalar, x)
            np.testing.assert_array_equal(function(scalar, td.asarray(x)).get(), other)


# ------------------------------------------------------------------------------------------------------------- shapes

SHAPES = [
    (),
    (0,),
    (1,),
    (2,),
    (17,),
    (97,),
    (1009,),
    (0, 3),
    (3, 0),
    (1, 1),
    (7, 11),
    (64, 3),
    (3, 5, 7),
    (2, 3, 1, 5, 4),
    (1, 1, 1),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["int16", "float32", "float64"])
def test_shapes(shape, dtype, numbers, same):
    size = int(np.prod(shape))
    x = numbers(dtype, size, 8, special=False).reshape(shape)
    y = numbers(dtype, size, 9, special=False).reshape(shape)
    a, b = td.asarray(x), td.asarray(y)
    same(a + b, x + y)
    same(-a, -x)
    same(a < b, x < y)
    same(td.where(a < b, a, b), np.where(x < y, x, y))
    same(a * 2, x * 2)


def layouts(x):
    """Views of an array of at least two dimensions, as functions that work on both kinds of arrays."""
    yield lambda a: a
    yield lambda a: a.T
    yield lambda a: a[::-1]
    yield lambda a: a[..., ::-1]
    yield lambda a: a[::2, ::3]
    yield lambda a: a[1:-1, 1:]
    yield lambda a: a[::-2].T
    yield lambda a: a[:, :1]
    yield lambda a: a[2]
    yield lambda a: a[:, 2]
    yield lambda a: a[None, :, None]
    yield lambda a: a[3:3]


@pytest.mark.parametrize("dtype", ["uint8", "float32", "int64"])
@pytest.mark.parametrize("shape", [(7, 11), (64, 33), (5, 6, 7)], ids=str)
def test_layouts(shape, dtype, numbers, same):
    size = int(np.prod(shape))
    x = numbers(dtype, size, 10, special=False).reshape(shape)
    y = numbers(dtype, size, 11, special=False).reshape(shape)
    a, b = td.asarray(x), td.asarray(y)
    for number, view in enumerate(layouts(x)):
        same(view(a) + view(b), view(x) + view(y), f"layout {number}")
        same(view(a).copy(), view(x), f"layout {number}")
        same(td.where(view(a) > 3, view(b), view(a)), np.where(view(x) > 3, view(y), view(x)), f"layout {number}")


BROADCASTS = [
    ((5,), ()),
    ((3, 5), (5,)),
    ((3, 1), (1, 5)),
    ((3, 1), (5,)),
    ((1,), (0,)),
    ((4, 1, 3), (2, 1)),
    ((2, 3, 4), (4,)),
    ((2, 3, 4), (3, 1)),
    ((2, 1, 4, 1, 3), (5, 1, 2, 1)),
    ((0, 3), (1, 3)),
    ((100, 1), (1, 100)),
]


@pytest.mark.parametrize(("first", "second"), BROADCASTS, ids=str)
def test_broadcasting(first, second, numbers, same):
    x = numbers("float32", int(np.prod(first)), 12, special=False).reshape(first)
    y = numbers("int32", int(np.prod(second)), 13).reshape(second)
    a, b = td.asarray(x), td.asarray(y)
    same(a * b, x * y)
    same(b - a, y - x)
    same(td.where(b > 0, a, b), np.where(y > 0, x, y))
    same(a[..., ::-1] + b if first else a + b, x[..., ::-1] + y if first else x + y)


def test_random_shapes(numbers, same):
    rng = np.random.default_rng(14)
    for round_ in range(40):
        rank = int(rng.integers(1, 6))
        full = tuple(int(n) for n in rng.integers(1, 6, rank))
        shapes = [tuple(1 if rng.random() < 0.3 else n for n in full)[int(rng.integers(0, rank)) :] for _ in range(2)]
        x, y = (numbers("float64", int(np.prod(shape)), round_, special=False).reshape(shape) for shape in shapes)
        steps = [tuple(slice(None, None, int(rng.choice([1, 1, -1]))) for _ in shape) for shape in shapes]
        same(td.asarray(x)[steps[0]] - td.asarray(y)[steps[1]], x[steps[0]] - y[steps[1]], str(shapes))


# -------------------------------------------------------------------------------------------------- out= and operators


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_out(dtype, numbers, same):
    x, y = numbers(dtype, 60, 15, special=False).reshape(6, 10), numbers(dtype, 60, 16, special=False).reshape(6, 10)
    a, b = td.asarray(x), td.asarray(y)
    out = td.zeros((6, 10), dtype)
    assert td.add(a, b, out=out) is not None
    same(out, x + y)
    wide = td.zeros((10, 6), "float64").T
    td.multiply(a, b, out=wide)
    same(wide, (x * y).astype("float64"))
    td.subtract(a, b, out=a)
    same(a, x - y)
    flipped = td.zeros((6, 20), dtype)
    td.negative(b, out=flipped[::-1, ::2])
    expected = np.zeros((6, 20), dtype)
    expected[::-1, ::2] = -y
    same(flipped, expected)


OVERLAPS = [
    (slice(0, -1), slice(1, None)),
    (slice(1, None), slice(0, -1)),
    (slice(None, None, -1), slice(None)),
    (slice(0, 50), slice(50, 100)),
    (slice(0, 100, 2), slice(0, 50)),
    (slice(0, 50), slice(0, 100, 2)),
    (slice(None, 50), slice(49, 99)),
]


@pytest.mark.parametrize(("source", "target"), OVERLAPS, ids=str)
def test_overlapping_out(source, target, same):
    for size in (100, 100_000):
        scale = size // 100
        cut = [
            slice(*(None if v is None else v * scale if abs(v) > 9 else v for v in (s.start, s.stop)), s.step)
            for s in (source, target)
        ]
        x = np.arange(size, dtype="int64")
        a = td.asarray(x)
        td.multiply(a[cut[0]], 3, out=a[cut[1]])
        x[cut[1]] = x[cut[0]] * 3
        same(a, x)
        a[cut[1]] += a[cut[0]]
        x[cut[1]] += x[cut[0]].copy()
        same(a, x)


def test_overlapping_transpose(same):
    x = np.arange(49.0).reshape(7, 7)
    a = td.asarray(x)
    a += a.T
    same(a, x + x.T)
    a[...] = a.T[::-1]
    same(a, (x + x.T).T[::-1])


OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow]
IN_PLACE = [
    operator.iadd,
    operator.isub,
    operator.imul,
    operator.itruediv,
    operator.ifloordiv,
    operator.imod,
    operator.ipow,
]
BITS = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]
BITS_IN_PLACE = [operator.iand, operator.ior, operator.ixor, operator.ilshift, operator.irshift]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


@pytest.mark.parametrize("function", OPERATORS + COMPARISONS, ids=lambda f: f.__name__)
def test_operators(function, numbers):
    x, y = np.arange(1.0, 20.0), np.arange(1.0, 20.0)[::-1] / 4
    a, b = td.asarray(x), td.asarray(y)
    for args, device in (((x, y), (a, b)), ((x, 3), (a, 3)), ((2.5, y), (2.5, b))):
        expected, got = function(*args), function(*device)
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got.get(), expected, rtol=1e-15)


@pytest.mark.parametrize("function", BITS, ids=lambda f: f.__name__)
def test_bit_operators(function):
    x, y = np.arange(40, dtype="int32") - 20, np.arange(40, dtype="int32") % 7
    np.testing.assert_array_equal(function(td.asarray(x), td.asarray(y)).get(), function(x, y))
    np.testing.assert_array_equal(function(td.asarray(x), 3).get(), function(x, 3))
    np.testing.assert_array_equal(function(5, td.asarray(y)).get(), function(5, y))


@pytest.mark.parametrize("function", IN_PLACE, ids=lambda f: f.__name__)
def test_in_place(function):
    x, y = np.arange(1.0, 20.0), np.arange(1.0, 20.0)[::-1] / 4
    a, b = td.asarray(x.copy()), td.asarray(y)
    kept = a
    a = function(a, b)
    assert a is kept
    np.testing.assert_allclose(a.get(), function(x.copy(), y), rtol=1e-15)
    a = function(a, 2)
    np.testing.assert_allclose(a.get(), function(function(x.copy(), y), 2), rtol=1e-14)


@pytest.mark.parametrize("function", BITS_IN_PLACE, ids=lambda f: f.__name__)
def test_bits_in_place(function):
    x, y = np.arange(40, dtype="int32") - 20, np.arange(40, dtype="int32") % 7
    a = function(td.asarray(x), td.asarray(y))
    np.testing.assert_array_equal(a.get(), function(x.copy(), y))


def test_in_place_keeps_dtype(same):
    a = td.ones(5, "float32")
    a += td.ones(5, "float64")
    assert a.dtype == np.float32
    b = td.ones(5, "int32")
    with pytest.raises(TypeError, match="cannot cast"):
        b += 1.5
    with pytest.raises(TypeError, match="cannot cast"):
        b /= 2
    same(b, np.ones(5, "int32"))
    view = td.zeros((4, 4))
    view[1:3, ::2] += 5
    expected = np.zeros((4, 4))
    expected[1:3, ::2] += 5
    same(view, expected)


def test_unary_operators(same):
    x = np.array([[1, -2], [3, -4]], dtype="int8")
    a = td.asarray(x)
    same(-a, -x)
    same(+a, +x)
    same(abs(a), abs(x))
    same(~a, ~x)
    same(divmod(a, 3)[0], x // 3)
    same(divmod(a, 3)[1], x % 3)


# ---------------------------------------------------------------------------------------------------- where, clip, cast


@pytest.mark.parametrize("dtypes", MIXED[::11], ids=str)
def test_where(dtypes, numbers, same):
    x, y = numbers(dtypes[0], 53, 17), numbers(dtypes[1], 53, 18)
    condition = numbers("bool", 53, 19)
    same(td.where(td.asarray(condition), td.asarray(x), td.asarray(y)), np.where(condition, x, y))
    whole = numbers("int32", 53, 20)
    same(td.where(td.asarray(whole), td.asarray(x), td.asarray(y)), np.where(whole, x, y))


def test_where_with_numbers(same):
    x = np.array([1, -2, 3], dtype="float32")
    a = td.asarray(x)
    same(td.where(a > 0, a, 0), np.where(x > 0, x, 0))
    same(td.where(a > 0, 1, a), np.where(x > 0, 1, x))
    same(td.where(a > 0, 1.5, 2), np.where(x > 0, 1.5, 2))


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "bool"])
def test_clip(dtype, numbers, same):
    x = numbers(dtype, 53, 21)
    same(td.clip(td.asarray(x), 2, 9), np.clip(x, 2, 9))
    low, high = np.full(53, 3, dtype), np.full(53, 7, dtype)
    same(td.clip(td.asarray(x), td.asarray(low), td.asarray(high)), np.clip(x, low, high))
    same(td.clip(td.asarray(x), None, 9), np.clip(x, None, 9))
    same(td.clip(td.asarray(x), 2, None), np.clip(x, 2, None))


@pytest.mark.parametrize("to", DTYPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_astype(dtype, to, numbers, same):
    x = numbers(dtype, 67, 22)
    if np.dtype(dtype).kind == "f" and np.dtype(to).kind in "iu":
        x = np.where(np.isfinite(x) & (np.abs(x) < 100), x, 3).astype(dtype)
        if np.dtype(to).kind == "u":
            x = np.abs(x)
    with np.errstate(all="ignore"):
        same(td.asarray(x).astype(to), x.astype(to))
        same(td.asarray(x)[::-2].astype(to), x[::-2].astype(to))


def test_astype_saturates():
    x = np.array([np.inf, -np.inf, np.nan, 1e30, -1e30, 300.7, -300.7])
    assert td.asarray(x).astype("int8").tolist() == [127, -128, 0, 127, -128, 127, -128]
    assert td.asarray(x).astype("uint16").tolist() == [65535, 0, 0, 65535, 0, 300, 0]
    assert td.asarray(x).astype("int64").tolist() == [2**63 - 1, -(2**63), 0, 2**63 - 1, -(2**63), 300, -300]


def test_aliases():
    for alias, name in (("abs", "absolute"), ("mod", "remainder"), ("acos", "arccos"), ("pow", "power")):
        assert getattr(td, alias) is getattr(td, name)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [n for n in UNARY + BINARY if n not in EXACT])
def test_accuracy(name, dtype, accuracy, ulps):
    rng = np.random.default_rng(23)
    nin = ROWS[name].nin
    count = 20000
    spread = [(rng.normal(size=count) * 10.0 ** rng.integers(-8, 5, count)).astype(dtype) for _ in range(nin)]
    near = [(1 + rng.normal(size=count) * 10.0 ** rng.integers(-7, 0, count)).astype(dtype) for _ in range(nin)]
    for args in (spread, near):
        check_values(name, td.ufuncs[name](*map(td.asarray, args)), args, accuracy, ulps)
