"""Host memory as numba.cuda offers it: pinned arrays, and arrays that host and device share."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from treadle import _checks, _treadle
from treadle._bfloat16 import host_dtype
from treadle.cuda._arrays import new_device_array, order_of, to_device
from treadle.cuda._host_visible import HostVisibleArray, host_memory, host_visible


def pinned_array(shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C") -> np.ndarray:
    """A new NumPy array in page-locked host memory, which copies to and from a GPU read best; on the CPU device any host memory is
    that. Elements have any value. Raises TypeError, ValueError for a bad shape, dtype, order or strides; OutOfMemoryError."""
    if order not in ("C", "F"):
        raise ValueError(f"pinned_array: order: expected 'C' or 'F', got {order!r}")
    shape = _checks.integers("pinned_array: shape", shape)
    extents = np.asarray(shape, np.int64)
    try:
        dtype = host_dtype(dtype)
    except TypeError:
        raise TypeError(f"pinned_array: dtype: expected a dtype, got {dtype!r}") from None
    itemsize = dtype.itemsize
    if strides is None:
        memory = _page_locked(itemsize * int(np.prod(extents, dtype=np.int64)))
        return np.ndarray(shape, dtype, buffer=memory, order="C" if order == "C" else "F")
    steps = np.asarray(_checks.integers("pinned_array: strides", strides), np.int64)
    if len(steps) != len(extents):
        raise ValueError(f"pinned_array: strides: expected {len(extents)} numbers, got {tuple(steps)}")
    reach = itemsize + int(((extents - 1) * steps).sum()) if extents.all() else 0
    return np.ndarray(shape, dtype, buffer=_page_locked(reach), strides=tuple(steps))


def _page_locked(size: int) -> np.ndarray:
    """Bytes of memory that stay where they are."""
    if _treadle.device_kind() == "cpu" or size <= 0:
        return np.empty(max(size, 0), np.uint8)
    return host_memory(_treadle.empty_shared((size,), "uint8", False))


def pinned_array_like(ary: Any) -> np.ndarray:
    """A new pinned array with the shape, dtype and order of ``ary``."""
    _checks.described("pinned_array_like: ary", ary)
    return pinned_array(ary.shape, ary.dtype, order=order_of(ary))


def _check_host(what: str, arylist: tuple[Any, ...]) -> None:
    for number, ary in enumerate(arylist):
        if not isinstance(ary, np.ndarray):
            raise TypeError(f"{what}: array {number}: expected a NumPy array, got {type(ary).__name__}")


@contextlib.contextmanager
def pinned(*arylist: Any) -> Iterator[None]:
    """A context in which copies of the host arrays need not wait for each other. They are not page-locked: ``pinned_array`` makes
    arrays that are. Raises TypeError for anything but NumPy arrays."""
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
    return host_visible(new_device_array(shape, dtype, strides, order, "pinned", stream))


def mapped_array_like(ary: Any, stream: Any = 0, portable: bool = False, wc: bool = False) -> HostVisibleArray:
    """A new mapped array with the shape, dtype and order of ``ary``. Raises: as ``mapped_array``."""
    _checks.described("mapped_array_like: ary", ary)
    return host_visible(new_device_array(ary.shape, ary.dtype, None, order_of(ary), "pinned", stream))


def managed_array(
    shape: Any,
    dtype: Any = np.float64,
    strides: Any = None,
    order: str = "C",
    stream: Any = 0,
    attach_global: bool = True,
) -> HostVisibleArray:
    """A new array in memory that host and device share and that moves to where it is used: on the CPU device the same as
    ``mapped_array``. attach_global: without effect, since every device can reach it. Raises: as ``device_array``."""
    return host_visible(new_device_array(shape, dtype, strides, order, "managed", stream))
