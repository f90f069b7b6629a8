"""Kernels written in Python, with numba.cuda's names, and the devices, streams and events they run on."""

from __future__ import annotations

from typing import Any

import numpy as np

from treadle.cuda._device import (
    Device,
    Event,
    Stream,
    default_stream,
    event,
    get_current_device,
    get_current_stream,
    get_elapsed_time,
    is_available,
    select_device,
    stream,
    synchronize,
)
from treadle.cuda._intrinsics import (
    activemask,
    all_sync,
    any_sync,
    atomic,
    ballot_sync,
    blockDim,
    blockIdx,
    brev,
    cbrt,
    cg,
    clz,
    const,
    eq_sync,
    ffs,
    fma,
    grid,
    gridDim,
    gridsize,
    laneid,
    lanemask_lt,
    local,
    match_all_sync,
    match_any_sync,
    nanosleep,
    popc,
    rsqrt,
    selp,
    shared,
    shfl_down_sync,
    shfl_sync,
    shfl_up_sync,
    shfl_xor_sync,
    syncthreads,
    syncthreads_and,
    syncthreads_count,
    syncthreads_or,
    syncwarp,
    threadIdx,
    threadfence,
    threadfence_block,
    threadfence_system,
    warpsize,
)
from treadle.cuda._kernel import Dispatcher, jit


def to_device(obj: Any, stream: Any = 0, copy: bool = True, to: Any = None) -> Any:
    """A device array with a copy of a host array, or ``to`` filled with it."""
    from treadle._creation import array

    result = array(obj)
    if to is None:
        return result
    to[...] = result
    return to


def device_array(shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", stream: Any = 0) -> Any:
    """A new device array whose elements have any value."""
    from treadle._creation import empty

    return empty(shape, dtype)


def device_array_like(ary: Any, stream: Any = 0) -> Any:
    """A new device array with the shape and dtype of ``ary`` (host or device)."""
    from treadle._creation import empty

    return empty(ary.shape, ary.dtype)


__all__ = [
    "Device",
    "Dispatcher",
    "Event",
    "Stream",
    "activemask",
    "all_sync",
    "any_sync",
    "atomic",
    "ballot_sync",
    "blockDim",
    "blockIdx",
    "brev",
    "cbrt",
    "cg",
    "clz",
    "const",
    "default_stream",
    "device_array",
    "device_array_like",
    "eq_sync",
    "event",
    "ffs",
    "fma",
    "get_current_device",
    "get_current_stream",
    "get_elapsed_time",
    "grid",
    "gridDim",
    "gridsize",
    "is_available",
    "jit",
    "laneid",
    "lanemask_lt",
    "local",
    "match_all_sync",
    "match_any_sync",
    "nanosleep",
    "popc",
    "rsqrt",
    "select_device",
    "selp",
    "shared",
    "shfl_down_sync",
    "shfl_sync",
    "shfl_up_sync",
    "shfl_xor_sync",
    "stream",
    "synchronize",
    "syncthreads",
    "syncthreads_and",
    "syncthreads_count",
    "syncthreads_or",
    "syncwarp",
    "threadIdx",
    "threadfence",
    "threadfence_block",
    "threadfence_system",
    "to_device",
    "warpsize",
]
