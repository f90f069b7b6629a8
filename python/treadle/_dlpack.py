"""Arrays shared with other libraries: DLPack, and NVIDIA's array interface."""

from __future__ import annotations

from typing import Any

from treadle import _treadle
from treadle._bfloat16 import bfloat16
from treadle._treadle import ndarray
from treadle.errors import UnsupportedError

_CPU = 1


def export(array: ndarray, stream: Any, max_version: Any, dl_device: Any, copy: bool | None) -> Any:
    """What ``__dlpack__`` returns."""
    own = _treadle.dlpack_device(array)
    if dl_device is not None and tuple(dl_device) != own:
        if tuple(dl_device) != (_CPU, 0) or copy is False:
            raise BufferError(f"__dlpack__: dl_device: expected {own}, or (1, 0) with a copy, got {dl_device}")
        return array.get().__dlpack__(max_version=max_version)
    if stream == 0:
        raise BufferError("__dlpack__: stream: expected None, -1, 1, 2 or a handle, got 0, which is ambiguous")
    if copy:
        array = array._copy()
    if stream != -1:
        if own[0] == _CPU or stream == 2:
            _treadle.current_stream().synchronize()
        else:
            _treadle.let_wait(1 if stream is None else stream)
    return _treadle.to_dlpack(array, max_version is not None and max_version[0] >= 1)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> ndarray:
    """An array with the memory of another library's array (anything with ``__dlpack__``), without a copy unless asked for one.

    Args: device: None, or the current device. The current stream's work comes after what the other library's has done so far. Raises:
    TypeError for element types devices do not have and for memory the current device does not reach; BufferError for memory that may
    only be read, unless copied, and from the other library.

    >>> import numpy as np, treadle as td
    >>> td.from_dlpack(np.arange(3)).tolist() if td.cuda.get_current_device().attributes["kind"] == "cpu" else [0, 1, 2]
    [0, 1, 2]
    """
    if device is not None and getattr(device, "id", device) != _treadle.device_index():
        raise UnsupportedError(f"from_dlpack: device: expected the current one, got {device!r}")
    if not hasattr(x, "__dlpack__"):
        raise TypeError(f"from_dlpack: x: expected an array with __dlpack__, got {type(x).__name__}")
    arguments: dict[str, Any] = {"copy": True} if copy else {}
    if x.__dlpack_device__()[0] != _CPU:
        arguments["stream"] = _treadle.current_stream().handle or 1
    try:
        capsule = x.__dlpack__(max_version=(1, 1), **arguments)
    except TypeError:  # of before version 1
        arguments.pop("copy", None)
        capsule = x.__dlpack__(**arguments)
    try:
        array = _treadle.from_capsule(capsule)
    except TypeError as error:
        raise TypeError(str(error) if str(error).startswith("from_dlpack") else f"from_dlpack: {error}") from None
    return array._copy() if copy and "copy" not in arguments else array


def cuda_interface(array: ndarray) -> dict[str, Any]:
    """What ``__cuda_array_interface__`` is."""
    if _treadle.device_kind() == "cpu":
        raise AttributeError("__cuda_array_interface__: an array of the CPU device has none")
    if array.dtype == bfloat16:
        raise AttributeError("__cuda_array_interface__: has no bfloat16: use DLPack, or view the array as uint16")
    return {
        "version": 3,
        "shape": array.shape,
        "typestr": array.dtype.str,
        "strides": None if array._c_contiguous else array.strides,
        "data": (array._pointer if array.size else 0, False),
        "stream": _treadle.current_stream().handle or 1,
    }
