"""Device functions in float64: Bessel functions of both kinds and of whole orders (Abramowitz and Stegun, chapter 9).

Below 25 the functions are (x - z) P(x) on intervals of length 1, z being the nearest zero, so that the relative error stays small
around zeros as well: a few units in the last place. P is a Taylor polynomial whose coefficients follow from Bessel's differential
equation; they are worked out with decimal numbers when this module is imported. Near 0 the logarithm and the pole of Y are kept apart.
From 25 on Hankel's expansion is used; the error there is a few units of the amplitude sqrt(2 / (pi x)). Orders above 1 follow by
recurrence, forwards or, where that is unstable, backwards (Miller). Of float32 results all are exact but for rounding below 25.
"""

# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False

from __future__ import annotations

import decimal
import math
from decimal import Decimal

import numpy as np

from treadle.cuda._intrinsics import fma

float64, int32, int64 = np.float64, np.int32, np.int64
_INTERVALS = 25
_COEFFICIENTS = 16
_WITH_LOGARITHM = 8  # intervals of Y where its singularity at 0 is too near for Taylor's series
_TERMS = 11  # of each of Hankel's two series
_TWO_OVER_PI = 0.6366197723675814


# ------------------------------------------------------------------------------------------------- coefficients


class _Tables:
    """The coefficients: ``j0``, ``j1``, ``y0`` and ``y1`` have rows of z, its low part and P; ``hankel`` has P0, Q0, P1, Q1."""

    def __init__(self) -> None:
        with decimal.localcontext() as context:
            context.prec = 60
            self._pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
            self._gamma = Decimal("0.57721566490153286060651209008240243104215933593992359880576724")
            self.j0, self.j1, self.y0, self.y1 = (self._rows(number) for number in range(4))
            self.hankel = self._hankel()

    def _values(self, x: Decimal) -> list[Decimal]:
        """J0, J1, Y0, Y1 by their series around 0."""
        square, harmonic, k = x * x / 4, Decimal(0), 0
        even, odd = Decimal(1), x / 2
        j0 = j1 = s0 = s1 = Decimal(0)
        while k < 5 or abs(even) > Decimal("1e-58"):
            after = harmonic + Decimal(1) / (k + 1)
            j0, j1 = j0 + even, j1 + odd
            s0, s1 = s0 + harmonic * even, s1 + (harmonic + after) * odd
            k += 1
            even, odd, harmonic = -even * square / (k * k), -odd * square / (k * (k + 1)), after
        log = (x / 2).ln() + self._gamma
        return [j0, j1, (log * j0 - s0) * 2 / self._pi, (log * j1 * 2 - s1 - 2 / x) / self._pi]

    def _zeros(self, number: int) -> list[Decimal]:
        """Zeros from McMahon's expansion and Newton's iteration; of J1 also 0."""
        zeros = [Decimal(0)] if number == 1 else []
        order = number % 2
        for k in range(1, 10):
            beta = (Decimal(4 * k + 2 * order - (3 if number > 1 else 1)) / 4) * self._pi
            x = beta - Decimal(4 * order - 1) / (8 * beta)
            for _ in range(7):
                values = self._values(x)
                low, high = values[number // 2 * 2], values[number // 2 * 2 + 1]
                x += low / high if order == 0 else -high / (low - high / x)
            zeros.append(x)
        return zeros

    def _taylor(self, value: Decimal, slope: Decimal, x: Decimal, order: int) -> list[Decimal]:
        """A solution of x**2 y'' + x y' + (x**2 - order**2) y = 0 around x."""
        a = [value, slope]
        for k in range(3 * _COEFFICIENTS):
            before = (2 * x * a[k - 1] if k > 0 else 0) + (a[k - 2] if k > 1 else 0)
            rest = x * (2 * k + 1) * (k + 1) * a[k + 1] + (k * k + x * x - order * order) * a[k] + before
            a.append(-rest / (x * x * (k + 2) * (k + 1)))
        return a

    def _rows(self, number: int) -> np.ndarray:
        zeros = self._zeros(number)
        order = number % 2
        rows = []
        for interval in range(_INTERVALS):
            x = interval + Decimal("0.5")
            zero = zeros[min(range(len(zeros)), key=[abs(z - x) for z in zeros].__getitem__)]
            j0, j1, y0, y1 = self._values(x)
            first = self._taylor(*((j0, -j1) if order == 0 else (j1, j0 - j1 / x)), x, order)
            series = first
            if number > 1:
                series = self._taylor(*((y0, -y1) if order == 0 else (y1, y0 - y1 / x)), x, order)
            if number > 1 and interval < _WITH_LOGARITHM:
                # Without 2 / pi (log(x / z) J(x) + (x - z) / (x z)), the second of Y1 alone.
                log = [(x / zero).ln()] + [-((-1 / x) ** k) / k for k in range(1, len(series))]
                pole = [1 / zero - 1 / x] + [-((-1 / x) ** k) / x for k in range(1, len(series))]
                for k in range(len(series)):
                    product = sum(log[i] * first[k - i] for i in range(k + 1))
                    series[k] -= (product + order * pole[k]) * 2 / self._pi
            high = float(zero)
            rows.append([high, float(zero - Decimal(high)), *map(float, self._divided(series, zero - x))])
        return np.array(rows)

    @staticmethod
    def _divided(series: list[Decimal], root: Decimal) -> list[Decimal]:
        """A series divided by (t - root), from the end at which no digits are lost."""
        quotient = [Decimal(0)] * len(series)
        if abs(root) < Decimal("0.5"):
            for k in reversed(range(1, len(series))):
                quotient[k - 1] = series[k] + root * quotient[k]
        else:
            for k in range(len(series)):
                quotient[k] = ((quotient[k - 1] if k else 0) - series[k]) / root
        return quotient[:_COEFFICIENTS]

    @staticmethod
    def _hankel() -> np.ndarray:
        rows = []
        for order in (0, 1):
            a = [Decimal(1)]
            for k in range(1, 2 * _TERMS):
                a.append(a[-1] * (4 * order - (2 * k - 1) ** 2) / (8 * k))
            rows += [[float(a[2 * k + part] * (-1) ** k) for k in range(_TERMS)] for part in (0, 1)]
        return np.array(rows)


_tables = _Tables()
_J0, _J1, _Y0, _Y1, _HANKEL = _tables.j0, _tables.j1, _tables.y0, _tables.y1, _tables.hankel


# ------------------------------------------------------------------------------------------------- device functions


def _near(table, x):
    """(x - z) P(x), x - z and z for 0 <= x < 25."""
    row = min(int64(x), _INTERVALS - 1)
    t = x - (float64(row) + 0.5)
    p = table[row, _COEFFICIENTS + 1]
    for k in range(_COEFFICIENTS - 1):
        p = p * t + table[row, _COEFFICIENTS - k]
    z = table[row, 0]
    w = (x - z) - table[row, 1]
    return w * p, w, z


def _hankel_sums(order, x):
    """Hankel's two series over sqrt(pi x), for x >= 25."""
    v = 1.0 / x
    u = v * v
    p = 0.0
    q = 0.0
    for k in range(_TERMS):
        p = p * u + _HANKEL[2 * order, _TERMS - 1 - k]
        q = q * u + _HANKEL[2 * order + 1, _TERMS - 1 - k]
    r = 1.0 / math.sqrt(math.pi * x)
    return p * r, q * v * r


def _split(x):
    """x kept within what the intervals and Hankel's expansion are good for."""
    a = abs(x)
    return (a if a < _INTERVALS else 24.0), (a if a > _INTERVALS else 25.0)


def j0(x):
    small, large = _split(x)
    y, _, _ = _near(_J0, small)
    y = fma(-0.25 * small, small, 1.0) if small < 1e-5 else y
    if abs(x) >= _INTERVALS:
        p, q = _hankel_sums(0, large)
        s = math.sin(large)
        c = math.cos(large)
        y = p * (c + s) - q * (s - c)
        y = 0.0 if math.isinf(x) else y
    return x if math.isnan(x) else y


def j1(x):
    small, large = _split(x)
    y, _, _ = _near(_J1, small)
    if abs(x) >= _INTERVALS:
        p, q = _hankel_sums(1, large)
        s = math.sin(large)
        c = math.cos(large)
        y = p * (s - c) + q * (s + c)
        y = 0.0 if math.isinf(x) else y
    return x if math.isnan(x) else (-y if x < 0.0 else y)


def _logarithm(x, w, z):
    """log(x / z), w being x - z."""
    return math.log1p(w / z) if 2.0 * x > z else math.log(x / z)


def y0(x):
    small, large = _split(x)
    small = small if small > 0.0 else 1.0
    y, w, z = _near(_Y0, small)
    if small < _WITH_LOGARITHM:
        first, _, _ = _near(_J0, small)
        y = y + _TWO_OVER_PI * _logarithm(small, w, z) * first
    if x >= _INTERVALS:
        p, q = _hankel_sums(0, large)
        s = math.sin(large)
        c = math.cos(large)
        y = p * (s - c) + q * (c + s)
        y = 0.0 if math.isinf(x) else y
    return y if x > 0.0 else (-math.inf if x == 0.0 else math.nan)


def y1(x):
    small, large = _split(x)
    small = small if small > 0.0 else 1.0
    y, w, z = _near(_Y1, small)
    if small < _WITH_LOGARITHM:
        first, _, _ = _near(_J1, small)
        y = y + _TWO_OVER_PI * (_logarithm(small, w, z) * first + w / z / small)
    if x >= _INTERVALS:
        p, q = _hankel_sums(1, large)
        s = math.sin(large)
        c = math.cos(large)
        y = q * (s - c) - p * (s + c)
        y = 0.0 if math.isinf(x) else y
    return y if x > 0.0 else (-math.inf if x == 0.0 else math.nan)


def jn(n, x):
    """NaN for negative orders, as in CUDA."""
    a = abs(x)
    zero = j0(a)
    one = j1(a)
    y = zero if n == 0 else one
    if n > 1 and a > n:
        before = zero
        for k in range(1, n):
            before, y = y, y * (2.0 * k / a) - before
    elif n > 1:
        # Downwards from an order whose value does not matter, then scaled to the larger of the two known ones.
        after = 0.0
        now = 1e-300
        y = 0.0
        for step in range(n + 20 + int64(math.sqrt(60.0 * n))):
            k = n + 20 + int64(math.sqrt(60.0 * n)) - step
            after, now = now, now * (2.0 * k / a) - after
            y = now if k == n + 1 else y
            if abs(now) > 1e250:
                after *= 1e-250
                now *= 1e-250
                y *= 1e-250
        # now belongs to order 0, after to order 1
        y = y / now * zero if abs(now) > abs(after) else y / after * one
        y = 0.0 if a == 0.0 else y
    y = 0.0 if math.isinf(x) else y
    y = -y if x < 0.0 and n % 2 == 1 else y
    return math.nan if n < 0 or math.isnan(x) else y


def yn(n, x):
    """NaN for negative orders, as in CUDA."""
    before = y0(x)
    y = before if n == 0 else y1(x)
    if n > 1 and x > 0.0 and math.isfinite(x):
        for k in range(1, n):
            after = y * (2.0 * k / x) - before
            before, y = y, after if math.isfinite(y) else y
    return math.nan if n < 0 else y
