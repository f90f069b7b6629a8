"""Creating arrays against NumPy."""

import numpy as np
import pytest

import treadle as td

DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()
SHAPES = [(), (0,), (1,), (5,), (0, 3), (3, 4), (2, 3, 4), (1, 2, 1, 2, 1)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_constants(shape, same):
    for name in ("zeros", "ones"):
        same(getattr(td, name)(shape), getattr(np, name)(shape))
        for dtype in DTYPES:
            same(getattr(td, name)(shape, dtype), getattr(np, name)(shape, dtype))
    same(td.full(shape, 7), np.full(shape, 7))
    same(td.full(shape, 2.5, "float32"), np.full(shape, 2.5, "float32"))
    assert td.empty(shape, "int8").shape == shape
    x = np.zeros(shape, "int16")
    a = td.asarray(x)
    same(td.zeros_like(a), np.zeros_like(x))
    same(td.ones_like(a, dtype="float32"), np.ones_like(x, dtype="float32"))
    same(td.full_like(a, 3), np.full_like(x, 3))
    assert td.empty_like(a, shape=(3,)).shape == (3,)


@pytest.mark.parametrize("value", [True, 3, -1, 2.5, 2**63, np.float32(1.5), np.int8(3), np.nan, np.inf])
def test_full_takes_the_type_of_its_value(value, same):
    same(td.full(3, value), np.full(3, value))
    same(td.full((2, 2), td.asarray(np.asarray(value))), np.full((2, 2), value))


@pytest.mark.parametrize("dtype", [*DTYPES, float, int, bool, np.float32, np.dtype("u2"), "f4", "i1", ">f8", None])
def test_dtypes(dtype, same):
    same(td.zeros(3, dtype), np.zeros(3, np.dtype(dtype).newbyteorder("=")))


ARANGES = [
    (5,),
    (2, 9),
    (2, 9, 3),
    (9, 2, -2),
    (0,),
    (5, 2),
    (0, 5, 7),
    (-3, 4),
    (0.5, 3.0),
    (0, 1, 0.1),
    (1.0, 0.0, -0.25),
    (5.5,),
    (10**15, 10**15 + 5),
    (2**53 + 1, 2**53 + 6),
    (np.int8(3), np.int8(9)),
    (0.0, 1.0, 1 / 3),
]


@pytest.mark.parametrize("args", ARANGES, ids=str)
def test_arange(args, same):
    same(td.arange(*args), np.arange(*args))


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "uint64", "float16", "float32", "float64"])
def test_arange_dtypes(dtype, same):
    same(td.arange(20, dtype=dtype), np.arange(20, dtype=dtype))
    same(td.arange(1, 20, 3, dtype=dtype), np.arange(1, 20, 3, dtype=dtype))


@pytest.mark.parametrize("num", [0, 1, 2, 3, 50, 1001])
@pytest.mark.parametrize("limits", [(0, 1), (-1.5, 3), (5, 5), (3, -2), (1e-3, 1e6)])
def test_linspace(limits, num):
    for endpoint in (True, False):
        got, expected = td.linspace(*limits, num, endpoint), np.linspace(*limits, num, endpoint)
        assert got.dtype == expected.dtype and got.shape == expected.shape
        np.testing.assert_allclose(got.get(), expected, rtol=1e-14, atol=1e-13)
        if num > 1 and endpoint:
            assert float(got[-1]) == limits[1] and float(got[0]) == limits[0]
    np.testing.assert_array_equal(td.linspace(0, 10, 6, dtype="int32").get(), np.linspace(0, 10, 6, dtype="int32"))
    np.testing.assert_array_equal(td.linspace(0, -7, 5, dtype="int64").get(), np.linspace(0, -7, 5, dtype="int64"))


OBJECTS = [
    3,
    2.5,
    True,
    [],
    [1, 2, 3],
    [[1, 2.5], [3, 4]],
    (1, 2),
    [[], []],
    [True, False],
    range(5),
    2**63,
    [np.float32(1), np.float32(2)],
    np.float16(3),
    [[[1]]],
]


@pytest.mark.parametrize("value", OBJECTS, ids=str)
def test_array(value, same):
    same(td.array(value), np.array(value))
    same(td.asarray(value, dtype="float32"), np.asarray(value, dtype="float32"))
    same(td.array(value, ndmin=3), np.array(value, ndmin=3))


def test_array_of_device_arrays(same):
    a = td.arange(3)
    same(td.array([a, a + 1]), np.array([[0, 1, 2], [1, 2, 3]]))
    same(td.array((a, a), dtype="float32"), np.array([[0, 1, 2]] * 2, "float32"))


def test_array_of_device_scalars_and_numbers(same):
    same(td.array([td.arange(3)[1], 5]), np.array([1, 5]))
    same(td.array([5, td.arange(3)[1]]), np.array([5, 1]))
    same(td.array([[td.arange(3)[1], 5]]), np.array([[1, 5]]))


def test_array_copies(same):
    x = np.arange(5)
    a = td.asarray(x)
    x[0] = 99
    same(a, np.arange(5))
    b = td.array(a)
    b[0] = 7
    same(a, np.arange(5))


def test_fill(same):
    a = td.empty((3, 4), "int16")
    a.fill(5)
    same(a, np.full((3, 4), 5, "int16"))
    a[:, ::2].fill(-1)
    expected = np.full((3, 4), 5, "int16")
    expected[:, ::2] = -1
    same(a, expected)
    f = td.empty(3, "float32")
    f.fill(0.1)
    same(f, np.full(3, 0.1, "float32"))
    u = td.empty(3, "uint64")
    u.fill(2**64 - 1)
    same(u, np.full(3, 2**64 - 1, "uint64"))


@pytest.mark.parametrize("value", [300, -1, 2**40])
def test_values_outside_the_dtype(value):
    a = td.zeros(3, "uint8")
    with pytest.raises((OverflowError, ValueError)):
        a[0] = value
    with pytest.raises((OverflowError, ValueError)):
        a.fill(value)
    with pytest.raises((OverflowError, ValueError)):
        td.full(3, value, "uint8")


def test_default_float(run_python):
    code = "import treadle as td; print(td.zeros(2).dtype, td.ones(2).dtype, td.empty(2).dtype, td.linspace(0, 1, 3).dtype)"
    assert run_python(code, TREADLE_DEFAULT_FLOAT="float32").stdout.split() == ["float32"] * 4
    assert run_python(code).stdout.split() == ["float64"] * 4


def test_to_device(same):
    from treadle import cuda

    x = np.arange(6.0).reshape(2, 3)
    a = cuda.to_device(x)
    same(a, x)
    assert (a.copy_to_host() == x).all()
    out = np.zeros((2, 3))
    a.copy_to_host(out)
    assert (out == x).all()
    b = cuda.device_array((2, 3), "float32")
    assert b.shape == (2, 3) and b.dtype == np.float32
    assert cuda.device_array_like(x).shape == (2, 3)
    cuda.to_device(x.astype("float32"), to=b)
    same(b, x.astype("float32"))


def test_host_copies_in_both_orders():
    host = np.arange(6.0).reshape(2, 3)
    array = td.asarray(host)
    for copy in (array.get(order="F"), td.asnumpy(array, order="F")):
        assert copy.flags.f_contiguous and not copy.flags.c_contiguous
        np.testing.assert_array_equal(copy, host)
    stream = td.cuda.stream()
    assert array.get(stream).flags.c_contiguous and td.asnumpy(host, order="F").flags.f_contiguous
