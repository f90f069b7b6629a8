"""Python's arithmetic where no machine operation has its meaning: floor division, modulo, integer power, rounding."""


def pymod_f32(a, b):
    r = fmod_f32(a, b)
    fixed = select((r != 0.0) and ((r < 0.0) != (b < 0.0)), r + b, r)
    return select(fixed == 0.0, copysign(0.0, b), fixed)


def pymod_f64(a, b):
    r = fmod_f64(a, b)
    fixed = select((r != 0.0) and ((r < 0.0) != (b < 0.0)), r + b, r)
    return select(fixed == 0.0, copysign(0.0, b), fixed)


def floordiv_f32(a, b):
    m = fmod_f32(a, b)
    q = (a - m) / b
    down = select((m != 0.0) and ((b < 0.0) != (m < 0.0)), q - 1.0, q)
    whole = floor(down)
    # The quotient is whole but for rounding.
    near = select(down - whole > 0.5, whole + 1.0, whole)
    exact = select(down == 0.0, copysign(0.0, a / b), near)
    return select(b == 0.0, a / b, exact)


def floordiv_f64(a, b):
    m = fmod_f64(a, b)
    q = (a - m) / b
    down = select((m != 0.0) and ((b < 0.0) != (m < 0.0)), q - 1.0, q)
    whole = floor(down)
    near = select(down - whole > 0.5, whole + 1.0, whole)
    exact = select(down == 0.0, copysign(0.0, a / b), near)
    return select(b == 0.0, a / b, exact)


def ipow_int64(a, n):
    result = 1
    base = a
    left = select(n < 0, 0, n)
    while left != 0:
        result = select((left & 1) != 0, result * base, result)
        base = base * base
        left = left >> 1
    # A negative exponent has an integer result only for 1 and -1.
    inverse = select(a == 1, 1, select(a == -1, select((n & 1) != 0, -1, 1), 0))
    return select(n < 0, inverse, result)


def ipow_uint64(a, n):
    result = 1
    base = a
    left = n
    while left != 0:
        result = select((left & 1) != 0, result * base, result)
        base = base * base
        left = left >> 1
    return result


def round_digits_f64(x, digits):
    scale = exp10_int_f64(select(digits < 0, -digits, digits))
    up = rint(x * scale) / scale
    down = rint(x / scale) * scale
    rounded = select(digits < 0, down, up)
    return select(isfinite(rounded), rounded, x)


def exp10_int_f64(n):
    result = 1.0
    base = 10.0
    left = n
    while left != 0:
        result = select((left & 1) != 0, result * base, result)
        base = base * base
        left = left >> 1
    return result


def degrees_f32(x):
    return x * 57.29577951308232


def degrees_f64(x):
    return x * 57.29577951308232


def radians_f32(x):
    return x * 0.017453292519943295


def radians_f64(x):
    return x * 0.017453292519943295
