"""The functions of NVIDIA's libdevice in kernels, by the names of numba.cuda.libdevice.

Arguments become the types that a function's docstring names; as in numba these are signed also where the meaning is unsigned, and
functions with outputs return tuples. ``fast_`` functions are as exact as the others. Conversions of floating-point numbers to
integers saturate, and NaN becomes 0. Errors are those of the elementary functions, at most 2 units in the last place, but for
``erfcx``, ``erfinv`` and their kin (4) and the Bessel functions (4 below 25, then 8 units of their amplitude).

>>> from treadle import cuda
>>> from treadle.cuda import libdevice
>>> @cuda.jit
... def kernel(x, out):
...     i = cuda.grid(1)
...     s, c = libdevice.sincosf(x[i])
...     out[i] = libdevice.fmaf_rn(s, c, 1)
>>> libdevice.sincosf.__doc__
'In a kernel: sincosf(float32) -> (float32, float32).'
"""

from __future__ import annotations

import functools
import importlib
import math
import re
from typing import Any

import numpy as np

from treadle.cuda import _libdevice_bodies, _rounding, _special
from treadle.cuda._generated import function_of
from treadle.cuda._intrinsics import Intrinsic, brev, cbrt, clz, ffs, fma, popc, rsqrt

# A line is: names, types of the arguments x, y and z, type of the result, body. Of two names the first is of float64 (r = float64,
# R = f64 in the body) and the second of float32. <m> in a name makes a row for each of rd, ru and rz, which is m in the body; <n>
# one for each of rn, rd, ru and rz, with the rounding function in m.
_TYPES = {"h": "int16", "i": "int32", "l": "int64", "f": "float32", "d": "float64"}
_NEAREST = {"rn": "rint", "rd": "math.floor", "ru": "math.ceil", "rz": "math.trunc"}
_ROWS = """
acos acosf                     | r   | r | math.acos(x)
acosh acoshf                   | r   | r | math.acosh(x)
asin asinf                     | r   | r | math.asin(x)
asinh asinhf                   | r   | r | math.asinh(x)
atan atanf                     | r   | r | math.atan(x)
atan2 atan2f                   | rr  | r | math.atan2(x, y)
atanh atanhf                   | r   | r | math.atanh(x)
cbrt cbrtf                     | r   | r | cbrt(x)
ceil ceilf                     | r   | r | math.ceil(x)
copysign copysignf             | rr  | r | math.copysign(x, y)
cos cosf                       | r   | r | math.cos(x)
cosh coshf                     | r   | r | math.cosh(x)
cospi cospif                   | r   | r | cospi_R(x)
erf erff                       | r   | r | math.erf(x)
erfc erfcf                     | r   | r | math.erfc(x)
erfcinv erfcinvf               | r   | r | special.erfcinv(float64(x))
erfcx erfcxf                   | r   | r | special.erfcx(float64(x))
erfinv erfinvf                 | r   | r | special.erfinv(float64(x))
exp expf                       | r   | r | math.exp(x)
exp10 exp10f                   | r   | r | math.pow(r(10), x)
exp2 exp2f                     | r   | r | exp2(x)
expm1 expm1f                   | r   | r | math.expm1(x)
fabs fabsf                     | r   | r | abs(x)
fdim fdimf                     | rr  | r | r(0) if x <= y else x - y
floor floorf                   | r   | r | math.floor(x)
fma fmaf                       | rrr | r | fma(x, y, z)
fma_rn fmaf_rn                 | rrr | r | fma(x, y, z)
fmax fmaxf                     | rr  | r | y if math.isnan(x) or x < y else x
fmin fminf                     | rr  | r | y if math.isnan(x) or y < x else x
fmod fmodf                     | rr  | r | math.fmod(x, y)
hypot hypotf                   | rr  | r | math.hypot(x, y)
ldexp ldexpf                   | ri  | r | math.ldexp(x, y)
lgamma lgammaf                 | r   | r | math.lgamma(x)
log logf                       | r   | r | math.log(x)
log10 log10f                   | r   | r | math.log10(x)
log1p log1pf                   | r   | r | math.log1p(x)
log2 log2f                     | r   | r | math.log2(x)
logb logbf                     | r   | r | bodies.logb(x)
nearbyint nearbyintf           | r   | r | rint(x)
nextafter nextafterf           | rr  | r | nextafter_R(x, y)
normcdf normcdff               | r   | r | special.normcdf(float64(x))
normcdfinv normcdfinvf         | r   | r | special.normcdfinv(float64(x))
pow powf                       | rr  | r | math.pow(x, y)
powi powif                     | ri  | r | math.pow(float64(x), float64(y))
rcbrt rcbrtf                   | r   | r | 1.0 / cbrt(float64(x))
remainder remainderf           | rr  | r | math.remainder(x, y)
rint rintf                     | r   | r | rint(x)
round roundf                   | r   | r | bodies.half_away(x)
rsqrt rsqrtf                   | r   | r | rsqrt(x)
scalbn scalbnf                 | ri  | r | math.ldexp(x, y)
sin sinf                       | r   | r | math.sin(x)
sinh sinhf                     | r   | r | math.sinh(x)
sinpi sinpif                   | r   | r | sinpi_R(x)
sqrt sqrtf                     | r   | r | math.sqrt(x)
tan tanf                       | r   | r | math.tan(x)
tanh tanhf                     | r   | r | math.tanh(x)
tgamma tgammaf                 | r   | r | math.gamma(x)
trunc truncf                   | r   | r | math.trunc(x)
j0 j0f                         | r   | r | bessel.j0(float64(x))
j1 j1f                         | r   | r | bessel.j1(float64(x))
jn jnf                         | ir  | r | bessel.jn(x, float64(y))
y0 y0f                         | r   | r | bessel.y0(float64(x))
y1 y1f                         | r   | r | bessel.y1(float64(x))
yn ynf                         | ir  | r | bessel.yn(x, float64(y))
frexp frexpf                   | r   | ri | math.frexp(x)
modf modff                     | r   | rr | math.modf(x)
remquo remquof                 | rr  | ri | bodies.remquo(x, y)
sincos sincosf                 | r   | rr | sincos_R(x)
sincospi sincospif             | r   | rr | (sinpi_R(x), cospi_R(x))
ilogb ilogbf                   | r   | i | bodies.ilogb(x)
isfinited finitef              | r   | i | math.isfinite(x)
isinfd isinff                  | r   | i | math.isinf(x)
isnand isnanf                  | r   | i | math.isnan(x)
signbitd signbitf              | r   | i | math.copysign(r(1), x) < 0
llrint llrintf                 | r   | l | rint(x)
llround llroundf               | r   | l | bodies.half_away(x)
dadd_rn fadd_rn                | rr  | r | x + y
- fsub_rn                      | rr  | r | x - y
dmul_rn fmul_rn                | rr  | r | x * y
ddiv_rn fdiv_rn                | rr  | r | x / y
drcp_rn frcp_rn                | r   | r | r(1) / x
dsqrt_rn fsqrt_rn              | r   | r | math.sqrt(x)
dadd_<m> fadd_<m>              | rr  | r | rounding.to_R(rounding.total(float64(x), float64(y), m), m)
- fsub_<m>                     | rr  | r | rounding.to_R(rounding.total(float64(x), -float64(y), m), m)
dmul_<m> fmul_<m>              | rr  | r | rounding.to_R(rounding.product(float64(x), float64(y)), m)
ddiv_<m> fdiv_<m>              | rr  | r | rounding.to_R(rounding.quotient(float64(x), float64(y)), m)
drcp_<m> frcp_<m>              | r   | r | rounding.to_R(rounding.quotient(float64(1), float64(x)), m)
dsqrt_<m> fsqrt_<m>            | r   | r | rounding.to_R(rounding.root(float64(x)), m)
fma_<m> fmaf_<m>               | rrr | r | rounding.to_R(rounding.product_sum(float64(x), float64(y), float64(z), m), m)
- frsqrt_rn                    | r   | r | 1.0 / math.sqrt(float64(x))
- saturatef                    | r   | r | r(0) if not x > 0 else (r(1) if x > 1 else x)
- fast_cosf                    | r   | r | math.cos(x)
- fast_exp10f                  | r   | r | math.pow(r(10), x)
- fast_expf                    | r   | r | math.exp(x)
- fast_fdividef                | rr  | r | x / y
- fast_log10f                  | r   | r | math.log10(x)
- fast_log2f                   | r   | r | math.log2(x)
- fast_logf                    | r   | r | math.log(x)
- fast_powf                    | rr  | r | math.pow(x, y)
- fast_sincosf                 | r   | rr | sincos_R(x)
- fast_sinf                    | r   | r | math.sin(x)
- fast_tanf                    | r   | r | math.tan(x)
abs                            | i   | i | abs(x)
llabs                          | l   | l | abs(x)
brev                           | i   | i | brev(x)
brevll                         | l   | l | brev(x)
clz                            | i   | i | clz(x)
clzll                          | l   | i | clz(x)
ffs                            | i   | i | ffs(x)
ffsll                          | l   | i | ffs(x)
popc                           | i   | i | popc(x)
popcll                         | l   | i | popc(x)
byte_perm                      | iii | i | bodies.byte_perm(x, y, z)
sad                            | iii | i | abs(int64(x) - y) + z
usad                           | iii | i | abs(int64(uint32(x)) - int64(uint32(y))) + z
hadd                           | ii  | i | (int64(x) + y) >> 1
rhadd                          | ii  | i | (int64(x) + y + 1) >> 1
uhadd                          | ii  | i | (int64(uint32(x)) + int64(uint32(y))) >> 1
urhadd                         | ii  | i | (int64(uint32(x)) + int64(uint32(y)) + 1) >> 1
max                            | ii  | i | x if x > y else y
min                            | ii  | i | x if x < y else y
umax                           | ii  | i | x if uint32(x) > uint32(y) else y
umin                           | ii  | i | x if uint32(x) < uint32(y) else y
llmax                          | ll  | l | x if x > y else y
llmin                          | ll  | l | x if x < y else y
ullmax                         | ll  | l | x if uint64(x) > uint64(y) else y
ullmin                         | ll  | l | x if uint64(x) < uint64(y) else y
mul24                          | ii  | i | ((int64(x) << 40) >> 40) * ((int64(y) << 40) >> 40)
umul24                         | ii  | i | (int64(x) & 0xFFFFFF) * (int64(y) & 0xFFFFFF)
mulhi                          | ii  | i | (int64(x) * int64(y)) >> 32
umulhi                         | ii  | i | (uint64(uint32(x)) * uint64(uint32(y))) >> 32
mul64hi                        | ll  | l | mulhi(x, y)
umul64hi                       | ll  | l | mulhi(uint64(x), uint64(y))
double2float_rn                | d   | f | x
double2float_<m>               | d   | f | rounding.to_f32(rounding.alone(x), m)
double2hiint                   | d   | i | bitcast_int64(x) >> 32
double2loint                   | d   | i | bitcast_int64(x)
double_as_longlong             | d   | l | bitcast_int64(x)
longlong_as_double             | l   | d | bitcast_float64(x)
hiloint2double                 | ii  | d | bitcast_float64((int64(x) << 32) | (int64(y) & 0xFFFFFFFF))
float_as_int                   | f   | i | bitcast_int32(x)
int_as_float                   | i   | f | bitcast_float32(x)
float2half_rn                  | f   | h | bodies.half_bits(x)
half2float                     | h   | f | bodies.half_value(x)
double2int_<n> float2int_<n>   | r   | i | m(x)
double2uint_<n> float2uint_<n> | r   | i | uint32(m(x))
double2ll_<n> float2ll_<n>     | r   | l | m(x)
double2ull_<n> float2ull_<n>   | r   | l | uint64(m(x))
int2double_rn                  | i   | d | x
uint2double_rn                 | i   | d | uint32(x)
int2float_rn                   | i   | f | x
uint2float_rn                  | i   | f | uint32(x)
ll2double_rn ll2float_rn       | l   | r | x
ull2double_rn ull2float_rn     | l   | r | uint64(x)
int2float_<m>                  | i   | f | rounding.to_f32(rounding.alone(float64(x)), m)
uint2float_<m>                 | i   | f | rounding.to_f32(rounding.alone(float64(uint32(x))), m)
ll2double_<m> ll2float_<m>     | l   | r | rounding.to_R(rounding.whole(x), m)
ull2double_<m> ull2float_<m>   | l   | r | rounding.to_R(rounding.whole_unsigned(uint64(x)), m)
"""

_SCOPE: dict[str, Any] = {
    "__name__": __name__,
    "math": math,
    "bodies": _libdevice_bodies,
    "rounding": _rounding,
    "special": _special,
    **{name: getattr(np, name) for name in ("int16", "int32", "int64", "uint32", "uint64", "float32", "float64")},
    **{item.builtin: item for item in (brev, cbrt, clz, ffs, fma, popc, rsqrt)},
    **{
        name: Intrinsic(name, f"{name} of the compiler's library.")
        for name in (
            "exp2 rint mulhi bitcast_int32 bitcast_int64 bitcast_float32 bitcast_float64 sinpi_f32 sinpi_f64 cospi_f32 cospi_f64 "
            "sincos_f32 sincos_f64 nextafter_f32 nextafter_f64"
        ).split()
    },
}


def _read() -> dict[str, tuple[str, str, str]]:
    """{name: (types of the arguments, types of the result, body)}."""
    rows: dict[str, tuple[str, str, str]] = {}
    for line in _ROWS.strip().splitlines():
        names, arguments, result, body = (part.strip() for part in line.split("|", 3))
        modes: dict[str, str] = {"": ""}
        if "<m>" in names:
            modes = {mode: f'"{mode}"' for mode in ("rd", "ru", "rz")}
        elif "<n>" in names:
            modes = _NEAREST
        for name, (real, suffix) in zip(names.split(), (("d", "f64"), ("f", "f32")), strict=False):
            for mode, text in modes.items():
                if name != "-":
                    whole = re.sub(r"\bm\b", text, body) if mode else body
                    whole = re.sub(r"\br\(", f"{_TYPES[real]}(", whole).replace("_R(", f"_{suffix}(")
                    rows[re.sub("<.>", mode, name)] = (arguments.replace("r", real), result.replace("r", real), whole)
    return rows


_FUNCTIONS = _read()


@functools.cache  # and no global: names such as abs have to stay Python's in this module
def __getattr__(name: str) -> Any:
    if name not in _FUNCTIONS:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    arguments, result, body = _FUNCTIONS[name]
    if body.startswith("bessel."):  # its tables take a while to make
        _SCOPE["bessel"] = importlib.import_module("treadle.cuda._bessel")
    parameters = "xyz"[: len(arguments)]
    lines = [f"{one} = {_TYPES[kind]}({one})" for one, kind in zip(parameters, arguments, strict=True)]
    results = [_TYPES[kind] for kind in result]
    lines.append(f"return {results[0]}({body})" if len(results) == 1 else f"return {body}")
    takes, gives = ", ".join(_TYPES[kind] for kind in arguments), ", ".join(results)
    doc = f"In a kernel: {name}({takes}) -> {gives if len(results) == 1 else f'({gives})'}."
    return function_of(name, list(parameters), lines, _SCOPE, doc)


def __dir__() -> list[str]:
    return sorted(_FUNCTIONS)


__all__ = list(_FUNCTIONS)  # noqa: PLE0605
