"""The namespace of ``cupy.cuda``."""

from __future__ import annotations

from treadle import _treadle
from treadle.compat import cupy_runtime as runtime
from treadle.cuda import Device as _Device
from treadle.cuda import Event, Stream, get_current_stream, get_elapsed_time, is_available

Stream.null = Stream(null=True)


class Device(_Device):
    """CuPy's Device: the compute capability is text."""

    @property
    def compute_capability(self) -> str:  # type: ignore[override]
        """Such as "90"."""
        return "".join(map(str, super().compute_capability))


class MemoryPool:
    """The pool of device memory, with CuPy's names."""

    def used_bytes(self) -> int:
        """Bytes in use by arrays."""
        return _treadle.memory_use()[0]

    def total_bytes(self) -> int:
        """Bytes in use or kept for reuse."""
        return sum(_treadle.memory_use())

    def free_all_blocks(self) -> None:
        """Gives memory kept for reuse back to the system."""
        _treadle.release_cached_memory()


__all__ = [
    "Device",
    "Event",
    "MemoryPool",
    "Stream",
    "get_current_stream",
    "get_elapsed_time",
    "is_available",
    "runtime",
]
