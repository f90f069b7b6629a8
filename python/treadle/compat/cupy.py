"""The namespace of ``import cupy``."""

from __future__ import annotations

import builtins
import sys
from typing import Any

import numpy as _numpy

import treadle as _treadle_package
from treadle import *  # noqa: F403
from treadle import asnumpy, ndarray, newaxis, synchronize
from treadle._bfloat16 import can_cast  # noqa: F401
from treadle._raw_kernels import RawKernel, RawModule  # noqa: F401
from treadle.compat import cupy_cuda as cuda  # type: ignore[no-redef]
from treadle.random import rand as _rand  # noqa: F401

__version__ = "14.0.0"  # the release of CuPy whose names these are

# Facts about types are NumPy's own.
float_ = _numpy.float64
int_ = _numpy.int64
intp = _numpy.intp
dtype = _numpy.dtype
finfo = _numpy.finfo
iinfo = _numpy.iinfo
floating = _numpy.floating
integer = _numpy.integer
number = _numpy.number
generic = _numpy.generic
promote_types = _numpy.promote_types


def result_type(*arrays_and_dtypes: Any) -> _numpy.dtype[Any]:
    """The dtype that NumPy's promotion gives for arrays, dtypes and numbers together."""
    return _numpy.result_type(*(item.dtype if isinstance(item, ndarray) else item for item in arrays_and_dtypes))


def shape(a: Any) -> tuple[int, ...]:
    """The shape of an array."""
    return a.shape


def ndim(a: Any) -> int:
    """The number of dimensions of an array."""
    return a.ndim


def size(a: Any, axis: int | None = None) -> int:
    """The number of elements of an array, or of one axis."""
    return a.size if axis is None else a.shape[axis]


def get_array_module(*args: Any) -> Any:  # type: ignore[no-redef]
    """The module to which the arrays belong: this one if any is a device array, else numpy."""
    return sys.modules["cupy"] if builtins.any(isinstance(arg, ndarray) for arg in args) else _numpy


def get_default_memory_pool() -> Any:
    """The pool of device memory."""
    return cuda.MemoryPool()


__all__ = [
    *_treadle_package.__all__,
    "asnumpy",
    "cuda",
    "dtype",
    "float_",
    "get_array_module",
    "get_default_memory_pool",
    "ndarray",
    "newaxis",
    "synchronize",
]
