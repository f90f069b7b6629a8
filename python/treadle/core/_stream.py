"""Streams and events with cuda.core's names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from treadle import _checks, _treadle
from treadle.cuda._device import Device as _CudaDevice
from treadle.cuda._kernel import forget_stream

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
    """nonblocking: leaves out the implicit order with the legacy default stream; priority: lower numbers come first, in the range
    that ``Device.stream_priorities`` tells, by default 0, its last. Raises TypeError for a priority that is no integer, ValueError
    for one of more than 32 bits."""

    nonblocking: bool = True
    priority: int | None = None

    def __post_init__(self) -> None:
        if self.priority is not None:
            self.priority = _checks.integer("StreamOptions: priority", self.priority)
            if not -(2**31) <= self.priority < 2**31:
                raise ValueError(f"StreamOptions: priority: expected a number of 32 bits, got {self.priority}")


class _Held:
    """What holds an object of the runtime until it is closed."""

    _what: str
    _held: Any

    @property
    def _native(self) -> Any:
        if self._held is None:
            raise RuntimeError(f"{self._what}: expected one that is not closed, got a closed one")
        return self._held

    @property
    def _is_closed(self) -> bool:
        return self._held is None

    def close(self) -> None:
        """Gives it up, without waiting. Every later use raises RuntimeError; closing again does nothing."""
        self._held = None


class Event(_Held):
    """A point in a stream's work; ``end - start`` is the milliseconds between two. Raises RuntimeError once it is closed."""

    _what = "event"

    def __init__(self, options: EventOptions | None = None) -> None:
        self._options = EventOptions() if options is None else options
        _checks.instance("event: options", self._options, EventOptions, "EventOptions")
        self._held = _treadle.create_event()

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

    def __sub__(self, start: Event) -> float:
        _checks.instance("event - start: start", start, Event, "an event")
        if self.is_timing_disabled or start.is_timing_disabled:
            raise RuntimeError(
                "event: expected two events made with EventOptions(timing_enabled=True), got one without"
            )
        return self._native.elapsed_ms(start._native)


class Stream(_Held):
    """Work that runs in order. Made by ``Device.create_stream`` and ``Stream.from_handle``; closing one of ``from_handle`` leaves the
    stream to its owner. Raises RuntimeError once it is closed."""

    _what = "stream"

    def __init__(self, native: Any, device_id: int, handle: int | None = None) -> None:
        self._held = native
        self._device_id = device_id
        self._number = native.handle if handle is None else handle

    @staticmethod
    def from_handle(handle: int) -> Stream:
        """The stream with a driver's handle, perhaps another library's, which must keep it alive. Raises TypeError for what is no
        integer, DeviceError on the CPU device for a handle that no stream has."""
        number = _checks.integer("from_handle: handle", handle)
        return Stream(_treadle.stream_of(number), _treadle.device_index(), handle=number)

    @staticmethod
    def _of(value: Any) -> Any:
        """The runtime's stream of anything that stands for a stream. Raises TypeError."""
        native = getattr(value, "_native", None)
        return _treadle.stream_of(Stream._handle_of(value)) if native is None else native

    @staticmethod
    def _handle_of(value: Any) -> int:
        protocol = getattr(value, "__cuda_stream__", None)
        if protocol is None:
            raise TypeError(f"stream: expected a stream or an object with __cuda_stream__, got {type(value).__name__}")
        return int((protocol() if callable(protocol) else protocol)[1])

    @property
    def handle(self) -> int:
        """The driver's handle."""
        _ = self._native  # a closed one has none
        return self._number

    @property
    def device(self) -> Device:
        """The device of the stream."""
        from treadle.core._device import Device

        return Device(self._device_id)

    @property
    def is_nonblocking(self) -> bool:
        """Whether it has no implicit order with the legacy default stream."""
        return not self._native.is_blocking

    @property
    def priority(self) -> int:
        """The priority; lower numbers come first. On the CPU device it is kept and changes nothing."""
        return self._native.priority

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.handle)

    def close(self) -> None:
        """Gives it up, without waiting: work in flight goes on, and what its kernels report arrives where the program waits for
        the device. Every later use raises RuntimeError; closing again does nothing."""
        forget_stream(self)
        super().close()

    def sync(self) -> None:
        """Waits for the work given so far. Raises what its kernels reported."""
        self._native.synchronize()

    def record(self, event: Event | None = None, options: EventOptions | None = None) -> Event:
        """Records an event (a new one by default) and returns it."""
        if event is None:
            with _CudaDevice(self._device_id):
                event = Event(options)
        self._native.record(_checks.instance("record: event", event, Event, "an event")._native)
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

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stream) or self._is_closed or other._is_closed:
            return self is other
        return (other._number, other._device_id) == (self._number, self._device_id)

    def __hash__(self) -> int:
        return hash(self._number)

    def __repr__(self) -> str:
        return f"<Stream {self._number:#x}{' (closed)' if self._is_closed else ''}>"


class _DefaultStream(Stream):
    """A default stream, which every device has: of one device, or of the one that is current when it is used."""

    def __init__(self, number: int, name: str, device_id: int | None = None) -> None:
        self._number = number
        self._name = name
        self._fixed = device_id

    @property
    def _is_closed(self) -> bool:
        return False

    @property
    def _native(self) -> Any:
        if self._fixed is None:
            return _treadle.stream_of(self._number)
        with _CudaDevice(self._fixed):
            return _treadle.stream_of(self._number)

    def close(self) -> None:
        """Does nothing: a device always has its default streams."""

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
