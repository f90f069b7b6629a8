"""Random numbers: the counter-based generator Philox 4x32-10 (Salmon et al., 2011) and what is made of its bits."""


def philox(seed, counter):
    k0 = uint32(seed)
    k1 = uint32(seed >> 32)
    c0 = uint32(counter)
    c1 = uint32(counter >> 32)
    c2 = c0 & 0
    c3 = c0 & 0
    for i in range(10):
        h0 = mulhi(c0, uint32(0xD2511F53))
        l0 = c0 * 0xD2511F53
        h1 = mulhi(c2, uint32(0xCD9E8D57))
        l1 = c2 * 0xCD9E8D57
        c0 = h1 ^ c1 ^ k0
        c1 = l1
        c2 = h0 ^ c3 ^ k1
        c3 = l0
        k0 = k0 + 0x9E3779B9
        k1 = k1 + 0xBB67AE85
    return (c0, c1, c2, c3)


def uniform_f32(a, b, c):
    # 24 bits: every value is a multiple of 2**-24 below one.
    return float32(int32(a >> 8)) * 5.9604644775390625e-08


def uniform_f64(a, b, c):
    # 53 bits: 27 of the first word, 26 of the second.
    high = float64(int32(a >> 5))
    low = float64(int32(b >> 6))
    return (high * 67108864.0 + low) * 1.1102230246251565e-16


def normal_f32(a, b, c):
    # Box-Muller; the first uniform lies in (0, 1].
    u = (float32(int32(a >> 8)) + 1.0) * 5.9604644775390625e-08
    v = float32(int32(b >> 8)) * 5.9604644775390625e-08
    return sqrt(-2.0 * log_f32(u)) * cos_f32(6.283185307179586 * v)


def normal_f64(a, b, c):
    high = float64(int32(a >> 5))
    low = float64(int32(b >> 6))
    u = (high * 67108864.0 + low + 1.0) * 1.1102230246251565e-16
    v = float64(c) * 2.3283064365386963e-10
    return sqrt(-2.0 * log_f64(u)) * cos_f64(6.283185307179586 * v)
