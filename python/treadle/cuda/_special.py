"""Device functions in float64 around the error function.

Inverses start from Winitzki's closed form ("A handy approximation for the error function and its inverse", 2008), good to three
digits, and are mended by Halley's and Newton's iteration with the error functions themselves.
"""

# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False

from __future__ import annotations

import math

from treadle.cuda._intrinsics import fma

_HALF_SQRT_PI = 0.886226925452758
_HALF_SQRT_PI_LOW = -3.8332932499128994e-17  # what is missing above
_TWO_OVER_SQRT_PI = 1.1283791670955126
_ONE_OVER_SQRT_PI = 0.5641895835477563
_SQRT_2 = 1.4142135623730951
_SQRT_HALF = 0.7071067811865476
_SQRT_HALF_LOW = -4.833646656726457e-17
_A = 0.147  # Winitzki's constant


def erfcx(x):
    """exp(x * x) * erfc(x)."""
    far = x > 25.0
    u = x if x < 25.0 else 25.0
    h = u * u
    low = fma(u, u, -h)
    near = math.exp(h) * math.erfc(u)
    near = fma(near, low, near) if math.isfinite(near) else near
    # The asymptotic series: (-1)**k (2k - 1)!! / (2 x * x)**k.
    v = x if far else 25.0
    w = 0.5 / (v * v)
    p = 1.0 - 13.0 * w
    p = 1.0 - 11.0 * w * p
    p = 1.0 - 9.0 * w * p
    p = 1.0 - 7.0 * w * p
    p = 1.0 - 5.0 * w * p
    p = 1.0 - 3.0 * w * p
    p = fma(-w, p, 1.0)
    y = _ONE_OVER_SQRT_PI / v * p if far else near
    return x if math.isnan(x) else y


def _winitzki(minus_log):
    """About the inverse of erf, from -log(1 - y * y)."""
    a = 4.330746750799873 - 0.5 * minus_log
    w = minus_log / _A
    return math.sqrt(w / (math.sqrt(a * a + w) + a)) if a > 0.0 else math.sqrt(math.sqrt(a * a + w) - a)


def _erfinv_near(a):
    """The inverse of erf on [0, 1/2]."""
    c = a if a > 1e-8 else 1e-8
    x = _winitzki(-math.log1p(-c * c))
    for _ in range(2):
        u = (math.erf(x) - c) * _HALF_SQRT_PI * math.exp(x * x)
        x = x - u / fma(x, u, 1.0)
    return x if a > 1e-8 else fma(a, _HALF_SQRT_PI, a * _HALF_SQRT_PI_LOW)


def _erfcinv_far(y):
    """The inverse of erfc on (0, 1/2]."""
    c = y if y > 0.0 else 1.0
    d = c if c < 0.5 else 0.5
    log_y = math.log(d)
    x = _winitzki(-(log_y + math.log(2.0 - d)))
    tail = d < 0.01
    if tail:
        for _ in range(3):
            # By logarithms: erfc itself loses digits where it is tiny.
            e = erfcx(x)
            x = x - (log_y + fma(x, x, -math.log(e))) * e * _HALF_SQRT_PI
    else:
        for _ in range(2):
            u = (d - math.erfc(x)) * _HALF_SQRT_PI * math.exp(x * x)
            x = x - u / fma(x, u, 1.0)
    return x


def erfinv(x):
    a = abs(x)
    y = 0.0
    if a <= 0.5:
        y = _erfinv_near(a)
    elif a < 1.0:
        y = _erfcinv_far(1.0 - a)
    else:
        y = math.inf if a == 1.0 else math.nan
    return math.copysign(y, x)


def erfcinv(x):
    y = 0.0
    if x >= 0.5 and x <= 1.5:
        t = 1.0 - x
        y = math.copysign(_erfinv_near(abs(t)), t)
    elif x > 0.0 and x < 0.5:
        y = _erfcinv_far(x)
    elif x > 1.5 and x < 2.0:
        y = -_erfcinv_far(2.0 - x)
    else:
        y = math.inf if x == 0.0 else (-math.inf if x == 2.0 else math.nan)
    return y


def normcdf(x):
    """erfc(-x / sqrt(2)) / 2, with the rounding error of the argument."""
    u = x if x > -40.0 else -40.0
    u = u if u < 40.0 else 40.0
    a = -u * _SQRT_HALF
    low = fma(-u, _SQRT_HALF, -a) - u * _SQRT_HALF_LOW
    y = 0.5 * fma(-_TWO_OVER_SQRT_PI * low, math.exp(-a * a), math.erfc(a))
    return x if math.isnan(x) else y


def normcdfinv(x):
    return -_SQRT_2 * erfcinv(2.0 * x)
