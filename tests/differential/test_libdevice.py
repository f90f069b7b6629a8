"""cuda.libdevice against NumPy, math and exact arithmetic: every name, with its bound in units in the last place."""

import math
from fractions import Fraction

import numpy as np
import pytest

import treadle as td
from treadle import cuda
from treadle.cuda import libdevice
from treadle.errors import UnsupportedError

TYPES = {"h": "int16", "i": "int32", "l": "int64", "f": "float32", "d": "float64"}
ROWS = libdevice._FUNCTIONS


def run(name, *arrays):
    """The results of a function on host arrays, a list of them."""
    arguments, result, _ = ROWS[name]
    function = getattr(libdevice, name)
    on_device = [td.array(np.asarray(x).astype(TYPES[kind])) for x, kind in zip(arrays, arguments, strict=True)]
    out = [td.zeros(on_device[0].size, TYPES[kind]) for kind in result]

    @cuda.jit
    def one(x, a):
        i = cuda.grid(1)
        a[i] = function(x[i])

    @cuda.jit
    def two(x, y, a):
        i = cuda.grid(1)
        a[i] = function(x[i], y[i])

    @cuda.jit
    def three(x, y, z, a):
        i = cuda.grid(1)
        a[i] = function(x[i], y[i], z[i])

    @cuda.jit
    def one_pair(x, a, b):
        i = cuda.grid(1)
        a[i], b[i] = function(x[i])

    @cuda.jit
    def two_pair(x, y, a, b):
        i = cuda.grid(1)
        a[i], b[i] = function(x[i], y[i])

    kernel = {"11": one, "21": two, "31": three, "12": one_pair, "22": two_pair}[f"{len(arguments)}{len(result)}"]
    kernel[math.ceil(out[0].size / 128), 128](*on_device, *out)
    return [x.get() for x in out]


SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan]


def floats(kind, low=-10.0, high=10.0, special=SPECIAL, seed=0):
    """Numbers of a range, small ones, whole ones, and special ones."""
    rng = np.random.default_rng([seed, ord(kind)])
    values = [
        rng.uniform(low, high, 600),
        rng.uniform(low, high, 100) * 1e-3,
        np.rint(rng.uniform(low, high, 40)),
        special,
    ]
    return np.concatenate(values).astype(TYPES[kind])


def wide(kind):
    return np.longdouble if kind == "d" else np.float64


def names_of(base, single=None):
    """The names of both types, with their letters."""
    return [(base, "d"), (single or base + "f", "f")]


# ------------------------------------------------------------------------------------- functions of one real number


def by_math(function):
    """A function of math, for arrays."""

    def one(x):
        try:
            return function(float(x))
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan

    return lambda x: np.array([one(value) for value in x]).astype(x.dtype)


def exp_of(base):
    return lambda x: np.power(x.dtype.type(base), x)


# name: reference, bound, least and most argument. Functions of math have errors of their own.
ONE = {
    "acos": (np.arccos, 1.5, -1, 1),
    "acosh": (np.arccosh, 1.5, 1, 100),
    "asin": (np.arcsin, 1.5, -1, 1),
    "asinh": (np.arcsinh, 1.5, -100, 100),
    "atan": (np.arctan, 1.6, -10, 10),
    "atanh": (np.arctanh, 1.6, -1, 1),
    "cbrt": (np.cbrt, 1.2, -1e6, 1e6),
    "ceil": (np.ceil, 0, -10, 10),
    "cos": (np.cos, 1.8, -100, 100),
    "cosh": (np.cosh, 1.9, -80, 80),
    "erf": (by_math(math.erf), 2, -4, 4),
    "erfc": (by_math(math.erfc), 2.5, -4, 9),
    "exp": (np.exp, 1.1, -80, 80),
    "exp10": (exp_of(10), 1.5, -37, 37),
    "exp2": (np.exp2, 1.1, -120, 120),
    "expm1": (np.expm1, 1.9, -20, 80),
    "fabs": (np.abs, 0, -10, 10),
    "floor": (np.floor, 0, -10, 10),
    "lgamma": (by_math(math.lgamma), 3, 4, 100),  # that of math is wrong near its zeros
    "log": (np.log, 1, 0, 1e6),
    "log10": (np.log10, 1, 0, 1e6),
    "log1p": (np.log1p, 1.5, -1, 1e3),
    "log2": (np.log2, 1, 0, 1e6),
    "logb": (
        lambda x: np.where(x == 0, -np.inf, np.where(np.isinf(x), np.inf, np.frexp(x)[1] - 1 + 0 * x)),
        0,
        -1e6,
        1e6,
    ),
    "nearbyint": (np.rint, 0, -10, 10),
    "rcbrt": (lambda x: 1 / np.cbrt(x), 2, -1e6, 1e6),
    "rint": (np.rint, 0, -10, 10),
    "round": (lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), 0, -10, 10),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 1.5, 0, 1e6),
    "sin": (np.sin, 1.8, -100, 100),
    "sinh": (np.sinh, 1.9, -80, 80),
    "sqrt": (np.sqrt, 0.5, 0, 1e6),
    "tan": (np.tan, 1.9, -100, 100),
    "tanh": (np.tanh, 1.5, -10, 10),
    "tgamma": (by_math(math.gamma), 12, 0.1, 30),  # that of math has the large errors
    "trunc": (np.trunc, 0, -10, 10),
}
ONE_SINGLE = {
    "fast_cosf": (np.cos, 1.8, -100, 100),
    "fast_exp10f": (exp_of(10), 1.5, -37, 37),
    "fast_expf": (np.exp, 1.1, -80, 80),
    "fast_log10f": (np.log10, 1, 0, 1e6),
    "fast_log2f": (np.log2, 1, 0, 1e6),
    "fast_logf": (np.log, 1, 0, 1e6),
    "fast_sinf": (np.sin, 1.8, -100, 100),
    "fast_tanf": (np.tan, 1.9, -100, 100),
    "frsqrt_rn": (lambda x: 1 / np.sqrt(x), 0.5, 0, 1e6),
    "saturatef": (lambda x: np.where(x > 0, np.minimum(x, 1), 0), 0, -2, 2),
}
PI_TIMES = {"cospi": (np.cos, 2), "sinpi": (np.sin, 2)}
ONE_CASES = [
    *[(name, kind, *row) for base, row in ONE.items() for name, kind in names_of(base)],
    *[(name, "f", *row) for name, row in ONE_SINGLE.items()],
]


@pytest.mark.parametrize(("name", "kind", "reference", "bound", "low", "high"), ONE_CASES)
def test_one(name, kind, reference, bound, low, high, ulps):
    special = [] if "lgamma" in name or "tgamma" in name else SPECIAL
    if name.startswith("rcbrt"):
        special = [x for x in SPECIAL if x != 0 and math.isfinite(x)]
    x = floats(kind, low, high, special)
    with np.errstate(all="ignore"):
        expected = reference(x.astype(wide(kind)))
        worst = ulps(run(name, x)[0], expected, TYPES[kind])
    assert worst.max() <= bound, (x[worst.argmax()], worst.max())


def reduced(function):
    """sin(pi x) or cos(pi x) of arrays, without rounding pi x where that matters."""

    def apply(x):
        r = np.fmod(x, 2)
        pi = np.longdouble("3.14159265358979323846264338327950288")
        result = function(pi * r.astype(np.longdouble))
        exact = np.rint(2 * r) == 2 * r
        table = np.rint(function(np.pi * r.astype("float64")))
        return np.where(exact, table, result)

    return apply


@pytest.mark.parametrize(("name", "kind"), [*names_of("sinpi"), *names_of("cospi")])
def test_pi(name, kind, ulps):
    x = floats(kind, -50, 50, [0.5, 1.0, 1.5, 2.0])
    expected = reduced(np.sin if "sin" in name else np.cos)(x.astype(wide(kind)))
    got = run(name, x)[0]
    # Zeros have either sign.
    assert np.where((got == 0) & (expected == 0), 0, ulps(got, expected, TYPES[kind])).max() <= 2


@pytest.mark.parametrize(("name", "kind"), [*names_of("sincos"), *names_of("sincospi"), ("fast_sincosf", "f")])
def test_pairs_are_their_parts(name, kind, ulps):
    x = floats(kind, -50, 50)
    pi = "pi" if "pi" in name else ""
    end = "f" if kind == "f" else ""
    for got, part in zip(run(name, x), (f"sin{pi}{end}", f"cos{pi}{end}"), strict=True):
        np.testing.assert_allclose(got, run(part, x)[0], rtol=4 * np.finfo(TYPES[kind]).eps, atol=1e-30)


# Exact to the float64; computed with 300 bits.
GOLD = {
    "erfcx": [
        (-20.5, 6.50557990548002e182),
        (-3.25, 77315.13640375607),
        (-0.5, 1.952360489182557),
        (1e-05, 0.9999887163083283),
        (0.75, 0.5069376502931449),
        (2.5, 0.2108063640611436),
        (9.125, 0.061464215416668064),
        (24.5, 0.023009011874778183),
        (26.5, 0.021275046685371106),
        (1000.0, 0.0005641893014533876),
    ],
    "erfinv": [
        (-0.99, -1.8213863677184494),
        (-0.3, -0.2724627147267543),
        (1e-20, 8.86226925452758e-21),
        (0.001, 0.0008862271574665521),
        (0.25, 0.2253120550121781),
        (0.5, 0.4769362762044699),
        (0.625, 0.627307347788559),
        (0.9, 1.1630871536766743),
        (0.9999999, 3.7665625816384707),
    ],
    "erfcinv": [
        (1e-300, 26.209469960516124),
        (1e-30, 8.148616223169865),
        (0.001, 2.3267537655135246),
        (0.25, 0.8134198475976185),
        (0.5, 0.4769362762044699),
        (0.75, 0.2253120550121781),
        (1.25, -0.2253120550121781),
        (1.75, -0.8134198475976185),
        (1.9999, -2.75106390571208),
    ],
    "normcdf": [
        (-37.5, 4.605353009581955e-308),
        (-20.25, 1.77619986494957e-91),
        (-5.5, 1.8989562465887718e-08),
        (-1.25, 0.10564977366685525),
        (-0.01, 0.4960106436853684),
        (0.5, 0.6914624612740131),
        (2.0, 0.9772498680518208),
        (6.5, 0.99999999995984),
    ],
    "normcdfinv": [
        (1e-300, -37.0470962993612),
        (1e-10, -6.361340902404057),
        (0.01, -2.326347874040841),
        (0.25, -0.6744897501960817),
        (0.375, -0.31863936396437514),
        (0.625, 0.31863936396437514),
        (0.9, 1.2815515655446006),
        (0.999, 3.090232306167813),
    ],
    "j0": [
        (-3.5, -0.3801277399872634),
        (0.001, 0.9999997500000156),
        (0.75, 0.8642422751666486),
        (2.404825557695773, -6.10876525973673e-17),
        (5.5, -0.006843869417819197),
        (11.25, -0.12266024171056998),
        (20.0, 0.16702466434058316),
        (24.9, 0.0832459683530155),
    ],
    "j1": [
        (-3.5, -0.1373775273623272),
        (0.001, 0.0004999999375000026),
        (0.75, 0.34924360217486217),
        (3.8317059702075125, -6.149807356994906e-17),
        (5.5, -0.34143821542904335),
        (11.25, -0.2093251796247206),
        (20.0, 0.06683312417585005),
        (24.9, -0.13485569953140886),
    ],
    "y0": [
        (1e-08, -11.80077387717953),
        (0.001, -4.471416611375923),
        (0.75, -0.1371727693857724),
        (0.8935769662791675, -2.3389279284062102e-17),
        (5.5, -0.339480592881911),
        (11.25, -0.20368533656076093),
        (20.0, 0.06264059680938383),
        (24.9, -0.13649918399676522),
    ],
    "y1": [
        (1e-08, -63661977.236758195),
        (0.001, -636.6221672311394),
        (0.75, -1.0375945507692854),
        (2.197141326031017, 2.513306678922122e-17),
        (5.5, -0.023758238956389618),
        (11.25, 0.11374471754971635),
        (20.0, -0.1655116143625213),
        (24.9, -0.08600255759555425),
    ],
    "jn": [
        (0, 1.5, 0.5118276717359181),
        (1, 2.5, 0.49709410246427405),
        (2, 0.5, 0.03060402345868264),
        (3, 10.0, 0.058379379305186815),
        (5, 4.75, 0.22804452118769436),
        (10, 3.0, 1.2928351645715883e-05),
        (30, 12.5, 7.836631126330117e-10),
        (7, 100.0, 0.07017269098721272),
    ],
    "yn": [
        (0, 1.5, 0.38244892379775886),
        (1, 2.5, 0.1459181379667858),
        (2, 0.5, -5.441370837174266),
        (3, 10.0, -0.2513626571838373),
        (5, 4.75, -0.5213083833174759),
        (10, 3.0, -2582.6071294842995),
        (30, 12.5, -14896529.132819064),
        (7, 100.0, 0.03817804831713343),
    ],
}
FAR = {
    "j0": [
        (25.0, 0.09626678327595811),
        (33.3, 0.06333848594752126),
        (500.5, -0.034945768284930255),
        (12345.0, -0.004480422295220666),
    ],
    "j1": [
        (25.0, -0.1253502495802899),
        (33.3, 0.12386214790148009),
        (500.5, -0.0071595351693904),
        (12345.0, -0.005612209079694793),
    ],
    "y0": [
        (25.0, -0.12724943226800614),
        (33.3, 0.12289749913503732),
        (500.5, -0.007124620791629313),
        (12345.0, -0.005612027608008375),
    ],
    "y1": [
        (25.0, -0.09882996478323741),
        (33.3, -0.061500722807785735),
        (500.5, 0.03493866822662706),
        (12345.0, 0.0044801949992763455),
    ],
}
GOLD_BOUNDS = {"erfcx": 3.5, "erfinv": 3, "erfcinv": 3, "normcdf": 3, "normcdfinv": 3.5}


@pytest.mark.parametrize("base", GOLD)
def test_special_functions(base, ulps):
    rows = GOLD[base]
    for name, kind in names_of(base):
        kept = [row for row in rows if kind == "d" or np.all(np.float32(row[:-1]) == row[:-1])]
        expected = np.array([row[-1] for row in kept])
        got = run(name, *np.array([row[:-1] for row in kept]).T)[0]
        bound = {"jn": 40, "yn": 20}.get(base, GOLD_BOUNDS.get(base, 4.5)) if kind == "d" else 0.51
        with np.errstate(all="ignore"):
            assert ulps(got, expected, TYPES[kind]).max() <= bound


@pytest.mark.parametrize("base", FAR)
def test_bessel_far(base):
    x, expected = map(np.array, zip(*FAR[base], strict=True))
    amplitude = np.sqrt(2 / np.pi / x)
    assert np.max(np.abs(run(base, x)[0] - expected) / amplitude) < 8 * 2.0**-53
    # float32 holds the last of the arguments only nearly
    assert np.max(np.abs(run(base + "f", x[:1])[0] - expected[:1]) / amplitude[:1]) < 2.0**-24


def test_bessel_zeros_and_limits():
    inf, nan = math.inf, math.nan
    x = [0.0, -0.0, inf, nan, -1.0, -inf]
    np.testing.assert_array_equal(run("j0", x)[0][:4], [1, 1, 0, nan])
    np.testing.assert_array_equal(run("j1", x)[0][:4], [0, 0, 0, nan])
    for name in ("y0", "y1"):
        np.testing.assert_array_equal(run(name, x)[0], [-inf, -inf, 0, nan, nan, nan])
    np.testing.assert_array_equal(run("jn", [-1, 3, 3, 2], [1.0, 0.0, inf, nan])[0], [nan, 0, 0, nan])
    np.testing.assert_array_equal(run("yn", [-1, 3, 3, 2], [1.0, 0.0, inf, nan])[0], [nan, -inf, 0, nan])
    # Odd orders are odd functions.
    a, b = run("jn", [3, 3, 4, 4], [2.0, -2.0, 2.0, -2.0])[0].reshape(2, 2)
    assert a[0] == -a[1] and b[0] == b[1]


def test_wronskian():
    x = np.random.default_rng(1).uniform(0.01, 60, 2000)
    j0, j1, y0, y1 = (run(name, x)[0] for name in ("j0", "j1", "y0", "y1"))
    np.testing.assert_allclose(j1 * y0 - j0 * y1, 2 / (np.pi * x), rtol=4e-15)


def test_inverse_limits():
    inf, nan = math.inf, math.nan
    np.testing.assert_array_equal(run("erfinv", [1, -1, 0, 1.5, nan])[0], [inf, -inf, 0, nan, nan])
    np.testing.assert_array_equal(run("erfcinv", [0, 2, 1, -1, 3, nan])[0], [inf, -inf, 0, nan, nan, nan])
    np.testing.assert_array_equal(run("normcdf", [inf, -inf, nan, 0])[0], [1, 0, nan, 0.5])
    np.testing.assert_array_equal(run("normcdfinv", [0, 1, 0.5, -1, nan])[0], [-inf, inf, 0, nan, nan])
    np.testing.assert_array_equal(run("erfcx", [inf, -inf, nan, -30])[0], [0, inf, nan, inf])


# --------------------------------------------------------------------------------- functions of two and three numbers

TWO = {
    "atan2": (np.arctan2, 1.6),
    "copysign": (np.copysign, 0),
    "fdim": (lambda x, y: np.where(np.isnan(x) | np.isnan(y), np.nan, np.where(x > y, x - y, 0)), 0.5),
    "fmax": (np.fmax, 0),
    "fmin": (np.fmin, 0),
    "fmod": (np.fmod, 0),
    "hypot": (np.hypot, 1.2),
    "pow": (np.power, 1.2),
}
TWO_CASES = [
    *[(name, kind, *row) for base, row in TWO.items() for name, kind in names_of(base)],
    *[(name, kind, np.add, 0.5) for name, kind in (("dadd_rn", "d"), ("fadd_rn", "f"))],
    *[(name, kind, np.multiply, 0.5) for name, kind in (("dmul_rn", "d"), ("fmul_rn", "f"))],
    *[(name, kind, np.divide, 0.5) for name, kind in (("ddiv_rn", "d"), ("fdiv_rn", "f"), ("fast_fdividef", "f"))],
    ("fsub_rn", "f", np.subtract, 0.5),
    ("fast_powf", "f", np.power, 1.2),
]


@pytest.mark.parametrize(("name", "kind", "reference", "bound"), TWO_CASES)
def test_two(name, kind, reference, bound, ulps):
    x, y = floats(kind), np.roll(floats(kind, seed=1), 5)
    with np.errstate(all="ignore"):
        exact = kind == "d" and bound == 0.5  # the operation itself: longdouble would round twice
        to = np.float64 if exact else wide(kind)
        expected = reference(x.astype(to), y.astype(to))
        got = run(name, x, y)[0]
        worst = ulps(got, expected, TYPES[kind])
        if name.startswith(("fmax", "fmin")):
            worst = np.where((x == 0) & (y == 0), 0, worst)
    assert worst.max() <= bound, (x[worst.argmax()], y[worst.argmax()], worst.max())


@pytest.mark.parametrize(("name", "kind"), [*names_of("remainder"), *names_of("remquo")])
def test_remainder(name, kind):
    x, y = floats(kind, -1e4, 1e4, []), floats(kind, -10, 10, [], seed=1)
    y[y == 0] = 1
    x[:4] = [1e30, 7, -7, 5]
    y[:4] = [3, 2, 2, -2]
    expected = [math.remainder(float(a), float(b)) for a, b in zip(x, y, strict=True)]
    results = run(name, x, y)
    np.testing.assert_array_equal(results[0], expected)
    if len(results) == 2:
        quotients = [round(Fraction(float(a)) / Fraction(float(b))) for a, b in zip(x, y, strict=True)]
        np.testing.assert_array_equal(results[1], [int(math.copysign(abs(q) % 8, q)) for q in quotients])


@pytest.mark.parametrize(("name", "kind"), names_of("nextafter"))
def test_nextafter(name, kind):
    x, y = floats(kind), np.roll(floats(kind, seed=1), 5)
    np.testing.assert_array_equal(run(name, x, y)[0], np.nextafter(x, y))


@pytest.mark.parametrize(("name", "kind"), [*names_of("ldexp"), *names_of("scalbn")])
def test_ldexp(name, kind):
    x, n = floats(kind), np.random.default_rng(2).integers(-150, 150, 752)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(run(name, x, n)[0], np.ldexp(x, n))


@pytest.mark.parametrize(("name", "kind"), names_of("powi"))
def test_powi(name, kind, ulps):
    x, n = floats(kind), np.random.default_rng(2).integers(-20, 20, 752)
    with np.errstate(all="ignore"):
        expected = np.power(x.astype(wide(kind)), n.astype(wide(kind)))
        assert ulps(run(name, x, n)[0], expected, TYPES[kind]).max() <= 1.2


@pytest.mark.parametrize(("name", "kind"), names_of("frexp"))
def test_frexp(name, kind):
    x = floats(kind)
    x[:3] = [np.finfo(TYPES[kind]).smallest_subnormal, np.finfo(TYPES[kind]).max, -np.finfo(TYPES[kind]).tiny]
    for got, expected in zip(run(name, x), np.frexp(x), strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(("name", "kind"), names_of("modf"))
def test_modf(name, kind):
    x = floats(kind)
    for got, expected in zip(run(name, x), np.modf(x), strict=True):
        np.testing.assert_array_equal(got, expected)
        np.testing.assert_array_equal(np.signbit(got[:700]), np.signbit(expected[:700]))


@pytest.mark.parametrize(("name", "kind"), names_of("ilogb"))
def test_ilogb(name, kind):
    x = floats(kind, special=[])
    np.testing.assert_array_equal(run(name, x)[0], np.where(x == 0, -(2**31), np.frexp(x)[1] - 1))
    np.testing.assert_array_equal(
        run(name, [0.0, np.inf, -np.inf, np.nan])[0], [-(2**31), 2**31 - 1, 2**31 - 1, -(2**31)]
    )


PREDICATES = {
    "isfinited": np.isfinite,
    "finitef": np.isfinite,
    "isinfd": np.isinf,
    "isinff": np.isinf,
    "isnand": np.isnan,
    "isnanf": np.isnan,
    "signbitd": np.signbit,
    "signbitf": np.signbit,
}


@pytest.mark.parametrize("name", PREDICATES)
def test_predicates(name):
    x = floats(ROWS[name][0], special=SPECIAL[:-1] if "sign" in name else SPECIAL)
    np.testing.assert_array_equal(run(name, x)[0], PREDICATES[name](x).astype("int32"))


# ------------------------------------------------------------------------------------------------- rounding directions


def rounded(value, near, kind, mode):
    """A Fraction rounded in a direction, near being the float closest to it; overflow and zeros as IEEE 754 has them."""
    number = np.float32 if kind == "f" else np.float64
    near = number(near)
    with np.errstate(over="ignore"):
        down = number(np.nextafter(near, number(-np.inf)))
        up = number(np.nextafter(near, number(np.inf)))
        exact = math.inf if np.isinf(near) and near > 0 else -math.inf if np.isinf(near) else Fraction(float(near))
    if exact == value:
        return near
    below, above = (near, up) if exact < value else (down, near)
    return {"rd": below, "ru": above, "rz": below if value > 0 else above}[mode]


def samples(kind, seed):
    """Numbers of all sizes, whose results round, cancel, overflow and underflow."""
    rng = np.random.default_rng([seed, ord(kind)])
    bits = 23 if kind == "f" else 52
    most = 126 if kind == "f" else 1020
    n = 400
    small = rng.normal(size=n)
    large = rng.normal(size=n) * np.exp2(rng.uniform(-most, most, n))
    whole = rng.integers(1, 9, 100) * np.exp2(rng.integers(-bits - 3, bits + 3, 100))
    info = np.finfo(TYPES[kind])
    edges = [info.max, -info.max, info.tiny, -info.tiny, info.smallest_subnormal, -info.smallest_subnormal, 1, -1, 3]
    return np.concatenate([small, large, whole, rng.choice(edges, 60)]).astype(TYPES[kind])


EXACT = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "rcp": lambda x: 1 / x,
    "fma": lambda x, y, z: x * y + z,
}
DIRECTED = [
    (f"{letter}{op}_{mode}", letter, op, mode)
    for mode in ("rd", "ru", "rz")
    for letter in "df"
    for op in ("add", "sub", "mul", "div", "rcp")
    if (letter, op) != ("d", "sub")
] + [(f"fma{end}_{mode}", kind, "fma", mode) for mode in ("rd", "ru", "rz") for kind, end in (("d", ""), ("f", "f"))]


@pytest.mark.parametrize(("name", "kind", "op", "mode"), DIRECTED)
def test_directed(name, kind, op, mode):
    arrays = [samples(kind, seed) for seed in range(len(ROWS[name][0]))]
    if op == "fma":
        # A third of the sums nearly cancel.
        with np.errstate(all="ignore"):
            arrays[2][::3] = -(arrays[0] * arrays[1])[::3]
            arrays[2][~np.isfinite(arrays[2])] = 1
    got = run(name, *arrays)[0]
    nearest_name = {"rcp": f"{kind}rcp_rn", "fma": f"fma{'f' if kind == 'f' else ''}_rn"}.get(op, f"{kind}{op}_rn")
    nearest = run(nearest_name, *arrays)[0]
    for row in zip(*arrays, nearest, got, strict=True):
        *operands, near, result = row
        value = EXACT[op](*(Fraction(float(x)) for x in operands))
        if value == 0:
            assert result == 0
            continue
        assert result == rounded(value, near, kind, mode), (operands, near, result)


@pytest.mark.parametrize("name", [f"{kind}sqrt_{mode}" for kind in "df" for mode in ("rn", "rd", "ru", "rz")])
def test_sqrt_directed(name):
    kind, mode = name[0], name[-2:]
    x = np.abs(samples(kind, 0))
    near = np.sqrt(x)
    got = run(name, x)[0]
    for value, close, result in zip(x, near, got, strict=True):
        square, exact = Fraction(float(close)) ** 2, Fraction(float(value))
        wanted = close
        if mode == "ru" and square < exact:
            wanted = np.nextafter(close, close.dtype.type(np.inf))
        if mode in ("rd", "rz") and square > exact:
            wanted = np.nextafter(close, close.dtype.type(0))
        assert result == wanted, (value, close)


def test_directed_specials():
    inf, nan = np.inf, np.nan
    x, y = [inf, inf, 1, 0, -1, 0, 1], [1, -inf, 0, 0, 0, inf, inf]
    np.testing.assert_array_equal(run("dadd_rd", x, y)[0], [inf, nan, 1, 0, -1, inf, inf])
    np.testing.assert_array_equal(run("ddiv_rd", x, y)[0], [inf, nan, inf, nan, -inf, 0, 0])
    np.testing.assert_array_equal(run("dmul_rz", x, y)[0], [inf, -inf, 0, 0, 0, nan, inf])
    np.testing.assert_array_equal(run("fma_ru", x, y, [1] * 7)[0], [inf, -inf, 1, 1, 1, nan, inf])
    # Terms that cancel: a negative zero when rounded down, otherwise a positive one.
    for name, arguments in (
        ("dadd", ([2.0], [-2.0])),
        ("fadd", ([2.0], [-2.0])),
        ("fsub", ([2.0], [2.0])),
        ("fma", ([2.0], [3.0], [-6.0])),
    ):
        assert np.signbit(run(f"{name}_rd", *arguments)[0][0]) and not np.signbit(run(f"{name}_ru", *arguments)[0][0])


def whole(kind, seed=0):
    info = np.iinfo(TYPES[kind])
    rng = np.random.default_rng([seed, ord(kind)])
    edges = [0, 1, -1, 2, 3, info.max, info.min, info.max - 1, info.min + 1, 1 << 20, (1 << 24) + 1, -(1 << 24) - 1]
    values = [rng.integers(info.min, info.max, 300, dtype=TYPES[kind]), rng.integers(-100, 100, 100), edges]
    return np.concatenate([np.asarray(part, TYPES[kind]) for part in values])


FROM_WHOLE = [name for name in ROWS if "2" in name and name.split("2")[0] in ("int", "uint", "ll", "ull")]


@pytest.mark.parametrize("name", FROM_WHOLE)
def test_whole_to_float(name):
    kind, result, _ = ROWS[name]
    x = whole(kind)
    values = x.view(f"u{x.itemsize}") if name.startswith("u") else x
    near = values.astype(TYPES[result])
    got = run(name, x)[0]
    mode = name[-2:]
    for value, close, number in zip(values, near, got, strict=True):
        assert number == (close if mode == "rn" or value == 0 else rounded(Fraction(int(value)), close, result, mode))


TO_WHOLE = [
    name for name in ROWS if name.split("2")[0] in ("float", "double") and ROWS[name][1] in "il" and name[-3] == "_"
]


@pytest.mark.parametrize("name", TO_WHOLE)
def test_float_to_whole(name):
    kind, result, _ = ROWS[name]
    x = np.concatenate(
        [
            floats(kind, -50, 50),
            floats(kind, -1e20, 1e20),
            np.array([2**31, 2**32, 2**63, 2**64, -(2**31)], TYPES[kind]),
        ]
    )
    function = {"rn": np.rint, "rd": np.floor, "ru": np.ceil, "rz": np.trunc}[name[-2:]]
    bits = 32 if result == "i" else 64
    low, high = (0, 2**bits - 1) if "2u" in name else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)

    def convert(value):
        if np.isnan(value):
            return 0
        number = min(max(int(value), low), high) if np.isfinite(value) else (high if value > 0 else low)
        return number - 2**bits if number >= 2 ** (bits - 1) else number

    np.testing.assert_array_equal(run(name, x)[0], [convert(value) for value in function(x)])


@pytest.mark.parametrize("mode", ("rn", "rd", "ru", "rz"))
def test_double_to_float(mode):
    x = np.concatenate(
        [samples("d", 0), samples("f", 1).astype("float64") * (1 + 1e-9), [1e300, -1e300, 1e-60, -1e-60]]
    )
    with np.errstate(over="ignore"):
        near = x.astype("float32")
    got = run(f"double2float_{mode}", x)[0]
    for value, close, number in zip(x, near, got, strict=True):
        assert number == (close if mode == "rn" else rounded(Fraction(float(value)), close, "f", mode)), value


@pytest.mark.parametrize("name", ("llrint", "llrintf", "llround", "llroundf"))
def test_llround(name):
    kind = ROWS[name][0]
    x = np.concatenate([floats(kind, -50, 50, []), [0.5, 1.5, 2.5, -0.5, -2.5, 0.49999997, 8388609.0]]).astype(
        TYPES[kind]
    )
    wide_x = x.astype(np.longdouble)
    expected = np.rint(wide_x) if "rint" in name else np.copysign(np.floor(np.abs(wide_x) + 0.5), wide_x)
    np.testing.assert_array_equal(run(name, x)[0], expected.astype("int64"))


# ------------------------------------------------------------------------------------------------------- integers, bits


def u(x, bits=32):
    return x % 2**bits


def s24(x):
    return (x % 2**24) - (2**24 if x % 2**24 >= 2**23 else 0)


def byte_perm(x, y, z):
    data = u(x).to_bytes(4, "little") + u(y).to_bytes(4, "little")
    return int.from_bytes(bytes(data[u(z) >> (4 * k) & 7] for k in range(4)), "little")


def reversed_bits(bits):
    return lambda x: int(format(u(x, bits), f"0{bits}b")[::-1], 2)


INTEGER = {
    "abs": abs,
    "llabs": abs,
    "brev": reversed_bits(32),
    "brevll": reversed_bits(64),
    "clz": lambda x: 32 - u(x).bit_length(),
    "clzll": lambda x: 64 - u(x, 64).bit_length(),
    "ffs": lambda x: (x & -x).bit_length(),
    "ffsll": lambda x: (x & -x).bit_length(),
    "popc": lambda x: u(x).bit_count(),
    "popcll": lambda x: u(x, 64).bit_count(),
    "byte_perm": byte_perm,
    "sad": lambda x, y, z: abs(x - y) + z,
    "usad": lambda x, y, z: abs(u(x) - u(y)) + z,
    "hadd": lambda x, y: (x + y) >> 1,
    "rhadd": lambda x, y: (x + y + 1) >> 1,
    "uhadd": lambda x, y: (u(x) + u(y)) >> 1,
    "urhadd": lambda x, y: (u(x) + u(y) + 1) >> 1,
    "max": max,
    "min": min,
    "umax": lambda x, y: max(u(x), u(y)),
    "umin": lambda x, y: min(u(x), u(y)),
    "llmax": max,
    "llmin": min,
    "ullmax": lambda x, y: max(u(x, 64), u(y, 64)),
    "ullmin": lambda x, y: min(u(x, 64), u(y, 64)),
    "mul24": lambda x, y: s24(x) * s24(y),
    "umul24": lambda x, y: (x % 2**24) * (y % 2**24),
    "mulhi": lambda x, y: x * y >> 32,
    "umulhi": lambda x, y: u(x) * u(y) >> 32,
    "mul64hi": lambda x, y: x * y >> 64,
    "umul64hi": lambda x, y: u(x, 64) * u(y, 64) >> 64,
}


@pytest.mark.parametrize("name", INTEGER)
def test_integers(name):
    arguments, result, _ = ROWS[name]
    arrays = [np.roll(whole(kind, seed), 7 * seed) for seed, kind in enumerate(arguments)]
    bits = 32 if result == "i" else 64
    expected = [u(INTEGER[name](*map(int, row)), bits) for row in zip(*arrays, strict=True)]
    got = run(name, *arrays)[0]
    np.testing.assert_array_equal(got.view(f"u{got.itemsize}"), np.array(expected, f"u{got.itemsize}"))


def test_bits():
    x, n, m = floats("d"), whole("l"), whole("i")
    np.testing.assert_array_equal(run("double_as_longlong", x)[0], x.view("int64"))
    np.testing.assert_array_equal(run("double2hiint", x)[0], x.view("int64") >> 32)
    np.testing.assert_array_equal(run("double2loint", x)[0], x.view("int64").astype("int32"))
    np.testing.assert_array_equal(run("longlong_as_double", n)[0].view("int64"), n)
    np.testing.assert_array_equal(run("hiloint2double", n >> 32, n)[0].view("int64"), n)
    np.testing.assert_array_equal(run("float_as_int", floats("f"))[0], floats("f").view("int32"))
    np.testing.assert_array_equal(run("int_as_float", m)[0].view("int32"), m)


def test_half():
    every = np.arange(65536, dtype=np.uint16)
    values = every.view(np.float16).astype("float32")
    np.testing.assert_array_equal(run("half2float", every.view(np.int16))[0], values)
    number = ~np.isnan(values)
    np.testing.assert_array_equal(run("float2half_rn", values)[0].view(np.uint16)[number], every[number])
    more = np.concatenate([floats("f", -70000, 70000), floats("f", -1e-4, 1e-4), floats("f", -1e-7, 1e-7)])
    with np.errstate(over="ignore"):
        expected = more.astype("float16")
    np.testing.assert_array_equal(run("float2half_rn", more)[0].view(np.float16), expected)


# ---------------------------------------------------------------------------------------------------------------- names


def test_every_name_is_tested():
    tested = {
        name
        for base in (*PI_TIMES, *GOLD, *"remainder remquo nextafter ldexp scalbn powi".split())
        for name, _ in names_of(base)
    }
    tested |= {name for base in "frexp modf ilogb sincos sincospi".split() for name, _ in names_of(base)}
    tested |= {row[0] for row in (*ONE_CASES, *TWO_CASES, *DIRECTED)} | set(PREDICATES) | set(INTEGER)
    tested |= {
        *FROM_WHOLE,
        *TO_WHOLE,
        "fast_sincosf",
        "half2float",
        "float2half_rn",
        "fma",
        "fmaf",
        "fma_rn",
        "fmaf_rn",
    }
    tested |= {f"{kind}sqrt_{mode}" for kind in "df" for mode in ("rn", "rd", "ru", "rz")} | {"drcp_rn", "frcp_rn"}
    tested |= set(
        "llrint llrintf llround llroundf double2hiint double2loint double_as_longlong longlong_as_double".split()
    )
    tested |= {
        "hiloint2double",
        "float_as_int",
        "int_as_float",
        *(f"double2float_{m}" for m in ("rn", "rd", "ru", "rz")),
    }
    assert set(libdevice.__all__) == tested
    assert len(libdevice.__all__) == 317


@pytest.mark.parametrize("name", ("fma", "fmaf", "fma_rn", "fmaf_rn"))
def test_fma(name):
    kind = ROWS[name][0][0]
    arrays = [samples(kind, seed) for seed in range(3)]
    for x, y, z, got in zip(*arrays, run(name, *arrays)[0], strict=True):
        value = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        if np.isfinite(got):
            unit = np.spacing(min(np.abs(got), np.finfo(got.dtype).max / 2))
            assert abs(Fraction(float(got)) - value) <= Fraction(float(unit)) / (
                1 if np.abs(got) > np.finfo(got.dtype).max / 2 else 2
            )
        else:
            assert abs(value) > Fraction(float(np.finfo(TYPES[kind]).max)) and (value > 0) == (got > 0)


def test_drop_in_and_unknown_names(run_python):
    result = run_python(
        "import treadle.dropin\nfrom numba.cuda import libdevice\nfrom numba.cuda.libdevice import acosf\nprint(acosf.__doc__)"
    )
    assert result.stdout.strip() == "In a kernel: acosf(float32) -> float32.", result.stderr

    @cuda.jit
    def kernel(out):
        out[0] = libdevice.acosq(out[0])

    with pytest.raises(UnsupportedError, match="'libdevice' has no attribute 'acosq'"):
        kernel[1, 1](td.zeros(1))
    with pytest.raises(AttributeError, match="acosq"):
        libdevice.acosq
