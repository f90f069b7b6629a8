"""Division by zero in kernels: IEEE's and C's results, and with debug=True Python's exception with its place."""

import numpy as np
import pytest

import treadle as td
from treadle import cuda


@cuda.jit(device=True)
def rest(x, y):
    return x % y  # in rest


@cuda.jit(debug=True)
def divide(a, b, out, mode):
    i = cuda.grid(1)
    if i < out.size:
        if mode == 0:
            out[i] = a[i] / b[i]  # mode 0
        elif mode == 1:
            out[i] = a[i] // b[i]  # mode 1
        elif mode == 2:
            out[i] = rest(a[i], b[i])
        elif mode == 3:
            out[i] = divmod(a[i], b[i])[0]  # mode 3
        elif mode == 4:
            x = a[i]
            x /= b[i]  # mode 4
            out[i] = x
        elif mode == 5:
            out[i] = a[i] / b[i] if b[i] != 0 and a[i] % b[i] == 0 else -1
        else:
            out[i] = a[i] / 4 + a[i] // 3 + a[i] % 5


@cuda.jit(debug=True)
def divide_complex(a, b, out):
    i = cuda.grid(1)
    out[i] = a[i] / b[i]


def operands(dtype):
    a, b = np.arange(1, 101).astype(dtype), np.ones(100, dtype)
    b[37] = 0
    return td.asarray(a), td.asarray(b), td.zeros(100)


@pytest.mark.parametrize("dtype", ("int32", "uint8", "int64", "float32", "float64"))
@pytest.mark.parametrize("mode", range(5))
def test_debug_raises_with_the_place(dtype, mode):
    lines = open(__file__).read().splitlines()
    mark = "# in rest" if mode == 2 else f"# mode {mode}"
    line = next(number for number, text in enumerate(lines, 1) if text.endswith(mark))
    divide[1, 128](*operands(dtype), mode)
    with pytest.raises(ZeroDivisionError) as caught:
        td.synchronize()
    text = str(caught.value)
    assert text.startswith("division by zero (kernel 'divide', block (0, 0, 0), thread (37, 0, 0))")
    assert f'{__file__}", line {line}' in text
    td.synchronize()


@pytest.mark.parametrize("dtype", ("int32", "float32"))
def test_what_is_not_evaluated_raises_nothing(dtype):
    a, b, out = operands(dtype)
    divide[1, 128](a, b, out, 5)
    td.synchronize()
    expected = a.get().astype("float64")
    expected[37] = -1
    np.testing.assert_array_equal(out.get(), expected)


def test_other_divisors_are_what_they_were():
    a, b, out = operands("int32")
    divide[1, 128](a, b, out, 6)
    td.synchronize()
    host = a.get()
    np.testing.assert_array_equal(out.get(), host / 4 + host // 3 + host % 5)


def test_complex_numbers():
    a, b = td.ones(4, "complex64"), td.asarray(np.array([1, 1j, 0, 2], "complex64"))
    divide_complex[1, 4](a, b, td.zeros(4, "complex64"))
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        td.synchronize()


def test_constant_zero():
    @cuda.jit(debug=True)
    def by_nothing(x):
        x[cuda.grid(1)] = x[cuda.grid(1)] / 0

    by_nothing[1, 4](td.ones(4))
    with pytest.raises(ZeroDivisionError):
        td.synchronize()


def test_without_debug_it_is_infinite():
    @cuda.jit
    def plain(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a[i] / b[i]

    a, b, out = operands("float64")
    plain[1, 128](a, b, out)
    td.synchronize()
    assert np.isinf(out.get()[37])


@pytest.mark.cpu("kernels run as Python there only")
def test_under_the_debugger():
    a, b, out = operands("int32")
    with pytest.raises(ZeroDivisionError, match="division by zero") as caught:
        divide.debug(thread=None)[1, 128](a, b, out, 0)
    assert any("thread (37, 0, 0)" in note for note in caught.value.__notes__)
