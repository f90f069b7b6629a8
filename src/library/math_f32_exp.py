"""float32 exponentials: reduction by ln 2 with two constants and fma, then a minimax polynomial on half a step either side."""

ROUND = 12582912.0  # 1.5 * 2**23: adding it leaves the nearest integer in the low mantissa bits
ROUND_BITS = 0x4B400000
LOG2E = 1.4426950216293335
LN2_HI = 0.6931471824645996
LN2_LO = -1.9046542121259336e-09


def _scale_f32(p, n):
    """p * 2**n for int32 n in [-250, 250]; two factors, so that a denormal result is rounded once."""
    h = n >> 1
    a = bitcast_float32((h + 127) << 23)
    b = bitcast_float32((n - h + 127) << 23)
    return p * a * b


def _exp_poly_f32(r):
    """exp(r) for |r| <= ln(2) / 2, degree 6, relative error 2**-28."""
    q = fma(r, 0.0013836227590218186, 0.008369192481040955)
    q = fma(q, r, 0.0416681282222271)
    q = fma(q, r, 0.16666516661643982)
    q = fma(q, r, 0.4999999403953552)
    return fma(r * r, q, r) + 1.0


def exp_f32(x):
    t = fma(x, LOG2E, ROUND)
    k = t - ROUND
    r = fma(k, -LN2_HI, x)
    r = fma(k, -LN2_LO, r)
    p = _exp_poly_f32(r)
    y = bitcast_float32(bitcast_int32(p) + (bitcast_int32(t) << 23))
    if not (abs(x) < 87.0):
        y = _scale_f32(p, bitcast_int32(t) - ROUND_BITS)
        y = select(x > 89.0, bitcast_float32(uint32(0x7F800000)), y)
        y = select(x < -104.0, float32(0.0), y)
    return y


def exp2_f32(x):
    t = x + ROUND
    k = t - ROUND
    p = fma(x - k, _exp2_series_f32(x - k), 1.0)
    y = bitcast_float32(bitcast_int32(p) + (bitcast_int32(t) << 23))
    if not (abs(x) < 125.0):
        y = _scale_f32(p, bitcast_int32(t) - ROUND_BITS)
        y = select(x > 129.0, bitcast_float32(uint32(0x7F800000)), y)
        y = select(x < -151.0, float32(0.0), y)
    return y


def _exp2_series_f32(r):
    """(2**r - 1) / r for |r| <= 1/2, degree 5; relative error of the power 2**-26."""
    q = fma(r, 0.00013336929259821773, 0.0013387924991548061)
    q = fma(q, r, 0.009625437669456005)
    q = fma(q, r, 0.055503662675619125)
    q = fma(q, r, 0.24022594094276428)
    return fma(q, r, 0.6931471824645996)


def expm1_f32(x):
    t = fma(x, LOG2E, ROUND)
    k = t - ROUND
    r = fma(k, -LN2_HI, x)
    r = fma(k, -LN2_LO, r)
    q = fma(r, 0.00014933031343389302, 0.0013930524000898004)
    q = fma(q, r, 0.008341606706380844)
    q = fma(q, r, 0.041666511446237564)
    q = fma(q, r, 0.16666635870933533)
    q = fma(q, r, 0.5)
    p = fma(r * r, q, r)
    s = bitcast_float32((bitcast_int32(t) << 23) + 0x3F800000)
    y = fma(s, p, s - 1.0)
    if not (abs(x) < 87.0):
        y = _scale_f32(p + 1.0, bitcast_int32(t) - ROUND_BITS)
        y = select(x > 89.0, bitcast_float32(uint32(0x7F800000)), y)
        y = select(x < 0.0, float32(-1.0), y)
    return copysign(y, x)
