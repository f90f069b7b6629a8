"""Arrays as numba.cuda makes them: copies of host arrays on the device, new device arrays, pinned host memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from treadle import _checks, _treadle
from treadle._records import numpy_dtype
from treadle._treadle import ndarray
from treadle.cuda._host_visible import HostVisibleArray
from treadle.cuda._streams import native_stream
from treadle.errors import UnsupportedError


def to_device(obj: Any, stream: Any = 0, copy: bool = True, to: Any = None) -> Any:
    """A device array with a copy of a host array, or ``to`` filled with it.

    Args: obj: host array, also a structured one, number or nested sequence; a device array is returned as it is. stream: the stream
    of the copy, by default the current one; the host array may be changed when this returns. copy: False leaves the elements
    undefined. to: a device array of the same shape and dtype. C and Fortran order are kept; other layouts arrive in C order.

    Raises: TypeError for dtypes that devices do not have or that differ from ``to``'s, ValueError for another shape.

    >>> from treadle import cuda
    >>> cuda.to_device([1.5, 2.5])
    array([1.5, 2.5])
    >>> import numpy as np
    >>> points = np.array([(1, 2.5), (3, 4.5)], dtype=[("id", "i4"), ("x", "f4")])
    >>> @cuda.jit
    ... def shift(points, by):
    ...     i = cuda.grid(1)
    ...     points[i].x += by
    >>> on_device = cuda.to_device(points)
    >>> shift[1, 2](on_device, 0.5)
    >>> on_device.copy_to_host()["x"]
    array([3., 5.], dtype=float32)
    """
    if to is not None:
        target = as_cuda_array(to)
        if copy:
            target.copy_to_device(obj, stream)
        return to
    if is_cuda_array(obj):
        return as_cuda_array(obj)
    host = np.asarray(obj)
    result = device_array_like(host, stream)
    if copy:
        result.copy_to_device(host, stream)
    return result


def device_array(
    shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", stream: Any = 0
) -> ndarray:
    """A new device array whose elements have any value.

    Args: shape: integer or sequence of integers; dtype: of numbers, or structured; strides: bytes between elements in each dimension,
    by default dense in ``order`` ("C" or "F"); stream: not waited for.

    Raises: TypeError, ValueError for a bad shape, dtype, order or strides; UnsupportedError for strides in which one dimension's
    elements do not fit between another's; OutOfMemoryError.

    >>> from treadle import cuda
    >>> cuda.device_array((3, 4), "float32", order="F").strides
    (4, 12)
    """
    return new_device_array(shape, dtype, strides, order, stream=stream)


def new_device_array(shape: Any, dtype: Any, strides: Any, order: str, shared: str = "", stream: Any = 0) -> ndarray:
    """``device_array``; shared: "pinned" or "managed" for memory that the host reaches too."""
    from treadle._creation import new_array

    native_stream(stream)

    if order not in ("C", "F"):
        raise ValueError(f"device_array: order: expected 'C' or 'F', got {order!r}")
    dense = new_array(shape, dtype, "C" if strides is not None else order, "device_array", shared)
    if strides is None or not dense.size or not dense.ndim:
        return dense
    return _strided(dense.shape, strides, dense._dtype_name, shared)


def _strided(extents: tuple[int, ...], strides: Any, name: str, shared: str) -> ndarray:
    """A device array with given strides, at least one dimension and one element."""
    steps = _checks.integers("device_array: strides", strides)
    if len(steps) != len(extents):
        raise ValueError(f"device_array: strides: expected {len(extents)} numbers, got {steps}")
    if any(step <= 0 for step in steps):
        raise ValueError(f"device_array: strides: expected positive numbers of bytes, got {steps}")
    # Of a dense array whose extents are how many elements of the next dimension a stride spans, this is a corner.
    axes = sorted(range(len(steps)), key=lambda axis: (-steps[axis], -extents[axis]))
    units = [*(steps[axis] for axis in axes[1:]), numpy_dtype(name).itemsize]
    inner = [*(extents[axis] for axis in axes[1:]), 1]
    for axis, unit, extent in zip(axes, units, inner, strict=True):
        if steps[axis] % unit or steps[axis] < unit * extent:
            raise UnsupportedError(
                f"device_array: strides: expected each to be a multiple of the next smaller one, with room for it, got {steps} "
                f"for shape {extents}"
            )
    spans = [steps[axis] // unit for axis, unit in zip(axes, units, strict=True)]
    from treadle._creation import new_array

    dense = new_array((extents[axes[0]], *spans), name, "C", "device_array", shared)
    corner = dense._get((slice(None), *map(slice, inner[:-1]), 0))
    return corner._transpose([axes.index(axis) for axis in range(len(axes))])


def device_array_like(ary: Any, stream: Any = 0) -> ndarray:
    """A new device array with the shape, dtype and order of ``ary`` (host or device); elements have any value. Raises: as
    ``device_array``."""
    _checks.described("device_array_like: ary", ary)
    return device_array(ary.shape, ary.dtype, order=order_of(ary), stream=stream)


def order_of(ary: Any) -> str:
    """In which order a new array like ``ary`` is dense."""
    flags = ary.flags
    return "F" if flags["F_CONTIGUOUS"] and not flags["C_CONTIGUOUS"] else "C"


def is_cuda_array(obj: Any) -> bool:
    """Whether ``as_cuda_array`` gives a device array without a copy: device arrays, mapped and managed arrays, and where a GPU is
    the device, other libraries' arrays on it."""
    if isinstance(obj, (ndarray, HostVisibleArray)):
        return True
    return _treadle.device_kind() == "cuda" and hasattr(obj, "__cuda_array_interface__")


def as_cuda_array(obj: Any, sync: bool = True) -> ndarray:
    """The device array that ``obj`` is, or whose memory it shares: another library's array on the GPU, by its
    ``__cuda_array_interface__``. sync: whether later work waits for the stream that the interface names.

    Raises: UnsupportedError for arrays of a GPU where the CPU is the device, which cannot reach them; TypeError for anything else.
    """
    if isinstance(obj, ndarray):
        return obj
    if isinstance(obj, HostVisibleArray):
        return obj.device_array
    if hasattr(obj, "__cuda_array_interface__"):
        return from_cuda_array_interface(obj.__cuda_array_interface__, obj, sync)
    raise TypeError(f"as_cuda_array: obj: expected a device array, got {type(obj).__name__}")


def from_cuda_array_interface(desc: Any, owner: Any = None, sync: bool = True) -> ndarray:
    """A device array with the memory on an NVIDIA GPU that ``desc`` describes; ``owner`` is kept alive as long as the array is.
    sync: as ``as_cuda_array``. Raises UnsupportedError where the CPU is the device, which cannot reach it."""
    if _treadle.device_kind() == "cpu":
        raise UnsupportedError(
            "from_cuda_array_interface: desc: memory of a GPU is out of the CPU device's reach: copy it to the host"
        )
    return _treadle.from_cuda_interface(desc, owner, sync)
