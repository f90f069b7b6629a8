"""float32 powers: 2 ** (y log2(x)) with the logarithm and the product as sums of two float32.

log2(x) = k + 2 / ln 2 * atanh(s), s = (m - 1) / (m + 1); the quotient and the first two terms of atanh
carry low parts.
"""

ROUND = 12582912.0
ROUND_BITS = 0x4B400000
C_HI = 2.885390043258667
C_LO = 3.851926067000022e-08
CUBE_HI = 0.9617967009544373
CUBE_LO = -7.028461812552678e-09


def pow_f32(x, y):
    a = abs(x)
    k, f = _log_reduce_f32(a)
    d = f + 2.0
    i = reciprocal(d)
    s = f * i
    s_low = i * fma(-s, f - (d - 2.0), fma(-s, d, f))
    z = s * s
    z_low = fma(s, s, -z) + 2.0 * s * s_low
    w = s * z
    w_low = fma(s, z_low, fma(s_low, z, fma(s, z, -w)))
    q = fma(z, 0.11709818989038467, 0.14273545145988464)
    q = fma(q, z, 0.20000076293945312)
    rest = fma(C_HI * (w * z), q, fma(C_HI, s_low, C_LO * s))
    u = CUBE_HI * w
    rest = rest + (fma(CUBE_HI, w, -u) + fma(CUBE_HI, w_low, CUBE_LO * w))
    p = C_HI * s
    rest = rest + fma(C_HI, s, -p)
    v = p + u
    rest = rest + ((p - v) + u)
    h = k + v
    l = ((k - h) + v) + rest
    g = h + l
    g_low = l - (g - h)
    e = y * g
    e_low = fma(y, g, -e) + y * g_low
    t = e + ROUND
    r = (e - (t - ROUND)) + e_low
    b = fma(r, _pow_series_f32(r), 1.0)
    out = bitcast_float32(bitcast_int32(b) + (bitcast_int32(t) << 23))
    if not (abs(e) < 125.0 and x > 0.0):
        infinity = bitcast_float32(uint32(0x7F800000))
        out = _scale_f32(b, bitcast_int32(t) - ROUND_BITS)
        out = select(e > 129.0, infinity, out)
        out = select(e < -151.0, float32(0.0), out)
        grows = (y > 0.0 and a > 1.0) or (y < 0.0 and a < 1.0)
        edge = a == 0.0 or a == infinity or (abs(y) == infinity and a == a)
        out = select(edge and y == y, select(grows, infinity, float32(0.0)), out)
        whole = rint(y) == y
        half = y * 0.5
        odd = whole and rint(half) != half
        out = select(bitcast_int32(x) < 0 and odd, -out, out)
        out = select(x < 0.0 and x > -infinity and not whole and y == y, infinity - infinity, out)
        out = select(y == 0.0 or x == 1.0 or (a == 1.0 and abs(y) == infinity), float32(1.0), out)
    return out


def _pow_series_f32(r):
    """(2**r - 1) / r for |r| <= 1/2, degree 6; relative error of the power 2**-32."""
    q = fma(r, 1.4323833056550939e-05, 0.00015451732906512916)
    q = fma(q, r, 0.0013337964192032814)
    q = fma(q, r, 0.00961808767169714)
    q = fma(q, r, 0.055504050105810165)
    q = fma(q, r, 0.24022650718688965)
    return fma(q, r, 0.6931471824645996)


def cbrt_f32(x):
    """A bit-level guess of |x| ** (-1/3), one step of order four and a last Newton step for the cube root itself."""
    a = abs(x)
    tiny = a < 1.1754943508222875e-38
    a = select(tiny, a * 16777216.0, a)
    t = bitcast_float32(int32(fma(float32(bitcast_int32(a)), -0.3333333432674408, 1419967104.0)))
    h = fma(-(a * t), t * t, 1.0)
    t = fma(t * h, fma(fma(h, 0.1728395, 0.2222222), h, 0.3333333), t)
    t2 = t * t
    y = a * t2
    e = fma(-(y * y), y, a)
    y = fma(e * 0.3333333432674408, t2, y)
    y = select(tiny, y * 0.00390625, y)
    y = select(a > 0.0 and a < bitcast_float32(uint32(0x7F800000)), y, a)
    return copysign(y, x)


def rsqrt_f32(x):
    return 1.0 / sqrt(x)


def hypot_f32(x, y):
    ax = abs(x)
    ay = abs(y)
    r = sqrt(fma(ax, ax, ay * ay))
    a = max(ax, ay)
    if not (a > 1e-15 and a < 1e18 and ay < 1e18):
        s = select(a < 1.0, float32(1.2676506002282294e30), float32(7.888609052210118e-31))
        bx = ax * s
        by = ay * s
        r = sqrt(fma(bx, bx, by * by)) * select(a < 1.0, float32(7.888609052210118e-31), float32(1.2676506002282294e30))
        infinity = bitcast_float32(uint32(0x7F800000))
        r = select(ax == infinity or ay == infinity, infinity, r)
    return r
