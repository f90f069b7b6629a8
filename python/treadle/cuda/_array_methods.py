"""numba.cuda's methods of device arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from treadle import _checks
from treadle._bfloat16 import host_dtype
from treadle._convert import from_host, to_host
from treadle._records import native_dtype
from treadle._treadle import ndarray
from treadle.cuda._arrays import as_cuda_array, is_cuda_array
from treadle.cuda._streams import on_stream


class DeviceArrayMethods:
    """numba.cuda's methods of device arrays, which every array has. Copies wait for the current stream, or for ``stream``."""

    def copy_to_host(self: Any, ary: np.ndarray | None = None, stream: Any = 0) -> np.ndarray:
        """A host copy, or ``ary`` filled with it. Raises TypeError for another dtype than ``ary``'s, ValueError for another shape."""
        if ary is not None:
            _checks.instance("copy_to_host: ary", ary, np.ndarray, "a NumPy array")
            _check_same("copy_to_host", ary, self)
        with on_stream(stream):
            host = to_host(self)
        if ary is None:
            return np.asfortranarray(host) if self._f_contiguous and not self._c_contiguous else host
        ary[...] = host
        return ary

    def copy_to_device(self: Any, ary: Any, stream: Any = 0) -> None:
        """Copies an array of the same shape and dtype, from host or device, here. The host array may be changed when this returns.
        Raises TypeError for another dtype, ValueError for another shape."""
        source = as_cuda_array(ary) if is_cuda_array(ary) else np.asarray(ary)
        _check_same("copy_to_device", source, self)
        with on_stream(stream):
            if isinstance(source, ndarray):
                self._set(..., source)
            elif self._c_contiguous and self.size:
                self._copy_from_host(np.ascontiguousarray(source, host_dtype(self.dtype)).reshape(-1).view(np.uint8))
            else:
                self._set(..., from_host(source))

    def is_c_contiguous(self: Any) -> bool:
        """Whether the elements are dense with the last index running fastest."""
        return self._c_contiguous

    def is_f_contiguous(self: Any) -> bool:
        """Whether the elements are dense with the first index running fastest."""
        return self._f_contiguous

    @property
    def alloc_size(self: Any) -> int:
        """Bytes of the elements."""
        return self.nbytes

    def split(self: Any, section: int, stream: Any = 0) -> Iterator[ndarray]:
        """Views of ``section`` elements each, one after the other, of a one-dimensional array. Raises ValueError for others."""
        if self.ndim != 1:
            raise ValueError(f"split: expected a one-dimensional array, got {self.ndim} dimensions")
        if section <= 0:
            raise ValueError(f"split: section: expected a positive number of elements, got {section}")
        return (self._get(slice(begin, begin + section)) for begin in range(0, self.size, section))

    def getitem(self: Any, item: Any, stream: Any = 0) -> ndarray:
        """``array[item]``, made on a stream."""
        with on_stream(stream):
            return self._get(item)

    def setitem(self: Any, key: Any, value: Any, stream: Any = 0) -> None:
        """``array[key] = value`` on a stream; host arrays are copied."""
        from treadle._creation import asarray

        with on_stream(stream):
            self._set(key, asarray(value) if isinstance(value, (np.ndarray, list, tuple)) else value)


def _check_same(what: str, ary: Any, array: Any) -> None:
    _checks.described(f"{what}: ary", ary)
    if ary.shape != array.shape:
        raise ValueError(f"{what}: ary: expected shape {array.shape}, got {ary.shape}")
    if native_dtype(ary.dtype) != array.dtype:
        raise TypeError(f"{what}: ary: expected dtype {array.dtype}, got {ary.dtype}")
