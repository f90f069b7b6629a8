"""How deep functions may call themselves, and what happens beyond."""

import numpy as np
import pytest

import treadle as td
from treadle import cuda


@cuda.jit(device=True)
def endless(n):
    if n < 0:
        return 0
    return endless(n + 1) + 1


def test_depth_is_limited():
    @cuda.jit
    def kernel(n, out):
        i = cuda.grid(1)
        out[i] = -1
        out[i] = endless(n[i])

    n = np.array([-1, 3, -5, -1])
    out = td.zeros(4, "int64")
    kernel[1, 4](td.array(n), out)
    with pytest.raises(
        RecursionError, match=r"calls inside each other .*kernel 'kernel', block \(0, 0, 0\), thread \(1, 0, 0\)"
    ):
        cuda.synchronize()
    assert out.tolist() == [0, -1, 0, 0]
    kernel[1, 1](td.array(n[:1]), out)  # the process and its device live on
    cuda.synchronize()


@pytest.mark.cpu("a GPU's stacks are smaller")
def test_as_deep_as_python():
    @cuda.jit(device=True)
    def count(n):
        return 0 if n == 0 else 1 + count(n - 1)

    @cuda.jit
    def kernel(n, out):
        out[cuda.grid(1)] = count(n)

    out = td.zeros(500, "int64")
    kernel[2, 256](999, out)
    assert out.tolist() == [999] * 500
    kernel[2, 256](1000, out)
    with pytest.raises(RecursionError, match="more than 1000 calls"):
        cuda.synchronize()


@cuda.jit(device=True)
def light(n):
    return 0 if n <= 0 else heavy(n - 1) + 1


@cuda.jit(device=True)
def heavy(n):
    scratch = cuda.local.array(1500, np.float64)
    scratch[n % 1500] = n
    return int(scratch[n % 1500]) + light(n - 1)


def test_large_frames(on_gpu):
    """A small function may not use up the stack that the large one, which it calls, will need."""

    @cuda.jit
    def kernel(n, out):
        out[cuda.grid(1)] = light(n)

    def expected(n):
        return 0 if n <= 0 else (n - 1) + expected(n - 2) + 1

    out = td.zeros(64, "int64")
    kernel[2, 32](2, out)
    assert out.tolist() == [expected(2)] * 64
    if on_gpu:
        with pytest.raises(RecursionError, match="more than .* calls inside each other"):
            kernel[2, 32](40, out)
            cuda.synchronize()
    kernel[2, 32](3, out)
    assert out.tolist() == [expected(3)] * 64
