"""The namespace of ``numba`` where no numba is installed: CUDA and types only."""

from __future__ import annotations

from treadle import types
from treadle.compat import numba_cuda as cuda
from treadle.types import (
    bool_,
    boolean,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    intp,
    uint8,
    uint16,
    uint32,
    uint64,
    uintp,
    void,
)

__all__ = [
    "bool_",
    "boolean",
    "cuda",
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "intp",
    "types",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uintp",
    "void",
]
