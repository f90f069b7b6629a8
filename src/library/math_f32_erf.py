"""float32 error functions.

Below 1/2 an odd minimax polynomial; above erfc(x) = exp(-x**2) G(t) / (x + 3/4) with t = (x - A) / (x + A) and a
polynomial G of degree 9. The exponent, the quotient and the product carry their rounding errors along.
"""

ROUND = 12582912.0
LOG2E = 1.4426950216293335
LN2_HI = 0.6931471824645996
LN2_LO = -1.9046542121259336e-09
A = 2.25


def _erf_series_f32(z):
    """erf(x) / x - 1 for z = x**2 <= 1/4."""
    p = fma(z, 0.0047214278019964695, -0.026759004220366478)
    p = fma(p, z, 0.1128285601735115)
    p = fma(p, z, -0.37612611055374146)
    p = fma(p, z, 0.12837916612625122)
    return p


def _erfc_parts_f32(x):
    """erfc(x) = p * 2**k for x >= 1/2 where the result is a normal number or less; k stands in the low bits of the
    second result."""
    d = x + A
    e = x + 0.75
    j = reciprocal(d * e)
    i = j * d
    i_low = i * fma(-i, x - (e - 0.75), fma(-i, e, 1.0))
    t = (x - A) * (j * e)
    p = fma(t, 0.0001905101235024631, -0.00039531919173896313)
    p = fma(p, t, -0.001346330507658422)
    p = fma(p, t, 0.0033225060906261206)
    p = fma(p, t, 0.006567295175045729)
    p = fma(p, t, -0.03613951429724693)
    p = fma(p, t, 0.05636564642190933)
    p = fma(p, t, -0.0029749178793281317)
    p = fma(p, t, -0.15467512607574463)
    q = fma(p, t, -2.4183394842225425e-08)
    p = q + 0.6932618021965027
    p_low = (0.6932618021965027 - p) + q
    h = x * x
    s = fma(h, -LOG2E, ROUND)
    k = s - ROUND
    r = fma(k, -LN2_HI, -h)
    r = r + fma(k, -LN2_LO, fma(-x, x, h))
    q = fma(r, 0.0013836227590218186, 0.008369192481040955)
    q = fma(q, r, 0.0416681282222271)
    q = fma(q, r, 0.16666516661643982)
    q = fma(q, r, 0.4999999403953552)
    u = fma(r * r, q, r)
    g = p * i
    low = fma(p, i, -g) + fma(p, i_low, p_low * i)
    return g + fma(g, u, fma(low, u, low)), s


def erf_f32(x):
    ax = abs(x)
    ax = select(ax > 4.0, float32(4.0), ax)
    small = fma(ax, _erf_series_f32(ax * ax), ax)
    p, s = _erfc_parts_f32(ax)
    large = 1.0 - bitcast_float32(bitcast_int32(p) + (bitcast_int32(s) << 23))
    return copysign(select(ax >= 0.5, large, small), x)


def erfc_f32(x):
    ax = abs(x)
    ax = select(ax > 10.1, float32(10.1), ax)
    small = fma(x, _erf_series_f32(ax * ax), x)
    p, s = _erfc_parts_f32(ax)
    y = bitcast_float32(bitcast_int32(p) + (bitcast_int32(s) << 23))
    if ax > 9.0:
        y = _scale_f32(p, bitcast_int32(s) - 0x4B400000)
    y = select(x < 0.0, 2.0 - y, y)
    return select(ax >= 0.5, y, 1.0 - small)
