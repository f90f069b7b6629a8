"""Device arrays towards NumPy as numba.cuda has them: they become host arrays where NumPy asks, and host arrays can be assigned."""

from __future__ import annotations

from typing import Any

import numpy as np

from treadle import asarray, ndarray


def _as_numpy(self: ndarray, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    if copy is False:
        raise ValueError(
            "__array__: copy: expected True or None, got False: the host array of a device array is a copy"
        )
    host = self.copy_to_host()
    return host if dtype is None else host.astype(dtype, copy=False)


def _set_item(self: ndarray, item: Any, value: Any) -> None:
    self._set(item, asarray(value) if isinstance(value, (np.ndarray, list, tuple)) else value)


def allow_host_arrays() -> None:
    """Makes ``numpy.asarray(array)`` a host copy and ``array[item] = host_array`` an assignment, for all arrays of the process.

    Treadle and CuPy refuse both, since each hides a copy; programs written for numba.cuda use them.
    """
    methods: Any = ndarray
    methods.__array__ = _as_numpy
    methods.__setitem__ = _set_item
