"""The namespace of ``import cupy``."""

from __future__ import annotations

import sys
from typing import Any

import numpy as _numpy

import treadle as _treadle_package
from treadle import *  # noqa: F403
from treadle import asnumpy, ndarray, newaxis, synchronize
from treadle.compat import cupy_cuda as cuda  # type: ignore[no-redef]
from treadle.random import rand as _rand  # noqa: F401

__version__ = "14.0.0"  # the release of CuPy whose names these are

float_ = _numpy.float64
dtype = _numpy.dtype


def get_array_module(*args: Any) -> Any:  # type: ignore[no-redef]
    """The module to which the arrays belong: this one if any is a device array, else numpy."""
    return sys.modules["cupy"] if any(isinstance(arg, ndarray) for arg in args) else _numpy


def get_default_memory_pool() -> Any:
    """The pool of device memory."""
    return cuda.MemoryPool()  # type: ignore[attr-defined]


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
