"""Host memory as numba.cuda offers it: pinned arrays, and arrays that host and device share."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from treadle import _treadle
from treadle.cuda._arrays import device_array, device_array_like, to_device
from treadle.cuda._host_visible import HostVisibleArray, host_visible


def pinned_array(shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C") -> np.ndarray:
    """A new NumPy array in host memory that copies to and from the device read best: on the CPU device any host memory is that.
    Elements have any value. Raises TypeError, ValueError for a bad shape, dtype, order or strides."""
    if order not in ("C", "F"):
        raise ValueError(f"pinned_array: order: expected 'C' or 'F', got {order!r}")
    if strides is None:
        return np.empty(shape, dtype, order)  # type: ignore[call-overload]
    extents, steps = np.atleast_1d(shape), np.atleast_1d(strides)
    reach = np.dtype(dtype).itemsize + int(((extents - 1) * steps).sum()) if extents.all() else 0
    return np.ndarray(shape, dtype, buffer=np.empty(max(reach, 0), np.uint8), strides=tuple(steps))


def pinned_array_like(ary: Any) -> np.ndarray:
    """A new pinned array with the shape, dtype and order of ``ary``."""
    fortran = ary.flags["F_CONTIGUOUS"] and not ary.flags["C_CONTIGUOUS"]
    return pinned_array(ary.shape, ary.dtype, order="F" if fortran else "C")


def _check_host(what: str, arylist: tuple[Any, ...]) -> None:
    for number, ary in enumerate(arylist):
        if not isinstance(ary, np.ndarray):
            raise TypeError(f"{what}: array {number}: expected a NumPy array, got {type(ary).__name__}")


@contextlib.contextmanager
def pinned(*arylist: Any) -> Iterator[None]:
    """A context in which the host arrays are page-locked: on the CPU device nothing has to be done. Raises TypeError for anything but
    NumPy arrays."""
    _check_host("pinned", arylist)
    yield


@contextlib.contextmanager
def mapped(*arylist: Any, stream: Any = 0) -> Iterator[Any]:
    """A context that gives device arrays for host arrays: one, or a list of several. They are copies; what kernels wrote is in
    the host arrays after the context's end, which waits for the device.

    Raises: TypeError for anything but NumPy arrays and for dtypes that devices do not have.
    """
    _check_host("mapped", arylist)
    arrays = [to_device(ary, stream) for ary in arylist]
    yield arrays[0] if len(arrays) == 1 else arrays
    _treadle.synchronize()
    for host, array in zip(arylist, arrays, strict=True):
        if host.flags.writeable:
            array.copy_to_host(host)


def mapped_array(
    shape: Any,
    dtype: Any = np.float64,
    strides: Any = None,
    order: str = "C",
    stream: Any = 0,
    portable: bool = False,
    wc: bool = False,
) -> HostVisibleArray:
    """A new array that is at once a NumPy array and an argument for kernels; elements have any value. Access waits for the device.

    Args: shape, dtype, strides, order: as ``device_array``; stream: not waited for; portable, wc: hints about host pages, without
    effect on the CPU device. Raises: as ``device_array``.

    >>> from treadle import cuda
    >>> x = cuda.mapped_array(3, "int32")
    >>> x[:] = 5
    >>> x.sum()
    np.int64(15)
    """
    return host_visible(device_array(shape, dtype, strides, order, stream))


def mapped_array_like(ary: Any, stream: Any = 0, portable: bool = False, wc: bool = False) -> HostVisibleArray:
    """A new mapped array with the shape, dtype and order of ``ary``. Raises: as ``mapped_array``."""
    return host_visible(device_array_like(ary, stream))


def managed_array(
    shape: Any,
    dtype: Any = np.float64,
    strides: Any = None,
    order: str = "C",
    stream: Any = 0,
    attach_global: bool = True,
) -> HostVisibleArray:
    """A new array in memory that host and device share: on the CPU device the same as ``mapped_array``. attach_global: without effect,
    since one device can reach it. Raises: as ``device_array``."""
    return host_visible(device_array(shape, dtype, strides, order, stream))
