"""Streams and events: CuPy's and numba.cuda's names for the runtime's objects."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from treadle import _checks, _treadle
from treadle.errors import DeviceError

if TYPE_CHECKING:
    import asyncio


class Event:
    """A point in a stream's work. disable_timing=True (or timing=False): ``elapsed_time`` refuses it. block: taken for
    compatibility, since waiting never spins."""

    def __init__(
        self, block: bool = False, disable_timing: bool = False, interprocess: bool = False, timing: bool = True
    ) -> None:
        self._native = _treadle.create_event()
        self._timing = timing and not disable_timing

    def record(self, stream: Any = None) -> Event:
        """Marks the end of the work given to ``stream`` (the current one by default) so far."""
        native_stream(stream).record(self._native)
        return self

    def synchronize(self) -> None:
        """Waits for the marked work."""
        self._native.synchronize()

    def query(self) -> bool:
        """Whether the marked work is done."""
        return self._native.query()

    def wait(self, stream: Any = None) -> None:
        """Makes later work of ``stream`` wait for the marked work."""
        native_stream(stream).wait(self._native)

    @property
    def done(self) -> bool:
        """Whether the marked work is done."""
        return self.query()

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds from this event to ``end``. Raises TypeError for what is no event, DeviceError unless both are recorded, done
        and made with timing."""
        _event("elapsed_time: end", end)
        if not (self._timing and end._timing):
            raise DeviceError("CUDA_ERROR_INVALID_HANDLE: elapsed_time: expected events with timing, got one without")
        return end._native.elapsed_ms(self._native)

    def __sub__(self, start: Event) -> float:
        return _event("event - start: start", start).elapsed_time(self)


def _event(what: str, value: Any) -> Event:
    return _checks.instance(what, value, Event, "an event")


def _clamped(priority: int | None) -> int:
    if priority is None:
        return 0
    last, first = _treadle.attributes()["stream_priorities"]
    return min(max(_checks.integer("Stream: priority", priority), first), last)


class _DefaultStream:
    """``Stream.null``: made when it is asked for, so that importing starts no device."""

    def __get__(self, instance: Any, owner: type[Stream]) -> Stream:
        return owner(null=True)


class Stream:
    """Work that runs in order. ``Stream()`` makes a new one; null=True gives the default stream; non_blocking=True leaves out the
    implicit order with the default stream; priority: lower numbers come first, and numbers beyond the device's range
    (``Device.attributes["stream_priorities"]``) mean its ends, as in CUDA. As a context manager it is the current stream of the
    thread. Raises TypeError for a priority that is no integer."""

    null = _DefaultStream()

    def __init__(
        self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: int | None = None
    ) -> None:
        self._native = (
            _treadle.default_stream() if null else _treadle.create_stream(not non_blocking, _clamped(priority))
        )
        self._previous: list[Any] = []
        _by_handle[self.handle] = self

    @classmethod
    def _wrap(cls, native: Any) -> Stream:
        stream = cls.__new__(cls)
        stream._native = native
        stream._previous = []
        _by_handle.setdefault(stream.handle, stream)
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
        return (Event() if event is None else _event("record: event", event)).record(self)

    def wait_event(self, event: Event) -> None:
        """Makes later work wait for an event."""
        _event("wait_event: event", event).wait(self)

    @property
    def handle(self) -> int:
        """A number that identifies the stream."""
        return self._native.handle

    ptr = handle

    @property
    def priority(self) -> int:
        """The priority; lower numbers come first. On the CPU device it is kept and changes nothing."""
        return self._native.priority

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

    def add_callback(self, callback: Callable[[Stream, int, Any], Any], arg: Any = None) -> None:
        """Calls ``callback(stream, 0, arg)`` in a thread of its own once the work given so far is done. Later work of the
        stream does not wait for it, unlike with CUDA. Raises TypeError for what cannot be called."""
        if not callable(callback):
            raise TypeError(f"add_callback: callback: expected a function, got {type(callback).__name__}")
        event = self.record()

        def wait_and_call() -> None:
            event.synchronize()
            callback(self, 0, arg)

        threading.Thread(target=wait_and_call, name="treadle-callback", daemon=True).start()

    def async_done(self) -> asyncio.Future[Stream]:
        """A future of the running event loop that gives the stream once the work given so far is done. Raises RuntimeError where
        no event loop runs."""
        import asyncio

        loop = asyncio.get_running_loop()
        future: asyncio.Future[Stream] = loop.create_future()

        def finish() -> None:
            if not future.done():
                future.set_result(self)

        self.add_callback(lambda stream, status, arg: loop.call_soon_threadsafe(finish))
        return future

    def __int__(self) -> int:
        return self.handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.handle)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.handle == self.handle

    def __hash__(self) -> int:
        return hash(self.handle)

    def __repr__(self) -> str:
        return f"<Stream {self.handle:#x}>"


# Streams that are alive, for those who know a stream by its number only.
_by_handle: weakref.WeakValueDictionary[int, Stream] = weakref.WeakValueDictionary()
_of_thread = threading.local()


def native_stream(stream: Any) -> Any:
    if stream is None or (isinstance(stream, int) and stream == 0):
        return _treadle.current_stream()
    native = getattr(stream, "_native", None)
    if native is None:
        raise TypeError(f"stream: expected a stream, None or 0, got {type(stream).__name__}")
    return native


@contextlib.contextmanager
def on_stream(stream: Any) -> Iterator[None]:
    """A context in which a stream is the current one; None and 0 leave the current one as it is."""
    previous = _treadle.current_stream()
    _treadle.set_current_stream(native_stream(stream))
    try:
        yield
    finally:
        _treadle.set_current_stream(previous)


def stream() -> Stream:
    """A new stream."""
    return Stream()


def default_stream() -> Stream:
    """The default stream, with CUDA's legacy rules."""
    return Stream(null=True)


def legacy_default_stream() -> Stream:
    """The default stream, which waits for the blocking streams and they for it: here the same as ``default_stream``."""
    return Stream(null=True)


def per_thread_default_stream() -> Stream:
    """A stream of the calling thread: the same one at each call, ordered with the default stream like any blocking stream."""
    found = getattr(_of_thread, "stream", None)
    if found is None:
        found = _of_thread.stream = Stream()
    return found


def external_stream(ptr: int) -> Stream:
    """The stream with a handle: of Treadle, or on a GPU of another library, which must keep it alive. Raises TypeError for anything
    but an integer; on the CPU device, which has no other streams than Treadle's, ValueError for an unknown handle."""
    if not isinstance(ptr, int):
        raise TypeError(f"external_stream: ptr: expected an integer, got {type(ptr).__name__}")
    if ptr in (0, 1):  # CUDA's numbers for the default stream
        return default_stream()
    if _treadle.device_kind() == "cuda":
        return Stream._wrap(_treadle.stream_of(ptr))
    found = _by_handle.get(ptr)
    if found is None:
        raise ValueError(f"external_stream: ptr: expected the handle of a stream that is alive, got {ptr:#x}")
    return Stream._wrap(found._native)


def get_current_stream() -> Stream:
    """The current stream of this thread."""
    return Stream._wrap(_treadle.current_stream())


def event(timing: bool = True) -> Event:
    """A new event; without timing its time is not asked for."""
    return Event(timing=timing)


def event_elapsed_time(evtstart: Event, evtend: Event) -> float:
    """Milliseconds between two events that are done. Raises as ``Event.elapsed_time``."""
    return _event("event_elapsed_time: evtstart", evtstart).elapsed_time(_event("event_elapsed_time: evtend", evtend))


def get_elapsed_time(start: Event, end: Event) -> float:
    """Milliseconds between two events that are done."""
    return _event("get_elapsed_time: start", start).elapsed_time(_event("get_elapsed_time: end", end))
