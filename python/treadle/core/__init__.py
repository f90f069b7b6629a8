"""Devices, streams, memory and compiled code as objects, with cuda.core's names and signatures.

>>> from treadle.core import Device
>>> device = Device()
>>> device.set_current()
>>> stream = device.create_stream()
>>> buffer = device.allocate(1024, stream=stream)
>>> buffer.fill(0, stream=stream)
>>> stream.sync()
"""

from treadle.core import utils
from treadle.core._buffer import Buffer, DeviceMemoryResource, LegacyPinnedMemoryResource, PinnedMemoryResource
from treadle.core._device import Device
from treadle.core._launch import LaunchConfig, launch
from treadle.core._linker import Linker, LinkerOptions
from treadle.core._module import Kernel, ObjectCode
from treadle.core._options import ProgramOptions
from treadle.core._program import Program
from treadle.core._stream import (
    LEGACY_DEFAULT_STREAM,
    PER_THREAD_DEFAULT_STREAM,
    Event,
    EventOptions,
    Stream,
    StreamOptions,
)

__all__ = [
    "LEGACY_DEFAULT_STREAM",
    "PER_THREAD_DEFAULT_STREAM",
    "Buffer",
    "Device",
    "DeviceMemoryResource",
    "Event",
    "EventOptions",
    "Kernel",
    "LaunchConfig",
    "LegacyPinnedMemoryResource",
    "Linker",
    "LinkerOptions",
    "ObjectCode",
    "PinnedMemoryResource",
    "Program",
    "ProgramOptions",
    "Stream",
    "StreamOptions",
    "launch",
    "utils",
]
