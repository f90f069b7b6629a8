"""What kernels print, assert and raise."""

import os
import subprocess
import sys

import numpy as np
import pytest

import treadle as td
from treadle import cuda


def printed(capsys):
    cuda.synchronize()
    return capsys.readouterr().out


def test_order_and_formats(capsys):
    @cuda.jit
    def hello(x, flags):
        i = cuda.grid(1)
        if i % 3 == 1:
            print("thread", i, x[i], flags[i], np.float32(0.1), (i, True), None)
            print(f"{i:4d}|{x[i]:.3f}|{-i}", end=";")
            print(i, "a\tb", sep="")

    x = np.linspace(0, 1, 70)
    hello[2, 35](td.array(x), td.array(x > 0.5))
    expected = ""
    for i in range(1, 70, 3):
        expected += f"thread {i} {x[i]} {x[i] > 0.5} 0.1 ({i}, True) None\n{i:4d}|{x[i]:.3f}|{-i};{i}a\tb\n"
    assert printed(capsys) == expected


@pytest.mark.parametrize("dtype", ("int8", "uint8", "int64", "uint64", "float16", "float32", "float64", "bool"))
def test_dtypes(dtype, capsys):
    @cuda.jit
    def show(x):
        print(x[cuda.grid(1)])

    info = np.iinfo(dtype) if dtype[0] in "iu" else None
    values = np.array([0, 1, info.max, info.min] if info else [0, 1, 0.1, -2.5e4], dtype=dtype)
    show[1, 4](td.array(values))
    assert printed(capsys) == "".join(f"{value!s}\n" for value in values)


def test_blocks_and_launches_in_order(capsys):
    @cuda.jit
    def numbers(first):
        s = cuda.shared.array(64, np.int32)
        t = cuda.threadIdx.x + cuda.threadIdx.y * cuda.blockDim.x
        s[t] = t
        cuda.syncthreads()
        if s[t] % 20 == 0:
            print(first + 1000 * cuda.blockIdx.x + t)
        cuda.syncthreads()
        if t == 0:
            print("end of", cuda.blockIdx.x)

    numbers[3, (8, 8)](0)
    numbers[1, 64](100000)
    lines = printed(capsys).split("\n")
    expected = []
    for block in range(3):
        expected += [f"{1000 * block}", f"end of {block}", *(f"{1000 * block + t}" for t in (20, 40, 60))]
    expected += ["100000", "end of 0", "100020", "100040", "100060", ""]
    assert lines == expected


def test_assert():
    @cuda.jit
    def checked(x, n):
        i = cuda.grid(1)
        assert i < n, "too many"
        x[i] = 1
        assert x[i] == 1

    x = td.zeros(70, "int32")
    checked[2, 35](x, 70)
    cuda.synchronize()
    checked[2, 35](x, 61)
    with pytest.raises(
        AssertionError, match=r"too many \(kernel 'checked', block \(1, 0, 0\), thread \(26, 0, 0\)\)"
    ) as error:
        cuda.synchronize()
    assert "test_output.py" in str(error.value)
    checked[2, 35](x, 70)
    cuda.synchronize()


@cuda.jit(device=True)
def root(x):
    if x < 0:
        raise ValueError("negative")
    return np.sqrt(x)


def test_raise_ends_the_thread_only():
    @cuda.jit
    def roots(x, out):
        i = cuda.grid(1)
        out[i] = 1
        out[i] = root(x[i])
        if i > 90:
            raise ZeroDivisionError

    x = np.ones(100)
    out = td.zeros(100)
    roots[1, 90](td.array(x * 4), out)
    assert (out.get()[:90] == 2).all()
    x[40:50] = -1
    roots[1, 80](td.array(x * 9), out)
    with pytest.raises(ValueError, match="negative"):
        cuda.synchronize()
    np.testing.assert_array_equal(out.get()[:80], np.where(x[:80] < 0, 1, 3))
    roots[1, 100](td.array(np.ones(100)), out)
    with pytest.raises(ZeroDivisionError):
        cuda.synchronize()


def run(text, tmp_path):
    script = tmp_path / "program.py"
    script.write_text("import treadle as td\nfrom treadle import cuda\n" + text)
    return subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, env=os.environ)


def test_last_words(tmp_path):
    result = run(
        """
@cuda.jit
def bye(x):
    print("bye", cuda.grid(1))
    assert x[0] > 0, "why"
bye[1, 2](td.zeros(1))
""",
        tmp_path,
    )
    assert result.stdout == "bye 0\nbye 1\n"
    assert "nothing waited for it: AssertionError: why" in result.stderr
    assert result.returncode == 0


def test_a_kernel_that_raises_is_cached(tmp_path):
    text = """
@cuda.jit
def failing(x):
    if x[0] == 0:
        raise KeyError("gone")
failing[1, 1](td.zeros(1))
try:
    cuda.synchronize()
except KeyError as error:
    print(error)
print(failing.last_compile.from_cache)
"""
    run(text, tmp_path)
    result = run(text, tmp_path)
    assert "gone" in result.stdout and result.stdout.endswith("True\n")
