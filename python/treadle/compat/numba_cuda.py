"""The namespace of ``numba.cuda``: kernels take host arrays as numba.cuda does, with a warning."""

from __future__ import annotations

import functools
from typing import Any

from treadle import cuda as _cuda
from treadle import types
from treadle.compat.numba_cudadrv_names import (
    CudaSupportError,
    KernelRuntimeError,
    require_context,
)
from treadle.cuda import *  # noqa: F403
from treadle.cuda import Dispatcher as CUDADispatcher
from treadle.errors import UnsupportedError


@functools.wraps(_cuda.jit)  # type: ignore[no-redef]
def jit(func_or_sig: Any = None, **options: Any) -> Any:
    options.setdefault("host_arrays", "copy")
    return _cuda.jit(func_or_sig, **options)


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(_cuda, name)


def set_memory_manager(mm_plugin: Any) -> None:
    """Makes another library allocate device memory. Raises UnsupportedError."""
    raise UnsupportedError("set_memory_manager: the CPU device has one allocator, its own")


def open_ipc_array(handle: Any, shape: Any, dtype: Any, strides: Any = None, offset: int = 0) -> Any:
    """Opens a device array of another process. Raises UnsupportedError."""
    raise UnsupportedError("open_ipc_array: memory of the CPU device is not shared between processes")


__all__ = [
    *_cuda.__all__,
    "CUDADispatcher",
    "CudaSupportError",
    "KernelRuntimeError",
    "open_ipc_array",
    "require_context",
    "set_memory_manager",
    "types",
]
