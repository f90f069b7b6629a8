"""Kernels written in Python, with numba.cuda's names, and the devices, streams and events they run on."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from treadle.cuda import _vector_types
from treadle.cuda._arrays import (
    as_cuda_array,
    device_array,
    device_array_like,
    from_cuda_array_interface,
    is_cuda_array,
    to_device,
)
from treadle.cuda._compiled import CompiledKernel
from treadle.cuda._device import Device, get_current_device, is_available, select_device, synchronize
from treadle.cuda._host_visible import HostVisibleArray
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
    threadfence,
    threadfence_block,
    threadfence_system,
    threadIdx,
    warpsize,
)
from treadle.cuda._kernel import Dispatcher, jit
from treadle.cuda._launchers import In, InOut, Out
from treadle.cuda._streams import (
    Event,
    Stream,
    default_stream,
    event,
    event_elapsed_time,
    external_stream,
    get_current_stream,
    get_elapsed_time,
    legacy_default_stream,
    per_thread_default_stream,
    stream,
)

if TYPE_CHECKING:
    from treadle.cuda import fp16 as fp16
    from treadle.cuda import libdevice as libdevice
    from treadle.cuda import random as random
    from treadle.cuda._contexts import (
        Context,
        MemoryInfo,
        close,
        current_context,
        defer_cleanup,
        detect,
        gpus,
        is_bfloat16_supported,
        is_float16_supported,
        is_supported_version,
        list_devices,
        profile_start,
        profile_stop,
        profiling,
        runtime,
    )
    from treadle.cuda._guvectorize import DeviceGUFunc, guvectorize
    from treadle.cuda._host_memory import (
        managed_array,
        mapped,
        mapped_array,
        mapped_array_like,
        pinned,
        pinned_array,
        pinned_array_like,
    )
    from treadle.cuda._reduce import Reduce, reduce
    from treadle.cuda._vectorize import DeviceUFunc, vectorize

# What few programs use is imported when it is asked for: importing Treadle should cost little beside importing NumPy.
_LATER = ("_contexts", "_declared", "_ptx", "_host_memory", "_vectorize", "_guvectorize", "_reduce")
# Not in __all__, so that the names of numba.cuda are taken over without importing these.
_MODULES = ("fp16", "libdevice", "random")


def __getattr__(name: str) -> Any:
    vectors = _vector_types.vector_types() if name[-1:] in "1234" else {}
    if name in vectors:
        # All at once: each is the same object under all its names.
        globals().update(vectors)
        return vectors[name]
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in __all__:
        for module in _LATER:
            found = vars(importlib.import_module(f"{__name__}.{module}")).get(name)
            if found is not None:
                globals()[name] = found
                return found
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})


__all__ = [
    "Archive",
    "CUSource",
    "CompiledKernel",
    "Context",
    "Cubin",
    "DeclaredFunction",
    "Device",
    "DeviceGUFunc",
    "DeviceUFunc",
    "Dispatcher",
    "Event",
    "Fatbin",
    "HostVisibleArray",
    "In",
    "InOut",
    "LTOIR",
    "LinkableCode",
    "MemoryInfo",
    "Object",
    "Out",
    "PTXSource",
    "Reduce",
    "Stream",
    "activemask",
    "all_sync",
    "any_sync",
    "as_cuda_array",
    "atomic",
    "ballot_sync",
    "blockDim",
    "blockIdx",
    "brev",
    "cbrt",
    "cg",
    "close",
    "clz",
    "compile",
    "compile_for_current_device",
    "compile_ptx",
    "compile_ptx_for_current_device",
    "const",
    "current_context",
    "declare_device",
    "default_stream",
    "defer_cleanup",
    "detect",
    "device_array",
    "device_array_like",
    "eq_sync",
    "event",
    "event_elapsed_time",
    "external_stream",
    "ffs",
    "fma",
    "from_cuda_array_interface",
    "get_current_device",
    "get_current_stream",
    "get_elapsed_time",
    "gpus",
    "grid",
    "gridDim",
    "gridsize",
    "guvectorize",
    "is_available",
    "is_bfloat16_supported",
    "is_cuda_array",
    "is_float16_supported",
    "is_supported_version",
    "jit",
    "laneid",
    "lanemask_lt",
    "legacy_default_stream",
    "list_devices",
    "local",
    "managed_array",
    "mapped",
    "mapped_array",
    "mapped_array_like",
    "match_all_sync",
    "match_any_sync",
    "nanosleep",
    "per_thread_default_stream",
    "pinned",
    "pinned_array",
    "pinned_array_like",
    "popc",
    "profile_start",
    "profile_stop",
    "profiling",
    "reduce",
    "rsqrt",
    "runtime",
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
    "vectorize",
    "warpsize",
]
