"""Checks of arguments that several functions share. Messages name the parameter, what was expected and what came."""

from __future__ import annotations

import operator
from typing import Any


def refuse(what: str, expected: str, value: Any) -> TypeError:
    """The exception for a value of a wrong kind."""
    return TypeError(f"{what}: expected {expected}, got {type(value).__name__}")


def integer(what: str, value: Any) -> int:
    """``value`` as an int. Raises TypeError."""
    if not hasattr(type(value), "__index__"):
        raise refuse(what, "an integer", value)
    return operator.index(value)


def integers(what: str, value: Any) -> tuple[int, ...]:
    """An integer, or a sequence of integers, as a tuple. Raises TypeError."""
    if hasattr(type(value), "__index__"):
        return (operator.index(value),)
    if isinstance(value, (str, bytes, dict)) or not hasattr(type(value), "__iter__"):
        raise refuse(what, "an integer or a sequence of integers", value)
    return tuple(integer(f"{what}[{number}]", item) for number, item in enumerate(value))


def number(what: str, value: Any) -> Any:
    """``value``, which must be a real number: a Python or NumPy number, or an array of one. Raises TypeError."""
    if not hasattr(type(value), "__float__") and not hasattr(type(value), "__index__"):
        raise refuse(what, "a number", value)
    return value


def instance(what: str, value: Any, kind: type, expected: str) -> Any:
    """``value``, which must be a ``kind``. Raises TypeError."""
    if not isinstance(value, kind):
        raise refuse(what, expected, value)
    return value


def sequence(what: str, value: Any, expected: str) -> list[Any]:
    """The items of ``value``. Raises TypeError."""
    if isinstance(value, (str, bytes, dict)) or not hasattr(type(value), "__iter__"):
        raise refuse(what, expected, value)
    return list(value)


def described(what: str, value: Any) -> Any:
    """``value``, which must have a shape and a dtype. Raises TypeError."""
    if not (hasattr(value, "shape") and hasattr(value, "dtype")):
        raise refuse(what, "an array", value)
    return value


def axis(what: str, value: Any, rank: int) -> int:
    """An axis of an array of ``rank`` dimensions, counted from 0. Raises TypeError, IndexError."""
    found = integer(what, value)
    if not -rank <= found < rank:
        raise IndexError(f"{what}: expected -{rank} to {rank - 1} for an array of {rank} dimensions, got {found}")
    return found % rank
