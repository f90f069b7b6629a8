"""float64 circular functions.

sin and cos subtract a multiple of pi (an odd multiple of pi / 2 for cos), given by three constants and fma, and
evaluate one odd polynomial on [-pi/2, pi/2]. The second constant has 32 bits, so that its multiples and the
differences that give the low part of the remainder are exact. Arguments of 2**21 and more take their remainder from a
table of 2**(32 b) / pi mod 2, each entry a sum of four values.
"""

ROUND = 6755399441055744.0
INV_PI = 0.3183098861837907
PI_1 = 3.141592653589793
PI_2 = 1.224646798818428e-16
PI_3 = 3.2892513872648515e-26
HALF_PI_1 = 1.5707963267948966
HALF_PI_2 = 6.12323399409214e-17
HALF_PI_3 = 1.6446256936324258e-26
PI_LOW = 1.2246467991473532e-16
BIG = 2097152.0

TURNS_0: "float64" = (
    0.3183098861837907,
    -0.8471368204354105,
    0.9924876636310758,
    0.9789189622803792,
    0.42848651404904736,
    0.6177029686506639,
    0.9967147013952551,
    -0.06497367078957618,
    0.8576998182408279,
    -0.8705000020535018,
    0.01227709395326139,
    -0.9808229770287121,
    0.49632200932736065,
    0.34602091448710265,
    -0.5458815706448461,
    0.5912724888083226,
    0.4562716529127888,
    -0.6477089448337349,
    0.6124407715994153,
    0.7564943419549841,
    0.3056974275668714,
    -0.1289584567857805,
    -0.43755650521869854,
    -0.06636357121934276,
    -0.032844020594875144,
    -0.324139203943008,
    -0.28669360848662423,
    -0.42227906834920104,
    -0.3451671778901188,
    -0.690674478484127,
    0.728818737892606,
)
TURNS_1: "float64" = (
    -1.9678676675182486e-17,
    5.4263175927554807e-17,
    -1.5589282983320628e-17,
    3.8847923520009147e-17,
    1.788755488206856e-18,
    2.5475228823658133e-17,
    3.734305073381521e-17,
    1.5791133590595046e-18,
    1.994998551633008e-17,
    -7.534165510275892e-18,
    7.858471907781079e-19,
    -3.391677016743567e-17,
    -5.233762727171069e-18,
    -1.4170995513715263e-17,
    3.1358177320697655e-17,
    1.049089800229153e-18,
    -1.210986385108331e-17,
    4.3192256105374105e-17,
    -4.194205218443446e-17,
    -3.151177152158339e-18,
    1.6025832730510928e-18,
    -3.597576404495396e-21,
    4.3190039107009567e-19,
    -3.1617579216630993e-18,
    8.518200463304582e-19,
    -8.262828305054802e-18,
    1.1907512347133591e-17,
    -4.157409793947556e-18,
    1.5109919540497076e-17,
    -3.621448092018801e-17,
    1.0279277199305778e-17,
)
TURNS_2: "float64" = (
    -1.0721436282893004e-33,
    -2.8326221867411155e-33,
    3.4315323997329435e-34,
    1.67453265410817e-33,
    -2.2049753468198506e-35,
    4.266489939331163e-34,
    1.3311768587243277e-33,
    -7.864933192143678e-35,
    -1.3894857613584355e-33,
    -2.0045015730989497e-34,
    -3.338564376510924e-35,
    2.1288964199934634e-34,
    3.1466354616174015e-34,
    -3.4299940007194934e-34,
    3.0326831853751042e-33,
    -1.5714136333430492e-35,
    3.106899327580826e-34,
    4.21126349678995e-34,
    -6.589422766316958e-34,
    5.717585019898839e-35,
    -3.909703862825095e-35,
    -1.7139924037701928e-37,
    -7.100828395759598e-36,
    -1.4489267464900344e-34,
    3.6547730758880666e-36,
    6.016277339844857e-34,
    -8.208686234720763e-36,
    -2.6037315249295584e-35,
    5.72317692973514e-34,
    6.958802253078725e-34,
    2.4785654239263237e-34,
)
TURNS_3: "float64" = (
    8.053563926594112e-50,
    -2.2478925242565714e-51,
    -1.692554237635867e-51,
    -9.736573543567882e-50,
    4.062588308710918e-52,
    8.400328565955411e-51,
    1.312145158202509e-50,
    -2.516583340512956e-51,
    6.570017578800855e-50,
    1.13707907885096e-50,
    -1.6951819473852854e-51,
    1.284408613258273e-50,
    -1.5538090586889453e-50,
    -8.593372788498029e-51,
    -1.6661333235980704e-49,
    6.910204826836917e-52,
    -2.708486042485527e-51,
    4.272557292192991e-50,
    4.0120672658118405e-50,
    -1.0906731502444673e-51,
    -2.6183370892396645e-51,
    -7.854647631584245e-54,
    -2.764747837976965e-52,
    -9.696724614738978e-52,
    -1.6749278815320903e-52,
    -1.4492807648219072e-50,
    -1.3602239007707343e-52,
    1.3741060976495228e-51,
    1.3794879366499225e-50,
    -2.675179701034911e-50,
    -5.984309304452465e-52,
)


def _two_sum_f64(a, b):
    s = a + b
    c = s - a
    return s, (a - (s - c)) + (b - c)


def _turns_f64(ax):
    """ax / pi mod 2 as a sum of three values of falling size."""
    e = int32(bitcast_int64(ax) >> 52) - 1076
    b = select(e > 0, e, int32(0)) >> 5
    m = ax * bitcast_float64(int64(1023 - (b << 5)) << 52)
    t0 = TURNS_0[b]
    t1 = TURNS_1[b]
    t2 = TURNS_2[b]
    p0 = m * t0
    q0 = fma(m, t0, -p0)
    p1 = m * t1
    q1 = fma(m, t1, -p1)
    p2 = m * t2
    q2 = fma(m, t2, -p2) + m * TURNS_3[b]
    p0 = p0 - 2.0 * rint(p0 * 0.5)
    q0 = q0 - 2.0 * rint(q0 * 0.5)
    p1 = p1 - 2.0 * rint(p1 * 0.5)
    for i in range(3):
        p2, q2 = _two_sum_f64(p2, q2)
        q1, p2 = _two_sum_f64(q1, p2)
        p1, q1 = _two_sum_f64(p1, q1)
        q0, p1 = _two_sum_f64(q0, p1)
        p0, q0 = _two_sum_f64(p0, q0)
    return p0, q0, p1


def _reduce_f64(ax, half):
    """ax - (n + half) * pi in [-pi/2, pi/2] for a large ax, with a low part, and n mod 2 as a sign bit; half is 0 or
    0.5."""
    v0, v1, v2 = _turns_f64(ax)
    n = rint(v0 - half)
    h, a = _two_sum_f64(v0, -(n + half))
    h, b = _two_sum_f64(h, v1)
    low = (a + b) + v2
    r = h * PI_1
    c = fma(h, PI_1, -r) + fma(h, PI_LOW, low * PI_1)
    odd = abs(n - 2.0 * rint(n * 0.5)) == 1.0
    return r, c, select(odd, uint64(1), uint64(0)) << 63


def _sin_poly_f64(r, c):
    """sin(r + c) for |r| <= pi/2 and a tiny c, degree 17, relative error 2**-61. Splitting off -z / 8, which is exact,
    spares a rounding near pi/2."""
    z = r * r
    w = z * z
    a = fma(z, 2.7214839137562557e-15, -7.643024796306507e-13)
    b = fma(z, 1.6058941181070952e-10, -2.5052106907296687e-08)
    d = fma(z, 2.755731921159194e-06, -0.00019841269841212547)
    p = fma(fma(a, w, b), w, d)
    p = fma(p, z, 0.008333333333333207)
    p = fma(p, z, -0.04166666666666666)
    v = fma(p, z, -0.125 * z)
    return r + fma(v, r, fma(c, -0.5 * z, c))


def sin_f64(x):
    ax = abs(x)
    t = fma(ax, INV_PI, ROUND)
    k = t - ROUND
    s = fma(k, -PI_1, ax)
    r = fma(k, -PI_2, s)
    c = fma(k, -PI_3, fma(k, -PI_2, s - r))
    flip = bitcast_uint64(t) << 63
    if not (ax < BIG):
        r, c, flip = _reduce_f64(ax, float64(0.0))
    sign = ((bitcast_uint64(x) >> 63) << 63) ^ flip
    return bitcast_float64(bitcast_uint64(_sin_poly_f64(r, c)) ^ sign)


def cos_f64(x):
    ax = abs(x)
    t = fma(ax, INV_PI, -0.5) + ROUND
    k = (t - ROUND) + 0.5
    # cos(x) = -(-1)**n sin(r): the minus is taken by negating r
    s = fma(k, PI_1, -ax)
    r = fma(k, PI_2, s)
    c = fma(k, PI_3, fma(k, PI_2, s - r))
    flip = bitcast_uint64(t) << 63
    if not (ax < BIG):
        r, c, flip = _reduce_f64(ax, float64(0.5))
        r = -r
        c = -c
    return bitcast_float64(bitcast_uint64(_sin_poly_f64(r, c)) ^ flip)


def _reduce_half_f64(ax):
    """ax - n * pi/2 in [-pi/4, pi/4] for a large ax, its low part, and n mod 4."""
    v0, v1, v2 = _turns_f64(ax)
    n = rint(2.0 * v0)
    h, a = _two_sum_f64(v0, -0.5 * n)
    h, b = _two_sum_f64(h, v1)
    low = (a + b) + v2
    r = h * PI_1
    c = fma(h, PI_1, -r) + fma(h, PI_LOW, low * PI_1)
    # Adding a power of two leaves n in the low bits, for NaN as well as for numbers.
    return r, c, bitcast_uint64(n + ROUND)


def sincos_f64(x):
    ax = abs(x)
    t = fma(ax, 0.6366197723675814, ROUND)
    k = t - ROUND
    s = fma(k, -HALF_PI_1, ax)
    r = fma(k, -HALF_PI_2, s)
    c = fma(k, -HALF_PI_3, fma(k, -HALF_PI_2, s - r))
    n = bitcast_uint64(t)
    if not (ax < BIG):
        r, c, n = _reduce_half_f64(ax)
    z = r * r
    w = z * z
    p = fma(z, 1.5895669198666778e-10, -2.5050737349528893e-08)
    p = fma(p, w, fma(z, 2.755731354988899e-06, -0.00019841269829370755))
    p = fma(p, w, fma(z, 0.008333333333321839, -0.1666666666666663))
    p = r + fma(r * z, p, fma(c, -0.5 * z, c))
    q = fma(z, -1.1243927376945745e-11, 2.0873652081987666e-09)
    q = fma(q, w, fma(z, -2.7557300907965983e-07, 2.4801587252275977e-05))
    q = fma(q, w, fma(z, -0.0013888888888837565, 0.0416666666666666))
    q = fma(z, -0.5, 1.0) + fma(w, q, -(r * c))
    swap = (n & 1) != 0
    sine = bitcast_uint64(select(swap, q, p))
    cosine = bitcast_uint64(select(swap, p, q))
    sign = ((bitcast_uint64(x) >> 63) ^ (n >> 1)) << 63
    return bitcast_float64(sine ^ sign), bitcast_float64(cosine ^ (((n + 1) >> 1) << 63))


def tan_f64(x):
    """One odd polynomial on [-pi/4, pi/4], degree 31; the reciprocal in odd octants."""
    ax = abs(x)
    t = fma(ax, 0.6366197723675814, ROUND)
    k = t - ROUND
    s = fma(k, -HALF_PI_1, ax)
    r = fma(k, -HALF_PI_2, s)
    c = fma(k, -HALF_PI_3, fma(k, -HALF_PI_2, s - r))
    n = bitcast_uint64(t)
    if not (ax < BIG):
        r, c, n = _reduce_half_f64(ax)
    z = r * r
    w = z * z
    p = fma(z, 9.80177409997148e-06, -2.428475417343906e-05)
    p = fma(p, w, fma(z, 4.865481523356152e-05, -2.5652776880616967e-05))
    p = fma(p, w, fma(z, 6.723401699412892e-05, 8.355385139299315e-05))
    p = fma(p, w, fma(z, 0.0002437524773740835, 0.000588864312639021))
    p = fma(p, w, fma(z, 0.0014560455928081687, 0.003592100874214507))
    p = fma(p, w, fma(z, 0.008863237923132383, 0.021869488399267337))
    p = fma(p, w, fma(z, 0.053968253972904924, 0.1333333333332534))
    p = fma(p, z, 0.3333333333333338)
    y = r + fma(r * z, p, fma(c, z, c))
    y = select((n & 1) != 0, -1.0 / y, y)
    return bitcast_float64(bitcast_uint64(y) ^ ((bitcast_uint64(x) >> 63) << 63))


def _sinpi_series_f64(r):
    """(sin(pi r) / r - 3.141592653589793) for |r| <= 1/2, degree 16."""
    z = r * r
    w = z * z
    p = fma(z, 7.673843862719341e-07, -2.1901169319421544e-05)
    p = fma(p, w, fma(z, 0.0004662989042219374, -0.007370430321647953))
    p = fma(p, w, fma(z, 0.08214588655279909, -0.5992645293177654))
    p = fma(p, z, 2.550164039877269)
    p = fma(p, z, -1.1677127800499694)
    # -4 z is exact; splitting it off spares a rounding near 1/2.
    return fma(-4.0, z, fma(p, z, 1.2246467991473532e-16))


def _sinpi_poly_f64(r):
    return fma(r, 3.141592653589793, r * _sinpi_series_f64(r))


def _sinpi_pair_f64(r):
    """sin(pi r) for |r| <= 1/2 as a sum of two float64."""
    a = r * 3.141592653589793
    v = _sinpi_series_f64(r)
    b = r * v
    s = a + b
    return s, ((a - s) + b) + (fma(r, 3.141592653589793, -a) + fma(r, v, -b))


def sinpi_f64(x):
    n = rint(x)
    r = x - n
    p = _sinpi_poly_f64(r)
    odd = rint(n * 0.5) * 2.0 != n
    y = select(odd, -p, p)
    return select(r == 0.0, copysign(float64(0.0), x) * (x - x + 1.0), y)


def cospi_f64(x):
    """cos(pi x) = sin(pi (1/2 - |r|)) with r = x - n."""
    n = rint(x)
    p = _sinpi_poly_f64(0.5 - abs(x - n))
    odd = rint(n * 0.5) * 2.0 != n
    return select(odd and p != 0.0, -p, p)
