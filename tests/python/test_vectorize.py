"""cuda.vectorize, cuda.guvectorize and cuda.Reduce."""

import math

import numpy as np
import pytest

import treadle as td
from treadle import cuda
from treadle.errors import TypingError, UnsupportedError


@cuda.vectorize(["int32(int32, int32)", "float32(float32, float32)", "float64(float64, float64)"], target="cuda")
def mix(a, b):
    return 2 * a + b


@cuda.jit(device=True)
def half(v):
    return v / 2


@cuda.vectorize("float64(float64)")
def wave(v):
    return math.sin(half(v)) if v > 0 else 0.0


# ------------------------------------------------------------------------------------------------------------ vectorize


@pytest.mark.parametrize("dtype", ["i4", "f4", "f8"])
@pytest.mark.parametrize("shape", [(), (1,), (7,), (1000,), (3, 4), (2, 0, 3), (5, 1, 2)])
def test_host_arrays(dtype, shape):
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-9, 9, shape).astype(dtype) for _ in range(2))
    result = mix(a, b)
    assert isinstance(result, (np.ndarray, np.generic)) and result.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(result, 2 * a + b)


@pytest.mark.parametrize(
    ("first", "second"),
    [((3, 4), (4,)), ((3, 1), (1, 4)), ((), (5,)), ((2, 1, 4), (3, 1)), ((1,), (6,)), ((0,), (1,)), ((4, 3), (1, 1))],
)
@pytest.mark.parametrize("on_device", [True, False])
def test_broadcasting(first, second, on_device):
    a = np.arange(math.prod(first), dtype="f4").reshape(first)
    b = np.arange(math.prod(second), dtype="f4").reshape(second)
    result = mix(td.asarray(a), td.asarray(b)) if on_device else mix(a, b)
    assert isinstance(result, td.ndarray) == on_device
    np.testing.assert_array_equal(td.asnumpy(result), 2 * a + b)


def test_layouts():
    a = np.arange(24, dtype="f8").reshape(4, 6)
    for view in (a.T, a[::2, 1::3], a[::-1], np.asfortranarray(a)):
        np.testing.assert_array_equal(mix(view, 1.5), 2 * view + 1.5)
        np.testing.assert_array_equal(mix(td.asarray(a).T[1:], 1.5).get(), 2 * a.T[1:] + 1.5)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ((1, 2), "i4"),
        ((1, 2.0), "f4"),
        ((np.ones(2, "i2"), 3), "i4"),
        ((np.ones(2, "i2"), np.float16(3)), "f4"),
        ((np.ones(2, "f4"), 3), "f4"),
        ((np.ones(2, "f4"), 3.5), "f4"),
        ((np.ones(2, "i8"), 3), "f8"),
        ((np.ones(2, "i4"), np.float32(1)), "f8"),
        ((2**40, 1), "f4"),
        ((True, False), "i4"),
    ],
    ids=str,
)
def test_resolution_of_types(args, expected):
    result = mix(*args)
    assert result.dtype == np.dtype(expected)
    np.testing.assert_allclose(result, 2 * np.asarray(args[0], "f8") + np.asarray(args[1], "f8"))


def test_devices_and_hosts_together():
    a, b = td.arange(5, dtype="f4"), np.ones(5, "f4")
    assert isinstance(mix(a, b), td.ndarray) and mix(a, b).tolist() == [1, 3, 5, 7, 9]
    assert mix(td.full((), 2, "f4"), b).tolist() == [5] * 5
    shared = cuda.managed_array(5, "f4")
    shared[:] = 2
    assert type(mix(shared, b)) is np.ndarray and mix(shared, b).tolist() == [5] * 5


def test_out():
    a = np.arange(6, dtype="f4")
    out, device_out = np.zeros(6, "f4"), td.zeros(6, "f4")
    assert mix(a, a, out=out) is out and (out == 3 * a).all()
    assert mix(a, a, out=device_out) is device_out and (device_out.get() == 3 * a).all()
    assert mix(td.asarray(a), 1, out=(out,)) is out and (out == 2 * a + 1).all()
    assert mix(a, 2, out) is out and (out == 2 * a + 2).all()
    wide = np.zeros((6, 2))
    mix(a, 3, out=wide[:, 0])
    assert (wide[:, 0] == 2 * a + 3).all() and (wide[:, 1] == 0).all()
    mix(out, out, out=out)
    assert (out == 3 * (2 * a + 2)).all()
    shared = cuda.mapped_array(6, "f4")
    assert mix(a, 1, out=shared) is shared and (shared == 2 * a + 1).all()


def test_device_functions_and_streams():
    x = np.linspace(-2, 2, 50)
    np.testing.assert_allclose(wave(x), np.where(x > 0, np.sin(x / 2), 0), atol=1e-15)
    stream = cuda.stream()
    result = wave(cuda.to_device(x, stream=stream), stream=stream)
    np.testing.assert_allclose(result.copy_to_host(stream=stream), wave(x))


def test_facts():
    assert (mix.nin, mix.nout, mix.ntypes, mix.__name__) == (2, 1, 3, "mix")
    assert mix.types == ["ii->i", "ff->f", "dd->d"] and "mix" in repr(mix)


def test_reduce_of_a_ufunc():
    total = cuda.vectorize("int64(int64, int64)", identity=0)(lambda a, b: a + b)
    largest = cuda.vectorize(["int64(int64, int64)"])(lambda a, b: a if a > b else b)
    x = np.array([3, -7, 5, 2])
    assert total.reduce(x) == 3 and largest.reduce(-abs(x)) == -2 and largest.reduce(td.asarray(x)) == 5
    assert total.reduce(x[:0]) == 0


def test_signatures_compile_at_once():
    with pytest.raises(TypingError):
        cuda.vectorize(["float32(float32)"])(lambda a: a & 1)


# ---------------------------------------------------------------------------------------------------------- guvectorize


@cuda.guvectorize(
    ["void(float32[:,:], float32[:,:], float32[:,:])", "void(float64[:,:], float64[:,:], float64[:,:])"],
    "(m,n),(n,p)->(m,p)",
    target="cuda",
)
def product(a, b, out):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            out[i, j] = total


@cuda.guvectorize(["void(int64[:], int64, int64[:])"], "(n),()->(n)")
def shifted(x, by, out):
    for i in range(x.shape[0]):
        out[i] = x[i] + by


@cuda.guvectorize(["void(float64[:], float64[:], float64[:])"], "(n)->(),()")
def extremes(x, low, high):
    low[0] = x[0]
    high[0] = x[0]
    for i in range(x.shape[0]):
        low[0] = min(low[0], x[i])
        high[0] = max(high[0], x[i])


@pytest.mark.parametrize(
    ("first", "second"),
    [((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)), ((2, 1, 2, 3), (5, 3, 1)), ((0, 2, 3), (3, 4))],
)
@pytest.mark.parametrize("on_device", [True, False])
def test_matrix_products(first, second, on_device):
    rng = np.random.default_rng(2)
    a, b = rng.random(first), rng.random(second)
    result = product(td.asarray(a), td.asarray(b)) if on_device else product(a, b)
    assert isinstance(result, td.ndarray) == on_device
    np.testing.assert_allclose(td.asnumpy(result), a @ b)
    assert product(a.astype("f4"), b.astype("f4")).dtype == np.float32


def test_numbers_and_loops():
    x = np.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(shifted(x, 5), x + 5)
    np.testing.assert_array_equal(shifted(x, np.array([1, 2, 3])), x + np.array([[1], [2], [3]]))
    np.testing.assert_array_equal(shifted(x[0], x[:, 1]), x[0] + x[:, 1:2])
    assert shifted(x[0], td.full((), 2, "i8")).tolist() == [2, 3, 4, 5]


def test_several_outputs():
    x = np.random.default_rng(3).random((4, 2, 5))
    low, high = extremes(x)
    np.testing.assert_array_equal(low, x.min(axis=-1))
    np.testing.assert_array_equal(high, x.max(axis=-1))
    low, high = extremes(td.asarray(x[0, 0]))
    assert low.shape == () and float(high) == x[0, 0].max()


def test_outputs_that_are_given():
    x = np.arange(4)
    out = np.zeros(4, "i8")
    assert shifted(x, 1, out) is out and out.tolist() == [1, 2, 3, 4]
    device = td.zeros((2, 4), "i8")
    assert shifted(td.asarray(x), td.arange(2), out=device) is device and device.tolist() == [
        [0, 1, 2, 3],
        [1, 2, 3, 4],
    ]

    @cuda.guvectorize(["void(float64[:], float64[:], float64[:])"], "(n),(p)->(p)", target="cuda")
    def cut(x, like, out):
        for i in range(out.shape[0]):
            out[i] = x[i]

    assert cut(np.arange(5.0), np.zeros(3), stream=cuda.stream()).tolist() == [0, 1, 2]


def test_array_of_one_for_no_dimensions():
    @cuda.guvectorize(["void(float64[:], float64[:], float64[:])"], "(n),()->(n)")
    def scale(x, by, out):
        for i in range(x.shape[0]):
            out[i] = x[i] * by[0]

    assert scale(np.arange(3.0), 2.0).tolist() == [0, 2, 4]
    np.testing.assert_array_equal(scale(np.ones((2, 3)), np.array([2.0, 3.0])), [[2, 2, 2], [3, 3, 3]])
    assert scale.signature == "(n),()->(n)" and (scale.nin, scale.nout) == (2, 1) and "scale" in repr(scale)


def test_sizes_by_number():
    @cuda.guvectorize(["void(float64[:], float64[:], float64[:])"], "(3),(3)->(3)")
    def cross(a, b, out):
        out[0] = a[1] * b[2] - a[2] * b[1]
        out[1] = a[2] * b[0] - a[0] * b[2]
        out[2] = a[0] * b[1] - a[1] * b[0]

    rng = np.random.default_rng(4)
    a, b = rng.random((6, 3)), rng.random(3)
    np.testing.assert_allclose(cross(a, b), np.cross(a, b))
    with pytest.raises(ValueError, match="dimension '3': expected 3, got 2"):
        cross(a[:, :2], b)


# --------------------------------------------------------------------------------------------------------------- Reduce


@cuda.reduce
def total(a, b):
    return a + b


@pytest.mark.parametrize("size", [0, 1, 2, 63, 64, 65, 1000, 4096, 70_001])
@pytest.mark.parametrize("dtype", ["i4", "i8", "u1", "f8"])
def test_sums(size, dtype):
    x = np.random.default_rng(size).integers(0, 100, size).astype(dtype)
    for array in (x, td.asarray(x)):
        result = total(array)
        assert result == x.sum(dtype=dtype) and result.dtype == np.dtype(dtype)


def test_reduce_options():
    x = np.arange(100, dtype="f8")
    largest = cuda.Reduce(lambda a, b: a if a > b else b)
    assert largest(-x, init=-np.inf) == 0 and largest(x, size=10, init=3) == 9 and largest(x, size=0, init=3) == 3
    res, stream = td.zeros(3), cuda.stream()
    assert total(cuda.to_device(x, stream=stream), res=res, init=1, stream=stream) is None
    assert res.copy_to_host(stream=stream).tolist() == [4951, 0, 0]
    product = cuda.Reduce(cuda.jit(device=True)(lambda a, b: a * b))
    assert product(np.full(10, 2), init=1) == 1024
    assert total(np.arange(20)[::2]) == 90


def test_sums_are_reproducible():
    x = td.asarray(np.random.default_rng(5).random(100_003).astype("f4"))
    assert len({float(total(x)) for _ in range(10)}) == 1


ERRORS = {
    "no signature": (lambda: cuda.vectorize(lambda a: a), TypeError, "signatures: expected at least one"),
    "empty list": (lambda: cuda.vectorize([]), TypeError, "signatures: expected at least one"),
    "target": (
        lambda: cuda.vectorize(["f4(f4)"], target="parallel"),
        UnsupportedError,
        "target: expected 'cuda', got 'par",
    ),
    "option": (lambda: cuda.vectorize(["f4(f4)"], no_such=1), TypeError, "vectorize: unknown option 'no_such'"),
    "function": (lambda: cuda.vectorize(["f4(f4)"])(3), TypeError, "vectorize: expected a function, got int"),
    "arity": (lambda: cuda.vectorize(["f4(f4)", "f4(f4,f4)"])(lambda a: a), TypeError, "expected 1 arguments in each"),
    "result": (lambda: cuda.vectorize(["(f4,)"])(lambda a: a), TypeError, "expected a result type"),
    "tuple type": (
        lambda: cuda.vectorize(["f4(UniTuple(f4, 2))"])(lambda a: a),
        TypeError,
        "expected numbers and arrays of",
    ),
    "count": (lambda: mix(1), TypeError, "mix: expected 2 arguments, got 1"),
    "types": (
        lambda: cuda.vectorize(["f4(f4)"])(lambda a: a)(np.ones(2)),
        TypeError,
        r"cast safely to \(float32\), got \(array\(float64, 1d, C\)\)",
    ),
    "record": (
        lambda: mix(np.zeros(1, "i4,f4"), 1),
        TypeError,
        "mix: expected arrays and numbers, got ndarray of dtype",
    ),
    "shapes": (
        lambda: mix(np.ones(2), np.ones(3)),
        ValueError,
        r"shapes that broadcast together, got \(2,\) and \(3,\)",
    ),
    "out": (lambda: mix(1, 2, out=[1]), TypeError, "out: expected an array, got list"),
    "out shape": (lambda: mix(1, 2, out=np.ones(2)), ValueError, r"out: expected shape \(\), got \(2,\)"),
    "out dtype": (
        lambda: mix(1.0, 2, out=np.ones((), "i4")),
        TypeError,
        "out: expected a dtype to which float32 casts, got int32",
    ),
    "reduce": (lambda: wave.reduce(np.ones(2)), TypeError, "expected a function of 2 arguments, got one of 1"),
    "no identity": (lambda: mix.reduce(np.ones(0)), ValueError, "expected elements, since there is no identity"),
    "layout": (
        lambda: cuda.guvectorize(["void(f4[:], f4[:])"], "n->n")(wave),
        ValueError,
        "layout: expected something like",
    ),
    "gu rank": (
        lambda: cuda.guvectorize(["void(f4[:], f4[:])"], "(m,n)->(n)")(wave),
        TypeError,
        "expected 2 dimensions for",
    ),
    "gu arity": (
        lambda: cuda.guvectorize(["void(f4[:])"], "(n)->(n)")(wave),
        TypeError,
        "expected 2 arguments in each",
    ),
    "gu out": (
        lambda: cuda.guvectorize(["void(f4[:], f4)"], "(n)->()")(wave),
        TypeError,
        "expected arrays for the outputs",
    ),
    "gu mixed": (
        lambda: cuda.guvectorize(["void(f4, f4[:])", "void(f8[:], f8[:])"], "()->()")(wave),
        TypeError,
        "expected arrays and numbers in the same places",
    ),
    "gu target": (
        lambda: cuda.guvectorize(["void(f4[:], f4[:])"], "(n)->(n)", target="cpu"),
        UnsupportedError,
        "target: exp",
    ),
    "gu count": (lambda: product(np.ones((2, 2))), TypeError, "expected 2 inputs and 1 outputs or none, got 1 and 1"),
    "gu dims": (
        lambda: product(np.ones((2, 3)), np.ones((2, 3))),
        ValueError,
        "argument 1: dimension 'n': expected 3, got 2",
    ),
    "gu few": (
        lambda: product(np.ones(3), np.ones((3, 2))),
        ValueError,
        "argument 0: expected at least 2 dimensions, got 1",
    ),
    "gu loops": (
        lambda: product(np.ones((2, 1, 1)), np.ones((3, 1, 1))),
        ValueError,
        "outer dimensions that broadcast",
    ),
    "gu unknown": (
        lambda: cuda.guvectorize(["void(f8[:], f8[:])"], "(n)->(m)")(lambda x, y: None)(np.ones(2)),
        ValueError,
        "dimension 'm': expected it among the inputs",
    ),
    "ndim": (lambda: total(np.ones((2, 2))), TypeError, "arr: expected an array of one dimension, got 2 dimensions"),
    "list": (lambda: total([1]), TypeError, "arr: expected an array of one dimension, got list"),
    "size": (lambda: total(np.ones(2), size=3), ValueError, "size: expected a number from 0 to 2, got 3"),
    "res": (lambda: total(np.ones(2), res=np.ones(1)), ValueError, "res: expected a device array of float64"),
    "functor": (lambda: cuda.reduce(3), TypeError, "reduce: expected a function, got int"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case):
    call, kind, message = ERRORS[case]
    with pytest.raises(kind, match=message):
        call()
