"""float32 inverse circular functions.

asin and acos: odd minimax polynomial on [0, 1/2], above that through asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)).
atan and atan2: the quotient of the smaller by the larger argument and an odd minimax polynomial on [0, 1].
"""

PI_HI = 3.1415927410125732
PI_LO = -8.742277657347586e-08
HALF_PI_HI = 1.5707963705062866
HALF_PI_LO = -4.371138828673793e-08


def _asin_series_f32(z):
    """(asin(s) / s - 1) / s**2 for z = s**2 <= 1/4, degree 4, relative error 2**-28."""
    p = fma(z, 0.04216008260846138, 0.024183813482522964)
    p = fma(p, z, 0.04546931013464928)
    p = fma(p, z, 0.07495308667421341)
    return fma(p, z, 0.16666752099990845)


def asin_f32(x):
    ax = abs(x)
    big = ax > 0.5
    z = select(big, fma(ax, -0.5, 0.5), ax * ax)
    s = select(big, sqrt(z), ax)
    q = s * z * _asin_series_f32(z)
    a = fma(-2.0, s, HALF_PI_HI)
    low = fma(-2.0, s, HALF_PI_HI - a) + fma(-2.0, q, HALF_PI_LO)
    y = select(big, a + low, s + q)
    return copysign(y, x)


def acos_f32(x):
    ax = abs(x)
    big = ax > 0.5
    z = select(big, fma(ax, -0.5, 0.5), ax * ax)
    s = select(big, sqrt(z), ax)
    q = s * z * _asin_series_f32(z)
    two = 2.0 * (s + q)
    far = select(x > 0.0, two, (PI_HI - two) + PI_LO)
    near = HALF_PI_HI - (copysign(s, x) + (copysign(q, x) - HALF_PI_LO))
    return select(big, far, near)


def _atan_unit_f32(q):
    """atan(q) for q in [0, 1], degree 19."""
    z = q * q
    w = z * z
    a = fma(z, -0.0017880077939480543, 0.010886750183999538)
    b = fma(z, -0.03112136386334896, 0.05789726972579956)
    c = fma(z, -0.08399807661771774, 0.10950945317745209)
    d = fma(z, -0.14264017343521118, 0.1999852955341339)
    p = fma(fma(fma(a, w, b), w, c), w, d)
    p = fma(p, z, -0.33333298563957214)
    return fma(q * z, p, q)


def atan_f32(x):
    ax = abs(x)
    far = ax > 1.0
    y = _atan_unit_f32(select(far, 1.0 / ax, ax))
    y = select(far, HALF_PI_HI - (y - HALF_PI_LO), y)
    return copysign(y, x)


def atan2_f32(y, x):
    ax = abs(x)
    ay = abs(y)
    steep = ay > ax
    high = select(steep, ay, ax)
    low = select(steep, ax, ay)
    q = low / high
    if not (high > 0.0 and high < bitcast_float32(uint32(0x7F800000)) and low == low):
        q = select(high == 0.0, float32(0.0), q)
        q = select(low == bitcast_float32(uint32(0x7F800000)), float32(1.0), q)
    r = _atan_unit_f32(q)
    r = select(steep, HALF_PI_HI - (r - HALF_PI_LO), r)
    r = select(bitcast_int32(x) < 0, PI_HI - (r - PI_LO), r)
    r = select(isnan(x) or isnan(y), x + y, r)
    return copysign(r, y)
