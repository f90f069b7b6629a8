"""float64 gamma functions.

Above 3 both follow Stirling's formula, the exponent (x - 1/2) (log2(x) - log2(e)) being a sum of two values and the remainder a
minimax polynomial in 1 / x. Below, gamma is the reciprocal of a polynomial for 1 / gamma on [1, 2], and the logarithm is
(x - 1) (x - 2) times a polynomial in (x - 5/4) / (x + 5/4) on [1/2, 3]. Negative arguments use the reflection formula.
"""


def _stirling_f64(x):
    """(x - 1/2) (log2(x) - log2(e)) as a sum of two float64."""
    g, g_low = _log2_pair_f64(x)
    h = g - 1.4426950408889634
    low = (((g - h) - 1.4426950408889634) + g_low) - 2.0355273740931033e-17
    w = x - 0.5
    e = w * h
    return e, fma(w, h, -e) + w * low


def _gamma_near_f64(a):
    """d, its low part and n such that gamma(a) = n / d for 1 <= a <= 3 and n / (d a) for 0 < a < 1."""
    u = select(a < 1.0, a - 0.5, select(a > 2.0, a - 2.5, a - 1.5))
    w = u * u
    p = fma(u, -9.010930824361009e-08, 7.38575949963366e-08)
    p = fma(p, w, fma(u, 2.1566292254286265e-06, -1.390276571434521e-05))
    p = fma(p, w, fma(u, 2.5355109382845267e-05, 0.0001523587595098695))
    p = fma(p, w, fma(u, -0.0011107302432845408, 0.0021207313258749874))
    p = fma(p, w, fma(u, 0.006612897826162272, -0.04215516936237746))
    p = fma(p, w, fma(u, 0.05096686024772278, 0.1751020260437901))
    p = fma(p, w, fma(u, -0.5266544355255447, -0.04117452644528211))
    p = fma(p, u, 1.583249839511294e-17)
    d = p + 1.1283791670955126
    return d, (1.1283791670955126 - d) + p, select(a > 2.0, a - 1.0, float64(1.0))


def _gamma_far_f64(a):
    """gamma(a) = (p + p_low) * 2**n for 3 < a <= 200, n in the low bits of the third result."""
    e, e_low = _stirling_f64(a)
    b, t = _exp2_pair_f64(e, e_low)
    u = 1.0 / a
    w = u * u
    p = fma(u, 0.0022290125938993466, -0.006375616369048963)
    p = fma(p, w, fma(u, 0.00776205698223728, -0.00466584232313694))
    p = fma(p, w, fma(u, 0.0007082714539515207, 0.0007364939141727182))
    p = fma(p, w, fma(u, -3.9941181401114645e-05, -0.0005931007312005782))
    p = fma(p, w, fma(u, 6.977715762799008e-05, 0.0007840377008819364))
    p = fma(p, w, fma(u, -0.00022947207487209438, -0.0026813271602217875))
    p = fma(p, w, fma(u, 0.003472222222212425, 0.0833333333333334))
    # sqrt(2 pi / e) times the remainder
    d = fma(p * u, 1.520346901066281, -9.239528122039697e-17)
    c = d + 1.520346901066281
    c_low = (1.520346901066281 - c) + d
    p = fma(b, c, c)
    return p, fma(b, c, c - p) + fma(b, c_low, c_low), t


def tgamma_f64(x):
    a = abs(x)
    c = select(a > 200.0, float64(200.0), a)
    below = c < 1.0
    u = float64(1.0)
    u_low = float64(0.0)
    p = float64(1.0)
    p_low = float64(0.0)
    t = float64(6755399441055744.0)
    if c <= 3.0:
        u, u_low, p = _gamma_near_f64(c)
    if c > 3.0:
        p, p_low, t = _gamma_far_f64(c)
    n = bitcast_int64(t) - 0x4338000000000000
    d = select(below, u * c, u)
    i = 1.0 / d
    q = p * i
    q = q + i * (fma(-q, d, p) - q * select(below, fma(u, c, -d) + u_low * c, u_low))
    y = _scale_f64(q, n)
    if not (x > 0.0 and a > 1e-17):
        infinity = bitcast_float64(uint64(0x7FF0000000000000))
        m = rint(a)
        s, s_low = _sinpi_pair_f64(a - m)
        # -pi u / (c p s), products and quotient with their rounding errors; c and the c below u cancel
        c = select(below, float64(1.0), c)
        v = c * p
        d = v * s
        d_low = fma(v, s, -d) + fma(v, s_low, fma(c, p_low, fma(c, p, -v)) * s)
        w = -3.141592653589793 * u
        w_low = fma(-3.141592653589793, u, -w) - fma(1.2246467991473532e-16, u, 3.141592653589793 * u_low)
        q = w / d
        q = q + (fma(-q, d, w) + fma(-q, d_low, w_low)) / d
        y = _scale_f64(select(rint(m * 0.5) * 2.0 != m, -q, q), -n)
        y = select(s == 0.0, infinity - infinity, y)
        y = select(a < 1e-17, 1.0 / x, y)
        y = select(isnan(x), x, y)
    return y


def _lgamma_series_f64(x):
    """lgamma(x) / ((x - 1) (x - 2)) on [1/2, 3]."""
    t = (x - 1.25) / (x + 1.25)
    w = t * t
    p = fma(t, 0.07407365963728624, -0.06401545884993601)
    p = fma(p, w, fma(t, -0.017686486733813563, 0.0010688228537388284))
    p = fma(p, w, fma(t, 0.03711178440156603, -0.03372412716694611))
    p = fma(p, w, fma(t, 0.022181845579621932, -0.02770772792847155))
    p = fma(p, w, fma(t, 0.02863658354438405, -0.033186762086713305))
    p = fma(p, w, fma(t, 0.03170990973811808, -0.03800683307506157))
    p = fma(p, w, fma(t, 0.03637274119930473, -0.044837741664999146))
    p = fma(p, w, fma(t, 0.04254997858952777, -0.054626755177319616))
    p = fma(p, w, fma(t, 0.05124965610650409, -0.06988500363947998))
    p = fma(p, w, fma(t, 0.06438030153552679, -0.0969790008998665))
    p = fma(p, w, fma(t, 0.08634870698274934, -0.15859622433236237))
    p = fma(p, w, fma(t, 0.1296399016142764, -0.46139596109204023))
    return fma(p, t, -3.94230570063616e-17) + 0.5241164609163369


def _lgamma_far_f64(a):
    e, e_low = _stirling_f64(a)
    u = 1.0 / a
    w = u * u
    v = w * w
    p = fma(w, -0.055069100760167904, 0.043515692442035334)
    p = fma(p, v, fma(w, -0.01776171886934037, 0.005643764582241266))
    p = fma(p, v, fma(w, -0.001882695985638471, 0.0008407034127536575))
    p = fma(p, v, fma(w, -0.0005952185704772183, 0.0007936505900258274))
    p = fma(p, v, fma(w, -0.0027777777767946507, 0.08333333333333193))
    h = e * 0.6931471805599453
    low = fma(e, 0.6931471805599453, -h) + fma(e, 2.3190468138462996e-17, e_low * 0.6931471805599453)
    y = h + (low + fma(u, p, 0.4189385332046727))
    if not (a < 1e300):
        y = a * (log_f64(a) - 1.0)
    return y


def lgamma_f64(x):
    a = abs(x)
    small = a < 0.5
    b = float64(0.0)
    if a <= 3.0:
        c = select(small, a + 1.0, a)
        b = _lgamma_series_f64(c) * select(small, a, a - 2.0) * (a - 1.0)
    if a > 3.0:
        b = _lgamma_far_f64(a)
    y = select(b == 0.0, float64(0.0), b)
    if not (x >= 0.5):
        # a logarithm is needed below 1/2: of 1 / x, or in the reflection formula
        s = abs(sinpi_f64(a))
        q = s * select(small, float64(0.3183098861837907), 0.3183098861837907 * a)
        l = -log_f64(select(x > 0.0, a, q))
        y = select(x > 0.0, l + b, l - b)
        infinity = bitcast_float64(uint64(0x7FF0000000000000))
        y = select((x <= 0.0 and s == 0.0) or a == infinity, infinity, y)
    y = select(isnan(x), x, y)
    return y
