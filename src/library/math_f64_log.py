"""float64 logarithms: x = 2**k * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)], then log(1 + f) = 2 atanh(f / (2 + f)).

The low parts of ln 2 and its kin are positive: k carries the infinities and NaN of the special arguments through both products.
"""

LN2_HI = 0.6931471805599453
LN2_LO = 2.3190468138462996e-17


def _log_reduce_f64(x):
    """k and f. For arguments without a finite logarithm f is zero and k is the result."""
    bits = bitcast_uint64(x)
    shift = float64(-4503599627371519.0)
    if bits - 0x0010000000000000 >= 0x7FE0000000000000:
        infinity = bitcast_float64(uint64(0x7FF0000000000000))
        small = x > 0.0 and x < 2.2250738585072014e-308
        special = select(x > 0.0, x, select(x == 0.0, -infinity, infinity - infinity))
        shift = select(small, shift - 52.0, special)
        bits = select(small, bitcast_uint64(x * 4503599627370496.0), uint64(0x3FF0000000000000))
    # The exponent is biased to be positive and becomes a float by standing in the mantissa of 2**52: no signed 64-bit operations.
    u = bits + 0x00095F619980C433
    k = bitcast_float64((u >> 52) | 0x4330000000000000) + shift
    f = bitcast_float64((u & 0x000FFFFFFFFFFFFF) + 0x3FE6A09E667F3BCD) - 1.0
    return k, f


def _log_series_f64(z):
    """2 atanh(s) / s - 2 for z = s**2 <= (3 - 2 sqrt(2))**2, relative error of the logarithm 2**-59."""
    w = z * z
    a = fma(z, 0.14797902523691528, 0.15313861491551262)
    b = fma(z, 0.18183571473708332, 0.22222198440490026)
    c = fma(z, 0.2857142874362869, 0.39999999999409397)
    p = fma(fma(a, w, b), w, c)
    return z * fma(p, z, 0.6666666666666735)


def log_f64(x):
    k, f = _log_reduce_f64(x)
    s = f / (f + 2.0)
    h = 0.5 * f * f
    u = fma(s, h + _log_series_f64(s * s), k * LN2_LO)
    return fma(k, LN2_HI, f + (u - h))


def _log_pair_f64(f):
    """log(1 + f) as a sum of two float64, and with an error of 2**-56 of the result."""
    s = f / (f + 2.0)
    h = 0.5 * f * f
    t = s * (h + _log_series_f64(s * s)) - h
    p = f + t
    return p, (f - p) + t


def log2_f64(x):
    k, f = _log_reduce_f64(x)
    p, low = _log_pair_f64(f)
    return k + fma(p, 1.4426950408889634, fma(p, 2.0355273740931033e-17, low * 1.4426950408889634))


def log10_f64(x):
    k, f = _log_reduce_f64(x)
    p, low = _log_pair_f64(f)
    u = fma(p, 1.098319650216765e-17, fma(low, 0.4342944819032518, k * 5.270742310347266e-17))
    return fma(k, 0.30102999566398114, fma(p, 0.4342944819032518, u))


def _log1p_sum_f64(v, low):
    """log(1 + v + low) for v > -1 below 2**1000 and a low part of rounding size."""
    n = (bitcast_uint64(1.0 + v) + 0x00095F619980C433) >> 52
    k = bitcast_float64(n | 0x4330000000000000) - 4503599627371519.0
    scale = bitcast_float64((2046 - n) << 52)
    g = scale - 1.0
    f = fma(v, scale, g)
    c = fma(low, scale, fma(v, scale, g - f))
    s = f / (f + 2.0)
    h = 0.5 * f * f
    u = fma(s, h + _log_series_f64(s * s), fma(k, LN2_LO, c))
    return fma(k, LN2_HI, f + (u - h))


def log1p_f64(x):
    y = _log1p_sum_f64(x, float64(0.0))
    if not (x > -1.0 and x < 9007199254740992.0):
        y = log_f64(1.0 + x)
    return copysign(y, x)
