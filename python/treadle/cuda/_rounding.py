"""Device functions: arithmetic rounded down, up or towards zero, as in PTX.

Each operation is computed as the nearest float64 and a float64 with the sign of what is missing: the remainder, exact up to a
positive factor (Muller et al., "Handbook of Floating-Point Arithmetic", 2018, chapters 4 and 5). The nearest value is then moved by
one unit where it lies on the wrong side. Operands are scaled by powers of two where the remainder would underflow. float32
operations go by float64, with the rounding to float32 as part of what is missing.

``mode``: "rd" down, "ru" up, "rz" towards zero.
"""

# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False

from __future__ import annotations

import math

import numpy as np

from treadle.cuda._intrinsics import Intrinsic, fma

float32, float64, int64, uint64 = np.float32, np.float64, np.int64, np.uint64
_next_f32 = Intrinsic("nextafter_f32", "The next float32 towards y.")
_next_f64 = Intrinsic("nextafter_f64", "The next float64 towards y.")
_INFINITY = np.float64(np.inf)
_INFINITY_F32 = np.float32(np.inf)
_ZERO_F32 = np.float32(0)


def to_f64(pair, mode):
    near, rest = pair
    if mode == "rd":
        return _next_f64(near, -_INFINITY) if rest < 0.0 else near
    if mode == "ru":
        return _next_f64(near, _INFINITY) if rest > 0.0 else near
    return _next_f64(near, float64(0.0)) if (near > 0.0 and rest < 0.0) or (near < 0.0 and rest > 0.0) else near


def to_f32(pair, mode):
    wide, below = pair
    near = float32(wide)
    lost = wide - float64(near)
    rest = below if lost == 0.0 else lost
    if mode == "rd":
        return _next_f32(near, -_INFINITY_F32) if rest < 0.0 else near
    if mode == "ru":
        return _next_f32(near, _INFINITY_F32) if rest > 0.0 else near
    return _next_f32(near, _ZERO_F32) if (near > 0.0 and rest < 0.0) or (near < 0.0 and rest > 0.0) else near


def alone(x):
    return x, float64(0.0)


def _is_negative(x):
    return math.copysign(1.0, x) < 0.0


def _zero(near, rest, a, b, mode):
    """Rounded down, terms that cancel give a negative zero."""
    if mode == "rd":
        near = -0.0 if near == 0.0 and rest == 0.0 and _is_negative(a) != _is_negative(b) else near
    return near, rest


def total(x, y, mode):
    first = abs(x) >= abs(y)
    big = x if first else y
    small = y if first else x
    near = x + y
    return _zero(near, small - (near - big), x, y, mode)


def product(x, y):
    near = x * y
    a, p = math.frexp(x)
    b, q = math.frexp(y)
    return near, fma(a, b, -math.ldexp(near, -p - q))


def quotient(x, y):
    near = x / y
    a, p = math.frexp(x)
    b, q = math.frexp(y)
    rest = fma(-math.ldexp(near, q - p), b, a)
    return near, -rest if y < 0.0 else rest


def root(x):
    near = math.sqrt(x)
    half = math.frexp(x)[1] >> 1
    part = math.ldexp(near, -half)
    return near, fma(-part, part, math.ldexp(x, -2 * half))


def _two_sum(a, b):
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def product_sum(x, y, z, mode):
    near = fma(x, y, z)
    a, p = math.frexp(x)
    b, q = math.frexp(y)
    c, r = math.frexp(z)
    u = a * b
    v = fma(a, b, -u)
    # Beyond 200 bits apart only the sign of the smaller term counts.
    apart = r - p - q
    w = math.ldexp(c, min(max(apart, -200), 200))
    # The four terms are put together without loss until their sum is safe to round.
    t = -math.ldexp(near, -p - q)
    for _ in range(3):
        t, w = _two_sum(w, t)
        t, u = _two_sum(u, t)
        t, v = _two_sum(v, t)
    rest = ((w + u) + v) + t
    rest = a * b if apart > 200 and z != 0.0 else rest
    finite = math.isfinite(x) and math.isfinite(y) and math.isfinite(z)
    rest = -near if math.isinf(near) and finite else rest
    return _zero(near, rest, math.copysign(1.0, x) * math.copysign(1.0, y), z, mode)


def whole(x):
    """An int64 as a pair."""
    near = float64(x)
    return near, -1.0 if near >= 9223372036854775808.0 else float64(x - int64(near))


def whole_unsigned(x):
    """A uint64 as a pair."""
    near = float64(x)
    back = uint64(near)
    rest = float64(x - back) if x >= back else -float64(back - x)
    return near, -1.0 if near >= 18446744073709551616.0 else rest
