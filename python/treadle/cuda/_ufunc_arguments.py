"""What vectorize and guvectorize share: which signature fits, and arguments and results on host and device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from treadle import _treadle
from treadle._bfloat16 import can_cast, is_bfloat16
from treadle._convert import from_object, to_python
from treadle._signatures import parse_signature
from treadle._treadle import ndarray
from treadle._types import DTYPES
from treadle.cuda._arrays import as_cuda_array, is_cuda_array
from treadle.types import Array, Number, Signature, Type, typeof

_KIND_ORDER = "biufc"


def read_signatures(given: Any, what: str) -> list[Signature]:
    """One signature or a list of them. Raises TypeError where there is none."""
    items = given if isinstance(given, list) else [given]
    if not items:
        raise TypeError(f"{what}: signatures: expected at least one, as in {what}(['float32(float32)'])")
    return [parse_signature(item) for item in items]


def scalar_of(item: Type) -> Number:
    """The type of the elements of a type in a signature."""
    found = item.dtype if isinstance(item, Array) else item
    if not isinstance(found, Number):
        raise TypeError(f"signatures: expected numbers and arrays of numbers, got {item}")
    found.code()  # refuses types that kernels do not have
    return found


class Operand:
    """An argument of a ufunc: a Python number, or an array on host or device."""

    def __init__(self, value: Any, name: str) -> None:
        self.on_device = isinstance(value, ndarray)
        self.weak = isinstance(value, (int, float)) and not isinstance(value, np.generic)
        self.value: Any = as_cuda_array(value) if is_cuda_array(value) else np.asarray(value)
        self.kind = "f" if is_bfloat16(self.value.dtype) else self.value.dtype.kind
        if self.kind not in "biuf":
            raise TypeError(
                f"{name}: expected arrays and numbers, got {type(value).__name__} of dtype {self.value.dtype}"
            )
        self.shape: tuple[int, ...] = self.value.shape
        self._number: Any = value if self.weak else None

    def fits(self, dtype: np.dtype[Any]) -> bool:
        """Whether the argument casts to a dtype safely; Python numbers, as in NumPy, by their kind and value."""
        if not self.weak:
            return can_cast(self.value.dtype, dtype, "safe")
        if _KIND_ORDER.index(self.kind) > _KIND_ORDER.index("i" if dtype.kind == "u" else dtype.kind):
            return False
        if dtype.kind not in "iu" or isinstance(self._number, bool):
            return True
        return np.iinfo(dtype).min <= self._number <= np.iinfo(dtype).max

    def array(self, dtype_name: str) -> ndarray:
        """The argument on the device in a dtype."""
        if isinstance(self.value, ndarray):
            return self.value if self.value._dtype_name == dtype_name else self.value._astype(dtype_name)
        return from_object(self.value, dtype_name)

    def number(self, dtype_name: str) -> Any:
        """An argument without dimensions as a scalar of a dtype."""
        host = to_python(self.value) if isinstance(self.value, ndarray) else self.value
        return DTYPES[dtype_name].type(host.reshape(())[()])

    def __str__(self) -> str:
        return type(self._number).__name__ if self.weak else str(typeof(self.value) if self.shape else self.value.dtype)


def resolve(name: str, operands: Sequence[Operand], inputs: Sequence[Sequence[Number]]) -> int:
    """The number of the first signature to which all arguments cast safely. Raises TypeError where none is."""
    for number, types in enumerate(inputs):
        if all(operand.fits(wanted.dtype) for operand, wanted in zip(operands, types, strict=True)):
            return number
    wanted = " or ".join(f"({', '.join(map(str, types))})" for types in inputs)
    raise TypeError(f"{name}: expected arguments that cast safely to {wanted}, got ({', '.join(map(str, operands))})")


def check_out(name: str, out: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Whether a result of a shape and dtype can be put into ``out``. Raises TypeError, ValueError."""
    if not isinstance(out, (np.ndarray, ndarray)):
        raise TypeError(f"{name}: out: expected an array, got {type(out).__name__}")
    if tuple(out.shape) != shape:
        raise ValueError(f"{name}: out: expected shape {shape}, got {tuple(out.shape)}")
    if not can_cast(dtype, out.dtype, "same_kind"):
        raise TypeError(f"{name}: out: expected a dtype to which {dtype} casts, got {out.dtype}")


def deliver(result: ndarray, out: Any, to_host: bool) -> Any:
    """A result put into ``out``, or returned: as a NumPy array (a scalar without dimensions) or as it is."""
    if out is None:
        return result.get()[()] if to_host else result
    if is_cuda_array(out):
        as_cuda_array(out)._set(..., result)
    else:
        out[...] = result.get()
    return out


def broadcast(array: ndarray, shape: tuple[int, ...]) -> ndarray:
    """An array repeated to a shape, dense: itself where it has that shape and is dense."""
    wide = array if array.shape == shape else array._broadcast_to(shape)
    return wide if wide._c_contiguous else wide._copy()


def empty(shape: tuple[int, ...], dtype_name: str) -> ndarray:
    """A new device array."""
    return _treadle.empty(shape, dtype_name)
