"""Element types as Python sees them: NumPy's dtypes, by the names of Treadle's table of types."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

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
    "float32",
    "float64",
    "complex64",
    "complex128",
)
_BY_NUMPY = {np.dtype(name): name for name in SUPPORTED}
_BY_OBJECT: dict[Any, str] = {}


def dtype_name(dtype: Any, what: str = "dtype") -> str:
    """The name of a dtype given in any form NumPy accepts. Raises TypeError for types that devices do not have."""
    try:
        found = _BY_OBJECT.get(dtype)
    except TypeError:
        found = None
    if found is not None:
        return found
    try:
        resolved = np.dtype(dtype)
    except TypeError:
        raise TypeError(f"{what}: expected a dtype, got {dtype!r}") from None
    name = _BY_NUMPY.get(resolved.newbyteorder("="))
    if name is None:
        raise TypeError(f"{what}: expected a boolean, integer, floating or complex dtype, got {resolved}")
    try:
        _BY_OBJECT[dtype] = name
    except TypeError:
        pass  # an unhashable description of a dtype
    return name


def default_float() -> str:
    """The dtype of new arrays that are given none: float64, or what ``TREADLE_DEFAULT_FLOAT`` says."""
    return dtype_name(os.environ.get("TREADLE_DEFAULT_FLOAT", "float64"), "TREADLE_DEFAULT_FLOAT")
