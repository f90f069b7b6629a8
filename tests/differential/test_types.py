"""Tuples, named tuples, enums, None and text in kernels, as arguments, values and results of device functions."""

import enum
from collections import namedtuple
from typing import NamedTuple

import numpy as np
import pytest

import treadle as td
from treadle import cuda
from treadle.errors import TypingError, UnsupportedError

Point = namedtuple("Point", "x y")


class Body(NamedTuple):
    """Heterogeneous, with a tuple inside."""

    mass: float
    place: Point
    path: object


class Color(enum.Enum):
    """Plain members."""

    RED = 1
    GREEN = 5


class Level(enum.IntEnum):
    """Members that are integers."""

    LOW = 10
    HIGH = 20


ORIGIN = Point(1, 2.5)


@cuda.jit(device=True)
def moved(p, by):
    return Point(p.x + by, y=p.y - by)


@cuda.jit(device=True)
def swapped(pair):
    a, b = pair
    return b, a


def test_named_tuples():
    @cuda.jit
    def kernel(body, pair, out):
        i = cuda.grid(1)
        p = moved(body.place, i)
        q = p
        if i % 2:
            q = moved(p, 1)
        first, second = swapped((q.x, q))
        body.path[i] = body.mass * first.y + second
        out[i, 0] = q.x
        out[i, 1] = q[1]
        out[i, 2] = ORIGIN.x + ORIGIN.y + len(body)
        out[i, 3] = pair[1][0] + pair[0] + pair[1][1].x

    n = 70
    path, out = td.zeros(n), td.zeros((n, 4))
    kernel[1, n](Body(2.0, Point(3, np.float32(4)), path), (1, (np.int8(7), Point(5, True))), out)
    i = np.arange(n)
    x, y = 3 + i + i % 2, 4 - i - i % 2
    np.testing.assert_array_equal(out.get(), np.stack([x, y, 0 * i + 6.5, 0 * i + 13], 1))
    np.testing.assert_array_equal(path.get(), 2 * y + x)


def test_names_are_part_of_the_type():
    @cuda.jit
    def kernel(p, out):
        out[0] = p.x

    out = td.zeros(1)
    Other = namedtuple("Other", "y x")
    kernel[1, 1](Point(1, 2), out)
    assert out.get()[0] == 1
    kernel[1, 1](Other(1, 2), out)
    assert out.get()[0] == 2
    with pytest.raises(TypingError, match="no attribute 'x'"):
        kernel[1, 1]((1, 2), out)


def test_enums():
    @cuda.jit
    def kernel(color, level, out):
        i = cuda.grid(1)
        if color == Color.GREEN:
            out[i] = Level.HIGH + i
        else:
            out[i] = level * Color.RED.value

    out = td.zeros(3, "int64")
    kernel[1, 3](Color.GREEN, Level.LOW, out)
    assert out.get().tolist() == [20, 21, 22]
    kernel[1, 3](Color.RED, Level.LOW, out)
    assert out.get().tolist() == [10, 10, 10]


def test_none_and_text():
    mode = "fast"

    @cuda.jit(device=True)
    def scale(x, factor=None):
        if factor is None:
            return x
        return x * factor

    @cuda.jit
    def kernel(x, weights, out):
        i = cuda.grid(1)
        value = scale(x[i])
        if weights is not None:
            value = scale(value, weights[i])
        if mode == "slow":
            value = mode[3]  # has no meaning, and is never reached
        out[i] = value if mode != "slow" else 0

    x = np.arange(5.0)
    out = td.zeros(5)
    kernel[1, 5](td.array(x), None, out)
    np.testing.assert_array_equal(out.get(), x)
    kernel[1, 5](td.array(x), td.array(x), out)
    np.testing.assert_array_equal(out.get(), x * x)


def test_loops_over_tuples():
    @cuda.jit
    def kernel(items, out):
        i = cuda.grid(1)
        total = 0.0
        for item in items:
            total += item[i] if i > 2 else item[0]
        for scale in (1, 2.5):
            total *= scale
        out[i] = total

    arrays = (np.arange(8), np.arange(8) * 0.5, np.arange(8, dtype="float32") + 1)
    out = td.zeros(8)
    kernel[1, 8](tuple(map(td.array, arrays)), out)
    whole = sum(arrays)
    np.testing.assert_array_equal(out.get(), np.where(np.arange(8) > 2, whole, whole[0]) * 2.5)


def test_times_and_scalars():
    @cuda.jit
    def kernel(when, span, z, half, out):
        out[0] = when + span
        out[1] = z.real + half

    out = td.zeros(2, "int64")
    kernel[1, 1](np.datetime64("2020-01-01", "D"), np.timedelta64(3, "D"), np.complex64(4 + 1j), np.float16(0.5), out)
    assert out.get().tolist() == [18265, 4]


@pytest.mark.parametrize(
    ("body", "error", "message"),
    (
        ("Point(1)", TypingError, "expected 2 arguments, got 1"),
        ("Point(1, z=2)", TypingError, "no parameter 'z'"),
        ("Point(1, 2, y=2)", TypingError, "two values for parameter 'y'"),
        ("Point(1, 2).z", TypingError, "no attribute 'z'"),
        ("Color.BLUE", UnsupportedError, "no attribute 'BLUE'"),
    ),
)
def test_errors(body, error, message):
    names = {"cuda": cuda, "Point": Point, "Color": Color}
    exec(f"def kernel(out):\n    value = {body}\n    out[0] = 1\n", names)
    with pytest.raises(error, match=message):
        cuda.jit(names["kernel"])[1, 1](td.zeros(1))


def test_a_loop_over_a_tuple_is_not_left():
    @cuda.jit
    def kernel(items, out):
        for item in items:
            if item > 1:
                break
            out[0] = item

    with pytest.raises(UnsupportedError, match="break or continue"):
        kernel[1, 1]((1, 2), td.zeros(1))


def test_vector_types():
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        v = cuda.float32x4(x[i], 2, i, 3.5)
        pair = cuda.int2(i, 2.9)
        longer = cuda.float32x4(pair, cuda.float2(0.1, x[i]))
        if i % 2:
            v = longer
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = v.x, v.y, v.z, v.w

    n = 50
    x = np.linspace(0, 1, n)
    out = td.zeros((n, 4), "float64")
    kernel[1, n](td.array(x), out)
    i = np.arange(n)
    even = np.stack([x, 0 * x + 2, i, 0 * x + 3.5], 1)
    odd = np.stack([i, 0 * x + 2, 0 * x + 0.1, x], 1)
    expected = np.where(i[:, None] % 2, odd, even).astype("float32")
    np.testing.assert_array_equal(out.get(), expected)
    assert cuda.float32x4 is cuda.float4
    with pytest.raises(TypeError, match="only inside a kernel"):
        cuda.int3(1, 2, 3)

    @cuda.jit
    def short(out):
        out[0] = cuda.int3(1, 2).x

    with pytest.raises(TypingError, match="expected 3 arguments, got 2"):
        short[1, 1](out[0])


SIDE = 16


@cuda.jit
def constants(out):
    halves = cuda.shared.array((SIDE // 2, 2**1), np.int32)
    own = cuda.local.array(10**1 % 7 + SIDE % 5, np.int32)
    i = cuda.threadIdx.x
    halves[i, 1] = i
    own[3] = halves[i, 1] * 2
    out[i, 0], out[i, 1], out[i, 2] = own[3], halves.size, own.size
    out[i, 3], out[i, 4] = -7 // 2, -7 % 3
    out[i, 5], out[i, 6] = 7 // -2, 7 % -3
    out[i, 7], out[i, 8], out[i, 9] = (-3) ** 3, 2**62, 0**0


def test_arithmetic_of_constants():
    out = td.zeros((8, 10), "int64")
    constants[1, 8](out)
    rest = [16, 4, -7 // 2, -7 % 3, 7 // -2, 7 % -3, -27, 2**62, 1]
    assert out.get().tolist() == [[2 * i, *rest] for i in range(8)]
