"""Treadle: GPU programming from Python, on NVIDIA GPUs and on any CPU.

The main namespace is NumPy's for arrays on a device; :mod:`treadle.cuda` holds kernels, devices, streams and events.

>>> import treadle as td
>>> x = td.arange(4, dtype=td.float32)
>>> (x * 2 + 1).sum()
array(16., dtype=float32)
"""

from __future__ import annotations

from typing import Any

from numpy import bool_, float16, float32, float64, int8, int16, int32, int64, newaxis, uint8, uint16, uint32, uint64

from treadle import _treadle, cuda, errors, random
from treadle._array import ndarray
from treadle._bfloat16 import bfloat16
from treadle._creation import (
    arange,
    array,
    array_equal,
    asarray,
    ascontiguousarray,
    asnumpy,
    astype,
    broadcast_to,
    concatenate,
    copy,
    empty,
    empty_like,
    expand_dims,
    full,
    full_like,
    linspace,
    ones,
    ones_like,
    ravel,
    reshape,
    squeeze,
    stack,
    swapaxes,
    transpose,
    zeros,
    zeros_like,
)
from treadle._dlpack import from_dlpack
from treadle._functions import clip, reductions, ufunc, ufuncs, where

__version__ = "0.1.0"

e: float = 2.718281828459045
inf: float = float("inf")
nan: float = float("nan")
pi: float = 3.141592653589793

rand = random


def synchronize() -> None:
    """Waits for all work on all streams of the current device. Raises what kernels reported since the last wait."""
    _treadle.synchronize()


def get_array_module(*args: Any) -> Any:
    """This module: for code written for CuPy that asks which module its arrays belong to."""
    import numpy

    import treadle

    return treadle if any(isinstance(arg, ndarray) for arg in args) else numpy


globals().update(ufuncs)
globals().update(reductions)

__all__ = [
    *ufuncs,
    *reductions,
    "arange",
    "array",
    "array_equal",
    "asarray",
    "ascontiguousarray",
    "asnumpy",
    "astype",
    "bfloat16",
    "bool_",
    "broadcast_to",
    "clip",
    "concatenate",
    "copy",
    "cuda",
    "e",
    "empty",
    "empty_like",
    "errors",
    "expand_dims",
    "float16",
    "float32",
    "float64",
    "from_dlpack",
    "full",
    "full_like",
    "get_array_module",
    "inf",
    "int8",
    "int16",
    "int32",
    "int64",
    "linspace",
    "nan",
    "ndarray",
    "newaxis",
    "ones",
    "ones_like",
    "pi",
    "rand",
    "random",
    "ravel",
    "reshape",
    "squeeze",
    "stack",
    "swapaxes",
    "synchronize",
    "transpose",
    "ufunc",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "where",
    "zeros",
    "zeros_like",
]
