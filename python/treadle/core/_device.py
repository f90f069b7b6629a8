"""Devices with cuda.core's names."""

from __future__ import annotations

import threading
from typing import Any

from treadle import _checks, _treadle
from treadle.core._buffer import Buffer, DeviceMemoryResource
from treadle.core._stream import (
    LEGACY_DEFAULT_STREAM,
    Event,
    EventOptions,
    Stream,
    StreamOptions,
    legacy_default_stream_of,
)
from treadle.cuda._device import Device as _CudaDevice


class _Properties:
    """``Device.properties``: attributes in lower case, such as ``max_threads_per_block``."""

    def __init__(self, device_id: int) -> None:
        self._facts = _CudaDevice(device_id)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._facts, name.upper())


class Device:
    """A device of this process, by number (the current one by default); there is one object for each in a thread.

    Raises: ValueError for a number that no device has."""

    _of_thread = threading.local()

    def __new__(cls, device_id: Any = None) -> Device:
        number = device_id.device_id if isinstance(device_id, Device) else device_id
        number = _treadle.device_index() if number is None else _checks.integer("device", number)
        known: dict[int, Device] = cls._of_thread.__dict__.setdefault("devices", {})
        if number not in known:
            _CudaDevice(number)
            device = super().__new__(cls)
            device._id = number
            device._resource = None
            known[number] = device
        return known[number]

    _id: int
    _resource: Any

    @classmethod
    def get_all_devices(cls) -> tuple[Device, ...]:
        """All devices of this process."""
        return tuple(cls(number) for number in range(_treadle.device_count()))

    @property
    def device_id(self) -> int:
        """The number."""
        return self._id

    @property
    def _facts(self) -> _CudaDevice:
        return _CudaDevice(self._id)

    @property
    def name(self) -> str:
        """The name of the GPU or processor."""
        return self._facts.name.decode()

    @property
    def uuid(self) -> str:
        """A text that names the device among all of this machine."""
        return self._facts.uuid

    @property
    def pci_bus_id(self) -> str:
        """Domain, bus and device on the PCI bus."""
        domain, bus, device = self._facts.attributes["pci"]
        return f"{domain:08x}:{bus:02x}:{device:02x}.0"

    @property
    def compute_capability(self) -> tuple[int, int]:
        """Major and minor number."""
        return self._facts.compute_capability

    @property
    def arch(self) -> str:
        """The compute capability as text, such as "90"."""
        return str(self._facts.arch)

    @property
    def properties(self) -> Any:
        """Attributes in lower case, such as ``max_threads_per_block``."""
        return _Properties(self._id)

    @property
    def stream_priorities(self) -> tuple[int, int]:
        """The priorities that streams can have: the last and the first in order, of which the first is the lower number."""
        return self._facts.attributes["stream_priorities"]

    @property
    def default_stream(self) -> Stream:
        """The legacy default stream."""
        return LEGACY_DEFAULT_STREAM if self._id == _treadle.device_index() else legacy_default_stream_of(self._id)

    @property
    def memory_resource(self) -> Any:
        """Where ``allocate`` takes memory from; can be set."""
        if self._resource is None:
            self._resource = DeviceMemoryResource(self._id)
        return self._resource

    @memory_resource.setter
    def memory_resource(self, resource: Any) -> None:
        self._resource = resource

    def can_access_peer(self, peer: Device | int) -> bool:
        """Whether kernels of this device can reach memory of another one, once ``DeviceMemoryResource.peer_accessible_by`` lets
        them. Raises ValueError for a number that no device has."""
        return _treadle.can_access_peer(self._id, Device(peer).device_id)

    def set_current(self, ctx: Any = None) -> None:
        """Makes this the current device of the calling thread."""
        self._facts.use()

    def create_stream(self, obj: Any = None, *, options: StreamOptions | None = None) -> Stream:
        """A new stream, or the one that an object with ``__cuda_stream__`` stands for. Raises TypeError for any other object,
        ValueError for a priority beyond ``stream_priorities``."""
        if obj is not None and not isinstance(obj, StreamOptions):
            with self._facts:
                return Stream.from_handle(Stream._handle_of(obj))
        chosen = obj or (StreamOptions() if options is None else options)
        _checks.instance("create_stream: options", chosen, StreamOptions, "StreamOptions")
        with self._facts:
            return Stream(_treadle.create_stream(not chosen.nonblocking, chosen.priority or 0), self._id)

    def create_event(self, options: EventOptions | None = None) -> Event:
        """A new event."""
        with self._facts:
            return Event(options)

    def allocate(self, size: int, stream: Any = None) -> Buffer:
        """Memory of ``size`` bytes of the device. Raises ValueError for a negative size, OutOfMemoryError."""
        return self.memory_resource.allocate(size, stream)

    def sync(self) -> None:
        """Waits for all work on all streams. Raises what kernels reported."""
        self._facts.synchronize()

    def __int__(self) -> int:
        return self._id

    def __reduce__(self) -> Any:
        return Device, (self._id,)

    def __copy__(self) -> Device:
        return self

    def __deepcopy__(self, memo: Any) -> Device:
        return self

    def __repr__(self) -> str:
        return f"<Device {self._id} ({self.name})>"
