"""``cuda.reduce``: a function of two values that puts all elements of an array together."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from treadle import _treadle
from treadle._treadle import ndarray
from treadle.cuda import _intrinsics
from treadle.cuda._arrays import to_device
from treadle.cuda._generated import core_function
from treadle.cuda._kernel import Dispatcher, jit
from treadle.cuda._streams import on_stream

_THREADS = 4096  # of the first round: enough for the vectors of many cores
_LEAST_WORK = 16  # elements a thread has at least, but for the last round
_BLOCK = 256


def _kernels(core: Any) -> tuple[Dispatcher, Dispatcher]:
    """A round, in which each thread puts together elements that lie a grid apart, and the end, which one thread does."""
    grid: Any = _intrinsics.grid

    def partial(x: Any, parts: Any) -> None:
        t = grid(1)
        n = parts.size
        if t < n:
            value = x[t]
            for i in range(t + n, x.size, n):
                value = core(value, x[i])
            parts[t] = value

    def finish(x: Any, init: Any, result: Any) -> None:
        value = init
        for i in range(x.size):
            value = core(value, x[i])
        result[0] = value

    return jit(partial), jit(finish)


class Reduce:
    """A function of two values as a reduction: ``Reduce(f)(arr, size=None, res=None, init=0, stream=0)``, or ``@cuda.reduce``.

    arr: a one-dimensional host or device array; size: how many of its elements, all by default; init: the value before the first;
    res: a device array whose first element gets the result. The function has to be associative and commutative; the order in which
    it meets the elements depends on their number only. Returns a scalar of the array's dtype and waits for it, or None for ``res``.

    Raises: TypeError for another number of dimensions, ValueError for a bad size or a ``res`` of another dtype or without elements.
    """

    def __init__(self, functor: Any) -> None:
        self._functor = core_function(functor, "reduce")
        functools.update_wrapper(self, self._functor)
        self._partial, self._finish = _kernels(self._functor)

    def __call__(self, arr: Any, size: int | None = None, res: Any = None, init: Any = 0, stream: Any = 0) -> Any:
        if not hasattr(arr, "ndim") or arr.ndim != 1:
            got = f"{arr.ndim} dimensions" if hasattr(arr, "ndim") else type(arr).__name__
            raise TypeError(f"reduce: arr: expected an array of one dimension, got {got}")
        if size is not None and not 0 <= size <= arr.size:
            raise ValueError(f"reduce: size: expected a number from 0 to {arr.size}, got {size}")
        if res is not None and (not isinstance(res, ndarray) or res.size == 0 or res.dtype != arr.dtype):
            raise ValueError(f"reduce: res: expected a device array of {arr.dtype} with an element, got {res!r}")
        with on_stream(stream):
            values = to_device(arr)
            if size is not None:
                values = values._get(slice(size))
            result = self._reduce(values, np.asarray(init).astype(values.dtype)[()])
            if res is None:
                return result.get()[0]
            res._reshape(-1)._get(slice(1))._set(..., result)
            return None

    def _reduce(self, values: ndarray, init: Any) -> ndarray:
        while values.size > 4 * _LEAST_WORK:
            threads = min(_THREADS, values.size // _LEAST_WORK)
            parts = _treadle.empty((threads,), values._dtype_name)
            self._partial[(threads + _BLOCK - 1) // _BLOCK, _BLOCK](values, parts)
            values = parts
        result = _treadle.empty((1,), values._dtype_name)
        self._finish[1, 1](values, init, result)
        return result


reduce = Reduce
