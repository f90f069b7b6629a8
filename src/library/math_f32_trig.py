"""float32 circular functions.

sin and cos subtract a multiple of pi (an odd multiple of pi / 2 for cos), given by three constants and fma, and
evaluate one odd polynomial on [-pi/2, pi/2]. Arguments of 2**17 and more take their remainder from a table of 2**(16
b) / pi mod 2 in float64.
"""

ROUND = 12582912.0
INV_PI = 0.31830987334251404
PI_1 = 3.1415927410125732
PI_2 = -8.742277657347586e-08
PI_3 = -3.4302490200117637e-15
HALF_PI_1 = 1.5707963705062866
HALF_PI_2 = -4.371138828673793e-08
HALF_PI_3 = -1.7151245100058819e-15
PI = 3.141592653589793
BIG = 131072.0

TURNS_0: "float64" = (
    0.3183098861837907,
    0.7567009409054499,
    -0.8471368204354105,
    0.04133594494115648,
    0.9924876636310758,
    -0.3284762738195453,
    0.9789189622803792,
)
TURNS_1: "float64" = (
    -1.9678676675182486e-17,
    -2.6689180177627664e-17,
    5.4263175927554807e-17,
    1.4329418731735981e-18,
    -1.5589282983320628e-17,
    2.3488816399632256e-17,
    3.8847923520009147e-17,
)


def _turns_f32(ax):
    """ax / pi mod 2 as a sum of two float64."""
    e = (bitcast_int32(ax) >> 23) - 151
    b = select(e > 0, e, int32(0)) >> 4
    m = float64(ax) * bitcast_float64(int64(1023 - (b << 4)) << 52)
    t = TURNS_0[b]
    p = m * t
    low = fma(m, t, -p) + m * TURNS_1[b]
    p = p - 2.0 * rint(p * 0.5)
    high = p + low
    return high, low - (high - p)


def _reduce_f32(ax, half):
    """ax - (n + half) * pi in [-pi/2, pi/2] for a large ax, and n mod 2 as a sign bit; half is 0 or 0.5."""
    h = float64(half)
    high, low = _turns_f32(ax)
    n = rint(high - h)
    r = float32(((high - (n + h)) + low) * PI)
    return r, select(abs(n) == 1.0, uint32(0x80000000), uint32(0))


def _sin_poly_f32(r):
    """sin(r) for |r| <= pi/2, degree 9, relative error 2**-27. Splitting off -z / 8, which is exact, spares a rounding
    near pi/2."""
    z = r * r
    p = fma(z, 2.604804421935114e-06, -0.00019809140940196812)
    p = fma(p, z, 0.008333059959113598)
    p = fma(p, z, -0.04166659340262413)
    return fma(fma(p, z, -0.125 * z), r, r)


def sin_f32(x):
    ax = abs(x)
    t = fma(ax, INV_PI, ROUND)
    k = t - ROUND
    r = fma(k, -PI_1, ax)
    r = fma(k, -PI_2, r)
    r = fma(k, -PI_3, r)
    flip = bitcast_uint32(t) << 31
    if not (ax < BIG):
        r, flip = _reduce_f32(ax, float32(0.0))
    sign = (bitcast_uint32(x) & 0x80000000) ^ flip
    return bitcast_float32(bitcast_uint32(_sin_poly_f32(r)) ^ sign)


def cos_f32(x):
    ax = abs(x)
    t = fma(ax, INV_PI, -0.5) + ROUND
    k = (t - ROUND) + 0.5
    # cos(x) = -(-1)**n sin(r): the minus is taken by negating r
    r = fma(k, PI_1, -ax)
    r = fma(k, PI_2, r)
    r = fma(k, PI_3, r)
    flip = bitcast_uint32(t) << 31
    if not (ax < BIG):
        r, flip = _reduce_f32(ax, float32(0.5))
        r = -r
    return bitcast_float32(bitcast_uint32(_sin_poly_f32(r)) ^ flip)


def _reduce_half_f32(ax):
    """ax - n * pi/2 in [-pi/4, pi/4] for a large ax, its low part, and n mod 4."""
    high, low = _turns_f32(ax)
    n = rint(2.0 * high)
    d = ((high - 0.5 * n) + low) * PI
    r = float32(d)
    # Adding a power of two leaves n in the low bits, for NaN as well as for numbers.
    return r, float32(d - float64(r)), bitcast_uint32(float32(n) + ROUND)


def sincos_f32(x):
    ax = abs(x)
    t = fma(ax, 0.6366197466850281, ROUND)
    k = t - ROUND
    s = fma(k, -HALF_PI_1, ax)
    r = fma(k, -HALF_PI_2, s)
    r = fma(k, -HALF_PI_3, r)
    n = bitcast_uint32(t)
    if not (ax < BIG):
        r, c, n = _reduce_half_f32(ax)
    z = r * r
    p = fma(z, -0.00019517906184773892, 0.008332187309861183)
    p = fma(p, z, -0.16666655242443085)
    p = fma(r * z, p, r)
    q = fma(z, 2.44946113525657e-05, -0.0013887929962947965)
    q = fma(q, z, 0.0416666604578495)
    q = fma(z * z, q, fma(z, -0.5, 1.0))
    swap = (n & 1) != 0
    sine = bitcast_uint32(select(swap, q, p))
    cosine = bitcast_uint32(select(swap, p, q))
    sign = (bitcast_uint32(x) ^ (n << 30)) & 0x80000000
    return bitcast_float32(sine ^ sign), bitcast_float32(cosine ^ (((n + 1) << 30) & 0x80000000))


def tan_f32(x):
    """One odd polynomial on [-pi/4, pi/4], degree 15; the reciprocal in odd octants. The remainder keeps a low part."""
    ax = abs(x)
    t = fma(ax, 0.6366197466850281, ROUND)
    k = t - ROUND
    s = fma(k, -HALF_PI_1, ax)
    p = k * HALF_PI_2
    r = s - p
    c = ((s - r) - p) - fma(k, HALF_PI_2, -p)
    c = fma(k, -HALF_PI_3, c)
    n = bitcast_uint32(t)
    if not (ax < BIG):
        r, c, n = _reduce_half_f32(ax)
    z = r * r
    p = fma(z, 0.004454085603356361, -7.081004150677472e-05)
    p = fma(p, z, 0.010964765213429928)
    p = fma(p, z, 0.021231455728411674)
    p = fma(p, z, 0.0540698803961277)
    p = fma(p, z, 0.1333257555961609)
    p = fma(p, z, 0.3333335220813751)
    y = r + fma(r * z, p, fma(c, z, c))
    y = select((n & 1) != 0, -1.0 / y, y)
    return bitcast_float32(bitcast_uint32(y) ^ (bitcast_uint32(x) & 0x80000000))


def sinpi_f32(x):
    n = rint(x)
    r = x - n
    p = _sinpi_poly_f32(r)
    odd = rint(n * 0.5) * 2.0 != n
    y = select(odd, -p, p)
    return select(r == 0.0, copysign(float32(0.0), x) * (x - x + 1.0), y)


def cospi_f32(x):
    """cos(pi x) = sin(pi (1/2 - |r|)) with r = x - n."""
    n = rint(x)
    p = _sinpi_poly_f32(0.5 - abs(x - n))
    odd = rint(n * 0.5) * 2.0 != n
    return select(odd and p != 0.0, -p, p)


def _sinpi_poly_f32(r):
    """sin(pi r) for |r| <= 1/2, degree 9; the first coefficient has a low part."""
    z = r * r
    p = fma(z, 0.07771962136030197, -0.5983314514160156)
    p = fma(p, z, 2.550086259841919)
    p = fma(p, z, -1.167710781097412)
    # -4 z is exact; splitting it off spares a rounding near 1/2.
    return fma(r, 3.1415927410125732, r * fma(-4.0, z, fma(p, z, -8.742277657347586e-08)))
