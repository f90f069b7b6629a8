"""Streams and events with cuda.core's names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from treadle import _treadle
from treadle.cuda._device import Device as _CudaDevice

if TYPE_CHECKING:
    from treadle.core._device import Device


@dataclass
class EventOptions:
    """timing_enabled: whether differences of events can be asked for; blocking_sync: taken for compatibility."""

    timing_enabled: bool = False
    blocking_sync: bool = False
    ipc_enabled: bool = False


@dataclass
class StreamOptions:
    """nonblocking: leaves out the implicit order with the legacy default stream; priority: a wish."""

    nonblocking: bool = True
    priority: int | None = None


class Event:
    """A point in a stream's work; ``end - start`` is the milliseconds between two."""

    def __init__(self, options: EventOptions | None = None) -> None:
        self._native = _treadle.create_event()
        self._options = options or EventOptions()

    @property
    def is_timing_disabled(self) -> bool:
        """Whether differences cannot be asked for."""
        return not self._options.timing_enabled

    @property
    def is_done(self) -> bool:
        """Whether the recorded work is done."""
        return self._native.query()

    def sync(self) -> None:
        """Waits for the recorded work."""
        self._native.synchronize()

    def close(self) -> None:
        """Nothing has to be given back by hand."""

    def __sub__(self, start: Event) -> float:
        if self.is_timing_disabled or start.is_timing_disabled:
            raise RuntimeError(
                "event: expected two events made with EventOptions(timing_enabled=True), got one without"
            )
        return self._native.elapsed_ms(start._native)


class Stream:
    """Work that runs in order. Made by ``Device.create_stream`` and ``Stream.from_handle``."""

    def __init__(
        self, native: Any, device_id: int, options: StreamOptions | None = None, handle: int | None = None
    ) -> None:
        self._native = native
        self._device_id = device_id
        self._options = options
        self._number = native.handle if handle is None else handle

    @staticmethod
    def from_handle(handle: int) -> Stream:
        """The stream with a driver's handle, perhaps another library's, which must keep it alive. Raises TypeError for what is no
        integer, DeviceError on the CPU device for a handle that no stream has."""
        if not isinstance(handle, int):
            raise TypeError(f"from_handle: handle: expected an integer, got {type(handle).__name__}")
        return Stream(_treadle.stream_of(handle), _treadle.device_index(), handle=handle)

    @staticmethod
    def _of(value: Any) -> Any:
        """The runtime's stream of anything that stands for a stream. Raises TypeError."""
        native = getattr(value, "_native", None)
        if native is not None:
            return native
        protocol = getattr(value, "__cuda_stream__", None)
        if protocol is None:
            raise TypeError(f"stream: expected a stream or an object with __cuda_stream__, got {type(value).__name__}")
        facts = protocol() if callable(protocol) else protocol
        return _treadle.stream_of(int(facts[1]))

    @property
    def handle(self) -> int:
        """The driver's handle."""
        return self._number

    @property
    def device(self) -> Device:
        """The device of the stream."""
        from treadle.core._device import Device

        return Device(self._device_id)

    @property
    def is_nonblocking(self) -> bool:
        """Whether it has no implicit order with the legacy default stream."""
        return self._options is not None and self._options.nonblocking

    @property
    def priority(self) -> int:
        """The priority that was wished for; 0 is the usual one."""
        return (self._options.priority if self._options else None) or 0

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.handle)

    def sync(self) -> None:
        """Waits for the work given so far. Raises what its kernels reported."""
        self._native.synchronize()

    def record(self, event: Event | None = None, options: EventOptions | None = None) -> Event:
        """Records an event (a new one by default) and returns it."""
        if event is None:
            with _CudaDevice(self._device_id):
                event = Event(options)
        self._native.record(event._native)
        return event

    def wait(self, event_or_stream: Any) -> None:
        """Makes later work wait for an event, or for the work that a stream has now. Raises TypeError for anything else."""
        if isinstance(event_or_stream, Event):
            self._native.wait(event_or_stream._native)
            return
        # An event belongs to the device of the stream that it is recorded in.
        with _CudaDevice(getattr(event_or_stream, "_device_id", self._device_id)):
            native = Stream._of(event_or_stream)
            event = _treadle.create_event()
        native.record(event)
        self._native.wait(event)

    def close(self) -> None:
        """Gives the stream up; one made by ``from_handle`` stays its owner's."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (other.handle, other._device_id) == (self.handle, self._device_id)

    def __hash__(self) -> int:
        return hash(self.handle)

    def __repr__(self) -> str:
        return f"<Stream {self.handle:#x}>"


class _DefaultStream(Stream):
    """A default stream, which every device has: of one device, or of the one that is current when it is used."""

    def __init__(self, number: int, name: str, device_id: int | None = None) -> None:
        self._number = number
        self._name = name
        self._options = None
        self._fixed = device_id

    @property
    def _native(self) -> Any:
        with _CudaDevice(self._device_id):
            return _treadle.stream_of(self._number)

    @property
    def _device_id(self) -> int:  # type: ignore[override]
        return _treadle.device_index() if self._fixed is None else self._fixed

    def __repr__(self) -> str:
        return f"<{self._name}>"


LEGACY_DEFAULT_STREAM = _DefaultStream(1, "LEGACY_DEFAULT_STREAM")
PER_THREAD_DEFAULT_STREAM = _DefaultStream(2, "PER_THREAD_DEFAULT_STREAM")


def legacy_default_stream_of(device_id: int) -> Stream:
    """The legacy default stream of a device, whichever is current."""
    return _DefaultStream(1, "LEGACY_DEFAULT_STREAM", device_id)
