"""Devices, streams and events: CuPy's and numba.cuda's names for the runtime's objects."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from treadle import _treadle


class Device:
    """A device of this process; ``Device(0)`` or ``Device()`` is the current one. A context manager that makes it current."""

    def __init__(self, device: int | Device | None = None) -> None:
        self.id: int = device.id if isinstance(device, Device) else 0 if device is None else int(device)
        count = _treadle.device_count()
        if not 0 <= self.id < count:
            raise ValueError(f"device: expected a number from 0 to {count - 1}, got {self.id}")

    def synchronize(self) -> None:
        """Waits for all work on all streams. Raises what kernels reported since the last wait."""
        _treadle.synchronize()

    def use(self) -> None:
        """Makes this the current device."""

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    @property
    def attributes(self) -> dict[str, Any]:
        """Facts about the device: name, multiprocessors, limits, compute capability, memory, target."""
        return _treadle.attributes()

    @property
    def name(self) -> str:
        """The name of the processor."""
        return self.attributes["name"]

    @property
    def compute_capability(self) -> tuple[int, int]:
        """What code that asks for NVIDIA's compute capability is told."""
        return self.attributes["compute_capability"]

    @property
    def arch(self) -> int:
        """The compute capability as one number."""
        major, minor = self.compute_capability
        return 10 * major + minor

    @property
    def mem_info(self) -> tuple[int, int]:
        """Free and total bytes of memory."""
        total = self.attributes["total_bytes"]
        return total - _treadle.memory_use()[0], total

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<Device {self.id}: {self.name}>"


class Event:
    """A point in a stream's work. block, disable_timing: taken for compatibility."""

    def __init__(
        self, block: bool = False, disable_timing: bool = False, interprocess: bool = False, timing: bool = True
    ) -> None:
        self._native = _treadle.create_event()

    def record(self, stream: Any = None) -> Event:
        """Marks the end of the work given to ``stream`` (the current one by default) so far."""
        _native_stream(stream).record(self._native)
        return self

    def synchronize(self) -> None:
        """Waits for the marked work."""
        self._native.synchronize()

    def query(self) -> bool:
        """Whether the marked work is done."""
        return self._native.query()

    def wait(self, stream: Any = None) -> None:
        """Makes later work of ``stream`` wait for the marked work."""
        _native_stream(stream).wait(self._native)

    @property
    def done(self) -> bool:
        """Whether the marked work is done."""
        return self.query()

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds from this event to ``end``. Raises DeviceError unless both are recorded and done."""
        return end._native.elapsed_ms(self._native)

    def __sub__(self, start: Event) -> float:
        return start.elapsed_time(self)


class Stream:
    """Work that runs in order. ``Stream()`` makes a new one; null=True gives the default stream; non_blocking=True leaves out the
    implicit order with the default stream. As a context manager it is the current stream of the thread."""

    null: Stream

    def __init__(
        self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: Any = None
    ) -> None:
        self._native = _treadle.default_stream() if null else _treadle.create_stream(not non_blocking)
        self._previous: list[Any] = []

    @classmethod
    def _wrap(cls, native: Any) -> Stream:
        stream = cls.__new__(cls)
        stream._native = native
        stream._previous = []
        return stream

    def synchronize(self) -> None:
        """Waits for the work given so far. Raises what its kernels reported."""
        self._native.synchronize()

    def query(self) -> bool:
        """Whether all work is done."""
        return self._native.query()

    @property
    def done(self) -> bool:
        """Whether all work is done."""
        return self._native.query()

    def record(self, event: Event | None = None) -> Event:
        """Records an event (a new one by default) and returns it."""
        return (Event() if event is None else event).record(self)

    def wait_event(self, event: Event) -> None:
        """Makes later work wait for an event."""
        event.wait(self)

    @property
    def handle(self) -> int:
        """A number that identifies the stream."""
        return self._native.handle

    ptr = handle

    def use(self) -> Stream:
        """Makes this the current stream of the thread."""
        _treadle.set_current_stream(self._native)
        return self

    def __enter__(self) -> Stream:
        self._previous.append(_treadle.current_stream())
        return self.use()

    def __exit__(self, *error: object) -> None:
        _treadle.set_current_stream(self._previous.pop())

    @contextlib.contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        """A context that waits for the stream at its end."""
        yield self
        self.synchronize()

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.handle)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.handle == self.handle

    def __hash__(self) -> int:
        return hash(self.handle)

    def __repr__(self) -> str:
        return f"<Stream {self.handle:#x}>"


def _native_stream(stream: Any) -> Any:
    if stream is None or (isinstance(stream, int) and stream == 0):
        return _treadle.current_stream()
    native = getattr(stream, "_native", None)
    if native is None:
        raise TypeError(f"stream: expected a stream, None or 0, got {type(stream).__name__}")
    return native


def stream() -> Stream:
    """A new stream."""
    return Stream()


def default_stream() -> Stream:
    """The default stream, with CUDA's legacy rules."""
    return Stream(null=True)


def get_current_stream() -> Stream:
    """The current stream of this thread."""
    return Stream._wrap(_treadle.current_stream())


def event(timing: bool = True) -> Event:
    """A new event."""
    return Event(timing=timing)


def get_elapsed_time(start: Event, end: Event) -> float:
    """Milliseconds between two events that are done."""
    return start.elapsed_time(end)


def synchronize() -> None:
    """Waits for all work on all streams. Raises what kernels reported since the last wait."""
    _treadle.synchronize()


def get_current_device() -> Device:
    """The current device."""
    return Device()


def select_device(device_id: int) -> Device:
    """Makes a device current and returns it."""
    return Device(device_id)


def is_available() -> bool:
    """Whether kernels can run: always, since the CPU is a device."""
    return True
