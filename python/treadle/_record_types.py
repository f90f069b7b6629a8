"""Kernel types of records and what they hold: they compare, hash and print as numba's do."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from treadle._kernel_types import Array, Number, Type
from treadle._records import element_name


class RecordField(NamedTuple):
    """A field of a record type."""

    type: Any
    offset: int
    alignment: int | None
    title: str | None

    def __repr__(self) -> str:
        return f"_RecordField(type={self.type!r}, offset={self.offset}, alignment={self.alignment!r}, title={self.title!r})"


class Record(Type):
    """The type of a record. fields: pairs of a name and a dictionary with ``type``, ``offset`` and, if wanted, ``alignment`` and
    ``title``; size: bytes of the record; aligned: whether it is laid out as C would do it.

    >>> import numpy as np
    >>> from treadle import types
    >>> types.from_dtype(np.dtype([("x", "f4"), ("v", "i2", (3,))]))
    Record([('x', {'type': float32, 'offset': 0, 'alignment': None, 'title': None, }), \
('v', {'type': NestedArray(int16, (3,)), 'offset': 4, 'alignment': None, 'title': None, })], 10, False)
    """

    mutable = True

    def __init__(self, fields: Any, size: int, aligned: bool) -> None:
        placed = sorted(fields, key=lambda field: (field[1]["offset"], field[0]))
        self.fields = {
            name: RecordField(facts["type"], facts["offset"], facts.get("alignment"), facts.get("title"))
            for name, facts in placed
        }
        self.size, self.aligned = size, aligned
        texts = []
        for name, field in self.fields.items():
            extra = f";title={field.title}" if field.title is not None else ""
            extra = f";alignment={field.alignment}" if field.alignment is not None else extra
            texts.append(f"{name}[type={field.type};offset={field.offset}{extra}]")
        super().__init__(f"Record({','.join(texts)};{size};{aligned})")

    @classmethod
    def make_c_struct(cls, name_types: Any) -> Record:
        """The type of a record laid out as C does, of pairs of a name and the type of a number or of an array in a record."""
        fields, offset, largest = [], 0, 1
        for name, item in name_types:
            dtype = numpy_dtype_of(item)
            align = dtype.base.alignment
            offset = -(-offset // align) * align
            fields.append((name, {"type": item, "offset": offset, "alignment": align}))
            offset += dtype.itemsize
            largest = max(largest, align)
        return cls(fields, -(-offset // largest) * largest, True)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype."""
        described: dict[str, Any] = {
            "names": list(self.fields),
            "formats": [numpy_dtype_of(field.type) for field in self.fields.values()],
            "offsets": [field.offset for field in self.fields.values()],
            "itemsize": self.size,
        }
        return np.dtype(described, align=self.aligned)  # type: ignore[call-overload]

    @property
    def _treadle_dtype(self) -> str:
        return element_name(self.dtype, "signature")

    @property
    def bitwidth(self) -> int:
        """Bits of a record."""
        return 8 * self.size

    @property
    def members(self) -> list[tuple[str, Type]]:
        """Names and types of the fields, in the order of their places."""
        return [(name, field.type) for name, field in self.fields.items()]

    def typeof(self, key: str) -> Type:
        """The type of a field."""
        return self.fields[key].type

    def offset(self, key: str) -> int:
        """The bytes before a field."""
        return self.fields[key].offset

    def alignof(self, key: str) -> int | None:
        """The alignment given for a field."""
        return self.fields[key].alignment

    def code(self) -> tuple[Any, ...]:
        return ("record", self._treadle_dtype)

    def __len__(self) -> int:
        return len(self.fields)

    def _described(self) -> list[tuple[str, dict[str, Any]]]:
        return [(name, field._asdict()) for name, field in self.fields.items()]

    def __repr__(self) -> str:
        texts = []
        for name, field in self.fields.items():
            facts = "".join(f"'{key}': {value!r}, " for key, value in field._asdict().items())
            texts.append(f"({name!r}, {{{facts}}})")
        return f"Record([{', '.join(texts)}], {self.size}, {self.aligned})"

    def __reduce__(self) -> Any:
        return Record, (self._described(), self.size, self.aligned)


class NestedArray(Array):
    """The type of an array in a record."""

    def __init__(self, dtype: Type, shape: tuple[int, ...]) -> None:
        if isinstance(dtype, NestedArray):
            shape += dtype.shape
            dtype = dtype.dtype
        self.shape: tuple[int, ...] = shape
        super().__init__(dtype, len(shape), "C", name=f"nestedarray({dtype}, {shape})")

    @property
    def key(self) -> Any:
        return (self.dtype, self.shape)

    def code(self) -> tuple[Any, ...]:
        raise TypeError(f"signature: expected a type that kernels have, got {self}: arrays in records are no arguments")

    def __repr__(self) -> str:
        return f"NestedArray({self.dtype!r}, {self.shape})"

    def __reduce__(self) -> Any:
        return NestedArray, (self.dtype, self.shape)


class _Time(Type):
    """A count of units; kernels see an int64."""

    _kind, _prefix = "", ""

    def __init__(self, unit: str) -> None:
        self.unit = unit
        super().__init__(f"{self._prefix}[{unit}]" if unit else self._prefix)
        self.dtype = np.dtype(f"{self._kind}8[{unit}]" if unit else f"{self._kind}8")

    def code(self) -> tuple[Any, ...]:
        return ("scalar", "int64")

    def __reduce__(self) -> Any:
        return type(self), (self.unit,)


class NPDatetime(_Time):
    """NumPy's datetime64."""

    _kind, _prefix = "M", "datetime64"


class NPTimedelta(_Time):
    """NumPy's timedelta64."""

    _kind, _prefix = "m", "timedelta64"


def numpy_dtype_of(item: Type) -> np.dtype[Any]:
    """The NumPy dtype of the type of a number, a date, a record or an array in one. Raises TypeError for others."""
    if isinstance(item, NestedArray):
        return np.dtype((numpy_dtype_of(item.dtype), item.shape))
    if isinstance(item, (Number, Record, _Time)):
        return item.dtype
    raise TypeError(f"as_dtype: nbtype: expected the type of a number or a record, got {item}")


def record_of(dtype: np.dtype[Any], element: Any) -> Record:
    """The type of a structured dtype; ``element`` gives those of its fields."""
    fields = []
    for name in dtype.names or ():
        inner, offset, *title = dtype.fields[name]  # type: ignore[index]
        fields.append((name, {"type": element(inner), "offset": offset, "title": title[0] if title else None}))
    return Record(fields, dtype.itemsize, dtype.isalignedstruct)
