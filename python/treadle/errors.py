"""Exceptions of Treadle. User errors that Python has a name for (TypeError, ValueError, IndexError) use that name."""

from __future__ import annotations

import re


class TreadleError(Exception):
    """Base of the exceptions that only Treadle raises."""


class CompileError(TreadleError):
    """A kernel cannot be compiled; the message shows file, line and a caret."""


class TypingError(CompileError, TypeError):
    """An operation in a kernel has no meaning for the types of its operands."""


class UnsupportedError(CompileError, NotImplementedError):
    """A construct or function that kernels do not have."""


# The driver's numbers of the errors whose names the CPU device uses.
_DRIVER_CODES = {
    "CUDA_ERROR_INVALID_VALUE": 1,
    "CUDA_ERROR_OUT_OF_MEMORY": 2,
    "CUDA_ERROR_NOT_INITIALIZED": 3,
    "CUDA_ERROR_INVALID_IMAGE": 200,
    "CUDA_ERROR_OPERATING_SYSTEM": 304,
    "CUDA_ERROR_INVALID_HANDLE": 400,
    "CUDA_ERROR_NOT_READY": 600,
    "CUDA_ERROR_ILLEGAL_ADDRESS": 700,
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": 701,
    "CUDA_ERROR_LAUNCH_TIMEOUT": 702,
    "CUDA_ERROR_ASSERT": 710,
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": 715,
    "CUDA_ERROR_MISALIGNED_ADDRESS": 716,
    "CUDA_ERROR_LAUNCH_FAILED": 719,
    "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE": 720,
}


class DeviceError(TreadleError, RuntimeError):
    """The device or its driver refused an operation. ``name`` is the driver's name of the error, such as
    ``CUDA_ERROR_INVALID_VALUE``, and stands at the beginning of the message."""

    @property
    def name(self) -> str:
        match = re.match(r"[A-Z_]+", str(self))
        return match.group(0) if match else ""

    @property
    def code(self) -> int:
        """The driver's number of the error; 999, which the driver calls unknown, for other names."""
        return _DRIVER_CODES.get(self.name, 999)

    @property
    def msg(self) -> str:
        """The message."""
        return str(self)


class DivergentBarrierError(TreadleError, RuntimeError):
    """Some threads of a block reached a barrier that others did not; the message names both places."""


class OutOfMemoryError(TreadleError, MemoryError):
    """The device has no memory left for an allocation."""


class InternalError(TreadleError, RuntimeError):
    """A fault of Treadle itself: please report it."""


class HostArrayWarning(UserWarning):
    """A host array was copied to the device and back for a kernel call."""
