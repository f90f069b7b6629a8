"""float64 hyperbolic functions.

With |x| = k ln 2 + r, sinh and cosh are combinations of even and odd minimax polynomials in r whose factors 2**(k-1) +- 2**(-k-1)
are exact. tanh is an odd polynomial below 0.6 and 1 - 2 / (exp(2 |x|) + 1) above. The inverses take the logarithm of a sum whose
rounding errors are carried along.
"""

ROUND = 6755399441055744.0
LOG2E = 1.4426950408889634
LN2_HI = 0.6931471805599453
LN2_LO = 2.3190468138462996e-17


def _sinh_parts_f64(ax, t):
    """2**(k-1), 2**(-k-1), cosh(r) - 1 and sinh(r) for k in the low bits of t."""
    k = t - ROUND
    r = fma(k, -LN2_HI, ax)
    r = fma(k, -LN2_LO, r)
    z = r * r
    w = z * z
    c = fma(z, 1.1833121328489666e-11, 2.0874075411159545e-09)
    d = fma(z, 2.755732680433744e-07, 2.480158729219313e-05)
    e = fma(z, 0.0013888888888893293, 0.041666666666666664)
    c = z * fma(fma(fma(c, w, d), w, e), z, 0.5)
    s = fma(z, -2.1267190738003247e-12, 1.6329076491573755e-10)
    d = fma(z, 2.5051122979226444e-08, 2.7557320992078634e-06)
    e = fma(z, 0.0001984126983966678, 0.008333333333334001)
    s = fma(fma(fma(s, w, d), w, e), z, 0.16666666666666666)
    s = fma(r * z, s, r)
    n = bitcast_int64(t) << 52
    return bitcast_float64(0x3FE0000000000000 + n), bitcast_float64(0x3FE0000000000000 - n), c, s


def _sinh_edge_f64(ax, t, c, s):
    """exp(ax) / 2 near and above the overflow limit."""
    y = _scale_f64(1.0 + (c + s), bitcast_int64(t) - 0x4338000000000001)
    return select(ax > 711.0, ax * bitcast_float64(uint64(0x7FF0000000000000)), y)


def sinh_f64(x):
    ax = abs(x)
    # The quarter moves r towards positive values, where the two terms do not cancel.
    t = fma(ax, LOG2E, -0.25) + ROUND
    up, down, c, s = _sinh_parts_f64(ax, t)
    a = up - down
    y = fma(a, c, (up + down) * s) + a
    if not (ax < 706.0):
        y = _sinh_edge_f64(ax, t, c, s)
    return copysign(y, x)


def cosh_f64(x):
    ax = abs(x)
    t = fma(ax, LOG2E, ROUND)
    up, down, c, s = _sinh_parts_f64(ax, t)
    b = up + down
    y = fma(b, c, (up - down) * s) + b
    if not (ax < 706.0):
        y = _sinh_edge_f64(ax, t, c, s)
    return y


def tanh_f64(x):
    ax = abs(x)
    ax = select(ax > 20.0, float64(20.0), ax)
    z = ax * ax
    w = z * z
    a = fma(z, -1.7180497362511983e-05, 7.931734248041783e-05)
    b = fma(z, -0.00023039962321637567, 0.0005871897315113353)
    c = fma(z, -0.0014552157554478837, 0.0035920374552391157)
    d = fma(z, -0.008863226787147661, 0.021869488003362376)
    e = fma(z, -0.05396825394933573, 0.13333333333299768)
    p = fma(fma(fma(fma(a, w, b), w, c), w, d), w, e)
    p = fma(p, z, -0.33333333333333126)
    small = fma(ax * z, p, ax)
    t = fma(ax, 2.8853900817779268, ROUND)
    k = t - ROUND
    r = fma(k, -LN2_HI, ax + ax)
    r = fma(k, -LN2_LO, r)
    e = bitcast_float64(bitcast_int64(_exp_poly_f64(r)) + (bitcast_int64(t) << 52))
    large = 1.0 - 2.0 / (e + 1.0)
    return copysign(select(ax >= 0.6, large, small), x)


def asinh_f64(x):
    ax = abs(x)
    # log(x + s) with s = sqrt(x**2 + 1) and s - 1 = x**2 / (1 + s)
    z = ax * ax
    g = z / (sqrt(z + 1.0) + 1.0)
    v = ax + g
    y = _log1p_sum_f64(v, (ax - v) + g)
    if not (ax < 134217728.0):
        y = log_f64(ax) + 0.6931471805599453
    return copysign(y, x)


def acosh_f64(x):
    d = x - 1.0
    w = fma(d, d, d + d)
    s = sqrt(w)
    low = (fma(-s, s, w) + fma(d, d, (d + d) - w)) * (0.5 / max(s, 1e-200))
    v = s + d
    y = _log1p_sum_f64(v, low + ((s - v) + d))
    if not (x >= 1.0 and x < 134217728.0):
        y = log_f64(select(x < 1.0, float64(-1.0), x)) + 0.6931471805599453
    return y


def atanh_f64(x):
    ax = abs(x)
    # half of log1p(2 x / (1 - x)), the quotient as 2 x + 2 x**2 / (1 - x)
    d = ax + ax
    g = d * ax / (1.0 - ax)
    v = d + g
    y = 0.5 * _log1p_sum_f64(v, (d - v) + g)
    if not (ax < 1.0):
        infinity = bitcast_float64(uint64(0x7FF0000000000000))
        y = select(ax == 1.0, infinity, infinity - infinity)
    return copysign(y, x)
