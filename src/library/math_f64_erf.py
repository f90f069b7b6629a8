"""float64 error functions.

Below 1/2 an odd minimax polynomial; above erfc(x) = exp(-x**2) G(t) / (x + 3/4) with t = (x - A) / (x + A) and a polynomial G of degree
22. The exponent, the quotient and the product carry their rounding errors along.
"""

ROUND = 6755399441055744.0
LOG2E = 1.4426950408889634
LN2_HI = 0.6931471805599453
LN2_LO = 2.3190468138462996e-17
A = 3.75


def _erf_series_f64(z):
    """erf(x) / x - 1 for z = x**2 <= 1/4."""
    w = z * z
    p = fma(z, -5.471774971707048e-07, 2.089705853462935e-06)
    p = fma(p, w, fma(z, -1.5135985631864454e-05, 0.00012060695333752675))
    p = fma(p, w, fma(z, -0.0008548406654754797, 0.005223978320394653))
    p = fma(p, w, fma(z, -0.026866170679230434, 0.11283791671039001))
    p = fma(p, w, fma(z, -0.3761263890318455, 0.1283791670955126))
    return p


def _erfc_parts_f64(x):
    """erfc(x) = p * 2**k for x >= 1/2 where the result is a normal number or less; k stands in the low bits of the second result."""
    d = x + A
    e = x + 0.75
    j = 1.0 / (d * e)
    i = j * d
    i_low = i * fma(-i, x - (e - 0.75), fma(-i, e, 1.0))
    t = (x - A) * (j * e)
    w = t * t
    p = fma(t, -1.5422152179836694e-09, -1.5881695903872805e-09)
    p = fma(p, w, fma(t, 1.654079914445851e-08, 1.3124692859259677e-08))
    p = fma(p, w, fma(t, -1.1996431416716635e-07, -4.6210594297758834e-08))
    p = fma(p, w, fma(t, 8.291416108359801e-07, -3.2212142377779605e-07))
    p = fma(p, w, fma(t, -5.5346773371192e-06, 9.646290254152228e-06))
    p = fma(p, w, fma(t, 2.6720441601776022e-05, -0.00013310233830670742))
    p = fma(p, w, fma(t, 0.00010874116414164345, 0.0008714290900494698))
    p = fma(p, w, fma(t, -0.004422549173089498, 0.012125983421598993))
    p = fma(p, w, fma(t, -0.02331089330196043, 0.03245157890638965))
    p = fma(p, w, fma(t, -0.028750887062809552, 0.00024539536409349394))
    p = fma(p, w, fma(t, 0.058294724471887244, -0.13847578216663012))
    p = fma(p, t, 4.9202351643878354e-17) + 0.6551537457376734
    h = x * x
    s = fma(h, -LOG2E, ROUND)
    k = s - ROUND
    r = fma(k, -LN2_HI, -h)
    r = r + fma(k, -LN2_LO, fma(-x, x, h))
    v = r * r
    b = fma(r, 0.1666666666666643, 0.5000000000000011)
    d = fma(r, 0.008333333333479553, 0.0416666666665256)
    e = fma(r, 0.00019841269546999022, 0.0013888888944948092)
    f = fma(r, 2.7557543166414655e-06, 2.480149163088758e-05)
    g = fma(r, 2.501592074945155e-08, 2.7630803080455876e-07)
    q = fma(fma(fma(fma(g, v, f), v, e), v, d), v, b)
    u = fma(v, q, r)
    g = p * i
    low = fma(p, i, -g) + p * i_low
    return g + fma(g, u, fma(low, u, low)), s


def erf_f64(x):
    ax = abs(x)
    ax = select(ax > 6.0, float64(6.0), ax)
    small = fma(ax, _erf_series_f64(ax * ax), ax)
    p, s = _erfc_parts_f64(ax)
    large = 1.0 - bitcast_float64(bitcast_int64(p) + (bitcast_int64(s) << 52))
    return copysign(select(ax >= 0.5, large, small), x)


def erfc_f64(x):
    ax = abs(x)
    ax = select(ax > 27.3, float64(27.3), ax)
    small = fma(x, _erf_series_f64(ax * ax), x)
    p, s = _erfc_parts_f64(ax)
    y = bitcast_float64(bitcast_int64(p) + (bitcast_int64(s) << 52))
    if ax > 26.0:
        y = _scale_f64(p, bitcast_int64(s) - 0x4338000000000000)
    y = select(x < 0.0, 2.0 - y, y)
    return select(ax >= 0.5, y, 1.0 - small)
