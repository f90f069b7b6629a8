"""Memory without a type, with cuda.core's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from treadle import _checks, _treadle
from treadle._dlpack import export
from treadle.core._stream import Stream
from treadle.cuda._device import Device as _CudaDevice


class Buffer:
    """Bytes of memory of a device or of page-locked memory of the host. Kernels take it as a pointer; arrays of other libraries share
    it through DLPack."""

    def __init__(self, array: Any, resource: Any, host: bool = False) -> None:
        self._array = array
        self._resource = resource
        self._host = host

    def _live(self) -> Any:
        if self._array is None:
            raise RuntimeError("buffer: expected one that is not closed")
        return self._array

    @property
    def handle(self) -> int:
        """The address; 0 once it is closed."""
        return 0 if self._array is None else self._array._pointer

    @property
    def size(self) -> int:
        """Bytes."""
        return 0 if self._array is None else self._array.size

    @property
    def memory_resource(self) -> Any:
        """Where it comes from."""
        return self._resource

    @property
    def device_id(self) -> int:
        """The number of its device; -1 for memory of the host."""
        return -1 if self._host else self._resource.device_id

    @property
    def is_device_accessible(self) -> bool:
        """Whether kernels reach it: always."""
        return True

    @property
    def is_host_accessible(self) -> bool:
        """Whether the host reaches it."""
        return self._host or _treadle.device_kind() == "cpu"

    def close(self, stream: Any = None) -> None:
        """Gives the memory back once the work that uses it is done."""
        self._array = None

    def copy_to(self, dst: Buffer | None = None, *, stream: Any) -> Buffer:
        """Copies to another buffer of the same size (a new one of the same resource by default), in the stream's order, and
        returns it. Raises ValueError for another size."""
        target = self._resource.allocate(self.size, stream) if dst is None else dst
        _checks.instance("copy_to: dst", target, Buffer, "a buffer")
        target.copy_from(self, stream=stream)
        return target

    def copy_from(self, src: Buffer, *, stream: Any) -> None:
        """Copies another buffer of the same size, in the stream's order. Raises ValueError for another size."""
        _checks.instance("copy_from: src", src, Buffer, "a buffer")
        src._live()
        if src.size != self.size:
            raise ValueError(f"copy: expected buffers of one size, got {src.size} and {self.size} bytes")
        with _Current(stream):
            self._live()._set(..., src._live())

    def fill(self, value: int, *, stream: Any) -> None:
        """Sets every byte, in the stream's order. Raises ValueError beyond 0 to 255."""
        if not 0 <= _checks.integer("fill: value", value) < 256:
            raise ValueError(f"fill: value: expected 0 to 255, got {value}")
        with _Current(stream):
            self._live()._fill(value)

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
    ) -> Any:
        return export(self._live().view(np.int8), stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return _treadle.dlpack_device(self._live())

    def __enter__(self) -> Buffer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __int__(self) -> int:
        return self.handle

    def __repr__(self) -> str:
        return f"<Buffer of {self.size} bytes at {self.handle:#x}>"


class _Current:
    """Makes a stream current for a block."""

    def __init__(self, stream: Any) -> None:
        self._native = Stream._of(stream)

    def __enter__(self) -> None:
        self._before = _treadle.current_stream()
        _treadle.set_current_stream(self._native)

    def __exit__(self, *error: object) -> None:
        _treadle.set_current_stream(self._before)


def _number_of(device: Any) -> int:
    """Of a Device, or a number itself."""
    return _CudaDevice(_checks.integer("device", getattr(device, "device_id", device))).id


class DeviceMemoryResource:
    """The pool of a device's memory."""

    is_device_accessible = True

    def __init__(self, device_id: Any = 0, options: Any = None) -> None:
        self.device_id: int = _number_of(device_id)

    def allocate(self, size: int, stream: Any = None) -> Buffer:
        """Memory of ``size`` bytes. Raises ValueError for a negative size, OutOfMemoryError."""
        with _CudaDevice(self.device_id):
            return Buffer(_treadle.empty((_checked(size, stream),), "uint8"), self)

    def deallocate(self, ptr: Any, size: int, stream: Any = None) -> None:
        """Buffers give their memory back themselves."""

    @property
    def is_host_accessible(self) -> bool:
        """Whether the host reaches the memory."""
        return _treadle.device_kind() == "cpu"

    @property
    def peer_accessible_by(self) -> tuple[int, ...]:
        """The numbers of the other devices whose kernels may use the memory of this one: all of it, arrays as well as buffers.
        Set to a sequence of numbers or Devices; a device that is no longer among them is waited for. Raises ValueError for a
        number that no device has, DeviceError for a device that cannot reach the memory."""
        return tuple(number for number in self._others() if _treadle.has_peer_access(number, self.device_id))

    @peer_accessible_by.setter
    def peer_accessible_by(self, devices: Any) -> None:
        given = _checks.sequence("peer_accessible_by", devices, "a sequence of devices")
        wanted = {_number_of(device) for device in given}
        for number in self._others():
            if _treadle.has_peer_access(number, self.device_id) != (number in wanted):
                _treadle.set_peer_access(number, self.device_id, number in wanted)

    def _others(self) -> list[int]:
        return [number for number in range(_treadle.device_count()) if number != self.device_id]


class LegacyPinnedMemoryResource:
    """Page-locked memory of the host, which devices reach as well."""

    is_device_accessible = True
    is_host_accessible = True
    device_id = -1

    def allocate(self, size: int, stream: Any = None) -> Buffer:
        """Memory of ``size`` bytes. Raises ValueError for a negative size, OutOfMemoryError."""
        return Buffer(_treadle.empty_shared((_checked(size, stream),), "uint8", False), self, host=True)

    def deallocate(self, ptr: Any, size: int, stream: Any = None) -> None:
        """Buffers give their memory back themselves."""


PinnedMemoryResource = LegacyPinnedMemoryResource


def _checked(size: int, stream: Any) -> int:
    if stream is not None:
        Stream._of(stream)
    if _checks.integer("allocate: size", size) < 0:
        raise ValueError(f"allocate: size: expected 0 or more bytes, got {size}")
    return size
