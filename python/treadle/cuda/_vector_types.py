"""CUDA's vector types: two to four numbers of one type with the names x, y, z and w, which cannot be changed."""

from __future__ import annotations

from typing import Any, NoReturn

_ALIASES = {
    "char": "int8",
    "uchar": "uint8",
    "short": "int16",
    "ushort": "uint16",
    "int": "int32",
    "uint": "uint32",
    "longlong": "int64",
    "ulonglong": "uint64",
    "long": "int64",
    "ulong": "uint64",
    "float": "float32",
    "double": "float64",
}


class VectorType:
    """``float32x4(1, 2, 3, 4)`` in a kernel; shorter vectors may stand for several components."""

    def __init__(self, dtype: str, count: int) -> None:
        self.dtype = dtype
        self.fields = tuple("xyzw"[:count])
        self.__name__ = f"{dtype}x{count}"

    @property
    def text(self) -> str:
        """The type as the kernel syntax has it."""
        return f"(tupletype {self.__name__} {self.dtype} {' '.join(self.fields)})"

    def __call__(self, *args: Any) -> NoReturn:
        raise TypeError(f"cuda.{self.__name__} makes values only inside a kernel")

    def __repr__(self) -> str:
        return f"<vector type cuda.{self.__name__}>"


def vector_types() -> dict[str, VectorType]:
    """All of them by their names: ``int32x3`` and CUDA C's ``int3``."""
    found: dict[str, VectorType] = {}
    for alias, dtype in _ALIASES.items():
        for count in (1, 2, 3, 4):
            name = f"{dtype}x{count}"
            found.setdefault(name, VectorType(dtype, count))
            found[f"{alias}{count}"] = found[name]
    return found
