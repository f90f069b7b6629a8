"""float64 powers: 2 ** (y log2(x)) with the logarithm and the product as sums of two float64.

log2(x) = k + 2 / ln 2 * atanh(s), s = (m - 1) / (m + 1); the quotient and the first two terms of atanh carry low parts.
"""

ROUND = 6755399441055744.0
ROUND_BITS = 0x4338000000000000
C_HI = 2.8853900817779268
C_LO = 4.0710547481862066e-17
CUBE_HI = 0.9617966939259756
CUBE_LO = 5.0577616648125907e-17


def _log2_pair_f64(a):
    """log2(a) as a sum of two float64, to about 2**-66."""
    k, f = _log_reduce_f64(a)
    d = f + 2.0
    i = 1.0 / d
    s = f * i
    s_low = i * fma(-s, f - (d - 2.0), fma(-s, d, f))
    z = s * s
    z_low = fma(s, s, -z) + 2.0 * s * s_low
    w = s * z
    w_low = fma(s, z_low, fma(s_low, z, fma(s, z, -w)))
    z2 = z * z
    qa = fma(z, 0.14285714285721926, 0.1999999999999999)
    qb = fma(z, 0.09090909422335121, 0.11111111108892678)
    qc = fma(z, 0.06668133369279723, 0.07692279187748051)
    qd = fma(z, 0.059910902313219314, 0.058378660284826994)
    q = fma(fma(fma(qd, z2, qc), z2, qb), z2, qa)
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
    return g, l - (g - h)


def _exp2_pair_f64(e, e_low):
    """2**(e + e_low) = (1 + p) * 2**n, n in the low bits of the second result."""
    t = e + ROUND
    r = (e - (t - ROUND)) + e_low
    # through exp(r ln 2), the argument with its low part
    m = r * 0.6931471805599453
    low = fma(r, 0.6931471805599453, -m) + r * 2.3190468138462996e-17
    p = _exp_series_f64(m)
    return p + fma(low, p, low), t


def pow_f64(x, y):
    a = abs(x)
    g, g_low = _log2_pair_f64(a)
    e = y * g
    e_low = fma(y, g, -e) + y * g_low
    b, t = _exp2_pair_f64(e, e_low)
    b = b + 1.0
    out = bitcast_float64(bitcast_int64(b) + (bitcast_int64(t) << 52))
    if not (abs(e) < 1020.0 and x > 0.0):
        infinity = bitcast_float64(uint64(0x7FF0000000000000))
        out = _scale_f64(b, bitcast_int64(t) - ROUND_BITS)
        out = select(e > 1025.0, infinity, out)
        out = select(e < -1076.0, float64(0.0), out)
        grows = (y > 0.0 and a > 1.0) or (y < 0.0 and a < 1.0)
        edge = a == 0.0 or a == infinity or (abs(y) == infinity and a == a)
        out = select(edge and y == y, select(grows, infinity, float64(0.0)), out)
        whole = rint(y) == y
        half = y * 0.5
        odd = whole and rint(half) != half
        out = select(bitcast_int64(x) < 0 and odd, -out, out)
        out = select(x < 0.0 and x > -infinity and not whole and y == y, infinity - infinity, out)
        out = select(y == 0.0 or x == 1.0 or (a == 1.0 and abs(y) == infinity), float64(1.0), out)
    return out


def cbrt_f64(x):
    """A bit-level guess of |x| ** (-1/3), two steps of order four and a last Newton step for the cube root itself."""
    a = abs(x)
    tiny = a < 2.2250738585072014e-308
    a = select(tiny, a * 18014398509481984.0, a)
    i = float64(int32(bitcast_int64(a) >> 32))
    t = bitcast_float64(int64(int32(fma(i, -0.3333333333333333, 1430194679.0))) << 32)
    for step in range(2):
        h = fma(-(a * t), t * t, 1.0)
        t = fma(t * h, fma(fma(h, 0.1728395061728395, 0.2222222222222222), h, 0.3333333333333333), t)
    t2 = t * t
    y = a * t2
    e = fma(-(y * y), y, a)
    y = fma(e * 0.3333333333333333, t2, y)
    y = select(tiny, y * 3.814697265625e-06, y)
    y = select(a > 0.0 and a < bitcast_float64(uint64(0x7FF0000000000000)), y, a)
    return copysign(y, x)


def rsqrt_f64(x):
    return 1.0 / sqrt(x)


def hypot_f64(x, y):
    ax = abs(x)
    ay = abs(y)
    r = sqrt(fma(ax, ax, ay * ay))
    a = max(ax, ay)
    if not (a > 1e-138 and a < 1e153 and ay < 1e153):
        s = select(a < 1.0, float64(5.260135901548374e210), float64(2.409919865102884e-181))
        bx = ax * s
        by = ay * s
        back = select(a < 1.0, float64(1.90109156629516e-211), float64(4.149515568880993e180))
        r = sqrt(fma(bx, bx, by * by)) * back
        infinity = bitcast_float64(uint64(0x7FF0000000000000))
        r = select(ax == infinity or ay == infinity, infinity, r)
    return r
