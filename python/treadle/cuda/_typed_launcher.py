"""Launches of kernels with signatures: which signature fits, and arguments in its types."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from treadle import _kernel_types as kernel_types
from treadle._bfloat16 import can_cast, is_bfloat16
from treadle._record_types import Record
from treadle._records import numpy_dtype
from treadle._signatures import from_dtype
from treadle._treadle import ndarray
from treadle.cuda._launchers import In
from treadle.errors import UnsupportedError

_PYTHON_TYPES: dict[type, str] = {bool: "bool", int: "int64", float: "float64"}
_Cost = tuple[int, int]  # conversions that may lose something, conversions at all
_EXACT: _Cost = (0, 0)


class TypedLauncher:
    """A launcher of a kernel with signatures: numbers are converted to the declared types, arrays must have them. Of several
    signatures that fit, the one with the mildest conversions is taken; among equals the first."""

    def __init__(self, launcher: Any, name: str, signatures: list[kernel_types.Signature]) -> None:
        self._launcher = launcher
        self._name = name
        self._signatures = signatures

    def __repr__(self) -> str:
        return f"<launcher of {self._name} for {' or '.join(map(repr, self._signatures))}: {self._launcher!r}>"

    def __call__(self, *args: Any) -> None:
        best: tuple[_Cost, list[Any]] | None = None
        for signature in self._signatures:
            fit = _fit_all(args, signature.args)
            if fit is not None and (best is None or fit[0] < best[0]):
                best = fit
                if fit[0] == _EXACT:
                    break
        if best is None:
            got = ", ".join(
                f"array({arg.dtype}, {arg.ndim}d)" if hasattr(arg, "ndim") else type(arg).__name__ for arg in args
            )
            wanted = " or ".join(f"({', '.join(map(str, signature.args))})" for signature in self._signatures)
            raise TypeError(f"{self._name}: expected arguments of {wanted}, got ({got})")
        self._launcher(*best[1])


def _fit_all(args: tuple[Any, ...], wanted: tuple[kernel_types.Type, ...]) -> tuple[_Cost, list[Any]] | None:
    """What the conversions cost and the arguments in the types of a signature; None where they do not fit it."""
    if len(args) != len(wanted):
        return None
    lossy = safe = 0
    converted = []
    for arg, one in zip(args, wanted, strict=True):
        if isinstance(one, kernel_types.Array):
            if not _fits_array(arg.value if isinstance(arg, In) else arg, one):
                return None
        elif isinstance(one, kernel_types.BaseTuple):
            fit = _fit_all(arg, one.types) if isinstance(arg, tuple) else None
            if fit is None:
                return None
            lossy, safe = lossy + fit[0][0], safe + fit[0][1]
            arg = tuple(map(_tuple_item, fit[1]))
        elif isinstance(one, Record):
            if not isinstance(arg, np.void) or not _same_elements(arg.dtype.name, one, arg.dtype):
                return None
        elif _PYTHON_TYPES.get(type(arg)) != one.name:
            cost = _number_cost(_PYTHON_TYPES.get(type(arg)) or getattr(arg, "dtype", None), one)
            if cost is None or not isinstance(arg, (int, float, np.generic)):
                return None
            lossy, safe = lossy + cost[0], safe + cost[1]
            arg = _number(arg, one)
        converted.append(arg)
    return (lossy, safe), converted


def _fits_array(arg: Any, wanted: kernel_types.Array) -> bool:
    if isinstance(arg, ndarray):
        fits = _same_elements(arg._dtype_name, wanted.dtype) and arg.ndim == wanted.ndim
        dense_c, dense_f = arg._c_contiguous, arg._f_contiguous
    elif isinstance(arg, np.ndarray):
        fits = _same_elements(arg.dtype.name, wanted.dtype, arg.dtype) and arg.ndim == wanted.ndim
        dense_c, dense_f = arg.flags.c_contiguous, arg.flags.f_contiguous
    else:
        return False
    return fits and (dense_c or not wanted.is_c_contig) and (dense_f or not wanted.is_f_contig)


def _same_elements(name: str, wanted: Any, dtype: Any = None) -> bool:
    """Whether elements have a type, given by name, records by their dtype."""
    if not isinstance(wanted, Record):
        return name == wanted.name
    return from_dtype(dtype or numpy_dtype(name)) == wanted


@functools.cache
def _number_cost(given: Any, wanted: kernel_types.Type) -> _Cost | None:
    """The cost of a conversion of numbers; None where there is none."""
    if given is None or not isinstance(wanted, kernel_types.Number):
        return None
    if not is_bfloat16(given) and np.dtype(given).kind not in "biuf":
        return None
    return (int(not can_cast(given, wanted.dtype)), int(not wanted.dtype == given))


def _number(arg: Any, wanted: Any) -> Any:
    try:
        return wanted.dtype.type(arg)
    except (OverflowError, ValueError):
        return np.asarray(arg).astype(wanted.dtype)[()]  # wraps around, as in C


def _tuple_item(value: Any) -> Any:
    """A number in a tuple as the Python number that stands for its type; records stay as they are."""
    if not isinstance(value, np.generic) or isinstance(value, np.void):
        return value
    if value.dtype.name not in ("bool", "int64", "float64"):
        raise UnsupportedError(
            f"numbers in tuple arguments: expected bool, int64 or float64 in the signature, got {value.dtype}"
        )
    return value.item()
