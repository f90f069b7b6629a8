"""Atomic operations at every dtype, on global, shared and local arrays, against a loop over the threads."""

import numpy as np
import pytest

import treadle as td
from treadle import cuda
from treadle.errors import TypingError

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")


def nanmin(old, value):
    return value if value < old or np.isnan(old) else old


def nanmax(old, value):
    return value if value > old or np.isnan(old) else old


RULES = {
    "add": lambda old, value: old + value,
    "sub": lambda old, value: old - value,
    "inc": lambda old, value: old + old.dtype.type(1) if old < value else old * 0,
    "dec": lambda old, value: value if old == 0 or old > value else old - old.dtype.type(1),
    "and_": lambda old, value: old & value,
    "or_": lambda old, value: old | value,
    "xor": lambda old, value: old ^ value,
    "min": lambda old, value: value if value < old else old,
    "max": lambda old, value: value if value > old else old,
    "nanmin": nanmin,
    "nanmax": nanmax,
    "exch": lambda old, value: value,
}
TYPES = dict.fromkeys(RULES, INTEGERS + FLOATS) | {
    "inc": ("uint32", "uint64"),
    "dec": ("uint32", "uint64"),
    "and_": INTEGERS,
    "or_": INTEGERS,
    "xor": INTEGERS,
}
CASES = [(name, dtype) for name in RULES for dtype in TYPES[name]]


def kernels(name):
    operation = getattr(cuda.atomic, name)

    @cuda.jit
    def scattered(a, where, values, old):
        i = cuda.grid(1)
        if i < values.size:
            old[i] = operation(a, where[i], values[i])

    @cuda.jit
    def one_place(a, values):
        i = cuda.grid(1)
        if i < values.size:
            operation(a, (0, 1), values[i])

    return scattered, one_place


def apply(name, array, where, values):
    rule = RULES[name]
    old = np.zeros(len(values), array.dtype)
    with np.errstate(all="ignore"):
        for i, value in enumerate(values):
            old[i] = array[where[i]]
            array[where[i]] = rule(array[where[i]], value)
    return old


def operands(dtype, n, seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 50, n).astype(dtype)
    if dtype in FLOATS:
        values[::7] *= -1
    return values


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_scattered(name, dtype, on_gpu, orders):
    scattered, _ = kernels(name)
    n = 100
    values = operands(dtype, n, 1)
    where = np.random.default_rng(2).integers(-7, 7, n).astype("int32")
    if dtype in FLOATS and name.startswith("nan"):
        values[5] = np.nan
    a = operands(dtype, 7, 3)
    if dtype in FLOATS:
        a[2] = np.nan if name in ("min", "max", "nanmin", "nanmax") else a[2]
    initial, expected = a.copy(), a.copy()
    old = apply(name, expected, where, values)
    device, device_old = td.array(a), td.zeros(n, dtype)
    scattered[1, n](device, td.array(where), td.array(values), device_old)
    if on_gpu:
        rule = RULES[name]
        orders.check_atomics(initial, where, rule, [values], device_old.get(), device.get())
        return
    # The packets of a block run in one thread there, so the order is that of the threads.
    np.testing.assert_array_equal(device.get(), expected)
    np.testing.assert_array_equal(device_old.get(), old)


@pytest.mark.parametrize(("name", "dtype"), [c for c in CASES if c[0] not in ("exch", "inc", "dec")])
def test_one_place(name, dtype):
    _, one_place = kernels(name)
    for n in (1, 31, 64, 1000):
        values = operands(dtype, n, n) % 4 if dtype == "float16" else operands(dtype, n, n)
        a = np.zeros((2, 3), dtype)
        a[0, 1] = 3
        expected = a[0].copy()
        apply(name, expected, np.ones(n, int), values)
        device = td.array(a)
        one_place[4, 256](device, td.array(values))
        a[0] = expected
        np.testing.assert_array_equal(device.get(), a)


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
def test_cas(dtype, on_gpu, orders):
    @cuda.jit
    def swap(a, where, old, new, got):
        i = cuda.grid(1)
        got[i] = cuda.atomic.cas(a, where[i], old[i], new[i])

    @cuda.jit
    def swap_first(a, got):
        got[cuda.threadIdx.x] = cuda.atomic.compare_and_swap(a, 5, cuda.threadIdx.x + 6)

    n = 60
    a = np.arange(10).astype(dtype)
    where = np.random.default_rng(1).integers(0, 12, n)
    old = np.random.default_rng(2).integers(0, 10, n).astype(dtype)
    new = np.random.default_rng(3).integers(0, 10, n).astype(dtype)
    expected, seen = a.copy(), np.zeros(n, dtype)
    for i in range(n):
        if where[i] < 10:
            seen[i] = expected[where[i]]
            if seen[i] == old[i]:
                expected[where[i]] = new[i]
    device, got = td.array(a), td.zeros(n, dtype)
    swap[1, n](device, td.array(where), td.array(old), td.array(new), got)
    if on_gpu:
        rule = lambda before, compared, value: value if before == compared else before  # noqa: E731
        orders.check_atomics(a, where, rule, [old, new], got.get(), device.get())
    else:
        np.testing.assert_array_equal(device.get(), expected)
        np.testing.assert_array_equal(got.get(), seen)
    first, got = td.array(np.array([5], dtype)), td.zeros(4, dtype)
    swap_first[1, 4](first, got)
    assert first.get()[0] == 6
    np.testing.assert_array_equal(got.get(), np.array([5, 6, 6, 6], dtype))


@pytest.mark.parametrize("dtype", ("int32", "uint64", "float32", "float64"))
def test_blocks_at_once(dtype):
    @cuda.jit
    def count(a, total):
        i = cuda.grid(1)
        cuda.atomic.add(a, i % 10, 1)
        cuda.atomic.add(total, 0, 1)
        cuda.atomic.max(total, 1, i)
        cuda.atomic.min(total, 2, -i if i % 2 else i)

    a, total = td.zeros(10, dtype), td.zeros(3, "int64")
    count[4000, 250](a, total)
    assert (a.get() == 100000).all()
    np.testing.assert_array_equal(total.get(), [1000000, 999999, -999999])


@pytest.mark.parametrize("dtype", ("int32", "uint32", "int64", "float32", "float64", "float16"))
def test_shared_histogram(dtype):
    @cuda.jit
    def histogram(x, out, ranks):
        s = cuda.shared.array(64, dtype)
        mine = cuda.local.array(2, dtype)
        t = cuda.threadIdx.x
        if t < 64:
            s[t] = 0
        cuda.syncthreads()
        for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
            ranks[i] = cuda.atomic.add(s, x[i], 1)
        cuda.syncthreads()
        mine[0] = 0
        cuda.atomic.add(mine, 0, t)
        cuda.atomic.max(mine, 0, 3)
        if t < 64:
            cuda.atomic.add(out, t, s[t])
            cuda.atomic.add(out, 64, mine[0])

    x = np.random.default_rng(1).integers(0, 64, 20000).astype("int32")
    x = x[:3000] if dtype == "float16" else x
    out, ranks = td.zeros(65, dtype), td.zeros(x.size, dtype)
    histogram[1, 200](td.array(x), out, ranks)
    counts = np.bincount(x, minlength=64)
    np.testing.assert_array_equal(out.get()[:64], counts.astype(dtype))
    assert out.get()[64] == sum(max(t, 3) for t in range(64))
    for value in (0, 17, 63):
        assert sorted(ranks.get()[x == value]) == list(range(counts[value]))


def test_errors():
    @cuda.jit
    def on_bool(a):
        cuda.atomic.add(a, 0, 1)

    with pytest.raises(TypingError, match="expected an array of numbers"):
        on_bool[1, 1](td.zeros(1, "bool"))

    @cuda.jit
    def bits_of_float(a):
        cuda.atomic.xor(a, 0, 1)

    with pytest.raises(TypingError, match="expected an array of integers, got"):
        bits_of_float[1, 1](td.zeros(1, "float32"))

    @cuda.jit
    def signed_inc(a):
        cuda.atomic.inc(a, 0, 1)

    with pytest.raises(TypingError, match="uint32 or uint64"):
        signed_inc[1, 1](td.zeros(1, "int32"))

    @cuda.jit
    def few_indices(a):
        cuda.atomic.add(a, 0, 1)

    with pytest.raises(TypingError, match="expected 2 integers, got 1"):
        few_indices[1, 1](td.zeros((2, 2), "int32"))

    @cuda.jit
    def no_array(a):
        cuda.atomic.add(a[0], 0, 1)

    with pytest.raises(TypingError, match="expected an array"):
        no_array[1, 1](td.zeros(2, "int32"))

    @cuda.jit
    def outside(a):
        cuda.atomic.add(a, cuda.threadIdx.x, 1)
        cuda.atomic.add(a, 1000, 1)

    a = td.zeros(5, "int32")
    outside[1, 64](a)
    assert (a.get() == 1).all()


def test_bounds_are_reported():
    @cuda.jit(bounds="raise")
    def outside(a):
        cuda.atomic.add(a, cuda.threadIdx.x, 1)

    a = td.zeros(5, "int32")
    outside[1, 7](a)
    with pytest.raises(IndexError, match="index 5 is out of bounds"):
        cuda.synchronize()
    assert (a.get() == 1).all()
