"""Checks of arguments that several functions share. Messages name the parameter, what was expected and what came."""

from __future__ import annotations

import operator
from typing import Any


def integer(what: str, value: Any) -> int:
    """``value`` as an int; bools are none. Raises TypeError."""
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        raise TypeError(f"{what}: expected an integer, got {type(value).__name__}")
    return operator.index(value)


def instance(what: str, value: Any, kind: type, expected: str) -> Any:
    """``value``, which must be a ``kind``. Raises TypeError."""
    if not isinstance(value, kind):
        raise TypeError(f"{what}: expected {expected}, got {type(value).__name__}")
    return value
