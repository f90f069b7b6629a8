"""float64 remainders, exponents, parts and neighbours: exact functions."""


def _fmod_far_f64(a, b):
    """a mod b; a step takes up to 50 bits off the quotient. Multiples of b are exact, also those of a denormal b."""
    tiny = b < 2.2250738585072014e-308
    d = select(tiny, b * 18014398509481984.0, b)
    e = (bitcast_int64(d) >> 52) - select(tiny, int64(54), int64(0)) + 50
    while a >= b:
        n = (bitcast_int64(a) >> 52) - e
        n = select(n > 0 and a >= 2.2250738585072014e-308, min(n, int64(2046)), int64(0))
        h = n >> 1
        c = b * bitcast_float64((h + 1023) << 52) * bitcast_float64((n - h + 1023) << 52)
        r = fma(-trunc(a / c), c, a)
        a = select(r < 0.0, r + c, r)
    return a


def fmod_f64(x, y):
    ax = abs(x)
    ay = abs(y)
    q = trunc(ax / ay)
    r = fma(-q, ay, ax)
    # The rounded quotient may have reached the next integer.
    r = select(r < 0.0, r + ay, r)
    infinity = bitcast_float64(uint64(0x7FF0000000000000))
    if not (q < 2251799813685248.0 and ay < infinity):
        valid = ax < infinity and ay > 0.0
        r = _fmod_far_f64(select(valid, ax, float64(0.0)), select(valid, ay, float64(1.0)))
        r = select(valid, r, infinity - infinity)
    return copysign(r, x)


def _remainder_near_f64(a, b):
    """The IEEE remainder of a >= 0 by b > 0 for a quotient below 2**50."""
    q = rint(a / b)
    r = fma(-q, b, a)
    d = abs(r) + abs(r)
    odd = rint(q * 0.5) * 2.0 != q
    return select(d > b or (d == b and odd), r - copysign(b, r), r)


def remainder_f64(x, y):
    ax = abs(x)
    ay = abs(y)
    r = _remainder_near_f64(ax, ay)
    infinity = bitcast_float64(uint64(0x7FF0000000000000))
    if not (ax / ay < 1125899906842624.0 and ay < infinity):
        valid = ax < infinity and ay > 0.0
        b = select(valid and ay < infinity, ay, float64(1.0))
        a = _fmod_far_f64(select(valid and ay < infinity, ax, float64(0.0)), b + b)
        r = _remainder_near_f64(a, b)
        r = select(valid, select(ay < infinity, r, ax), infinity - infinity)
    return bitcast_float64(bitcast_uint64(r) ^ (bitcast_uint64(x) & 0x8000000000000000))


def ldexp_f64(x, n):
    inside = n > -1023 and n < 1024
    y = x * bitcast_float64(int64(select(inside, n + 1023, int32(1023))) << 52)
    if not inside:
        # Steps of 2**-969 leave a product normal unless the result is below half of the least denormal anyway.
        m = select(n > 3000, int32(3000), select(n < -3000, int32(-3000), n))
        y = x
        for i in range(2):
            up = m > 1023
            down = m < -1022
            y = y * select(up, float64(8.98846567431158e307), select(down, float64(2.004168360008973e-292), float64(1.0)))
            m = m - select(up, int32(1023), select(down, int32(-969), int32(0)))
        m = select(m > 1023, int32(1023), select(m < -1022, int32(-1022), m))
        y = y * bitcast_float64(int64(m + 1023) << 52)
    return y


def frexp_f64(x):
    a = abs(x)
    tiny = a < 2.2250738585072014e-308
    b = bitcast_uint64(select(tiny, x * 18014398509481984.0, x))
    e = (int32(b >> 52) & 2047) - select(tiny, int32(1076), int32(1022))
    m = bitcast_float64((b & 0x800FFFFFFFFFFFFF) | 0x3FE0000000000000)
    plain = a > 0.0 and a < bitcast_float64(uint64(0x7FF0000000000000))
    return select(plain, m, x), select(plain, e, int32(0))


def modf_f64(x):
    t = trunc(x)
    f = select(abs(x) == bitcast_float64(uint64(0x7FF0000000000000)), float64(0.0), x - t)
    return copysign(f, x), t


def nextafter_f64(x, y):
    grows = (x < y and x > 0.0) or (x > y and x < 0.0)
    b = bitcast_int64(x)
    r = bitcast_float64(select(grows, b + 1, b - 1))
    r = select(x == 0.0, copysign(bitcast_float64(int64(1)), y), r)
    r = select(x == y, y, r)
    return select(isnan(x) or isnan(y), x + y, r)
