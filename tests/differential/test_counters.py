"""Loops that count, in all the ways that a compiler may make narrower, unroll or take for waiting, against plain Python."""

import numpy as np
import pytest

import treadle as td
from treadle import cuda


def last_seen(x, n, out):
    j = n - 1
    while j >= 0:
        if x[j] == 12345:
            break
        j -= 1
    out[0] = j


def constant_down(x, n, out):
    j = 39
    while j >= 0:
        if x[j] == 12345:
            break
        j -= 1
    out[0] = j


def one_below(x, n, out):
    s = 0
    i = 50
    while i >= 0:
        i -= 1
        s += x[i] * (i + 2)  # at last the last element
    out[0] = s
    out[1] = i


def break_below(x, n, out):
    k = 20
    while True:
        out[2] += x[k]
        k -= 1
        if k < 0:
            break
    out[0] = k
    out[1] = x[k]


def horner(x, n, out):
    k = 9
    v = 0
    while k >= 0:
        v = v * 3 + x[k]
        k -= 1
        out[3] += k
    out[0] = v
    out[1] = k


def low_half(x, n, out):
    total = 0
    for i in range(n):
        total += x[i % 64] * 1_000_003 * (i + 1)
    out[0] = total % 2**31
    out[1] = total & 0x7FFFFFFF


def doubling(x, n, out):
    step = 1
    while step < 64:
        out[0] += x[step]
        step *= 2
    half = 32
    while half > 0:
        out[1] += x[half] * half
        half //= 2
    out[2] = step - half


def nested_doubling(x, n, out):
    length = 2
    while length <= 64:
        step = length // 2
        while step > 0:
            for t in range(32):
                low = 2 * t - (t & (step - 1))
                out[t % 4] += x[low] * 3 - x[(low + step) % 64]
            step //= 2
        length *= 2


def row_by_row(x, n, out):
    j = 0
    while j < x[63]:  # an element that stays, and a counter of its own
        out[0] += x[j % 64]
        j += 1
    for k in range(n):
        if x[k % 64] == x[5]:
            out[1] = k
            break


def near_the_end(x, n, out):
    first = 2**31 - 3
    for i in range(first, first + 6):
        out[i % 4] += i
    for i in range(-(2**31) + 2, -(2**31) - 4, -1):
        out[(i + 2**32) % 4] -= i


CASES = [
    last_seen,
    constant_down,
    one_below,
    break_below,
    horner,
    low_half,
    doubling,
    nested_doubling,
    row_by_row,
    near_the_end,
]


@pytest.mark.parametrize("dtype", ("int64", "int32"))
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_counters(case, dtype):
    host = (np.arange(64) * 7 % 41).astype(dtype)
    expected = [0] * 4
    case(host.tolist(), 64, expected)
    x, out = td.array(host), td.zeros(4, "int64")
    cuda.jit(case)[1, 1](x, 64, out)
    assert out.tolist() == expected


@pytest.mark.parametrize("case", (row_by_row, low_half, one_below), ids=lambda case: case.__name__)
def test_loops_that_end_by_themselves_do_not_wait(case):
    assert "wait" not in cuda.jit(case).explain("int64[::1]", "int64", "int64[::1]")


def test_queues_do_not_wait():
    @cuda.jit
    def drain(taken, done):
        i = cuda.atomic.add(taken, 0, 1)
        while i < done.size:
            done[i] += 1
            i = cuda.atomic.add(taken, 0, 1)

    taken, done = td.zeros(1, "int32"), td.zeros(1000, "int32")
    drain[4, 64](taken, done)
    assert done.tolist() == [1] * 1000
    assert "wait" not in drain.explain("int32[::1]", "int32[::1]")


def nest(rounds, depth):
    """A kernel of loops that double, inside each other."""
    lines = ["def kernel(x):", "    i = cuda.grid(1)", "    t = x[i]"]
    for level in range(depth):
        lines += [f"{'    ' * (level + 1)}s{level} = 1", f"{'    ' * (level + 1)}while s{level} < 2**{rounds}:"]
    lines.append(f"{'    ' * (depth + 1)}t = t * 1.5 + s{depth - 1}")
    lines += [f"{'    ' * (level + 2)}s{level} *= 2" for level in reversed(range(depth))]
    scope = {"cuda": cuda}
    exec("\n".join([*lines, "    x[i] = t"]), scope)
    return scope["kernel"]


@pytest.mark.parametrize(("rounds", "depth"), ((5, 1), (62, 2), (20, 3)))
def test_unrolling_has_an_end(rounds, depth):
    text, _ = cuda.compile_ptx(nest(rounds, depth), "void(float32[::1])", cc=(9, 0))
    assert len(text) < 100_000
    if depth == 1:
        assert text.count("fma.rn") == rounds, "unrolled whole"
