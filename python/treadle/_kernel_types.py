"""The classes of kernel types: they compare, hash and print as numba's do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from treadle._types import DTYPES

_ANY_STRIDES, _DENSE = 0, 1


class Type:
    """A type. Indexing with slices makes array types; calling with types makes signatures, with a number converts it."""

    mutable = False

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def key(self) -> Any:
        """What tells types of a class apart."""
        return self.name

    def code(self) -> tuple[Any, ...]:
        """What the compiler takes for this type. Raises TypeError for types that kernels do not have."""
        raise TypeError(f"signature: expected a type that kernels have, got {self}")

    def __getitem__(self, index: Any) -> Array:
        slices = index if isinstance(index, tuple) else (index,)
        if not all(isinstance(part, slice) for part in slices):
            raise TypeError(f"{self}[...]: expected slices, as in {self}[:, :]")
        layout = "C" if slices[-1].step == 1 else "F" if slices[0].step == 1 else "A"
        return Array(self, len(slices), layout)

    def __call__(self, *args: Any) -> Any:
        if len(args) == 1 and not isinstance(args[0], Type):
            return self.cast_python_value(args[0])
        return Signature(self, args)

    def cast_python_value(self, value: Any) -> Any:
        """A Python number as this type. Raises TypeError for types that are no numbers."""
        raise TypeError(f"{self}: expected types to make a signature of, got {value!r}")

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Type) and type(other) is type(self) and other.key == self.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __reduce__(self) -> Any:
        return type(self), (self.name,)


class Number(Type):
    """A scalar type with a NumPy dtype."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.dtype: Any = DTYPES[name] if name in DTYPES else np.dtype(name)
        if name in DTYPES:
            self._treadle_dtype = name  # kernels take the type as a function that converts

    @property
    def bitwidth(self) -> int:
        """Bits of a value."""
        return 8 * self.dtype.itemsize

    def cast_python_value(self, value: Any) -> Any:
        """A number as a NumPy scalar of this type."""
        return self.dtype.type(value)

    def code(self) -> tuple[Any, ...]:
        return ("scalar", self.name) if self.name in DTYPES else super().code()


class Boolean(Number):
    """bool."""

    def cast_python_value(self, value: Any) -> bool:
        return bool(value)


class Integer(Number):
    """An integer type."""

    @property
    def signed(self) -> bool:
        """Whether it has negative values."""
        return self.dtype.kind == "i"

    @property
    def minval(self) -> int:
        """The smallest value."""
        return int(np.iinfo(self.dtype).min)

    @property
    def maxval(self) -> int:
        """The largest value."""
        return int(np.iinfo(self.dtype).max)


class Float(Number):
    """A floating type."""


class Complex(Number):
    """A complex type."""

    @property
    def underlying_float(self) -> Float:
        """The type of the parts."""
        return Float(f"float{self.bitwidth // 2}")


class NoneType(Type):
    """The type of a function without a result."""


class CPointer(Type):
    """The address of elements, as functions in C take it; of declared functions, not of kernels."""

    def __init__(self, dtype: Type, addrspace: Any = None) -> None:
        self.dtype = dtype
        super().__init__(f"{dtype}*")

    @property
    def key(self) -> Any:
        return self.dtype

    def __repr__(self) -> str:
        return f"CPointer({self.dtype!r})"

    def __reduce__(self) -> Any:
        return CPointer, (self.dtype,)


class Array(Type):
    """The type of an array argument. layout: "C" or "F" contiguous, "A" any strides.

    Raises: ValueError for another layout or a negative number of dimensions.
    """

    def __init__(
        self,
        dtype: Type,
        ndim: int,
        layout: str,
        readonly: bool = False,
        name: str | None = None,
        aligned: bool = True,
    ) -> None:
        if layout not in ("C", "F", "A"):
            raise ValueError(f"Array: layout: expected 'C', 'F' or 'A', got {layout!r}")
        if ndim < 0:
            raise ValueError(f"Array: ndim: expected a number of dimensions, got {ndim}")
        self.dtype, self.ndim, self.layout, self.mutable, self.aligned = dtype, ndim, layout, not readonly, aligned
        prefix = ("readonly " if readonly else "") + ("" if aligned else "unaligned ")
        super().__init__(name or f"{prefix}array({dtype}, {ndim}d, {layout})")

    @property
    def key(self) -> Any:
        return (self.dtype, self.ndim, self.layout, self.mutable, self.aligned)

    @property
    def is_c_contig(self) -> bool:
        """Whether the elements are dense with the last index running fastest."""
        return self.layout == "C" or (self.ndim <= 1 and self.layout in "CF")

    @property
    def is_f_contig(self) -> bool:
        """Whether the elements are dense with the first index running fastest."""
        return self.layout == "F" or (self.ndim <= 1 and self.layout in "CF")

    @property
    def is_contig(self) -> bool:
        """Whether the elements are dense."""
        return self.layout in "CF"

    def copy(
        self,
        dtype: Type | None = None,
        ndim: int | None = None,
        layout: str | None = None,
        readonly: bool | None = None,
    ) -> Array:
        """The type with some parts changed."""
        return Array(
            self.dtype if dtype is None else dtype,
            self.ndim if ndim is None else ndim,
            self.layout if layout is None else layout,
            readonly=not self.mutable if readonly is None else readonly,
            aligned=self.aligned,
        )

    def code(self) -> tuple[Any, ...]:
        return ("array", self.dtype.code()[1], self.ndim, _DENSE if self.is_c_contig else _ANY_STRIDES)

    def __repr__(self) -> str:
        return f"Array({self.dtype!r}, {self.ndim}, {self.layout!r}, {not self.mutable}, aligned={self.aligned})"

    def __reduce__(self) -> Any:
        return Array, (self.dtype, self.ndim, self.layout, not self.mutable, None, self.aligned)


class BaseTuple(Type):
    """The type of a tuple: ``types`` of its items."""

    types: tuple[Type, ...]

    @property
    def count(self) -> int:
        """Number of items."""
        return len(self.types)

    def code(self) -> tuple[Any, ...]:
        return ("tuple", *(item.code() for item in self.types))

    def __len__(self) -> int:
        return len(self.types)

    def __iter__(self) -> Iterator[Type]:
        return iter(self.types)

    def __getitem__(self, index: Any) -> Any:
        return self.types[index]


class Tuple(BaseTuple):
    """The type of a tuple of several types; of one type it is a UniTuple."""

    def __new__(cls, types: Any) -> Any:
        types = tuple(types)
        if types and all(item == types[0] for item in types[1:]):
            return UniTuple(types[0], len(types))
        self = super().__new__(cls)
        self.types = types
        return self

    def __init__(self, types: Any) -> None:
        super().__init__(f"Tuple({', '.join(map(str, self.types))})")

    @property
    def key(self) -> Any:
        return self.types

    def __repr__(self) -> str:
        return f"Tuple({self.types!r})"

    def __reduce__(self) -> Any:
        return Tuple, (self.types,)


class UniTuple(BaseTuple):
    """The type of a tuple whose items have one type."""

    def __init__(self, dtype: Type, count: int) -> None:
        self.dtype = dtype
        self.types = (dtype,) * count
        super().__init__(f"UniTuple({dtype} x {count})")

    @property
    def key(self) -> Any:
        return (self.dtype, self.count)

    def __repr__(self) -> str:
        return f"UniTuple({self.dtype!r}, {self.count})"

    def __reduce__(self) -> Any:
        return UniTuple, (self.dtype, self.count)


class Signature:
    """Result and argument types of a kernel or device function; the result is None where only arguments were given."""

    def __init__(self, return_type: Type | None, args: Any) -> None:
        self.return_type, self.args = return_type, tuple(args)

    def __repr__(self) -> str:
        return f"{self.args!r} -> {self.return_type!r}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Signature) and (other.return_type, other.args) == (self.return_type, self.args)

    def __hash__(self) -> int:
        return hash(self.args)
