"""Half-precision functions of kernels, by the names of numba.cuda's ``cuda.fp16``.

Arguments become float16. Results are float16, or bool of comparisons, and rounded once: computed in float64 or, for sums, products,
quotients and square roots, in float32, where no second rounding shows (Figueroa, "When is double rounding innocuous?", 1995).

>>> from treadle import cuda
>>> @cuda.jit
... def axpy(a, x, y):
...     i = cuda.grid(1)
...     y[i] = cuda.fp16.hfma(a, x[i], y[i])
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from treadle.cuda._generated import function_of
from treadle.cuda._intrinsics import Intrinsic, fma

# The body of each function, its parameters being float16: a, b and c. An arrow marks what is no float16.
_BODIES = {
    "hadd": "a + b",
    "hsub": "a - b",
    "hmul": "a * b",
    "hdiv": "a / b",
    # Products of float16 are exact in float64, and so are the sums that could lie halfway between two float16.
    "hfma": "fma(float64(a), float64(b), float64(c))",
    "hneg": "-a",
    "habs": "abs(a)",
    "hsqrt": "math.sqrt(float32(a))",
    "hrsqrt": "1.0 / math.sqrt(float64(a))",
    "hrcp": "float32(1.0) / float32(a)",
    "hsin": "math.sin(float64(a))",
    "hcos": "math.cos(float64(a))",
    "hexp": "math.exp(float64(a))",
    "hexp2": "exp2(float64(a))",
    "hexp10": "math.pow(10.0, float64(a))",
    "hlog": "math.log(float64(a))",
    "hlog2": "math.log2(float64(a))",
    "hlog10": "math.log10(float64(a))",
    "hfloor": "math.floor(a)",
    "hceil": "math.ceil(a)",
    "htrunc": "math.trunc(a)",
    "hrint": "rint(a)",
    "heq": "-> a == b",
    "hne": "-> a != b",
    "hlt": "-> a < b",
    "hle": "-> a <= b",
    "hgt": "-> a > b",
    "hge": "-> a >= b",
    # A NaN loses against a number.
    "hmax": "b if math.isnan(a) or a < b else a",
    "hmin": "b if math.isnan(a) or b < a else a",
}
_SCOPE: dict[str, Any] = {
    "__name__": __name__,
    "math": math,
    "fma": fma,
    "rint": Intrinsic("rint", "rint(x): the nearest whole number, ties to even."),
    "exp2": Intrinsic("exp2", "exp2(x): 2 ** x."),
    "float16": np.float16,
    "float32": np.float32,
    "float64": np.float64,
}


@functools.cache
def __getattr__(name: str) -> Any:
    if name not in _BODIES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    body = _BODIES[name].removeprefix("-> ")
    parameters = [
        one for one in "abc" if one in "".join(letter if letter.isalpha() else " " for letter in body).split()
    ]
    lines = [f"{one} = float16({one})" for one in parameters]
    is_half = body == _BODIES[name]
    lines.append(f"return float16({body})" if is_half else f"return {body}")
    doc = f"In a kernel: {name}({', '.join(parameters)}) of float16, a {'float16' if is_half else 'bool'}."
    return function_of(name, parameters, lines, _SCOPE, doc)


def __dir__() -> list[str]:
    return sorted(_BODIES)


__all__ = list(_BODIES)  # noqa: PLE0605
