"""Random numbers from a counter-based generator (Philox 4x32-10).

The same seed gives the same numbers on every device. The functions share one generator of the process, seeded from the system
until ``seed`` is called. They return new arrays on the current stream and are safe to call from several threads.
"""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np

from treadle import _checks, _treadle
from treadle._array import ndarray
from treadle._creation import _shape
from treadle._types import dtype_name

_generator = _treadle.Generator()
_generator.seed = int.from_bytes(os.urandom(8), "little")
_lock = threading.Lock()


def seed(seed: int | None = None) -> None:
    """Starts the sequence that belongs to ``seed`` (an integer), or an unpredictable one for None."""
    value = (
        int.from_bytes(os.urandom(8), "little")
        if seed is None
        else _checks.integer("seed: seed", seed) & 0xFFFFFFFFFFFFFFFF
    )
    with _lock:
        _generator.seed, _generator.drawn = value, 0


def _size(size: Any) -> tuple[int, ...]:
    return () if size is None else _shape(size)


def _floating(dtype: Any) -> str:
    name = dtype_name(dtype)
    if name not in ("float32", "float64"):
        raise TypeError(f"random: dtype: expected float32 or float64, got {name}")
    return name


def uniform(low: float = 0.0, high: float = 1.0, size: Any = None, dtype: Any = float) -> ndarray:
    """Numbers spread evenly over [low, high); size: shape, None for a 0-d array."""
    first, last = _checks.number("uniform: low", low), _checks.number("uniform: high", high)
    with _lock:
        return _generator.random("uniform", _size(size), _floating(dtype), float(first), float(last))


def random(size: Any = None, dtype: Any = float) -> ndarray:
    """Numbers spread evenly over [0, 1)."""
    return uniform(0.0, 1.0, size, dtype)


random_sample = random


def rand(*size: int, dtype: Any = float) -> ndarray:
    """Numbers spread evenly over [0, 1); the shape is given as separate arguments."""
    return uniform(0.0, 1.0, size, dtype)


def normal(loc: float = 0.0, scale: float = 1.0, size: Any = None, dtype: Any = float) -> ndarray:
    """Normally distributed numbers with mean ``loc`` and standard deviation ``scale``.

    Raises ValueError for scale < 0."""
    if _checks.number("normal: scale", scale) < 0:
        raise ValueError(f"normal: scale: expected a number >= 0, got {scale}")
    middle = float(_checks.number("normal: loc", loc))
    with _lock:
        return _generator.random("normal", _size(size), _floating(dtype), middle, float(scale))


def standard_normal(size: Any = None, dtype: Any = float) -> ndarray:
    """Normally distributed numbers with mean 0 and standard deviation 1."""
    return normal(0.0, 1.0, size, dtype)


def randn(*size: int, dtype: Any = float) -> ndarray:
    """Normally distributed numbers; the shape is given as separate arguments."""
    return normal(0.0, 1.0, size, dtype)


def randint(low: int, high: int | None = None, size: Any = None, dtype: Any = np.int64) -> ndarray:
    """Integers spread evenly over [low, high), or [0, low) when high is None. Raises ValueError for an empty range."""
    if high is None:
        low, high = 0, low
    for what, value in (("low", low), ("high", high)):
        _checks.number(f"randint: {what}", value)
    name = dtype_name(dtype)
    limits = np.iinfo(name)
    if low >= high:
        raise ValueError(f"randint: expected low < high, got {low} and {high}")
    if low < limits.min or high - 1 > limits.max:
        raise ValueError(f"randint: expected limits inside {name}, got {low} and {high}")
    with _lock:
        span = (int(high) - int(low)) % 2**64  # 0 stands for all of them
        return _generator.random_integers(_size(size), name, int(low) - 2**64 * (low >= 2**63), span)
