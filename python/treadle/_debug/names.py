"""What the free names of a kernel stand for while it is debugged: frozen values, and the kernel's functions."""

from __future__ import annotations

import enum
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle._bfloat16 import is_bfloat16
from treadle._debug.arrays import ElementType, KernelArray
from treadle._debug.intrinsics import Builtin, ThreadValue
from treadle._debug.values import Scalar, convert, lift, literal
from treadle._program import BUILTINS, complex_function
from treadle._types import DTYPES
from treadle.cuda._intrinsics import Intrinsic
from treadle.cuda._vector_types import VectorType

if TYPE_CHECKING:
    from treadle._debug.launch import Run


class Names:
    """A module, class or index object; its attributes stand for what they do in kernels."""

    def __init__(self, run: Run, value: Any) -> None:
        self._run = run
        self._value = value

    def __getattr__(self, name: str) -> Any:
        found = meaning(self._run, getattr(self._value, name))
        return found.get() if isinstance(found, ThreadValue) else found

    def __repr__(self) -> str:
        return repr(self._value)


class Vector:
    """A vector type, which makes named tuples."""

    def __init__(self, kind: VectorType) -> None:
        import collections

        self._kind = kind
        self._make = collections.namedtuple(kind.__name__, kind.fields)  # type: ignore[misc]

    def __call__(self, *args: Any) -> Any:
        parts: list[Any] = []
        for arg in args:
            parts += arg if isinstance(arg, tuple) else [arg]
        return self._make(*(convert(lift(part), ("scalar", self._kind.dtype)) for part in parts))


def is_namespace(value: Any) -> bool:
    return isinstance(value, types.ModuleType) or type(value).__name__ in ("Dim3", "Namespace")


def is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex, np.generic, enum.Enum))


def meaning(run: Run, value: Any) -> Any:
    """What stands for the value of a global name or closure variable."""
    if isinstance(value, enum.Enum):
        return meaning(run, value.value)
    if isinstance(value, np.generic):
        return Scalar(value)
    if isinstance(value, (bool, int, float, complex)):
        return literal(value)
    if isinstance(value, Intrinsic):
        return run.intrinsics.find(value.builtin)
    if isinstance(value, np.dtype):
        return ElementType(value.name)
    if isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
        return value
    if isinstance(value, VectorType):
        return Vector(value)
    if isinstance(value, tuple):
        items = [meaning(run, item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, np.ndarray):
        return run.constant(value)
    return _function(run, value)


def _function(run: Run, value: Any) -> Any:
    kind = getattr(value, "_treadle_dtype", None)
    if isinstance(value, type) and is_bfloat16(value):
        kind = "bfloat16"
    if type(value).__module__.startswith("numba.") and str(value) in DTYPES:
        kind = str(value)
    if kind is not None:
        return ElementType(kind)
    name = _builtin_name(value)
    if name is not None:
        return _PYTHON.get(name) or (ElementType(name) if name in DTYPES else _builtin(run, name))
    if is_namespace(value) or isinstance(value, type) and not issubclass(value, BaseException):
        return Names(run, value)
    module = getattr(value, "__module__", None)
    if module == "cmath":
        value = complex_function(value.__name__)
    if module == "_operator":
        from treadle.cuda._operators import operator_function

        value = operator_function(value.__name__)
    function = getattr(value, "py_func", value)
    if isinstance(function, types.FunctionType):
        return run.function(function, getattr(value, "declared", None))
    return value


def _builtin_name(value: Any) -> str | None:
    try:
        return BUILTINS.get(value)
    except TypeError:
        return None


def _builtin(run: Run, name: str) -> Any:
    return run.counted_range if name == "range" else Builtin(name)


def _length(value: Any) -> Any:
    return Scalar(np.int64(value.host.shape[0])) if isinstance(value, KernelArray) else literal(len(value))


_PYTHON: dict[str, Any] = {"len": _length}


def counted(limits: tuple[Any, ...], check: Any) -> Iterator[Scalar]:
    """The numbers of ``range``, which in kernels are int64, or uint64 if all limits are."""
    numbers = [lift(limit) for limit in limits]
    kind = np.uint64 if all(number.type == "uint64" for number in numbers) else np.int64
    whole = [number.__index__() for number in numbers]
    if len(whole) == 3 and whole[2] == 0:
        return
    for value in range(*whole):
        check()
        yield Scalar(kind(value))
