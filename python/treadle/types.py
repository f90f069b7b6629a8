"""Types of kernel arguments, for signatures such as ``void(float32[:], float32[:, ::1], int64)``."""

from __future__ import annotations

import re
from typing import Any

from treadle._types import SUPPORTED, dtype_name

_ALIASES = {
    "boolean": "bool",
    "b1": "bool",
    "intp": "int64",
    "uintp": "uint64",
    "int_": "int64",
    "float_": "float64",
    "double": "float64",
}
_ALIASES |= {f"i{n}": f"int{8 * n}" for n in (1, 2, 4, 8)} | {f"u{n}": f"uint{8 * n}" for n in (1, 2, 4, 8)}
_ALIASES |= {"f2": "float16", "f4": "float32", "f8": "float64", "byte": "uint8", "char": "int8", "long": "int64"}
_ANY, _DENSE = 0, 1


class Type:
    """A scalar type; indexing with slices makes array types, calling makes signatures."""

    def __init__(self, name: str) -> None:
        self.name = name
        if name in SUPPORTED:
            self._treadle_dtype = name

    def __getitem__(self, index: Any) -> Array:
        slices = index if isinstance(index, tuple) else (index,)
        if not all(isinstance(part, slice) for part in slices):
            raise TypeError(f"{self.name}[...]: expected slices, as in {self.name}[:, :]")
        return Array(self, len(slices), "C" if slices[-1].step == 1 else "A")

    def __call__(self, *args: Any) -> Signature:
        return Signature(self, args)

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return type(other) is Type and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def code(self) -> tuple[Any, ...]:
        """What the extension takes for this type."""
        return ("scalar", self.name)


class Array:
    """The type of an array argument. layout: "C" contiguous, "A" any strides."""

    def __init__(self, dtype: Type, ndim: int, layout: str) -> None:
        self.dtype, self.ndim, self.layout = dtype, ndim, layout

    def __repr__(self) -> str:
        return f"array({self.dtype}, {self.ndim}d, {self.layout})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Array) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def code(self) -> tuple[Any, ...]:
        return ("array", self.dtype.name, self.ndim, _DENSE if self.layout == "C" else _ANY)


class Signature:
    """Result and argument types of a kernel or device function."""

    def __init__(self, result: Type | None, args: tuple[Any, ...]) -> None:
        self.result, self.args = result, args

    def __repr__(self) -> str:
        return f"{self.result}({', '.join(map(repr, self.args))})"


void = Type("void")
bool_ = boolean = Type("bool")
int8, int16, int32, int64 = (Type(f"int{bits}") for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (Type(f"uint{bits}") for bits in (8, 16, 32, 64))
float16, float32, float64 = (Type(f"float{bits}") for bits in (16, 32, 64))
intp, uintp = int64, uint64


def _named(name: str) -> Type:
    name = _ALIASES.get(name, name)
    if name != "void" and name not in SUPPORTED:
        raise TypeError(f"signature: expected the name of a type, got '{name}'")
    return Type(name)


def _parse_one(text: str) -> Type | Array:
    match = re.fullmatch(r"\s*(\w+)\s*(\[[^\]]*\])?\s*", text)
    if match is None:
        raise TypeError(f"signature: cannot read the type '{text}'")
    scalar = _named(match.group(1))
    if match.group(2) is None:
        return scalar
    parts = [part.strip() for part in match.group(2)[1:-1].split(",")]
    if any(part not in (":", "::1") for part in parts):
        raise TypeError(f"signature: cannot read the type '{text}': expected ':' or '::1' in the brackets")
    return Array(scalar, len(parts), "C" if parts[-1] == "::1" else "A")


def _is_numba(item: Any) -> bool:
    """Whether this is a type or signature of an installed numba, known by its names alone."""
    return type(item).__module__.split(".")[0] == "numba"


def parse_signature(signature: Any) -> Signature:
    """A signature given as a string, a call of types, or a tuple of types."""
    if isinstance(signature, Signature):
        return signature
    if _is_numba(signature) and hasattr(signature, "return_type"):
        return Signature(void, tuple(as_type(item) for item in signature.args))
    if isinstance(signature, (tuple, list)):
        return Signature(void, tuple(as_type(item) for item in signature))
    match = re.fullmatch(r"\s*(?:(\w+)\s*)?\((.*)\)\s*", signature, re.DOTALL)
    if match is None:
        raise TypeError(f"signature: expected something like 'void(float32[:], int64)', got {signature!r}")
    parts = re.findall(r"[^,\[\]]+(?:\[[^\]]*\])?", match.group(2))
    return Signature(
        _named(match.group(1)) if match.group(1) else None, tuple(_parse_one(part) for part in parts if part.strip())
    )


def as_type(item: Any) -> Type | Array:
    """A type given as an object of this module, a string, or a NumPy dtype."""
    if isinstance(item, (Type, Array)):
        return item
    if _is_numba(item):
        return Array(Type(str(item.dtype)), item.ndim, item.layout) if hasattr(item, "ndim") else _named(str(item))
    if isinstance(item, str) and item not in SUPPORTED:
        return _parse_one(item)
    return Type(dtype_name(item, "signature"))
