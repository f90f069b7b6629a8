"""Device functions for those of the module ``operator``."""

from __future__ import annotations

import functools
import types

from treadle.cuda._generated import function_of

_BINARY = {
    "add": "+",
    "and_": "&",
    "concat": "+",
    "floordiv": "//",
    "lshift": "<<",
    "mod": "%",
    "mul": "*",
    "or_": "|",
    "pow": "**",
    "rshift": ">>",
    "sub": "-",
    "truediv": "/",
    "xor": "^",
}
_COMPARE = {"eq": "==", "ge": ">=", "gt": ">", "is_": "is", "is_not": "is not", "le": "<=", "lt": "<", "ne": "!="}
_UNARY = {"abs": "abs(a)", "inv": "~a", "invert": "~a", "neg": "-a", "not_": "not a", "pos": "+a", "truth": "bool(a)"}
BODIES = (
    {name: f"return a {text} b" for name, text in (_BINARY | _COMPARE).items()}
    | {f"i{name.removesuffix('_')}": f"return a {text} b" for name, text in _BINARY.items()}
    | {name: f"return {text}" for name, text in _UNARY.items()}
    | {"getitem": "return a[b]", "setitem": "a[b] = c", "index": "return int(a)"}
)


@functools.cache
def operator_function(name: str) -> types.FunctionType | None:
    """The device function for ``operator.name``, where kernels have it. In-place ones return their result, as for all numbers."""
    if name not in BODIES:
        return None
    count = 3 if name == "setitem" else 1 if name in _UNARY or name == "index" else 2
    return function_of(name, ["a", "b", "c"][:count], [BODIES[name]], {"__name__": "operator"}, f"operator.{name}")
