"""The array class: the extension's Array with NumPy's attributes and methods."""

from __future__ import annotations

from typing import Any

import numpy as np

from treadle import _treadle
from treadle._convert import to_host
from treadle._treadle import Array as ndarray
from treadle._types import dtype_name

_DTYPES = {name: np.dtype(name) for name in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")}


class Flags:
    """``ndarray.flags``: the layout of the memory."""

    def __init__(self, array: ndarray) -> None:
        self.c_contiguous: bool = array._c_contiguous
        self.f_contiguous: bool = array._f_contiguous

    def __getitem__(self, name: str) -> bool:
        return {"C_CONTIGUOUS": self.c_contiguous, "F_CONTIGUOUS": self.f_contiguous}[name]


class MemoryPointer:
    """``ndarray.data``: where the memory of an array begins; ``ptr`` is the address."""

    def __init__(self, array: ndarray) -> None:
        self.ptr: int = array._pointer
        self._array = array


def _shape_args(shape: tuple[Any, ...]) -> Any:
    return shape[0] if len(shape) == 1 else shape


def _reduction(name: str):
    def method(self: ndarray, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> ndarray:
        result = _treadle.reduce(name, self, axis, bool(keepdims), None if dtype is None else dtype_name(dtype))
        if out is None:
            return result
        out[...] = result
        return out

    method.__name__ = name
    return method


def _plain_reduction(name: str):
    def method(self: ndarray, axis: Any = None, out: Any = None, keepdims: bool = False) -> ndarray:
        result = _treadle.reduce(name, self, axis, bool(keepdims), None)
        if out is None:
            return result
        out[...] = result
        return out

    method.__name__ = name
    return method


def _scalar(array: ndarray) -> Any:
    if array.size != 1:
        raise TypeError(f"only arrays of one element can be converted to a Python number, got shape {array.shape}")
    return to_host(array).reshape(()).item()


def _iterate(array: ndarray):
    if array.ndim == 0:
        raise TypeError("iteration over a 0-d array")
    return (array._get(i) for i in range(array.shape[0]))


def _length(array: ndarray) -> int:
    if array.ndim == 0:
        raise TypeError("len() of unsized object")
    return array.shape[0]


def _truth(array: ndarray) -> bool:
    if array.size != 1:
        raise ValueError("the truth value of an array with more than one element is ambiguous: use any() or all()")
    return bool(_scalar(array))


def _host_array(array: ndarray, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    raise TypeError("a device array is not a host array: NumPy works on a copy made with treadle.asnumpy(...) or .get()")


def _reduce_pickle(array: ndarray):
    from treadle._convert import from_host

    return from_host, (to_host(array),)


def _astype(self: ndarray, dtype: Any, copy: bool = True) -> ndarray:
    name = dtype_name(dtype)
    return self if not copy and name == self._dtype_name else self._astype(name)


def _get(self: ndarray, stream: Any = None, out: np.ndarray | None = None) -> np.ndarray:
    host = to_host(self)
    if out is None:
        return host
    out[...] = host
    return out


def _set(self: ndarray, host: Any, stream: Any = None) -> None:
    from treadle._convert import from_host

    self[...] = from_host(np.asarray(host, dtype=self.dtype))


def _copy_to_host(self: ndarray, ary: np.ndarray | None = None, stream: Any = 0) -> np.ndarray:
    return _get(self, out=ary)


def _ravel(self: ndarray, order: str = "C") -> ndarray:
    return (self if order == "C" else self._transpose([]))._reshape(-1)


def _transpose(self: ndarray, *axes: Any) -> ndarray:
    if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))):
        axes = () if axes[0] is None else tuple(axes[0])
    return self._transpose([int(axis) for axis in axes])


def _install() -> None:
    """Gives the extension's class its Python surface; runs once, at import."""
    cls: Any = ndarray
    cls.__name__ = cls.__qualname__ = "ndarray"
    cls.__module__ = "treadle"
    cls.__hash__ = None
    cls.dtype = property(lambda self: _DTYPES[self._dtype_name], doc="NumPy dtype of the elements.")
    cls.itemsize = property(lambda self: _DTYPES[self._dtype_name].itemsize, doc="Bytes of one element.")
    cls.T = property(lambda self: self._transpose([]), doc="The view with reversed axes.")
    cls.flags = property(Flags)
    cls.data = property(MemoryPointer)
    cls.device = property(lambda self: _device(), doc="The device that holds the memory.")
    cls.__getitem__ = lambda self, item: self._get(item)
    cls.__setitem__ = lambda self, item, value: self._set(item, value)
    cls.__len__ = _length
    cls.__iter__ = _iterate
    cls.__bool__ = _truth
    cls.__int__ = lambda self: int(_scalar(self))
    cls.__float__ = lambda self: float(_scalar(self))
    cls.__index__ = _index
    cls.__repr__ = lambda self: repr(to_host(self))
    cls.__str__ = lambda self: str(to_host(self))
    cls.__format__ = lambda self, spec: format(to_host(self)[()], spec)
    cls.__array__ = _host_array
    cls.__array_ufunc__ = None
    cls.__reduce__ = _reduce_pickle
    cls.__copy__ = lambda self: self._copy()
    cls.__deepcopy__ = lambda self, memo: self._copy()
    cls.__divmod__ = lambda self, other: (self // other, self % other)
    cls.__dlpack_device__ = lambda self: (1, 0)
    cls.item = lambda self: _scalar(self)
    cls.tolist = lambda self: to_host(self).tolist()
    cls.get = _get
    cls.set = _set
    cls.copy_to_host = _copy_to_host
    cls.copy = lambda self, order="C": self._copy()
    cls.fill = lambda self, value: self._fill(value)
    cls.astype = _astype
    cls.view = lambda self, dtype=None: self if dtype is None else self._view(dtype_name(dtype))
    cls.reshape = lambda self, *shape, order="C": self._reshape(_shape_args(shape))
    cls.ravel = _ravel
    cls.flatten = lambda self, order="C": _ravel(self, order)._copy()
    cls.transpose = _transpose
    cls.squeeze = lambda self, axis=None: self._squeeze(axis)
    for name in ("sum", "prod", "mean"):
        setattr(cls, name, _reduction(name))
    for name in ("min", "max", "any", "all", "argmin", "argmax"):
        setattr(cls, name, _plain_reduction(name))


def _index(self: ndarray) -> int:
    if self._dtype_name.startswith(("int", "uint")):
        return int(_scalar(self))
    raise TypeError("only integer arrays of one element can be used as an index")


def _device() -> Any:
    from treadle.cuda import Device

    return Device(0)


_install()
