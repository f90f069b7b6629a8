"""The namespace of ``numba`` where no numba is installed: CUDA, types, and element-wise functions, which run on the current device."""

from __future__ import annotations

import importlib
from typing import Any

from treadle import types as _types
from treadle.cuda import guvectorize as _guvectorize
from treadle.cuda import vectorize as _vectorize
from treadle.types import *  # noqa: F403

__version__ = "0.68.1"  # the release of numba whose names these are


def vectorize(ftylist_or_function: Any = (), target: str = "cpu", **options: Any) -> Any:
    """``treadle.cuda.vectorize`` for every target."""
    return _vectorize(ftylist_or_function, target="cuda", **options)


def guvectorize(ftylist: Any, signature: str, target: str = "cpu", **options: Any) -> Any:
    """``treadle.cuda.guvectorize`` for every target."""
    return _guvectorize(ftylist, signature, target="cuda", **options)


def __getattr__(name: str) -> Any:
    if name == "config":  # no module of its own, as in numba
        return importlib.import_module("numba.core.config")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


__all__ = ["guvectorize", "vectorize", *_types.__all__]
