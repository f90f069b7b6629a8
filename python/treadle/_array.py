"""The array class: the extension's ``ndarray`` with NumPy's attributes and methods.

The methods of ``ArrayMethods`` become methods of the extension's class when this module is imported, so that every array has them,
also those that the extension makes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle import _checks, _treadle
from treadle._bfloat16 import bfloat16
from treadle._convert import from_bits, from_host, from_object, to_host, to_python
from treadle._records import is_record, numpy_dtype
from treadle._treadle import ndarray
from treadle._types import dtype_name
from treadle.cuda._array_methods import DeviceArrayMethods
from treadle.cuda._streams import on_stream
from treadle.errors import UnsupportedError

if TYPE_CHECKING:
    from treadle.cuda import Device


class Flags:
    """``ndarray.flags``: the layout of the memory."""

    def __init__(self, array: ndarray) -> None:
        self.c_contiguous: bool = array._c_contiguous
        self.f_contiguous: bool = array._f_contiguous

    def __repr__(self) -> str:
        return f"  C_CONTIGUOUS : {self.c_contiguous}\n  F_CONTIGUOUS : {self.f_contiguous}"

    def __getitem__(self, name: str) -> bool:
        return {"C_CONTIGUOUS": self.c_contiguous, "F_CONTIGUOUS": self.f_contiguous}[name]


class MemoryPointer:
    """``ndarray.data``: where the memory of an array begins; ``ptr`` is the address."""

    def __init__(self, array: ndarray) -> None:
        self.ptr: int = array._pointer
        self._array = array


def _reduce(array: ndarray, name: str, axis: Any, out: ndarray | None, keepdims: bool, dtype: Any = None) -> ndarray:
    result = _treadle.reduce(name, array, axis, bool(keepdims), None if dtype is None else dtype_name(dtype))
    if out is None:
        return result
    _checks.instance(f"{name}: out", out, ndarray, "a device array")
    if out.shape != result.shape:
        raise ValueError(f"{name}: out: expected shape {result.shape}, got {out.shape}")
    out._set(..., result)
    return out


def _field(array: Any, name: str) -> ndarray:
    """One field of all records, as an array of numbers in the same memory."""
    if name not in array.dtype.fields:
        raise ValueError(f"no field of name {name}: the fields are {', '.join(array.dtype.names)}")
    dtype, offset = array.dtype.fields[name][:2]
    if dtype.shape or dtype.names or dtype.kind in "mM":
        raise UnsupportedError(
            f"field '{name}': expected a field of numbers, got {dtype}: kernels reach it, or a copy on the host"
        )
    return array._field(offset, dtype.name)


def _scalar(array: ndarray) -> Any:
    if array.size != 1:
        raise TypeError(f"only arrays of one element can be converted to a Python number, got shape {array.shape}")
    return to_python(array).reshape(()).item()


def _text(array: ndarray, whole: bool) -> str:
    """The elements as NumPy shows them; whole: as an expression."""
    if array._dtype_name != bfloat16:
        return (repr if whole else str)(to_host(array))
    shown: dict[str, Any] = {"formatter": {"float_kind": lambda number: str(bfloat16(number))}}
    if not whole:
        return np.array2string(to_python(array), **shown)
    return f"array({np.array2string(to_python(array), separator=', ', prefix='array(', **shown)}, dtype=bfloat16)"


class ArrayMethods(DeviceArrayMethods):
    """NumPy's attributes and methods of arrays. Views share memory; everything else returns new arrays.

    Work is asynchronous on the current stream; what returns Python or NumPy objects waits for it.
    """

    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None  # NumPy's operators leave device arrays alone

    @property
    def dtype(self: Any) -> np.dtype[Any]:
        """NumPy dtype of the elements, or ``treadle.bfloat16``."""
        return numpy_dtype(self._dtype_name)

    @property
    def itemsize(self: Any) -> int:
        """Bytes of one element."""
        return numpy_dtype(self._dtype_name).itemsize

    @property
    def T(self: Any) -> ndarray:
        """The view with reversed axes."""
        return self._transpose([])

    @property
    def flags(self: Any) -> Flags:
        """Whether the memory is C- or F-contiguous."""
        return Flags(self)

    @property
    def data(self: Any) -> MemoryPointer:
        """The address of the first element."""
        return MemoryPointer(self)

    @property
    def device(self: Any) -> Device:
        """The device that holds the memory."""
        from treadle.cuda import Device

        return Device(_treadle.device_of(self))

    def __getitem__(self: Any, item: Any) -> ndarray:
        return _field(self, item) if isinstance(item, str) and is_record(self._dtype_name) else self._get(item)

    def __setitem__(self: Any, item: Any, value: Any) -> None:
        if isinstance(item, str) and is_record(self._dtype_name):
            _field(self, item)._set(..., value)
        else:
            self._set(item, value)

    def __len__(self: Any) -> int:
        if self.ndim == 0:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self: Any) -> Iterator[ndarray]:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        return (self._get(i) for i in range(self.shape[0]))

    def __bool__(self: Any) -> bool:
        if self.size == 0:
            raise ValueError("the truth value of an empty array is ambiguous: use size > 0")
        if self.size != 1:
            raise ValueError("the truth value of an array with more than one element is ambiguous: use any() or all()")
        return bool(_scalar(self))

    def __int__(self: Any) -> int:
        return int(_scalar(self))

    def __float__(self: Any) -> float:
        return float(_scalar(self))

    def __index__(self: Any) -> int:
        if not self._dtype_name.startswith(("int", "uint")):
            raise TypeError("only integer arrays of one element can be used as an index")
        return int(_scalar(self))

    def __repr__(self: Any) -> str:
        return _text(self, True)

    def __str__(self: Any) -> str:
        return _text(self, False)

    def __format__(self: Any, spec: str) -> str:
        return format(to_python(self)[()], spec)

    def __array__(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise TypeError(
            "a device array is not a host array: NumPy works on a copy made with treadle.asnumpy(...) or .get()"
        )

    def __reduce__(self: Any) -> tuple[Any, ...]:
        if self._dtype_name == bfloat16:
            return from_bits, (to_host(self._view("uint16")), "bfloat16")
        return from_host, (to_host(self),)

    def __copy__(self: Any) -> ndarray:
        return self._copy()

    def __deepcopy__(self: Any, memo: Any) -> ndarray:
        return self._copy()

    def __divmod__(self: Any, other: Any) -> tuple[ndarray, ndarray]:
        return self // other, self % other

    def __dlpack_device__(self: Any) -> tuple[int, int]:
        """DLPack's type and number of the device that holds the memory."""
        return _treadle.dlpack_device(self)

    def __dlpack__(
        self: Any,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A capsule with a view of the memory for ``from_dlpack`` of another library; the memory lives as long as it is used there.

        Args: stream: whose work will use it: None or 1 is the legacy default stream, -1 asks for no ordering; the current stream's
        work comes before it. On the CPU device, and for other devices' memory, the call waits instead. copy: True gives a copy.
        Raises: BufferError for another device without a copy, and for stream 0.
        """
        from treadle._dlpack import export

        return export(self, stream, max_version, dl_device, copy)

    @property
    def __cuda_array_interface__(self: Any) -> dict[str, Any]:
        """The memory of an array on a GPU for other libraries, with the current stream. Raises AttributeError on the CPU device."""
        from treadle._dlpack import cuda_interface

        return cuda_interface(self)

    def item(self: Any, *index: Any) -> Any:
        """An element as a Python number: the only one, or the one at an index (of the flattened array, or one number an axis)."""
        if not index:
            return _scalar(self)
        return _scalar(
            self._reshape(-1)._get(index[0])
            if len(index) == 1 and not isinstance(index[0], tuple)
            else self._get(index)
        )

    def tolist(self: Any) -> Any:
        """The elements as nested lists of Python numbers."""
        return to_python(self).tolist()

    def get(self: Any, stream: Any = None, order: str = "C", out: np.ndarray | None = None) -> np.ndarray:
        """A host copy in C or Fortran order, or ``out`` filled with it. Waits for ``stream``, by default the current one. Raises
        TypeError for a stream or an ``out`` that is none, ValueError for an ``out`` of another shape and for unknown orders,
        UnsupportedError for bfloat16 where ml_dtypes is not installed."""
        from treadle._creation import is_fortran

        fortran = is_fortran(order, "get")
        if out is not None:
            _checks.instance("get: out", out, np.ndarray, "a NumPy array")
            if out.shape != self.shape:
                raise ValueError(f"get: out: expected shape {self.shape}, got {out.shape}")
        with on_stream(stream):
            host = to_host(self)
        if out is None:
            return np.asfortranarray(host) if fortran else host
        out[...] = host
        return out

    def set(self: Any, host: Any, stream: Any = None) -> None:
        """Copies a host array of the same shape here, on ``stream``, by default the current one. Raises TypeError for what is no
        array of such elements and for a stream that is none."""
        try:
            source = from_object(host, self._dtype_name)
        except (TypeError, ValueError):
            raise _checks.refuse("set: host", f"an array that can be one of {self.dtype}", host) from None
        with on_stream(stream):
            self._set(..., source)

    def copy(self: Any, order: str = "C") -> ndarray:
        """A new array with the same elements, in C or Fortran order."""
        from treadle._creation import is_fortran

        return self._transpose([])._copy()._transpose([]) if is_fortran(order, "copy") else self._copy()

    def fill(self: Any, value: Any) -> None:
        """Sets every element to a number."""
        self._fill(value)

    def astype(self: Any, dtype: Any, copy: bool = True) -> ndarray:
        """The elements in another dtype; floats become integers by truncation and saturate out of range."""
        if is_record(self._dtype_name) and np.dtype(dtype) == self.dtype:
            return self._copy() if copy else self
        name = dtype_name(dtype)
        return self if not copy and name == self._dtype_name else self._astype(name)

    def view(self: Any, dtype: Any = None) -> ndarray:
        """The same memory read as another dtype of the same size. Raises ValueError for other sizes."""
        return self if dtype is None else self._view(dtype_name(dtype))

    def reshape(self: Any, *shape: Any, order: str = "C") -> ndarray:
        """The elements in another shape: a view where strides allow it. One extent may be -1."""
        from treadle._creation import is_fortran

        wanted = shape[0] if len(shape) == 1 else shape
        if not is_fortran(order, "reshape"):
            return self._reshape(wanted)
        return self._transpose([])._reshape(_checks.integers("reshape: shape", wanted)[::-1])._transpose([])

    def ravel(self: Any, order: str = "C") -> ndarray:
        """The elements in one dimension: a view where strides allow it. order: "C" or "F"."""
        from treadle._creation import is_fortran

        return (self._transpose([]) if is_fortran(order, "ravel") else self)._reshape(-1)

    def flatten(self: Any, order: str = "C") -> ndarray:
        """A copy of the elements in one dimension."""
        return self.ravel(order)._copy()

    def transpose(self: Any, *axes: Any) -> ndarray:
        """The view with permuted axes: reversed, or as given."""
        if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))):
            axes = () if axes[0] is None else tuple(axes[0])
        return self._transpose(list(_checks.integers("transpose: axes", axes)))

    def squeeze(self: Any, axis: int | None = None) -> ndarray:
        """The view without axes of length 1, or without the given one. Raises TypeError, IndexError for a bad axis, ValueError for
        an axis of another length."""
        return self._squeeze(None if axis is None else _checks.integer("squeeze: axis", axis))

    def swapaxes(self: Any, axis1: int, axis2: int) -> ndarray:
        """The view with two axes exchanged."""
        from treadle._creation import swapaxes

        return swapaxes(self, axis1, axis2)

    def clip(self: Any, min: Any = None, max: Any = None, out: Any = None) -> ndarray:
        """The elements limited to [min, max]; None leaves a side open."""
        from treadle._functions import clip

        return clip(self, min, max, out=out)

    def sum(self: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> ndarray:
        """Sum of the elements over an axis, several, or all."""
        return _reduce(self, "sum", axis, out, keepdims, dtype)

    def prod(self: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> ndarray:
        """Product of the elements over an axis, several, or all."""
        return _reduce(self, "prod", axis, out, keepdims, dtype)

    def mean(self: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> ndarray:
        """Arithmetic mean over an axis, several, or all; integers are averaged in float64."""
        return _reduce(self, "mean", axis, out, keepdims, dtype)

    def min(self: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> ndarray:
        """Smallest element; NaN if any is. Raises ValueError for no elements."""
        return _reduce(self, "min", axis, out, keepdims)

    def max(self: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> ndarray:
        """Largest element; NaN if any is. Raises ValueError for no elements."""
        return _reduce(self, "max", axis, out, keepdims)

    def any(self: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> ndarray:
        """Whether any element is true."""
        return _reduce(self, "any", axis, out, keepdims)

    def all(self: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> ndarray:
        """Whether all elements are true."""
        return _reduce(self, "all", axis, out, keepdims)

    def argmin(self: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> ndarray:
        """Index of the first smallest element (in the flattened array without an axis)."""
        return _reduce(self, "argmin", axis, out, keepdims)

    def argmax(self: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> ndarray:
        """Index of the first largest element (in the flattened array without an axis)."""
        return _reduce(self, "argmax", axis, out, keepdims)


for _name, _member in (vars(DeviceArrayMethods) | vars(ArrayMethods)).items():
    if _name not in ("__dict__", "__weakref__", "__module__", "__doc__", "__firstlineno__", "__static_attributes__"):
        setattr(ndarray, _name, _member)
