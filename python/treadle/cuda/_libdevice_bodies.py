"""Device functions: those bodies of cuda.libdevice that are more than an expression."""

# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False

from __future__ import annotations

import math

import numpy as np

from treadle.cuda._intrinsics import Intrinsic

float16, float32, float64, int32, uint32, uint64 = np.float16, np.float32, np.float64, np.int32, np.uint32, np.uint64
_rint = Intrinsic("rint", "The nearest whole number, ties to even.")
_bitcast_int32 = Intrinsic("bitcast_int32", "The bits of a float32.")
_bitcast_float32 = Intrinsic("bitcast_float32", "The float32 of some bits.")


def half_away(x):
    """The nearest whole number, ties away from zero."""
    t = math.trunc(x)
    away = abs(x - t) >= 0.5
    return t + math.copysign(t * 0 + 1, x) if away else math.copysign(t, x)


def ilogb(x):
    exponent = math.frexp(x)[1] - 1
    special = 2147483647 if math.isinf(x) else -2147483648
    return special if x == 0.0 or not math.isfinite(x) else exponent


def logb(x):
    special = -math.inf if x == 0.0 else x * x
    return special if x == 0.0 or not math.isfinite(x) else float64(math.frexp(x)[1] - 1)


def remquo(x, y):
    """The remainder, and the last three bits of the rounded quotient with its sign."""
    a = abs(x)
    b = abs(y)
    rest = math.remainder(a, b)
    # Of quotients modulo 8 the remainder by 8 b has all; it is exact, and where 8 b is infinite the quotient is small.
    part = math.fmod(a, b * 8)
    count = int32(_rint((part - rest) / b)) & 7
    negative = (math.copysign(1.0, x) < 0.0) != (math.copysign(1.0, y) < 0.0)
    return math.remainder(x, y), -count if negative else count


def byte_perm(x, y, selector):
    """Four of the eight bytes of y and x, by three bits each of the selector."""
    both = (uint64(uint32(y)) << 32) | uint64(uint32(x))
    result = uint64(0)
    for place in range(4):
        byte = (both >> (8 * ((selector >> (4 * place)) & 7))) & uint64(0xFF)
        result = result | (byte << (8 * place))
    return result


def half_bits(x):
    """The bits of the float16 nearest to a float32."""
    rounded = float32(float16(x))
    bits = _bitcast_int32(rounded)
    magnitude = bits & 0x7FFFFFFF
    normal = (magnitude >> 13) - (112 << 10)
    small = int32(abs(rounded) * float32(16777216.0))
    half = (
        small if magnitude < 0x38800000 else (normal if magnitude < 0x7F800000 else (magnitude >> 13) & 0x3FF | 0x7C00)
    )
    return ((bits >> 16) & 0x8000) | half


def half_value(bits):
    """The float32 with the value of a float16 given by its bits."""
    magnitude = int32(bits) & 0x7FFF
    normal = _bitcast_float32(int32((magnitude << 13) + (112 << 23)))
    small = float32(magnitude) * float32(5.9604644775390625e-08)
    special = _bitcast_float32(int32((magnitude << 13) | 0x7F800000))
    value = small if magnitude < 0x400 else (normal if magnitude < 0x7C00 else special)
    return -value if bits < 0 else value
