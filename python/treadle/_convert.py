"""Conversions between Python objects and device arrays that the extension leaves to Python."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from treadle import _treadle
from treadle._bfloat16 import BFloat16, bfloat16, host_dtype, is_bfloat16
from treadle._records import element_name, numpy_dtype
from treadle._types import dtype_name
from treadle.cuda._host_visible import HostVisibleArray

_INTEGER_BITS = {"float16": np.uint16, "bfloat16": np.uint16, "float32": np.uint32, "float64": np.uint64}
_PARTS = {"complex64": np.uint32, "complex128": np.uint64}


def from_host(host: np.ndarray) -> _treadle.ndarray:
    """A device array with a copy of ``host`` (any layout; big-endian data is converted)."""
    if isinstance(host, HostVisibleArray):
        return host.device_array._copy()
    name = element_name(host.dtype, "array")
    data = np.ascontiguousarray(host, dtype=host_dtype(numpy_dtype(name)))
    result = _treadle.empty(host.shape, name)
    if data.size:
        result._copy_from_host(data.reshape(-1).view(np.uint8))
    return result


def from_object(value: Any, name: str) -> _treadle.ndarray:
    """A device array with the numbers of anything NumPy makes an array of, in a dtype given by name."""
    if name != bfloat16:
        return from_host(np.asarray(value, dtype=numpy_dtype(name)))
    host = np.asarray(value)
    if is_bfloat16(host.dtype):
        return from_host(host)
    with np.errstate(over="ignore"):  # becomes infinite, as it would from float32
        return from_host(np.asarray(host, np.float32))._astype(name)


def from_bits(host: np.ndarray, name: str) -> _treadle.ndarray:
    """A device array whose elements have the bits of unsigned integers."""
    return from_host(host)._view(name)


def to_python(array: _treadle.ndarray) -> np.ndarray:
    """A host copy whose elements become Python numbers: that of bfloat16 needs no type of NumPy's. Waits for the current stream."""
    return to_host(array._astype("float32") if array._dtype_name == bfloat16 else array)


def to_host(array: _treadle.ndarray) -> np.ndarray:
    """A NumPy array with a copy of ``array``. Waits for the current stream. Raises UnsupportedError for bfloat16 without ml_dtypes."""
    result = np.empty(array.shape, dtype=host_dtype(numpy_dtype(array._dtype_name)))
    if result.size:
        array._copy_to_host(result.reshape(-1).view(np.uint8))
    return result


def operand(value: Any, operation: str) -> _treadle.ndarray:
    """What an operand that is no device array and no Python number stands for. Raises TypeError for host arrays."""
    if isinstance(value, HostVisibleArray):
        return value.device_array
    if isinstance(value, BFloat16):
        return from_bits(np.asarray(value.bits, np.uint16), "bfloat16")
    if isinstance(value, np.generic):
        return from_host(np.asarray(value))
    if isinstance(value, np.ndarray):
        raise TypeError(
            f"[{operation}] expected a device array or a number, got a NumPy array on the host: copy it with treadle.asarray(...)"
        )
    raise TypeError(f"[{operation}] expected a device array or a number, got {type(value).__name__}")


def scalar_bits(value: np.generic) -> tuple[str, int] | tuple[str, int, int]:
    """A NumPy scalar as (dtype name, bits) for a kernel argument; complex ones have the bits of both parts."""
    name = dtype_name(value.dtype, "argument")
    if name in _PARTS:
        real, imaginary = np.atleast_1d(value).view(_PARTS[name])
        return name, int(real), int(imaginary)
    if name in _INTEGER_BITS:
        return name, int(value.view(_INTEGER_BITS[name]))
    return name, int(value) & 0xFFFFFFFFFFFFFFFF


def _numpy_scalar(value: Any) -> np.generic:
    """A number as NumPy has it: Python's as bool, int64, float64 or complex128."""
    return np.asarray(value).reshape(1)[0]


class HostArrayPassed(Exception):
    """A launch met a host array that has to be copied first."""


def argument(value: Any, kernel: str, name: str, copies_host_arrays: bool) -> Any:
    """A kernel argument that is no device array, Python number or tuple. Raises TypeError naming the parameter."""
    if isinstance(value, HostVisibleArray):
        return value.device_array
    if isinstance(value, enum.Enum):
        value = value.value
        if type(value) in (bool, int):
            return scalar_bits(_numpy_scalar(value))
    if isinstance(value, (np.datetime64, np.timedelta64)):
        value = value.astype(np.int64)
    if isinstance(value, BFloat16):
        return "bfloat16", value.bits
    try:
        if isinstance(value, np.void):
            element_name(value.dtype, "argument")
            return "record", from_host(np.asarray(value))
        if isinstance(value, (np.generic, float, complex)):
            return scalar_bits(_numpy_scalar(value))
        host = value if isinstance(value, np.ndarray) else getattr(value, "value", None)
        if isinstance(host, np.ndarray) and copies_host_arrays:
            element_name(host.dtype, "argument")
            raise HostArrayPassed
    except TypeError as error:
        raise TypeError(f"{kernel}: argument '{name}': {str(error).split(': ', 1)[1]}") from None
    if isinstance(value, int):
        raise OverflowError(f"{kernel}: argument '{name}': expected an integer of at most 64 bits, got {value}")
    what = type(value).__name__
    if isinstance(value, np.ndarray):
        what = "a NumPy array on the host: copy it with treadle.asarray(...)"
    raise TypeError(f"{kernel}: argument '{name}': expected a device array, a number or a tuple of these, got {what}")
