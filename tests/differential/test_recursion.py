"""Functions that call themselves, against plain Python."""

import io
import math
import pdb

import numpy as np
import pytest

import treadle as td
from treadle import cuda
from treadle.errors import TypingError, UnsupportedError

BLOCKS = (1, 32, 100, 256, (8, 4), (5, 3, 2))


@cuda.jit(device=True)
def factorial(n):
    if n <= 1:
        return 1
    return n * factorial(n - 1)


@cuda.jit(device=True)
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


@cuda.jit(device=True)
def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


@cuda.jit(device=True)
def power(x, n):
    if n == 0:
        return 1.0
    half = power(x, n // 2)
    return half * half if n % 2 == 0 else half * half * x


@cuda.jit("int32(int32)", device=True)
def declared(n):
    if n <= 1:
        return 1
    return n * declared(n - 1)


@cuda.jit("boolean(int64)", device=True)
def is_even(n):
    return True if n == 0 else is_odd(n - 1)


@cuda.jit("boolean(int64)", device=True)
def is_odd(n):
    return False if n == 0 else is_even(n - 1)


@cuda.jit(device=True)
def collatz(n, steps):
    while n % 2 == 0:
        n //= 2
        steps += 1
    if n == 1:
        return steps
    return collatz(3 * n + 1, steps + 1)


@cuda.jit(device=True)
def in_loops(n):
    total = 1
    for k in range(n):
        if k == 3:
            continue
        if k == 5:
            break
        total += in_loops(k)
    return total


@cuda.jit(device=True)
def divided(low, high):
    """A sum and a largest value, of a range by halves."""
    if high - low == 1:
        return low * low % 17, low
    middle = (low + high) // 2
    a, x = divided(low, middle)
    b, y = divided(middle, high)
    return a + b, max(x, y)


@cuda.jit(device=True)
def spiral(z, n):
    if n == 0:
        return z
    return spiral(z * z / 3 + 0.5j, n - 1)


def python(dispatcher):
    """A device function as plain Python runs it, with all it calls."""
    function = dispatcher.py_func
    names = {
        name: python(value) if value is not dispatcher else None
        for name, value in function.__globals__.items()
        if name in function.__code__.co_names and hasattr(value, "py_func")
    }
    made = type(function)(function.__code__, {**function.__globals__, **names}, function.__name__)
    for name, value in names.items():
        if value is None:
            made.__globals__[name] = made
    return made


CASES = {
    "factorial": (lambda i: factorial(i % 15), lambda i: math.factorial(i % 15)),
    "fibonacci": (lambda i: fibonacci(i % 12), lambda i: python(fibonacci)(i % 12)),
    "ackermann": (lambda i: ackermann(i % 3, i % 4), lambda i: python(ackermann)(i % 3, i % 4)),
    "collatz": (lambda i: collatz(i % 50 + 1, 0), lambda i: python(collatz)(i % 50 + 1, 0)),
    "in_loops": (lambda i: in_loops(i % 9), lambda i: python(in_loops)(i % 9)),
    "mutual": (lambda i: is_even(i) + 2 * is_odd(i % 7), lambda i: (i % 2 == 0) + 2 * (i % 7 % 2)),
}


@pytest.mark.parametrize("block", BLOCKS, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_whole_numbers(name, block, on_gpu):
    device, host = CASES[name]
    function = cuda.jit(device=True)(device)

    @cuda.jit
    def kernel(out, deepest):
        x, y, z = cuda.threadIdx.x, cuda.threadIdx.y, cuda.threadIdx.z
        t = (z * cuda.blockDim.y + y) * cuda.blockDim.x + x
        i = t + cuda.blockIdx.x * (cuda.blockDim.x * cuda.blockDim.y * cuda.blockDim.z)
        if i % 5 != 4:
            out[i] = function(i % deepest)

    size = int(np.prod(block))
    out = td.zeros(3 * size, "int64")
    deepest = 200 if on_gpu else 1000  # the stack of a GPU's thread holds fewer calls
    kernel[3, block](out, deepest)
    assert out.tolist() == [host(i % deepest) if i % 5 != 4 else 0 for i in range(3 * size)]


def test_floats():
    @cuda.jit
    def kernel(x, n, out):
        i = cuda.grid(1)
        out[i] = power(x[i], n[i])

    x, n = np.linspace(0.5, 1.5, 50), np.arange(50)
    out = td.zeros(50)
    kernel[1, 64](td.array(x), td.array(n), out)
    np.testing.assert_array_equal(out.get(), [python(power)(a, b) for a, b in zip(x.tolist(), n.tolist(), strict=True)])


def test_declared_types_convert():
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        out[i] = declared(x[i])

    x = np.array([5.9, 12.0, 13.0, -3.5])  # 13! does not fit into int32
    out = td.zeros(4, "int64")
    kernel[1, 32](td.array(x), out)
    wrapped = (math.factorial(13) + 2**31) % 2**32 - 2**31
    assert out.tolist() == [120, math.factorial(12), wrapped, 1]
    assert "declared" in kernel.explain()


def test_declared_types_of_plain_device_functions():
    @cuda.jit("float32(float32, int32)", device=True)
    def scaled(x, n):
        return x / n

    @cuda.jit
    def kernel(out):
        out[0] = scaled(1.0, 3.9)

    out = td.zeros(1)
    kernel[1, 1](out)
    assert out.tolist() == [float(np.float32(1) / np.float32(3))] or out.tolist() == [float(np.float32(1 / 3))]


def test_tuples_and_complex_numbers():
    @cuda.jit
    def kernel(sums, z):
        i = cuda.grid(1)
        sums[i, 0], sums[i, 1] = divided(i, i + 2 + i % 9)
        z[i] = spiral(complex(i / 40, 1.0), i % 6)

    sums, z = td.zeros((40, 2), "int64"), td.zeros(40, "complex128")
    kernel[2, 20](sums, z)
    assert sums.tolist() == [list(python(divided)(i, i + 2 + i % 9)) for i in range(40)]
    expected = [python(spiral)(complex(i / 40, 1.0), i % 6) for i in range(40)]
    np.testing.assert_allclose(z.get(), expected, rtol=1e-14)


@cuda.jit(device=True)
def quicksort(x, low, high):
    if low >= high:
        return
    pivot, i, j = x[(low + high) // 2], low, high
    while i <= j:
        while x[i] < pivot:
            i += 1
        while x[j] > pivot:
            j -= 1
        if i <= j:
            x[i], x[j] = x[j], x[i]
            i += 1
            j -= 1
    quicksort(x, low, j)
    quicksort(x, i, high)


@pytest.mark.parametrize("place", ("global", "local", "shared"))
def test_arrays(place):
    length, threads = 24, 40

    @cuda.jit
    def in_global(x):
        i = cuda.grid(1)
        if i < x.shape[0]:
            quicksort(x[i], 0, x.shape[1] - 1)

    @cuda.jit
    def in_local(x):
        i = cuda.grid(1)
        own = cuda.local.array(length, "float64")
        for k in range(length):
            own[k] = x[i, k]
        quicksort(own, 0, length - 1)
        for k in range(length):
            x[i, k] = own[k]

    @cuda.jit
    def in_shared(x):
        i = cuda.threadIdx.x
        block = cuda.shared.array((threads, length), "float64")
        for k in range(length):
            block[i, k] = x[i, k]
        cuda.syncthreads()
        quicksort(block[threads - 1 - i], 0, length - 1)
        cuda.syncthreads()
        for k in range(length):
            x[i, k] = block[i, k]

    values = np.random.default_rng(1).normal(size=(threads, length))
    x = td.array(values)
    {"global": in_global, "local": in_local, "shared": in_shared}[place][1, threads](x)
    np.testing.assert_array_equal(x.get(), np.sort(values, axis=1))


def test_local_arrays_belong_to_each_call():
    @cuda.jit(device=True)
    def nested(n, out, i):
        own = cuda.local.array(3, "int64")
        for k in range(3):
            own[k] = 10 * n + k
        if n > 0:
            nested(n - 1, out, i)
        for k in range(3):
            out[i] += own[k]

    @cuda.jit
    def kernel(out):
        nested(cuda.threadIdx.x % 5, out, cuda.threadIdx.x)

    out = td.zeros(20, "int64")
    kernel[1, 20](out)
    assert out.tolist() == [sum(30 * n + 3 for n in range(i % 5 + 1)) for i in range(20)]


def test_atomics_warps_and_threads_inside():
    @cuda.jit(device=True)
    def spread(counts, n):
        cuda.atomic.add(counts, n, 1)
        if n > cuda.threadIdx.x % 4:
            spread(counts, n - 1)

    @cuda.jit(device=True)
    def total(value, distance):
        value += cuda.shfl_xor_sync(0xFFFFFFFF, value, distance)
        return value if distance == 1 else total(value, distance // 2)

    @cuda.jit
    def kernel(counts, sums):
        spread(counts, 5)
        sums[cuda.threadIdx.x] = total(cuda.threadIdx.x, 16)

    counts, sums = td.zeros(6, "int64"), td.zeros(32, "int64")
    kernel[1, 32](counts, sums)
    assert counts.tolist() == [8, 16, 24, 32, 32, 32] and sums.tolist() == [496] * 32


def test_raise_and_print_inside(capsys):
    @cuda.jit(device=True)
    def checked(n):
        if n == 13:
            raise ValueError("unlucky")
        if n == 2:
            print("two of", cuda.threadIdx.x)
        return 0 if n == 0 else 1 + checked(n - 1)

    @cuda.jit
    def kernel(n, out):
        i = cuda.grid(1)
        out[i] = checked(n[i])
        out[i] += 100

    out = td.zeros(4, "int64")
    kernel[1, 4](td.array([1, 14, 3, 0]), out)
    with pytest.raises(ValueError, match=r"unlucky \(kernel 'kernel', block \(0, 0, 0\), thread \(1, 0, 0\)\)"):
        cuda.synchronize()
    assert out.tolist() == [101, 0, 103, 100]
    assert capsys.readouterr().out == "two of 2\n"


def test_whole_blocks_may_raise_inside():
    @cuda.jit(device=True)
    def checked(n):
        if cuda.blockIdx.x == 1:
            raise KeyError("block")
        return 0 if n == 0 else 1 + checked(n - 1)

    @cuda.jit
    def kernel(out):
        out[cuda.grid(1)] = checked(3) + 1

    out = td.zeros(12, "int64")
    kernel[3, 4](out)
    with pytest.raises(KeyError, match=r"block \(1, 0, 0\)"):
        cuda.synchronize()
    assert out.tolist() == [4] * 4 + [0] * 4 + [4] * 4


def test_bounds_are_reported_inside():
    @cuda.jit(device=True)
    def sum_from(x, i):
        return x[i] if i == 0 else x[i] + sum_from(x, i - 1)

    @cuda.jit(bounds="raise")
    def kernel(x, out):
        out[0] = sum_from(x, x.size)

    out = td.zeros(1, "int64")
    kernel[1, 1](td.arange(5), out)
    with pytest.raises(IndexError, match=r"index 5 is out of bounds"):
        cuda.synchronize()


def test_types_of_arguments_may_settle():
    @cuda.jit(device=True)
    def halve(x, n):
        return x if n == 0 else halve(x / 2, n - 1)

    @cuda.jit
    def kernel(out):
        out[0] = halve(np.int32(12), 2)
        out[1] = halve(12, np.uint8(1))

    out = td.zeros(2)
    kernel[1, 1](out)
    assert out.tolist() == [3, 6]


def test_what_is_refused():
    @cuda.jit(device=True)
    def no_end(n):
        return no_end(n - 1)

    @cuda.jit(device=True)
    def meets(n):
        cuda.syncthreads()
        return 0 if n == 0 else meets(n - 1)

    @cuda.jit(device=True)
    def grows(t, n):
        return 0 if n == 0 else grows((t, 1), n - 1)

    @cuda.jit(device=True)
    def sometimes(n):
        if n > 3:
            return sometimes(n - 1)

    def launch(body):
        @cuda.jit
        def kernel(out):
            out[0] = body(3)

        kernel[1, 1](td.zeros(1))

    with pytest.raises(TypingError, match="the type of what 'no_end' returns cannot be told .*\n(.*\n)*.*declare it"):
        launch(no_end)
    with pytest.raises(UnsupportedError, match="a function that calls itself cannot hold a barrier"):
        launch(meets)
    with pytest.raises(TypingError, match="'grows' is called with arguments of more than 64 types"):
        launch(cuda.jit(device=True)(lambda n: grows(n, n)))
    with pytest.raises(TypingError, match="returns"):
        launch(sometimes)


def test_explained(on_gpu):
    @cuda.jit
    def kernel(out):
        out[cuda.grid(1)] = fibonacci(cuda.threadIdx.x)

    kernel[1, 8](td.zeros(8, "int64"))
    where = "" if on_gpu else "; packets run on stacks of their own"
    assert f"calls: 'fibonacci' calls itself, so it is not inlined{where}\n" in kernel.explain()


@pytest.mark.cpu("kernels are debugged on the CPU device")
def test_debugged():
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        out[i] = fibonacci(i) + factorial(i) + declared(i + 0.5)

    plain, stepped = td.zeros(6, "int64"), td.zeros(6, "int64")
    kernel[1, 6](plain)
    debugger = pdb.Pdb(stdin=io.StringIO("continue\n"), stdout=io.StringIO(), readrc=False, nosigint=True)
    kernel.debug(debugger=debugger)[1, 6](stepped)
    assert stepped.tolist() == plain.tolist()
