"""bfloat16 against NumPy's float32, rounded to nearest even after each operation."""

import itertools
import math

import numpy as np
import pytest

import treadle as td
from treadle import cuda


def rounded(values):
    """Numbers made bfloat16 by way of float32, to nearest even."""
    with np.errstate(over="ignore"):
        single = np.asarray(values, dtype="float32")
    words = single.view(np.uint32).astype(np.uint64)
    words = (words + 0x7FFF + (words >> np.uint64(16) & np.uint64(1))) & np.uint64(0xFFFF0000)
    return np.where(np.isnan(single), single, words.astype(np.uint32).view(np.float32))


def device(values):
    """A device array of numbers that are bfloat16 already."""
    values = np.asarray(values, "float32")
    return td.array((values.view(np.uint32) >> 16).astype(np.uint16)).view(td.bfloat16)


def host(array):
    """The numbers of a device array as float32, by their bits."""
    assert array.dtype == td.bfloat16
    return (array.view("uint16").get().astype(np.uint32) << 16).view(np.float32)


def check(array, expected):
    """Whether a device array holds these numbers, with their signs."""
    got = host(array)
    np.testing.assert_array_equal(got, expected)
    plain = ~np.isnan(got)
    np.testing.assert_array_equal(np.signbit(got)[plain], np.signbit(expected)[plain], "signs")


ALL = (np.arange(65536, dtype=np.uint32) << 16).view(np.float32)  # every number there is
EXACT = ("positive", "negative", "absolute", "square", "sign", "floor", "ceil", "trunc", "rint", "reciprocal", "sqrt")
ELEMENTARY = (
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "cbrt",
)
BINARY = ("add", "subtract", "multiply", "divide", "fmod", "copysign", "maximum", "minimum", "fmax", "fmin")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def pairs(seed, size=200_000):
    """Any two numbers, and such as are near each other."""
    rng = np.random.default_rng(seed)
    a, b = ALL[rng.integers(0, 65536, size)], ALL[rng.integers(0, 65536, size)]
    with np.errstate(all="ignore"):
        b[: size // 2] = rounded((1 + rng.integers(-40, 40, size // 2).astype("float32") / 128) * a[: size // 2])
    return a, b


def quietly(function, *args):
    with np.errstate(all="ignore"):
        return function(*args)


@pytest.mark.parametrize("name", EXACT)
def test_exact_functions(name):
    check(getattr(td, name)(device(ALL)), rounded(quietly(getattr(np, name), ALL)))


@pytest.mark.parametrize("name", ELEMENTARY)
def test_elementary_functions(name):
    got = host(getattr(td, name)(device(ALL)))
    exact = quietly(lambda: getattr(np, name)(ALL.astype("float64")))
    np.testing.assert_array_equal(np.isnan(got), np.isnan(exact))
    expected = rounded(exact)
    off = (got != expected) & ~np.isnan(expected)
    # float32 is wrong in the last of 24 digits at most: it rounds to the other side only beside the middle of two numbers.
    unit = np.exp2(np.maximum(np.frexp(expected[off])[1] - 8.0, -133.0))
    assert np.all(np.abs(got[off].astype("float64") - exact[off]) <= 0.501 * unit), (name, ALL[off][:5])


@pytest.mark.parametrize("name", BINARY)
def test_pairs(name):
    a, b = pairs(1)
    got = getattr(td, name)(device(a), device(b))
    expected = rounded(quietly(getattr(np, name), a, b))
    if name in ("maximum", "minimum", "fmax", "fmin"):
        np.testing.assert_array_equal(host(got), expected)  # of zeros with unequal signs either
    else:
        check(got, expected)


@pytest.mark.parametrize("name", ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"))
def test_comparisons(name):
    a, b = pairs(2)
    np.testing.assert_array_equal(getattr(td, name)(device(a), device(b)).get(), getattr(np, name)(a, b))


@pytest.mark.parametrize("name", ("isnan", "isinf", "isfinite", "logical_not"))
def test_predicates(name):
    np.testing.assert_array_equal(getattr(td, name)(device(ALL)).get(), quietly(getattr(np, name), ALL))


def test_from_floats():
    rng = np.random.default_rng(3)
    single = rng.integers(0, 2**32, 300_000, dtype=np.uint64).astype(np.uint32).view("float32")
    middles = (np.arange(65536, dtype=np.uint32) << 16 | 0x8000).view("float32")  # halfway between two numbers
    for values in (single, middles, ALL):
        check(td.array(values).astype(td.bfloat16), rounded(values))
        with np.errstate(all="ignore"):
            check(td.array(values.astype("float64")).astype(td.bfloat16), rounded(values.astype("float64")))
    half = np.arange(65536, dtype=np.uint16).view("float16")
    check(td.array(half).astype(td.bfloat16), rounded(half))


def test_to_floats():
    for name in ("float16", "float32", "float64"):
        np.testing.assert_array_equal(device(ALL).astype(name).get(), quietly(ALL.astype, name))


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name):
    info = np.iinfo(name)
    rng = np.random.default_rng(4)
    whole = np.concatenate(
        [rng.integers(info.min, info.max, 5000, dtype=name), np.array([info.min, info.max, 0, 1], name)]
    )
    check(td.array(whole).astype(td.bfloat16), rounded(whole.astype("float32")))
    inside = ALL[(ALL >= float(info.min)) & (ALL < float(info.max))]
    np.testing.assert_array_equal(device(inside).astype(name).get(), inside.astype(name))
    edge = device([np.nan, np.inf, -np.inf]).astype(name)
    assert edge.tolist() == [0, info.max, info.min]


@pytest.mark.parametrize("shape", ((), (0,), (1,), (7, 5), (3, 1, 33)))
def test_shapes_and_strides(shape):
    values = rounded(np.random.default_rng(5).normal(size=shape))
    x = device(values)
    check(x + x, rounded(values + values))
    check(x.T * 2, rounded(values.T * np.float32(2)))
    if len(shape) == 2:
        check(x[::2, 1:] - x[::2, :-1], rounded(values[::2, 1:] - values[::2, :-1]))
        check(x + x[0], rounded(values + values[0]))


def test_reductions():
    values = rounded(np.random.default_rng(6).normal(size=(50, 333)))
    x = device(values)
    for axis in (None, 0, 1):
        for name in ("min", "max"):
            check(getattr(x, name)(axis=axis), getattr(values, name)(axis=axis))
        for name in ("argmin", "argmax"):
            np.testing.assert_array_equal(getattr(x, name)(axis=axis).get(), getattr(values, name)(axis=axis))
        for name in ("sum", "mean"):
            exact = getattr(values.astype("float64"), name)(axis=axis)
            got = host(getattr(x, name)(axis=axis)).astype("float64")
            assert np.all(np.abs(got - exact) <= np.abs(exact) * 2.0**-8 + 1e-4)
    assert float(td.full(2**16, 0.125, td.bfloat16).sum()) == 8192  # kept in float32 on the way
    assert td.ones(300, td.bfloat16).all() and not td.zeros(3, td.bfloat16).any()


PROMOTIONS = {
    "bool": "bfloat16",
    "int8": "bfloat16",
    "uint8": "bfloat16",
    "int16": "float32",
    "uint16": "float32",
    "int32": "float64",
    "int64": "float64",
    "float16": "float32",
    "bfloat16": "bfloat16",
    "float32": "float32",
    "float64": "float64",
    "complex64": "complex64",
    "complex128": "complex128",
}


@pytest.mark.parametrize("other", PROMOTIONS)
def test_promotion(other):
    x, y = td.ones(3, td.bfloat16), td.ones(3, other)
    assert (x + y).dtype == (y + x).dtype == PROMOTIONS[other]
    assert td.ufuncs["multiply"].result_type(x, y) == PROMOTIONS[other]
    assert td.concatenate([x, y]).dtype == PROMOTIONS[other]


def test_python_numbers_adapt():
    x = device([1.0, 2.0])
    for number in (3, 2.5, True, td.bfloat16(0.5)):
        assert (x * number).dtype == (number * x).dtype == td.bfloat16
    check(x * 0.1, rounded(np.array([1, 2], "float32") * rounded(0.1)))
    x += 0.3
    check(x, rounded(np.array([1, 2], "float32") + rounded(0.3)))


def test_bits_of_other_types():
    words = np.arange(65536, dtype="uint16")
    x = td.array(words).view(td.bfloat16)
    np.testing.assert_array_equal(x.view("uint16").get(), words)
    copied = x[::3]._copy()
    np.testing.assert_array_equal(copied.view("uint16").get(), words[::3])


@cuda.jit
def polynomial(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        total = x[i] * y[i] + x[i]
        for _ in range(3):
            total = total * x[i] - y[i] / x[i]
        out[i] = total


def test_each_operation_is_rounded():
    a, b = pairs(7, 20_000)
    x, y, out = device(a), device(b), td.empty(a.size, td.bfloat16)
    polynomial[(a.size + 255) // 256, 256](x, y, out)
    with np.errstate(all="ignore"):
        total = rounded(rounded(a * b) + a)
        for _ in range(3):
            total = rounded(rounded(total * a) - rounded(b / a))
    check(out, total)


def test_types_in_kernels():
    @cuda.jit
    def kernel(x, half, whole, out):
        out[0] = x[0] * half[0] * cuda.threadIdx.x  # float64, as float16 with an index is
        out[1] = float(math.sqrt(x[1]) == td.bfloat16(math.sqrt(2.0)))
        out[2] = x[0] + half[0]  # float32 holds what neither type does
        out[3] = x[1] > whole[0]
        out[4] = td.bfloat16(whole[1])
        out[5] = math.ldexp(x[0], 3)

    out = td.zeros(6)
    half = td.array([1 + 2.0**-10], "float16")
    kernel[1, 1](device([1 + 2.0**-7, 2.0]), half, td.array([1, 257]), out)
    assert out.tolist() == [0, 1, 2 + 2.0**-7 + 2.0**-10, 1, 256, 8 + 2.0**-4]


@pytest.mark.parametrize("block", (1, 32, 100, 256))
def test_shared_local_and_scattered(block):
    @cuda.jit
    def kernel(x, where, out):
        shared = cuda.shared.array(256, td.bfloat16)
        local = cuda.local.array(3, td.bfloat16)
        t = cuda.threadIdx.x
        shared[t] = x[t]
        cuda.syncthreads()
        for k in range(3):
            local[k] = shared[(t + k) % cuda.blockDim.x]
        out[where[t]] = local[t % 3] + local[2]

    values = rounded(np.random.default_rng(8).normal(size=block))
    where = np.random.default_rng(9).permutation(block)
    out = td.zeros(block, td.bfloat16)
    kernel[1, block](device(values), td.array(where), out)
    expected = np.zeros(block, "float32")
    for t in range(block):
        expected[where[t]] = rounded(values[(t + t % 3) % block] + values[(t + 2) % block])
    check(out, expected)


@pytest.mark.parametrize("name", ("add", "sub", "min", "max", "nanmin", "nanmax", "exch"))
@pytest.mark.parametrize("is_shared", (False, True))
def test_atomics(name, is_shared):
    operation = getattr(cuda.atomic, name)

    @cuda.jit
    def kernel(values, out):
        shared = cuda.shared.array(2, td.bfloat16)
        t = cuda.threadIdx.x
        if t < 2:
            shared[t] = out[t]
        cuda.syncthreads()
        if is_shared:
            operation(shared, t % 2, values[t])
        else:
            operation(out, t % 2, values[t])
        cuda.syncthreads()
        if is_shared and t < 2:
            out[t] = shared[t]

    values = np.arange(64, dtype="float32") % 5 + 1  # sums below 256 are exact in any order
    out = device([3.0, 4.0])
    kernel[1, 64](device(values), out)
    if name == "exch":
        assert set(out.tolist()) <= set(values)
        return
    sign = {"add": 1, "sub": -1}.get(name)
    for part, start in enumerate((3.0, 4.0)):
        own = values[part::2]
        expected = start + sign * own.sum() if sign else (min if "min" in name else max)(start, *own)
        assert out.tolist()[part] == expected


def test_atomic_results_and_cas():
    @cuda.jit
    def kernel(x, old):
        old[0] = cuda.atomic.add(x, 0, 0.3)
        old[1] = cuda.atomic.cas(x, 1, 2.0, 7.0)
        old[2] = cuda.atomic.cas(x, 2, 5.0, 7.0)

    x, old = device([1.0, 2.0, 3.0]), td.zeros(3, td.bfloat16)
    kernel[1, 1](x, old)
    check(old, np.array([1, 2, 3], "float32"))
    check(x, np.array([rounded(1 + rounded(0.3)), 7, 3], "float32"))


def test_warps():
    @cuda.jit
    def kernel(x, out, same):
        t = cuda.threadIdx.x
        value = x[t] * 2
        out[t] = cuda.shfl_xor_sync(0xFFFFFFFF, value, 5) + cuda.shfl_sync(0xFFFFFFFF, x[t], t // 2)
        same[t] = cuda.match_any_sync(0xFFFFFFFF, x[t])

    values = rounded(np.arange(32) % 7 / 3)
    out, same = td.zeros(32, td.bfloat16), td.zeros(32, "uint32")
    kernel[1, 32](device(values), out, same)
    lanes = np.arange(32)
    check(out, rounded(rounded(values[lanes ^ 5] * np.float32(2)) + values[lanes // 2]))
    assert same.tolist() == [sum(1 << k for k in lanes if values[k] == values[t]) for t in lanes]


LIMIT = td.bfloat16(0.1)


def test_scalars_and_constants():
    @cuda.jit
    def kernel(a, pair, out):
        out[0] = a
        out[1] = LIMIT
        out[2] = a * LIMIT
        out[3] = pair[0]

    out = td.zeros(4, td.bfloat16)
    kernel[1, 1](td.bfloat16(1.7), (td.bfloat16(3.3), 1), out)
    a, limit = rounded(1.7), rounded(0.1)
    check(out, np.array([a, limit, rounded(a * limit), rounded(3.3)], "float32"))


@pytest.mark.parametrize(("bounds", "width"), list(itertools.product(("guard", "raise", "off"), (1, 33, 64, 257))))
def test_every_way_to_reach_memory(bounds, width):
    @cuda.jit(bounds=bounds)
    def kernel(x, table, out):
        i = cuda.grid(1)
        if i < out.shape[0]:
            for j in range(out.shape[1]):
                if (i + j) % 3 != 0:
                    out[i, j] = x[i, j] + table[(i * 7 + j) % table.size] + x[0, 0]

    rng = np.random.default_rng(10)
    values, table = rounded(rng.normal(size=(width, 4))), rounded(rng.normal(size=5))
    out = td.zeros((width, 4), td.bfloat16)
    kernel[2, 256](device(values), device(table), out)
    i, j = np.indices((width, 4))
    expected = rounded(rounded(values + table[(i * 7 + j) % 5]) + values[0, 0])
    check(out, np.where((i + j) % 3 != 0, expected, np.float32(0)))
