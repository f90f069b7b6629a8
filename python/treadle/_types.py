"""Element types as Python sees them: NumPy's dtypes and bfloat16, by the names of Treadle's table of types."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from treadle import _treadle
from treadle._bfloat16 import bfloat16, is_bfloat16

SUPPORTED = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)
DTYPES: dict[str, Any] = {name: bfloat16 if name == bfloat16 else np.dtype(name) for name in SUPPORTED}
_BY_OBJECT: dict[Any, str] = {}


def dtype_name(dtype: Any, what: str = "dtype") -> str:
    """The name of a dtype given in any form NumPy accepts. Raises TypeError for types that devices do not have."""
    try:
        found = _BY_OBJECT.get(dtype)
    except TypeError:
        found = None
    if found is not None:
        return found
    if is_bfloat16(dtype):
        return "bfloat16"
    try:
        resolved = np.dtype(dtype)
    except TypeError:
        raise TypeError(f"{what}: expected a dtype, got {dtype!r}") from None
    name = resolved.newbyteorder("=").name
    if name not in DTYPES:
        raise TypeError(f"{what}: expected a boolean, integer, floating or complex dtype, got {resolved}")
    try:
        _BY_OBJECT[dtype] = name
    except TypeError:
        pass  # an unhashable description of a dtype
    return name


def default_float() -> str:
    """The dtype of new arrays that are given none: float64, or what ``TREADLE_DEFAULT_FLOAT`` says."""
    return dtype_name(os.environ.get("TREADLE_DEFAULT_FLOAT", "float64"), "TREADLE_DEFAULT_FLOAT")


def is_floating(name: str) -> bool:
    """Whether this is the name of a real floating type."""
    return "float" in name


def common_name(arrays: Iterable[_treadle.ndarray]) -> str:
    """The dtype to which arrays are brought that become one, by NumPy's rules. Raises TypeError for records of several kinds."""
    names = {array._dtype_name for array in arrays}
    return names.pop() if len(names) == 1 else functools.reduce(_treadle.promote, names)
