"""Python's cmath for kernels: device functions, by the textbook formulas in real functions.

Branch cuts are those of cmath. Parts that overflow on the way give infinities or NaN as the
formulas do.
"""

import math
from typing import Any


def exp(z: Any) -> Any:
    """e to the z."""
    size = math.exp(z.real)
    return complex(size * math.cos(z.imag), size * math.sin(z.imag))


def phase(z: Any) -> Any:
    """The angle of z, from -pi to pi."""
    return math.atan2(z.imag, z.real)


def polar(z: Any) -> Any:
    """Modulus and angle of z."""
    return math.hypot(z.real, z.imag), math.atan2(z.imag, z.real)


def rect(r: Any, phi: Any) -> Any:
    """The number with modulus r and angle phi."""
    return complex(r * math.cos(phi), r * math.sin(phi))


def log(z: Any) -> Any:
    """Natural logarithm; the imaginary part lies from -pi to pi."""
    return complex(math.log(math.hypot(z.real, z.imag)), math.atan2(z.imag, z.real))


def log10(z: Any) -> Any:
    """Logarithm to base 10."""
    w = log(z)
    return complex(w.real / math.log(10.0), w.imag / math.log(10.0))


def sqrt(z: Any) -> Any:
    """The square root with a real part that is not negative."""
    x = z.real
    y = z.imag
    half = math.sqrt((abs(x) + math.hypot(x, y)) / 2)
    other = 0.0 if half == 0 else abs(y) / (2 * half)
    re = half if x >= 0 else other
    im = other if x >= 0 else half
    return complex(re, math.copysign(im, y))


def sinh(z: Any) -> Any:
    """Hyperbolic sine."""
    return complex(math.sinh(z.real) * math.cos(z.imag), math.cosh(z.real) * math.sin(z.imag))


def cosh(z: Any) -> Any:
    """Hyperbolic cosine."""
    return complex(math.cosh(z.real) * math.cos(z.imag), math.sinh(z.real) * math.sin(z.imag))


def tanh(z: Any) -> Any:
    """Hyperbolic tangent."""
    return sinh(z) / cosh(z)


def sin(z: Any) -> Any:
    """Sine."""
    return complex(math.sin(z.real) * math.cosh(z.imag), math.cos(z.real) * math.sinh(z.imag))


def cos(z: Any) -> Any:
    """Cosine."""
    return complex(math.cos(z.real) * math.cosh(z.imag), -(math.sin(z.real) * math.sinh(z.imag)))


def tan(z: Any) -> Any:
    """Tangent."""
    return sin(z) / cos(z)


def isnan(z: Any) -> Any:
    """Whether a part is not a number."""
    return math.isnan(z.real) or math.isnan(z.imag)


def isinf(z: Any) -> Any:
    """Whether a part is infinite."""
    return math.isinf(z.real) or math.isinf(z.imag)


def isfinite(z: Any) -> Any:
    """Whether both parts are finite."""
    return math.isfinite(z.real) and math.isfinite(z.imag)


def asinh(z: Any) -> Any:
    """Inverse hyperbolic sine, by Kahan's formulas (Branch cuts for complex elementary functions, 1987)."""
    a = sqrt(complex(1 + z.imag, -z.real))
    b = sqrt(complex(1 - z.imag, z.real))
    return complex(math.asinh(a.real * b.imag - a.imag * b.real), math.atan2(z.imag, (a * b).real))


def acosh(z: Any) -> Any:
    """Inverse hyperbolic cosine, by Kahan's formulas."""
    a = sqrt(complex(z.real - 1, z.imag))
    b = sqrt(complex(z.real + 1, z.imag))
    return complex(math.asinh((a.conjugate() * b).real), 2 * math.atan2(a.imag, b.real))


def asin(z: Any) -> Any:
    """Inverse sine."""
    w = asinh(complex(-z.imag, z.real))
    return complex(w.imag, -w.real)


def acos(z: Any) -> Any:
    """Inverse cosine."""
    a = sqrt(complex(1 - z.real, -z.imag))
    b = sqrt(complex(1 + z.real, z.imag))
    return complex(2 * math.atan2(a.real, b.real), math.asinh((b.conjugate() * a).imag))


def atanh(z: Any) -> Any:
    """Inverse hyperbolic tangent."""
    x = z.real
    y = z.imag
    re = 0.25 * math.log1p(4 * x / ((1 - x) * (1 - x) + y * y))
    im = 0.5 * math.atan2(2 * y, (1 - x) * (1 + x) - y * y)
    return complex(re, im)


def atan(z: Any) -> Any:
    """Inverse tangent."""
    w = atanh(complex(-z.imag, z.real))
    return complex(w.imag, -w.real)
