"""NumPy's functions over the tables of element-wise operations and reductions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from treadle import _checks, _treadle
from treadle._array import ndarray
from treadle._creation import asarray
from treadle._types import DTYPES, dtype_name

_ALIASES = {
    "abs": "absolute",
    "true_divide": "divide",
    "mod": "remainder",
    "conj": "conjugate",
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "deg2rad": "radians",
    "rad2deg": "degrees",
    "bitwise_not": "invert",
    "bitwise_invert": "invert",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "pow": "power",
}


class ufunc:
    """An element-wise operation: ``f(x, ..., out=None, dtype=None)``.

    Operands broadcast by NumPy's rules; Python numbers adapt to the arrays' dtypes (NEP 50). Asynchronous on the current stream.
    ``out`` may be any device array of the result's shape, also one of the operands. Raises TypeError for host arrays and for
    dtypes that the operation does not have, ValueError for shapes that do not broadcast.
    """

    def __init__(self, row: _treadle.Elementwise) -> None:
        self._row = row
        self.__name__: str = row.name
        self.nin: int = row.nin
        self.__doc__ = f"{row.name}: {row.summary}.\n\n{ufunc.__doc__}"

    def __repr__(self) -> str:
        return f"<ufunc '{self.__name__}'>"

    def __call__(self, *operands: Any, out: Any = None, dtype: Any = None) -> ndarray:
        if dtype is not None:
            name = dtype_name(dtype)
            operands = tuple(asarray(operand)._astype(name) for operand in operands)
        if out is None and len(operands) == 2:
            return self._row._call_two(*operands)
        if isinstance(out, tuple) and len(out) == 1:
            out = out[0]
        if out is not None and not isinstance(out, ndarray):
            raise TypeError(f"[{self.__name__}] out: expected a device array, got {type(out).__name__}")
        return self._row(*operands, out=out)

    def result_type(self, *operands: Any) -> Any:
        """The dtype that the result for these operands has."""
        return DTYPES[self._row.result_type(*operands)]


ufuncs: dict[str, ufunc] = {
    row.name: ufunc(row) for row in _treadle.operations() if row.name not in ("where", "clip", "copy")
}
ufuncs.update({alias: ufuncs[name] for alias, name in _ALIASES.items()})
_rows = {row.name: row for row in _treadle.operations()}


def where(condition: Any, x: Any, y: Any) -> ndarray:
    """Elements of ``x`` where ``condition`` is true, else of ``y``. The three broadcast."""
    if not isinstance(condition, (ndarray, bool)):
        condition = asarray(condition)
    return _rows["where"](condition, x, y)


def clip(a: ndarray, a_min: Any = None, a_max: Any = None, out: Any = None) -> ndarray:
    """``a`` limited to [a_min, a_max]; None leaves a side open."""
    if out is not None:
        _checks.instance("clip: out", out, ndarray, "a device array")
    if a_min is None and a_max is None:
        return ufuncs["positive"](a, out=out)
    if a_min is None:
        return ufuncs["minimum"](a, a_max, out=out)
    if a_max is None:
        return ufuncs["maximum"](a, a_min, out=out)
    return _rows["clip"](a, a_min, a_max, out=out)


def _reduction(name: str, summary: str, has_dtype: bool) -> Callable[..., ndarray]:
    def function(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> ndarray:
        array = asarray(a)
        if has_dtype:
            return getattr(array, name)(axis=axis, dtype=dtype, out=out, keepdims=keepdims)
        if dtype is not None:
            raise TypeError(f"{name}: takes no dtype")
        return getattr(array, name)(axis=axis, out=out, keepdims=keepdims)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{summary[0].upper()}{summary[1:]}.\n\n"
        "axis: None for all axes (the result is a 0-d array), an axis, or a tuple of axes. Asynchronous; the order of the operations "
        "depends on shape and device only. Raises IndexError for a bad axis, ValueError for an empty range without a result."
    )
    return function


reductions = {name: _reduction(name, doc, name in ("sum", "prod")) for name, _, doc in _treadle.reductions()}
reductions["mean"] = _reduction("mean", "arithmetic mean; integers are averaged in float64", True)
reductions["amin"] = reductions["min"]
reductions["amax"] = reductions["max"]
