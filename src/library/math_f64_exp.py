"""float64 exponentials: reduction by ln 2 with two constants and fma, then a minimax polynomial on half a step either side."""

ROUND = 6755399441055744.0  # 1.5 * 2**52: adding it leaves the nearest integer in the low mantissa bits
ROUND_BITS = 0x4338000000000000
LOG2E = 1.4426950408889634
LN2_HI = 0.6931471805599453
LN2_LO = 2.3190468138462996e-17


def _scale_f64(p, n):
    """p * 2**n for int64 n in [-2000, 2000]; two factors, so that a denormal result is rounded once."""
    h = n >> 1
    a = bitcast_float64((h + 1023) << 52)
    b = bitcast_float64((n - h + 1023) << 52)
    return p * a * b


def _exp_series_f64(r):
    """exp(r) - 1 for |r| <= ln(2) / 2, degree 11; relative error of the exponential 2**-58."""
    z = r * r
    a = fma(r, 0.1666666666666643, 0.5000000000000011)
    b = fma(r, 0.008333333333479553, 0.0416666666665256)
    c = fma(r, 0.00019841269546999022, 0.0013888888944948092)
    d = fma(r, 2.7557543166414655e-06, 2.480149163088758e-05)
    e = fma(r, 2.501592074945155e-08, 2.7630803080455876e-07)
    q = fma(e, z, d)
    q = fma(q, z, c)
    q = fma(q, z, b)
    q = fma(q, z, a)
    return fma(z, q, r)


def _exp_poly_f64(r):
    return _exp_series_f64(r) + 1.0


def exp_f64(x):
    t = fma(x, LOG2E, ROUND)
    k = t - ROUND
    r = fma(k, -LN2_HI, x)
    r = fma(k, -LN2_LO, r)
    p = _exp_poly_f64(r)
    y = bitcast_float64(bitcast_int64(p) + (bitcast_int64(t) << 52))
    if not (abs(x) < 708.0):
        y = _scale_f64(p, bitcast_int64(t) - ROUND_BITS)
        y = select(x > 710.0, bitcast_float64(uint64(0x7FF0000000000000)), y)
        y = select(x < -746.0, float64(0.0), y)
    return y


def exp2_f64(x):
    t = x + ROUND
    k = t - ROUND
    r = x - k
    z = r * r
    a = fma(r, 0.05550410866482457, 0.24022650695910172)
    b = fma(r, 0.0013333558145573502, 0.00961812910757716)
    c = fma(r, 1.5252734729910573e-05, 0.00015403530478746012)
    d = fma(r, 1.0177660025821233e-07, 1.3215424523080125e-06)
    e = fma(r, 4.518654361535557e-10, 7.075612383676155e-09)
    q = fma(e, z, d)
    q = fma(q, z, c)
    q = fma(q, z, b)
    q = fma(q, z, a)
    p = fma(r, fma(q, r, 0.6931471805599453), 1.0)
    y = bitcast_float64(bitcast_int64(p) + (bitcast_int64(t) << 52))
    if not (abs(x) < 1021.0):
        y = _scale_f64(p, bitcast_int64(t) - ROUND_BITS)
        y = select(x > 1025.0, bitcast_float64(uint64(0x7FF0000000000000)), y)
        y = select(x < -1076.0, float64(0.0), y)
    return y


def expm1_f64(x):
    t = fma(x, LOG2E, ROUND)
    k = t - ROUND
    r = fma(k, -LN2_HI, x)
    r = fma(k, -LN2_LO, r)
    z = r * r
    a = fma(r, 0.16666666666666677, 0.5)
    b = fma(r, 0.008333333333321823, 0.041666666666666685)
    c = fma(r, 0.0001984126988526148, 0.001388888888889377)
    d = fma(r, 2.755724522578714e-06, 2.4801587278676182e-05)
    e = fma(r, 2.510866637786523e-08, 2.7557329860762917e-07)
    q = fma(fma(z, 2.089380948719086e-09, e), z, d)
    q = fma(q, z, c)
    q = fma(q, z, b)
    q = fma(q, z, a)
    p = fma(z, q, r)
    s = bitcast_float64((bitcast_int64(t) << 52) + 0x3FF0000000000000)
    y = fma(s, p, s - 1.0)
    if not (abs(x) < 708.0):
        y = _scale_f64(p + 1.0, bitcast_int64(t) - ROUND_BITS)
        y = select(x > 710.0, bitcast_float64(uint64(0x7FF0000000000000)), y)
        y = select(x < 0.0, float64(-1.0), y)
    return copysign(y, x)
