"""The names of the modules in ``numba.cuda.cudadrv`` that programs use: exceptions, classes of arrays, devices and contexts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from treadle import ndarray
from treadle.compat.numba_errors import LoweringError
from treadle.cuda import (
    Context,
    Device,
    Event,
    HostVisibleArray,
    MemoryInfo,
    Stream,
    current_context,
    gpus,
    is_cuda_array,
    runtime,
    to_device,
)
from treadle.errors import DeviceError

CudaAPIError = CudaDriverError = DeviceError
DeviceNDArray = DeviceNDArrayBase = ndarray
MappedNDArray = ManagedNDArray = HostVisibleArray
get_context = current_context
is_cuda_ndarray = is_cuda_array
CudaLoweringError = LoweringError


class CudaSupportError(ImportError):
    """There is no device: never raised, since the CPU is one."""


class CudaRuntimeError(Exception):
    """The CUDA runtime refused an operation: never raised, since there is none."""


class NvvmError(Exception):
    """NVIDIA's compiler refused a program: never raised, since it is not used."""


class NvvmSupportError(ImportError):
    """NVIDIA's compiler is missing: never raised, since it is not used."""


class LinkerError(RuntimeError):
    """Linking failed: never raised, since kernels of the CPU device link nothing."""


class KernelRuntimeError(RuntimeError):
    """A kernel raised an exception: never raised, since kernels raise none; bad indices are IndexError."""


def require_context(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself: there is always a context."""
    return function


def require_cuda_ndarray(obj: Any) -> None:
    """Raises ValueError for anything but a device array."""
    if not is_cuda_array(obj):
        raise ValueError(f"require_cuda_ndarray: obj: expected a device array, got {type(obj).__name__}")


def auto_device(obj: Any, stream: Any = 0, copy: bool = True, user_explicit: bool = False) -> tuple[Any, bool]:
    """A device array and whether it is new: ``obj`` itself, or a copy of a host array. Raises as ``cuda.to_device``."""
    return to_device(obj, stream, copy), not is_cuda_array(obj)


def reset() -> None:
    """As ``cuda.close``."""
    current_context().reset()


__all__ = [
    "Context",
    "CudaAPIError",
    "CudaDriverError",
    "CudaLoweringError",
    "CudaRuntimeError",
    "CudaSupportError",
    "Device",
    "DeviceNDArray",
    "DeviceNDArrayBase",
    "Event",
    "KernelRuntimeError",
    "LinkerError",
    "ManagedNDArray",
    "MappedNDArray",
    "MemoryInfo",
    "NvvmError",
    "NvvmSupportError",
    "Stream",
    "auto_device",
    "get_context",
    "gpus",
    "is_cuda_ndarray",
    "require_context",
    "require_cuda_ndarray",
    "reset",
    "runtime",
]
