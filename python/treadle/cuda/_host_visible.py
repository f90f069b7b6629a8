"""Mapped and managed arrays: one memory that kernels take as a device array and the host reads and writes as a NumPy array."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from treadle import _treadle
from treadle._bfloat16 import host_dtype


class _Memory:
    """Host access to a device array's memory, which it keeps alive."""

    def __init__(self, array: _treadle.ndarray) -> None:
        self._array = array
        self.__array_interface__ = {
            "version": 3,
            "typestr": array.dtype.str,
            "shape": array.shape,
            "strides": array.strides,
            "data": (array._pointer, False),
        }


def _plain(value: Any) -> Any:
    """Results that are no view of device memory as ordinary arrays."""
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    return value.view(np.ndarray) if isinstance(value, HostVisibleArray) and value._device is None else value


class HostVisibleArray(np.ndarray):
    """A NumPy array in the memory of a device array. Kernels take it as that device array, without a copy.

    Every access through this class waits for all work of the device first and raises what kernels reported. What goes past the
    class (``numpy.asarray``, ``memoryview``) does not wait: call ``cuda.synchronize()`` before, as with numba.cuda. Views made by
    indexing, ``T``, ``reshape``, ``ravel``, ``transpose`` and ``squeeze`` are of this class too; results of arithmetic and copies
    are ordinary arrays.
    """

    _device: _treadle.ndarray | None

    def __array_finalize__(self, parent: Any) -> None:
        self._device = None

    @property
    def device_array(self) -> _treadle.ndarray:
        """The device array with the same memory. Raises TypeError for views that device arrays cannot describe."""
        if self._device is None:
            raise TypeError(
                "this view of a mapped or managed array is no device array: make views with indexing, reshape or transpose"
            )
        return self._device

    def copy_to_host(self, ary: np.ndarray | None = None, stream: Any = 0) -> np.ndarray:
        """As the method of device arrays."""
        return self.device_array.copy_to_host(ary, stream)

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """As the method of device arrays."""
        self.device_array.copy_to_device(ary, stream)

    def _follow(self, view: Any, same: Callable[[_treadle.ndarray], _treadle.ndarray]) -> Any:
        """A view with the device array that has the same place and strides, if the same step on the device side gives it."""
        if isinstance(view, HostVisibleArray) and self._device is not None:
            array = same(self._device)
            if (array._pointer, array.shape, array.strides) == (view.ctypes.data, view.shape, view.strides):
                view._device = array
        return _plain(view)

    def __getitem__(self, item: Any) -> Any:
        _treadle.synchronize()
        view = super().__getitem__(item)
        parts = item if isinstance(item, tuple) else (item,)
        if all(part is None or part is Ellipsis or isinstance(part, (int, np.integer, slice)) for part in parts):
            return self._follow(view, lambda array: array._get(item))
        return _plain(view)

    @property
    def T(self) -> Any:
        """The view with reversed axes."""
        return self.transpose()

    def transpose(self, *axes: Any) -> Any:
        """The view with permuted axes."""
        return self._follow(super().transpose(*axes), lambda array: array.transpose(*axes))

    def reshape(self, *shape: Any, **keywords: Any) -> Any:
        """The elements in another shape: a view where strides allow it."""
        _treadle.synchronize()
        return self._follow(super().reshape(*shape, **keywords), lambda array: array.reshape(*shape, **keywords))

    def ravel(self, order: Any = "C") -> Any:
        """The elements in one dimension: a view where strides allow it."""
        _treadle.synchronize()
        return self._follow(super().ravel(order), lambda array: array.ravel(order))

    def squeeze(self, axis: Any = None) -> Any:
        """The view without axes of length 1."""
        return self._follow(super().squeeze(axis), lambda array: array.squeeze(axis))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **keywords: Any) -> Any:
        _treadle.synchronize()
        if out is not None:
            keywords["out"] = tuple(map(_host_view, out))
        result = getattr(ufunc, method)(*map(_host_view, inputs), **keywords)
        return result if out is None else out[0] if len(out) == 1 else out

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        _treadle.synchronize()
        return _plain(super().__array_function__(func, types, args, kwargs))

    def __reduce__(self) -> Any:
        _treadle.synchronize()
        return self.view(np.ndarray).__reduce__()


def _host_view(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, HostVisibleArray) else value


def _waiting(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of NumPy's arrays that waits for the device first."""

    @functools.wraps(method, assigned=("__name__",))  # NumPy's docstrings hold examples with NumPy's arrays
    def wait_and_call(self: HostVisibleArray, *args: Any, **keywords: Any) -> Any:
        _treadle.synchronize()
        return _plain(method(self, *args, **keywords))

    return wait_and_call


# Methods that read or write elements without passing through a ufunc or a function that NumPy lets a class take over.
for _name in (
    "all any argmax argmin argpartition argsort astype byteswap choose clip compress conj conjugate copy cumprod cumsum diagonal "
    "dot dump dumps fill flatten item max mean min nonzero partition prod put repeat round searchsorted sort std sum take tobytes "
    "tofile tolist trace var __bool__ __complex__ __contains__ __copy__ __deepcopy__ __float__ __format__ __index__ __int__ "
    "__iter__ __repr__ __setitem__ __str__"
).split():
    setattr(HostVisibleArray, _name, _waiting(getattr(np.ndarray, _name)))


def host_memory(array: _treadle.ndarray) -> np.ndarray[Any, Any]:
    """The memory of a device array that the host reaches, as a NumPy array that keeps it alive and waits for nothing."""
    return np.asarray(_Memory(array)).view(host_dtype(array.dtype))


def host_visible(array: _treadle.ndarray) -> HostVisibleArray:
    """The memory of a device array as an array of the host."""
    result = host_memory(array).view(HostVisibleArray)
    result._device = array
    return result
