"""float32 hyperbolic functions.

With |x| = k ln 2 + r, sinh and cosh are combinations of even and odd minimax polynomials in r whose factors 2**(k-1)
+- 2**(-k-1) are exact. tanh is an odd polynomial below 0.6 and 1 - 2 / (exp(2 |x|) + 1) above. The inverses take the
logarithm of a sum whose rounding errors are carried along.
"""

ROUND = 12582912.0
LOG2E = 1.4426950216293335
LN2_HI = 0.6931471824645996
LN2_LO = -1.9046542121259336e-09
LOG_HI = 0.6931471228599548
LOG_LO = 5.769998878690785e-08


def _sinh_parts_f32(ax, t):
    """2**(k-1), 2**(-k-1), cosh(r) - 1 and sinh(r) for k in the low bits of t."""
    k = t - ROUND
    r = fma(k, -LN2_HI, ax)
    r = fma(k, -LN2_LO, r)
    z = r * r
    c = fma(z, 0.001403064583428204, 0.04166422784328461)
    c = z * fma(c, z, 0.5000001192092896)
    s = fma(z, 0.00019971749861724675, 0.008333161473274231)
    s = fma(s, z, 0.1666666716337204)
    s = fma(r * z, s, r)
    n = bitcast_int32(t) << 23
    up = bitcast_float32(0x3F000000 + n)
    down = bitcast_float32(0x3F000000 - n)
    return up, down, c, s


def _sinh_edge_f32(ax, t, c, s):
    """exp(ax) / 2 near and above the overflow limit."""
    y = _scale_f32(1.0 + (c + s), bitcast_int32(t) - 0x4B400001)
    return select(ax > 89.5, ax * bitcast_float32(uint32(0x7F800000)), y)


def sinh_f32(x):
    ax = abs(x)
    # The quarter moves r towards positive values, where the two terms do not cancel.
    t = fma(ax, LOG2E, -0.25) + ROUND
    up, down, c, s = _sinh_parts_f32(ax, t)
    a = up - down
    y = fma(a, c, (up + down) * s) + a
    if not (ax < 86.0):
        y = _sinh_edge_f32(ax, t, c, s)
    return copysign(y, x)


def cosh_f32(x):
    ax = abs(x)
    t = fma(ax, LOG2E, ROUND)
    up, down, c, s = _sinh_parts_f32(ax, t)
    b = up + down
    y = fma(b, c, (up - down) * s) + b
    if not (ax < 86.0):
        y = _sinh_edge_f32(ax, t, c, s)
    return y


def tanh_f32(x):
    ax = abs(x)
    ax = select(ax > 9.5, float32(9.5), ax)
    z = ax * ax
    p = fma(z, -0.005897960625588894, 0.02079862356185913)
    p = fma(p, z, -0.05378471687436104)
    p = fma(p, z, 0.13331936299800873)
    p = fma(p, z, -0.33333298563957214)
    small = fma(ax * z, p, ax)
    t = fma(ax, 2.885390043258667, ROUND)
    k = t - ROUND
    r = fma(k, -LN2_HI, ax + ax)
    r = fma(k, -LN2_LO, r)
    e = bitcast_float32(bitcast_int32(_exp_poly_f32(r)) + (bitcast_int32(t) << 23))
    large = 1.0 - 2.0 * reciprocal(e + 1.0)
    return copysign(select(ax >= 0.6, large, small), x)


def _log1p_sum_f32(v, low):
    """log(1 + v + low) for v > -1 below 2**24 and a low part of rounding size."""
    n = bitcast_uint32(1.0 + v) - 0x3F3504F3
    e = bitcast_int32(n) >> 23
    s = bitcast_float32((127 - e) << 23)
    g = s - 1.0
    f = fma(v, s, g)
    low = fma(low, s, fma(v, s, g - f))
    k = float32(e)
    return fma(k, LOG_HI, f + fma(f * f, _log_poly_f32(f), fma(k, LOG_LO, low)))


def asinh_f32(x):
    ax = abs(x)
    # log(x + s) with s = sqrt(x**2 + 1) and s - 1 = x**2 / (1 + s)
    z = ax * ax
    g = z / (sqrt(z + 1.0) + 1.0)
    v = ax + g
    y = _log1p_sum_f32(v, (ax - v) + g)
    if not (ax < 4096.0):
        k, f = _log_reduce_f32(ax)
        k = k + 1.0
        y = fma(k, LOG_HI, f + fma(f * f, _log_poly_f32(f), k * LOG_LO))
    return copysign(y, x)


def acosh_f32(x):
    d = x - 1.0
    w = fma(d, d, d + d)
    s = sqrt(w)
    low = (fma(-s, s, w) + fma(d, d, (d + d) - w)) * (0.5 / max(s, 1e-30))
    v = s + d
    y = _log1p_sum_f32(v, low + ((s - v) + d))
    if not (x >= 1.0 and x < 4096.0):
        k, f = _log_reduce_f32(select(x < 1.0, float32(-1.0), x))
        k = k + 1.0
        y = fma(k, LOG_HI, f + fma(f * f, _log_poly_f32(f), k * LOG_LO))
    return y


def atanh_f32(x):
    ax = abs(x)
    # half of log1p(2 x / (1 - x)), the quotient as 2 x + 2 x**2 / (1 - x)
    d = ax + ax
    g = d * ax / (1.0 - ax)
    v = d + g
    y = 0.5 * _log1p_sum_f32(v, (d - v) + g)
    if not (ax < 1.0):
        infinity = bitcast_float32(uint32(0x7F800000))
        y = select(ax == 1.0, infinity, infinity - infinity)
    return copysign(y, x)
