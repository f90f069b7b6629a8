"""What an index outside an array does: guard, raise, off."""

import re

import numpy as np
import pytest

import treadle as td
from treadle import cuda


@cuda.jit
def guarded(x, out):
    i = cuda.grid(1)
    out[i] = x[i + 1] + 1


@cuda.jit(bounds="raise")
def raising(x, out):
    i = cuda.grid(1)
    out[i] = x[i + 1] + 1


@cuda.jit(bounds="raise")
def raising_2d(x):
    i, j = cuda.grid(2)
    x[i, j + 3] = 1


@cuda.jit(bounds="raise")
def raising_when(x, when):
    i = cuda.grid(1)
    if i == when:
        x[i + 1000] = 1
    if i < x.size:
        x[i] = 5


@cuda.jit(bounds="off")
def unchecked(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i]


def line_of(function, text):
    import inspect

    lines, first = inspect.getsourcelines(function.py_func)
    return first + next(number for number, line in enumerate(lines) if text in line)


def test_guard():
    x, out = td.arange(4, dtype="float64"), td.zeros(3)
    guarded[4, 32](x, out)
    td.synchronize()
    assert out.tolist() == [2, 3, 4]
    guarded[1, 4](x, x)
    td.synchronize()


@pytest.mark.parametrize("shape", [(1, 4), (2, 2), (1, 32), (2, 256), (1, 7)])
def test_raise(shape):
    x, out = td.arange(4, dtype="float64"), td.zeros(1000)
    raising[shape](x, out)
    with pytest.raises(IndexError) as caught:
        td.synchronize()
    message = str(caught.value)
    assert "raising" in message and f"{__file__}" in message, message
    assert re.search(rf"\b{line_of(raising, 'out[i] =')}\b", message), message
    block, thread = divmod(3, shape[1])
    assert re.search(r"index 4\b", message) or "(4)" in message, message
    assert "axis 0 of an array of shape (4,)" in message, message
    assert f"block ({block}, 0, 0)" in message and f"thread ({thread}, 0, 0)" in message, message
    # Once, and the process goes on.
    td.synchronize()
    raising[1, 3](x, out)
    td.synchronize()
    assert out.tolist()[:3] == [2, 3, 4]


def test_raise_2d():
    x = td.zeros((4, 6))
    raising_2d[(1, 1), (4, 4)](x)
    with pytest.raises(IndexError) as caught:
        td.synchronize()
    message = str(caught.value)
    assert "index 6 is out of bounds for axis 1 of an array of shape" in message, message
    assert "thread (0, 3, 0)" in message, message


def test_raise_in_one_thread():
    for when in (0, 5, 31, 32, 63):
        x = td.zeros(64)
        raising_when[1, 64](x, when)
        with pytest.raises(IndexError, match=rf"index {1000 + when}|\({1000 + when}\)"):
            td.synchronize()
    x = td.zeros(64)
    raising_when[1, 64](x, 64)
    td.synchronize()
    assert x.tolist() == [5] * 64


def test_negative_index_in_message():
    @cuda.jit(bounds="raise")
    def back(x):
        x[-9] = 1

    back[1, 1](td.zeros(4))
    with pytest.raises(IndexError, match="-9"):
        td.synchronize()


@pytest.mark.parametrize("how", ["device", "stream", "event", "get", "array"])
def test_where_errors_arrive(how):
    x, out = td.arange(4, dtype="float64"), td.zeros(10)
    stream = cuda.stream()
    raising[1, 10, stream](x, out)
    event = stream.record()
    with pytest.raises(IndexError, match="raising"):
        if how == "device":
            cuda.Device().synchronize()
        elif how == "stream":
            stream.synchronize()
        elif how == "event":
            event.synchronize()
            stream.synchronize()
        elif how == "get":
            with stream:
                out.get()
        else:
            with stream:
                float(out.sum())
            stream.synchronize()
    td.synchronize()
    stream.synchronize()


def test_two_kernels_report_once():
    x, out = td.arange(4, dtype="float64"), td.zeros(10)
    for _ in range(3):
        raising[1, 10](x, out)
    with pytest.raises(IndexError):
        td.synchronize()
    td.synchronize()


def test_launch_after_an_error_works_before_it_is_seen():
    x, out = td.arange(4, dtype="float64"), td.zeros(10)
    raising[1, 10](x, out)
    guarded[1, 3](x, out)
    with pytest.raises(IndexError):
        td.synchronize()
    assert out.tolist()[:3] == [2, 3, 4]


def test_off():
    x, out = td.arange(100, dtype="float64"), td.zeros(100)
    unchecked[1, 128](x, out)
    assert out.tolist() == list(range(100))


def test_environment(run_python, tmp_path):
    program = tmp_path / "bounds.py"
    program.write_text(
        "import sys, treadle as td\nfrom treadle import cuda\n@cuda.jit\ndef k(x):\n    x[cuda.grid(1)] = 1\n"
        "k[1, 8](td.zeros(4))\ntry:\n    td.synchronize()\nexcept IndexError as e:\n"
        "    print('IndexError', 'line 5' in str(e) or ':5' in str(e))\n"
    )
    assert run_python([str(program)], TREADLE_BOUNDS="raise").stdout.split() == ["IndexError", "True"]
    assert run_python([str(program)]).stdout == ""
    assert "bounds" in run_python([str(program)], TREADLE_BOUNDS="wrong").stderr


def test_boundscheck_option():
    @cuda.jit(boundscheck=True)
    def k(x):
        x[cuda.grid(1)] = 1

    k[1, 8](td.zeros(4))
    with pytest.raises(IndexError):
        td.synchronize()


def test_fault_in_a_device_function():
    @cuda.jit(device=True)
    def load(x, i):
        return x[i]

    @cuda.jit(bounds="raise")
    def k(x, out):
        i = cuda.grid(1)
        out[0] = load(x, i)

    k[1, 8](td.zeros(4), td.zeros(1))
    with pytest.raises(IndexError) as caught:
        td.synchronize()
    assert re.search(rf"\b{line_of(load, 'return x[i]')}\b", str(caught.value)), str(caught.value)


def test_exact_memory_use():
    """Arrays at the very end of their memory: nothing may be touched behind them."""
    for size in (1, 3, 7, 31, 33, 1000):
        x = td.asarray(np.arange(size, dtype="int8"))
        out = td.zeros(size, "int8")
        guarded[max(1, size // 16), 32](x, out)
        expected = np.zeros(size, "int8")
        reach = min(size, max(1, size // 16) * 32)
        padded = np.append(np.arange(size, dtype="int8"), 0)
        expected[:reach] = padded[1 : reach + 1] + 1
        assert out.tolist() == expected.tolist()
