"""float32 remainders, exponents, parts and neighbours: exact functions."""


def _fmod_far_f32(a, b):
    """a mod b in float64, which holds every float32 and its multiples; a step takes up to 50 bits off the quotient."""
    while a >= b:
        n = (bitcast_int64(a) >> 52) - (bitcast_int64(b) >> 52) - 50
        n = select(n > 0, n, int64(0))
        c = b * bitcast_float64((n + 1023) << 52)
        r = fma(-trunc(a / c), c, a)
        a = select(r < 0.0, r + c, r)
    return a


def fmod_f32(x, y):
    ax = abs(x)
    ay = abs(y)
    q = trunc(ax / ay)
    r = fma(-q, ay, ax)
    # The rounded quotient may have reached the next integer.
    r = select(r < 0.0, r + ay, r)
    infinity = bitcast_float32(uint32(0x7F800000))
    if not (q < 4194304.0 and ay < infinity):
        valid = ax < infinity and ay > 0.0
        a = select(valid, float64(ax), float64(0.0))
        r = float32(_fmod_far_f32(a, select(valid, float64(ay), float64(1.0))))
        r = select(valid, r, infinity - infinity)
    return copysign(r, x)


def remainder_f32(x, y):
    ax = abs(x)
    ay = abs(y)
    q = rint(ax / ay)
    r = fma(-q, ay, ax)
    d = abs(r) + abs(r)
    odd = rint(q * 0.5) * 2.0 != q
    r = select(d > ay or (d == ay and odd), r - copysign(ay, r), r)
    infinity = bitcast_float32(uint32(0x7F800000))
    if not (q < 2097152.0 and ay < infinity):
        valid = ax < infinity and ay > 0.0
        b = select(valid and ay < infinity, float64(ay), float64(1.0))
        a = _fmod_far_f32(select(valid and ay < infinity, float64(ax), float64(0.0)), b + b)
        p = rint(a / b)
        s = fma(-p, b, a)
        e = abs(s) + abs(s)
        s = select(e > b or (e == b and p == 1.0), s - copysign(b, s), s)
        r = select(valid, select(ay < infinity, float32(s), ax), infinity - infinity)
    return bitcast_float32(bitcast_uint32(r) ^ (bitcast_uint32(x) & 0x80000000))


def ldexp_f32(x, n):
    inside = n > -127 and n < 128
    y = x * bitcast_float32(select(inside, n + 127, int32(127)) << 23)
    if not inside:
        # One rounding: the product of a float32 and a power in this range is exact in float64.
        m = select(n > 400, int32(400), select(n < -400, int32(-400), n))
        y = float32(float64(x) * bitcast_float64(int64(m + 1023) << 52))
    return y


def frexp_f32(x):
    a = abs(x)
    tiny = a < 1.1754943508222875e-38
    b = bitcast_int32(select(tiny, x * 16777216.0, x))
    e = ((b >> 23) & 255) - select(tiny, int32(150), int32(126))
    m = bitcast_float32((b & -2139095041) | 0x3F000000)
    plain = a > 0.0 and a < bitcast_float32(uint32(0x7F800000))
    return select(plain, m, x), select(plain, e, int32(0))


def modf_f32(x):
    t = trunc(x)
    f = select(abs(x) == bitcast_float32(uint32(0x7F800000)), float32(0.0), x - t)
    return copysign(f, x), t


def nextafter_f32(x, y):
    grows = (x < y and x > 0.0) or (x > y and x < 0.0)
    b = bitcast_int32(x)
    r = bitcast_float32(select(grows, b + 1, b - 1))
    r = select(x == 0.0, copysign(bitcast_float32(int32(1)), y), r)
    r = select(x == y, y, r)
    return select(isnan(x) or isnan(y), x + y, r)
