#!/usr/bin/env python3
"""Measures the error of the elementary-function library (src/library).

The library is written in a small Python dialect. This script translates it to C++, compiles it without contraction, and compares
every function with a wider reference: float32 with the double functions of libm, float64 with the long double ones. Errors are
in units in the last place of the exact result; NaN, infinity and zero results must match the reference in kind and in sign.

    scripts/check_math.py                     all functions, a few million arguments each
    scripts/check_math.py sin_f32 pow_f64     some functions
    scripts/check_math.py --exhaustive sin_f32    all 2^32 arguments (float32, one argument)
    scripts/check_math.py --write             also records the measured bounds in accuracy.json
"""
import argparse
import ctypes
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "src" / "library"
sys.path.insert(0, str(ROOT / "scripts"))

from math_to_cpp import Translator  # noqa: E402

# name: (arity, reference expression in x and y, ranges that deserve a denser test, result component of a tuple).
# The reference calls overloaded <cmath> functions, so that one expression serves double and long double.
FUNCTIONS = {
    "sin": (1, "sin(x)", [(-4, 4), (-200, 200), (-1e6, 1e6)], None),
    "cos": (1, "cos(x)", [(-4, 4), (-200, 200), (-1e6, 1e6)], None),
    "tan": (1, "tan(x)", [(-2, 2), (-200, 200), (-1e6, 1e6)], None),
    "sincos.0": (1, "sin(x)", [(-4, 4), (-200, 200)], 0),
    "sincos.1": (1, "cos(x)", [(-4, 4), (-200, 200)], 1),
    "sinpi": (1, "ref_sinpi(x)", [(-2, 2), (-200, 200)], None),
    "cospi": (1, "ref_cospi(x)", [(-2, 2), (-200, 200)], None),
    "asin": (1, "asin(x)", [(-1, 1), (-0.01, 0.01), (0.45, 0.55)], None),
    "acos": (1, "acos(x)", [(-1, 1), (0.99, 1), (0.45, 0.55)], None),
    "atan": (1, "atan(x)", [(-1.2, 1.2), (-10, 10)], None),
    "atan2": (2, "atan2(x, y)", [((-2, 2), (-2, 2)), ((-1e-3, 1e-3), (-2, 2)), ((-2, 2), (-1e-3, 1e-3))], None),
    "sinh": (1, "sinh(x)", [(-1.5, 1.5), (-20, 20), "exp"], None),
    "cosh": (1, "cosh(x)", [(-1.5, 1.5), (-20, 20), "exp"], None),
    "tanh": (1, "tanh(x)", [(-1.5, 1.5), (-20, 20)], None),
    "asinh": (1, "asinh(x)", [(-1.5, 1.5), (-20, 20)], None),
    "acosh": (1, "acosh(x)", [(1, 1.1), (1, 3), (1, 100)], None),
    "atanh": (1, "atanh(x)", [(-1, 1), (-0.3, 0.3), (0.99, 1)], None),
    "exp": (1, "exp(x)", [(-1, 1), "exp", "exp"], None),
    "exp2": (1, "exp2(x)", [(-1, 1), "exp2", "exp2"], None),
    "expm1": (1, "expm1(x)", [(-1, 1), (-40, 40), "exp"], None),
    "log": (1, "log(x)", [(0.5, 2), (0.95, 1.05), (0, 100)], None),
    "log2": (1, "log2(x)", [(0.5, 2), (0.95, 1.05), (0, 100)], None),
    "log10": (1, "log10(x)", [(0.5, 2), (0.95, 1.05), (0, 100)], None),
    "log1p": (1, "log1p(x)", [(-1, 1), (-0.1, 0.1), (0, 100)], None),
    "pow": (2, "pow(x, y)", [((0, 4), (-60, 60)), ((0.9, 1.1), (-800, 800)), ((0, 1e5), (-8, 8)), "pow", "pow"], None),
    "cbrt": (1, "cbrt(x)", [(-8, 8)], None),
    "hypot": (2, "hypot(x, y)", [((-2, 2), (-2, 2)), ((-1e-3, 1e-3), (-2, 2)), "near"], None),
    "rsqrt": (1, "ref_rsqrt(x)", [(0, 4)], None),
    "erf": (1, "erf(x)", [(-1, 1), (-6, 6)], None),
    "erfc": (1, "erfc(x)", [(-1, 1), (-6, 6), (0, 28)], None),
    "tgamma": (1, "tgamma(x)", [(0, 4), (-5, 5), (0, 36), (-180, 180)], None),
    "lgamma": (1, "lgamma(x)", [(0, 4), (0, 20), (-20, 20)], None),
    "fmod": (2, "fmod(x, y)", [((-10, 10), (-2, 2)), "near"], None),
    "remainder": (2, "remainder(x, y)", [((-10, 10), (-2, 2)), "near"], None),
    "ldexp": (2, "ref_ldexp(x, y)", [((-2, 2), (-1100, 1100)), ((-2, 2), (-160, 160))], None),
    "frexp.0": (1, "ref_frexp_m(x)", [(-2, 2)], 0),
    "frexp.1": (1, "ref_frexp_e(x)", [(-2, 2)], 1),
    "modf.0": (1, "ref_modf_f(x)", [(-100, 100)], 0),
    "modf.1": (1, "trunc(x)", [(-100, 100)], 1),
    "nextafter": (2, "ref_nextafter(x, y, T())", ["near"], None),
}

# The least magnitude whose unit counts, where a function has zeros that no unit of the result can describe.
UNIT_FLOOR = {"lgamma": "x < 0 ? 1 : 0"}

HARNESS = r"""
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
using std::sin; using std::cos; using std::tan; using std::exp; using std::log;
template <class R> const R kPi = 3.141592653589793238462643383279502884L;
template <class R> R ref_sinpi(R x) {
    if (std::isinf(x)) return x - x;
    R r = x - 2 * std::rint(x / 2);
    if (r == std::trunc(r)) return std::copysign(R(0), x);
    R a = std::fabs(r), s = a > R(0.5) ? R(1) - a : a;
    return std::copysign(s > R(0.25) ? std::cos(kPi<R> * (R(0.5) - s)) : std::sin(kPi<R> * s), r);
}
template <class R> R ref_cospi(R x) {
    if (std::isinf(x)) return x - x;
    R a = std::fabs(x - 2 * std::rint(x / 2));
    if (a == R(0.5)) return R(0);
    if (a > R(0.75)) return -std::cos(kPi<R> * (1 - a));
    return a > R(0.25) ? std::sin(kPi<R> * (R(0.5) - a)) : std::cos(kPi<R> * a);
}
template <class R> R ref_rsqrt(R x) { return R(1) / std::sqrt(x); }
template <class R> int clamp_exponent(R y) { return y >= R(5000) ? 5000 : y <= R(-5000) ? -5000 : y == y ? int(y) : 0; }
template <class R> R ref_ldexp(R x, R y) { return std::ldexp(x, clamp_exponent(y)); }
template <class R> R ref_frexp_m(R x) { int e; return std::frexp(x, &e); }
template <class R> R ref_frexp_e(R x) { int e = 0; std::frexp(x, &e); return std::isfinite(x) ? R(e) : R(0); }
template <class R> R ref_modf_f(R x) { R i; return std::modf(x, &i); }
template <class R, class T> R ref_nextafter(R x, R y, T) { return std::nextafter(T(x), T(y)); }

struct Result { double ulp, x, y; int64_t mismatches; double mismatch_x, mismatch_y; };

template <class T, class R> void compare(T got, R ref, double x, double y, R floor, Result& out) {
    constexpr int digits = std::numeric_limits<T>::digits, low = std::numeric_limits<T>::min_exponent;
    const R limit = std::ldexp(R(1), std::numeric_limits<T>::max_exponent);
    bool bad = std::isnan(got) != std::isnan(ref);
    double error = 0;
    if (!bad && !std::isnan(got)) {
        if (ref == 0) {
            bad = got != 0 || std::signbit(got) != std::signbit(ref);
        } else if (std::isinf(ref)) {
            // A reference that overflows in the wide type, or a true pole: only infinity is right.
            bad = !(std::isinf(got) && std::signbit(got) == std::signbit(ref));
        } else {
            R g = std::isinf(got) ? std::copysign(limit, R(got)) : R(got);
            R r = std::fabs(ref) > limit ? std::copysign(limit, ref) : ref;
            int e = 0;
            std::frexp(std::fmax(std::fabs(r), floor), &e);
            if (e < low) e = low;
            error = double(std::fabs(std::ldexp(g - r, digits - e)));
            bad = std::signbit(got) != std::signbit(ref) && !(std::fabs(ref) < floor);
        }
    }
    if (bad) {
        if (!out.mismatches++) { out.mismatch_x = x; out.mismatch_y = y; }
    } else if (error > out.ulp) {
        out.ulp = error; out.x = x; out.y = y;
    }
}
template <class T> struct Types;
template <> struct Types<float> { using Bits = uint32_t; using Ref = double; };
template <> struct Types<double> { using Bits = uint64_t; using Ref = long double; };
template <class T> T from_bits(uint64_t b) { typename Types<T>::Bits v = b; T x; std::memcpy(&x, &v, sizeof x); return x; }
inline uint64_t next_random(uint64_t& s) {
    s += 0x9e3779b97f4a7c15u;
    uint64_t z = s;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
template <class T> T draw(uint64_t& s, double lo, double hi) {
    // lo > hi asks for an arbitrary bit pattern.
    if (lo > hi) return from_bits<T>(next_random(s));
    return T(lo + (hi - lo) * (double(next_random(s) >> 11) * 0x1p-53));
}
"""

KERNEL = r"""
static T_ @impl(T_ x, T_ y) { return T_(@call); }
static R_ @floor(T_ x) { (void)x; R_ unit = @unit; return unit; }
static R_ @ref(R_ x, R_ y) { using namespace std; using T = T_; (void)y; R_ result = @reference; return result; }
extern "C" void @sweep(uint64_t start, uint64_t step, int64_t n, Result* out) {
    for (int64_t i = 0; i < n; ++i) {
        T_ x = from_bits<T_>(start + step * uint64_t(i));
        compare<T_, R_>(@impl(x, 0), @ref(x, 0), x, 0, @floor(x), *out);
    }
}
extern "C" void @random(uint64_t seed, int64_t n, double xlo, double xhi, double ylo, double yhi, int mode, Result* out) {
    for (int64_t i = 0; i < n; ++i) {
        T_ x = draw<T_>(seed, xlo, xhi), y = draw<T_>(seed, ylo, yhi);
        if (mode == 1) y = T_(x * draw<T_>(seed, -2, 2) * std::ldexp(T_(1), int(next_random(seed) % 20) - 10));
        if (mode == 2) {  // exponents that keep x ** y near the limits of the type
            x = std::fabs(x);
            y = T_((next_random(seed) % 2 ? 1 : -1) * std::numeric_limits<T_>::max_exponent * draw<T_>(seed, 0, 1.1) / std::log2(x));
        }
        compare<T_, R_>(@impl(x, y), @ref(x, y), x, y, @floor(x), *out);
    }
}
extern "C" void @values(const double* xs, const double* ys, int64_t n, Result* out) {
    for (int64_t i = 0; i < n; ++i)
        compare<T_, R_>(@impl(T_(xs[i]), T_(ys[i])), @ref(T_(xs[i]), T_(ys[i])), xs[i], ys[i], @floor(T_(xs[i])), *out);
}
"""


class Result(ctypes.Structure):
    _fields_ = [("ulp", ctypes.c_double), ("x", ctypes.c_double), ("y", ctypes.c_double), ("mismatches", ctypes.c_int64),
                ("mismatch_x", ctypes.c_double), ("mismatch_y", ctypes.c_double)]


def special_values(suffix):
    """Zeros, infinities, NaN, the ends of the denormal and normal ranges, integers, halves and neighbours of constants."""
    tiny, least, huge, eps = (2.0**-126, 2.0**-149, (2 - 2.0**-23) * 2.0**127, 2.0**-23) if suffix == "f32" else (
        2.0**-1022, 5e-324, sys.float_info.max, 2.0**-52)
    base = [0.0, least, least * 3, tiny - least, tiny, tiny * 1.5, eps * eps, eps, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 10.0, 1.5, 2.5, 3.5,
            1 / 3, 0.1, math.pi, math.pi / 2, math.pi / 4, math.e, math.log(2), 100.0, 1e5, 1e10, 1e22, 1e30, huge / 2, huge, math.inf]
    base += [1.0 / eps - 1, 1.0 / eps, 1.0 / eps + 1, 2.0 / eps - 1, 2.0 / eps, 4.0 / eps, 0.5 / eps - 0.5, 0.5 / eps + 0.5]
    base += [b * (1 + s) for b in (0.5, 1.0, 2.0, math.pi, math.pi / 2, 0.25) for s in (eps, -eps, 2 * eps, -2 * eps)]
    return base + [-b for b in base] + [math.nan]


def build(names, translator):
    source = [HARNESS, translator.prologue()]
    kernels = []
    for full in names:
        key, suffix = full.rsplit("_", 1)
        arity, reference, _, component = FUNCTIONS[key]
        function = key.split(".")[0] + "_" + suffix
        scalar = "f32" if suffix == "f32" else "f64"
        types = [scalar] * arity
        if key == "ldexp":
            types[1] = "i32"
        translator.require(function, types)
        arguments = {1: "x", 2: "clamp_exponent(y), y" if key == "ldexp" else "x, y"}[arity]
        if key == "ldexp":
            arguments = "x, clamp_exponent(y)"
        call = f"{function}({arguments})"
        if component is not None:
            call = f"std::get<{component}>({call})"
        text = KERNEL.replace("@call", call).replace("@reference", reference).replace("@unit", UNIT_FLOOR.get(key, "0"))
        for word in ("impl", "ref", "floor", "sweep", "random", "values"):
            text = text.replace("@" + word, word + "_" + full.replace(".", "_"))
        ctype, wide = ("float", "double") if suffix == "f32" else ("double", "long double")
        kernels.append(text.replace("T_", ctype).replace("R_", wide))
    source.append(translator.text())
    source += kernels
    folder = tempfile.mkdtemp(prefix="check_math_")
    cpp, so = os.path.join(folder, "library.cpp"), os.path.join(folder, "library.so")
    pathlib.Path(cpp).write_text("\n".join(source))
    subprocess.run(["g++", "-std=c++17", "-O2", "-march=native", "-ffp-contract=off", "-fopenmp-simd", "-fwrapv", "-shared", "-fPIC",
                    "-w", cpp, "-o", so], check=True)
    return ctypes.CDLL(so)


def measure(library, full, options):
    key, suffix = full.rsplit("_", 1)
    arity, _, ranges, _ = FUNCTIONS[key]
    symbol = full.replace(".", "_")
    out = Result()
    u64, i64, f64 = ctypes.c_uint64, ctypes.c_int64, ctypes.c_double
    values = special_values(suffix)
    pairs = [(x, y) for x in values for y in values] if arity == 2 else [(x, 0.0) for x in values]
    array = f64 * len(pairs)
    getattr(library, "values_" + symbol)(array(*[p[0] for p in pairs]), array(*[p[1] for p in pairs]), i64(len(pairs)), ctypes.byref(out))
    if arity == 1 and suffix == "f32":
        step = 1 if options.exhaustive else options.step
        getattr(library, "sweep_" + symbol)(u64(0), u64(step), i64(2**32 // step), ctypes.byref(out))
    limits = {"exp": (-104, 89) if suffix == "f32" else (-746, 710), "exp2": (-151, 129) if suffix == "f32" else (-1076, 1025)}
    count = max(1, int(options.samples))
    seed = options.seed
    for r in [None] + ranges:
        mode = {"near": 1, "pow": 2}.get(r, 0) if isinstance(r, str) else 0
        x, y = (1, 0), (1, 0)
        if isinstance(r, tuple):
            x, y = (r, (1, 0)) if arity == 1 else r
        elif r in limits:
            x = limits[r]
        seed += 1
        getattr(library, "random_" + symbol)(u64(seed * 7919), i64(count), f64(x[0]), f64(x[1]), f64(y[0]), f64(y[1]), mode, ctypes.byref(out))
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="functions such as sin_f32; default all that the library has")
    parser.add_argument("--exhaustive", action="store_true", help="all 2^32 arguments of float32 functions of one argument")
    parser.add_argument("--step", type=int, default=997, help="distance of bit patterns in the float32 sweep")
    parser.add_argument("--samples", type=float, default=3e5, help="random arguments per range")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="record measured bounds in accuracy.json")
    options = parser.parse_args()
    translator = Translator(LIBRARY)
    names = []
    for key in FUNCTIONS:
        for suffix in ("f32", "f64"):
            function = key.split(".")[0] + "_" + suffix
            if function in translator.functions and (not options.names or function in options.names):
                names.append(f"{key}_{suffix}")
    path = LIBRARY / "accuracy.json"
    bounds = json.loads(path.read_text()) if path.exists() else {}
    library = build(names, translator)
    failed = False
    print(f"{'function':14} {'max ULP':>8} {'bound':>6}  {'worst argument':44} mismatches")
    for full in names:
        out = measure(library, full, options)
        key, suffix = full.rsplit("_", 1)
        arity, dtype, name = FUNCTIONS[key][0], {"f32": "float32", "f64": "float64"}[suffix], key.split(".")[0]
        bound = bounds.get(name, {}).get(dtype, 2.0)
        if options.write and not out.mismatches:
            # a tuple has one bound, that of its worse component; a later, larger measurement raises it
            known = bounds.setdefault(name, {}).get(dtype, 0.0)
            bound = bounds[name][dtype] = max(known, math.ceil(out.ulp * 10) / 10)
        worst = f"{out.x!r}" + (f", {out.y!r}" if arity == 2 else "")
        note = str(out.mismatches)
        if out.mismatches:
            note += f" first at {out.mismatch_x!r}" + (f", {out.mismatch_y!r}" if arity == 2 else "")
        bad = out.mismatches > 0 or out.ulp > bound
        failed |= bad
        print(f"{full:14} {out.ulp:8.3f} {bound:6.1f}  {worst:44} {note}{'  FAIL' if bad else ''}", flush=True)
    if options.write:
        path.write_text("{\n" + ",\n".join(f'  "{k}": {json.dumps(bounds[k])}' for k in sorted(bounds)) + "\n}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
