"""float64 inverse circular functions.

asin and acos: odd minimax polynomial on [0, 1/2], above that through asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)).
atan and atan2: the quotient of the smaller by the larger argument and an odd minimax polynomial on [0, 1].
"""

PI_HI = 3.141592653589793
PI_LO = 1.2246467991473532e-16
HALF_PI_HI = 1.5707963267948966
HALF_PI_LO = 6.123233995736766e-17


def _asin_series_f64(z):
    """(asin(s) / s - 1) / s**2 for z = s**2 <= 1/4, degree 11, relative error 2**-56."""
    w = z * z
    a = fma(z, 0.03191636338293119, -0.01623003492962989)
    b = fma(z, 0.019531821268868876, 0.00652672533393556)
    c = fma(z, 0.012169488689906109, 0.01388519517483942)
    d = fma(z, 0.017359708638388066, 0.022371757808204242)
    e = fma(z, 0.030381959146357933, 0.04464285682812326)
    p = fma(fma(fma(fma(a, w, b), w, c), w, d), w, e)
    p = fma(p, z, 0.07500000000337219)
    return fma(p, z, 0.16666666666665408)


def asin_f64(x):
    ax = abs(x)
    big = ax > 0.5
    z = select(big, fma(ax, -0.5, 0.5), ax * ax)
    s = select(big, sqrt(z), ax)
    q = s * z * _asin_series_f64(z)
    a = fma(-2.0, s, HALF_PI_HI)
    low = fma(-2.0, s, HALF_PI_HI - a) + fma(-2.0, q, HALF_PI_LO)
    y = select(big, a + low, s + q)
    return copysign(y, x)


def acos_f64(x):
    ax = abs(x)
    big = ax > 0.5
    z = select(big, fma(ax, -0.5, 0.5), ax * ax)
    s = select(big, sqrt(z), ax)
    q = s * z * _asin_series_f64(z)
    two = 2.0 * (s + q)
    far = select(x > 0.0, two, (PI_HI - two) + PI_LO)
    near = HALF_PI_HI - (copysign(s, x) + (copysign(q, x) - HALF_PI_LO))
    return select(big, far, near)


def _atan_unit_f64(q):
    """atan(q) for q in [0, 1], degree 41."""
    z = q * q
    w = z * z
    p = fma(z, 1.3231142888975672e-05, -0.00015222297349234807)
    p = fma(p, w, fma(z, 0.0008316153908914854, -0.002885769111987914))
    p = fma(p, w, fma(z, 0.007198195516077508, -0.013903011829860671))
    p = fma(p, w, fma(z, 0.021987530161141383, -0.02990610665425976))
    p = fma(p, w, fma(z, 0.03664338036984423, -0.04219254091048488))
    p = fma(p, w, fma(z, 0.047223522658395065, -0.05253527905332184))
    p = fma(p, w, fma(z, 0.05880530057062062, -0.066664044651625))
    p = fma(p, w, fma(z, 0.07692279894127002, -0.09090907008264686))
    p = fma(p, w, fma(z, 0.11111111007370267, -0.14285714282589135))
    p = fma(p, z, 0.19999999999951767)
    p = fma(p, z, -0.3333333333333307)
    return fma(q * z, p, q)


def atan_f64(x):
    ax = abs(x)
    far = ax > 1.0
    y = _atan_unit_f64(select(far, 1.0 / ax, ax))
    y = select(far, HALF_PI_HI - (y - HALF_PI_LO), y)
    return copysign(y, x)


def atan2_f64(y, x):
    ax = abs(x)
    ay = abs(y)
    steep = ay > ax
    high = select(steep, ay, ax)
    low = select(steep, ax, ay)
    q = low / high
    if not (high > 0.0 and high < bitcast_float64(uint64(0x7FF0000000000000)) and low == low):
        q = select(high == 0.0, float64(0.0), q)
        q = select(low == bitcast_float64(uint64(0x7FF0000000000000)), float64(1.0), q)
    r = _atan_unit_f64(q)
    r = select(steep, HALF_PI_HI - (r - HALF_PI_LO), r)
    r = select(bitcast_int64(x) < 0, PI_HI - (r - PI_LO), r)
    r = select(isnan(x) or isnan(y), x + y, r)
    return copysign(r, y)
