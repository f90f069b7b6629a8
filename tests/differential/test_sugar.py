"""Constructs that are written with other statements before they are compiled, against a plain Python interpretation."""

import math

import numpy as np

import treadle as td
from treadle import cuda


@cuda.jit
def assigned_in_expressions(x, out):
    i = cuda.grid(1)
    if (k := x[i] + 1) > 3 and (m := k * 2) < 40 or (m := -k) > 0:
        out[i, 0] = k + m
    else:
        out[i, 0] = m - k
    s = 0
    while (j := s + 1) < 6:
        s += j
        if s > x[i]:
            continue
        s += 1
    out[i, 1] = s * 10 + j
    a = 1
    b = a + (a := 5) + a * (a := 2) + (a if x[i] % 2 else (a := 3))
    out[i, 2] = a + 10 * b + 100 * max(a, (a := a + 1), a)
    out[i, 3] = (0 < (q := x[i]) < 9 != (r := q + 4)) + q
    s += (s := i) + (t := 2)
    out[i, 4] = s + t


def test_assigned_in_expressions(check_kernel):
    check_kernel(assigned_in_expressions, 2, 11, np.arange(-5, 17), np.zeros((22, 5)))


@cuda.jit
def else_of_loops(x, out):
    i = cuda.grid(1)
    for j in range(6):
        if x[i] == j:
            out[i, 0] = j
            break
    else:
        out[i, 0] = -1
    k = 0
    while k < x[i]:
        k += 1
        for n in range(k):
            if n == 4:
                break
            if n % 2:
                continue
        else:
            if k == 3:
                break
    else:
        out[i, 1] = 5
    for n in range(3):
        pass
    else:
        out[i, 1] += n + k


def test_else_of_loops(check_kernel):
    check_kernel(else_of_loops, 1, 22, np.arange(-5, 17), np.zeros((22, 2)))


WEIGHTS = (0.25, 3, 1.5)


@cuda.jit
def loops_over_tuples(x, out):
    i = cuda.grid(1)
    total = 0.0
    for w in WEIGHTS:
        total += w * x[i]
    for v in (1, 2.5, x[i], np.int8(100)):
        total += v // 2
    a, b = i, 2
    for v in (a, b, a + b):
        a += v
    out[i, 0] = total + a
    n = 0
    for v, (w, z) in ((1, (i, 2)), (x[i], (3, 4)), (5, (6, i))):
        if v == 2:
            continue
        if w == 3:
            n += 100
            break
        n += v + w * z
    else:
        n += 1000
    out[i, 1] = n
    for f in (math.sqrt, abs):
        out[i, 2] += f(i)
    for v in ():
        out[i, 2] = 7
    held = (x[i], 2, i)
    for v in held:
        out[i, 2] += v


def test_loops_over_tuples(check_kernel):
    check_kernel(loops_over_tuples, 2, 4, np.arange(8.0), np.zeros((8, 3)))


@cuda.jit(device=True)
def weighted(a, b=3, c=0.5, d=(1, 2)):
    return a * b + c * d[0] - d[1]


MODE = "exact"


@cuda.jit
def keywords(x, out):
    i = cuda.grid(1)
    out[i, 0] = weighted(x[i]) + weighted(x[i], 2) + weighted(x[i], c=i)
    out[i, 1] = weighted(c=x[i], a=i, b=2) + weighted(i, d=(x[i], i))
    if MODE == "exact":
        out[i, 2] = 1
    if "fast" != MODE and i % 2:
        out[i, 2] += 2


def test_keywords(check_kernel):
    check_kernel(keywords, 1, 8, np.arange(8.0), np.zeros((8, 3)))


@cuda.jit
def nested_functions(x, out):
    i = cuda.grid(1)
    scale = 2

    def add(a, b):
        if a > 2:
            return a + b * scale
        return b + WEIGHTS[1] * 1.0

    double = lambda v: 2 * v + i

    def both(a):
        return add(a, 1.0) + double(a)

    s = 0.0
    for j in range(3):
        s += add(b=x[j], a=i)
        scale += 1
    out[i] = both(s) + double(1)


def test_nested_functions(check_kernel):
    check_kernel(nested_functions, 1, 8, np.arange(8.0), np.zeros(8))


@cuda.jit
def chained(x, calls, out):
    i = cuda.grid(1)
    out[i, 0] = out[i, 1] = a = x[i] + 1
    out[i, 2], out[i, 3] = b = (a, 2)
    c = out[i, 4] = b[0] * 2
    if i % 2 == 0:
        out[i, 5] = out[i, 6] = cuda.atomic.add(calls, 0, 1) * 0 + 5.5
    else:
        out[i, 5] = out[i, 6] = i
    out[i, 7] = c


def test_chained_assignment():
    x, calls, out = np.arange(9.0), td.zeros(1, "int32"), td.zeros((9, 8))
    chained[1, 9](td.array(x), calls, out)
    last = np.where(x % 2 == 0, 5.5, x)
    expected = [x + 1, x + 1, x + 1, 0 * x + 2, 2 * x + 2, last, last, 2 * x + 2]
    np.testing.assert_array_equal(out.get(), np.array(expected).T)
    assert calls.get()[0] == 5, "the value is computed once"
