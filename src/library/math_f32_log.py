"""float32 logarithms: x = 2**k * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)], then a minimax polynomial in f.

The low parts of ln 2 and its kin are positive: k carries the infinities and NaN of the special arguments through both products.
"""

LN2_HI = 0.6931471228599548
LN2_LO = 5.769998878690785e-08


def _log_reduce_f32(x):
    """k and f. For arguments without a finite logarithm f is zero and k is the result."""
    bits = bitcast_uint32(x)
    shift = float32(0.0)
    if bits - 0x00800000 >= 0x7F000000:
        infinity = bitcast_float32(uint32(0x7F800000))
        small = x > 0.0 and x < 1.1754943508222875e-38
        shift = select(x > 0.0, select(small, float32(-23.0), x), select(x == 0.0, -infinity, infinity - infinity))
        bits = select(small, bitcast_uint32(x * 8388608.0), uint32(0x3F800000))
    u = bits - 0x3F3504F3
    k = float32(bitcast_int32(u) >> 23) + shift
    f = bitcast_float32((u & 0x007FFFFF) + 0x3F3504F3) - 1.0
    return k, f


def _log_poly_f32(f):
    """(log(1 + f) - f) / f**2, degree 9."""
    p = fma(f, 0.06983340531587601, -0.118129201233387)
    p = fma(p, f, 0.11868065595626831)
    p = fma(p, f, -0.12388033419847488)
    p = fma(p, f, 0.14219893515110016)
    p = fma(p, f, -0.16668474674224854)
    p = fma(p, f, 0.200020894408226)
    p = fma(p, f, -0.25000014901161194)
    p = fma(p, f, 0.3333331346511841)
    return fma(p, f, -0.5)


def log_f32(x):
    k, f = _log_reduce_f32(x)
    u = fma(f * f, _log_poly_f32(f), k * LN2_LO)
    return fma(k, LN2_HI, f + u)


def log2_f32(x):
    k, f = _log_reduce_f32(x)
    p = fma(f, 0.09098491817712784, -0.16539070010185242)
    p = fma(p, f, 0.17282818257808685)
    p = fma(p, f, -0.17963020503520966)
    p = fma(p, f, 0.20504124462604523)
    p = fma(p, f, -0.24042072892189026)
    p = fma(p, f, 0.2885734438896179)
    p = fma(p, f, -0.360675185918808)
    p = fma(p, f, 0.48089799284935)
    p = fma(p, f, -0.7213475108146667)
    u = fma(f * f, p, f * 1.925963033500011e-08)
    return k + fma(f, 1.4426950216293335, u)


def log10_f32(x):
    k, f = _log_reduce_f32(x)
    p = fma(f, 0.03593898564577103, -0.05545266345143318)
    p = fma(p, f, 0.051161784678697586)
    p = fma(p, f, -0.05301180109381676)
    p = fma(p, f, 0.06170450523495674)
    p = fma(p, f, -0.07243968546390533)
    p = fma(p, f, 0.08687259256839752)
    p = fma(p, f, -0.1085725799202919)
    p = fma(p, f, 0.14476466178894043)
    p = fma(p, f, -0.21714724600315094)
    u = fma(f * f, p, fma(f, -1.0103049952192578e-08, k * 1.5481333548450493e-08))
    return fma(k, 0.3010299801826477, fma(f, 0.4342944920063019, u))


def log1p_f32(x):
    n = bitcast_uint32(1.0 + x) - 0x3F3504F3
    e = bitcast_int32(n) >> 23
    s = bitcast_float32((127 - e) << 23)
    f = fma(x, s, s - 1.0)
    k = float32(e)
    if not (x > -1.0 and x < 16777216.0):
        k, f = _log_reduce_f32(1.0 + x)
    u = fma(f * f, _log_poly_f32(f), k * LN2_LO)
    return copysign(fma(k, LN2_HI, f + u), x)
