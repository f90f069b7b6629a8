"""Contexts, the list of devices, and what numba.cuda offers around them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

from treadle import _checks, _treadle
from treadle.cuda._device import Device


class MemoryInfo(NamedTuple):
    """Bytes of device memory."""

    free: int
    total: int


class Deallocations:
    """``Context.deallocations``: memory that was freed and is kept for reuse."""

    def clear(self) -> None:
        """Gives the memory kept for reuse back to the system."""
        _treadle.release_cached_memory()

    def disable(self) -> contextlib.AbstractContextManager[None]:
        """As ``cuda.defer_cleanup``."""
        return defer_cleanup()

    def __len__(self) -> int:
        return _treadle.memory_use()[1]


class Context:
    """What numba.cuda calls a context: the state of one device in this process. Each device has one."""

    def __init__(self, device: Device) -> None:
        self.device = device

    def get_memory_info(self) -> MemoryInfo:
        """Free and total bytes of memory."""
        return MemoryInfo(*self.device.mem_info)

    @property
    def deallocations(self) -> Deallocations:
        """The memory that was freed and is kept for reuse; its length is the number of bytes."""
        return Deallocations()

    def synchronize(self) -> None:
        """Waits for all work on all streams. Raises what kernels reported since the last wait."""
        _treadle.synchronize()

    def reset(self) -> None:
        """As ``Device.reset``."""
        self.device.reset()

    def can_access_peer(self, peer_context: Context | Device | int) -> bool:
        """Whether kernels of this context's device can reach memory of another one, once ``enable_peer_access`` lets them. Raises
        ValueError for a number that no device has."""
        return _treadle.can_access_peer(self.device.id, _device_number(peer_context))

    def enable_peer_access(self, peer_context: Context | Device | int, flags: int = 0) -> None:
        """Lets kernels of this context's device use the memory of another one. flags: 0. Raises ValueError for a number that no
        device has and for other flags, DeviceError for a device whose memory cannot be reached."""
        if flags != 0:
            raise ValueError(f"enable_peer_access: flags: expected 0, got {flags!r}")
        _treadle.set_peer_access(self.device.id, _device_number(peer_context), True)

    def push(self) -> None:
        """Makes the context's device current."""
        self.device.use()

    def __enter__(self) -> Context:
        self.push()
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Context) and other.device == self.device

    def __hash__(self) -> int:
        return hash(self.device)

    def __repr__(self) -> str:
        return f"<Context of {self.device!r}>"


def _device_number(peer: Context | Device | int) -> int:
    return peer.device.id if isinstance(peer, Context) else Device(peer).id


class DeviceList:
    """``cuda.gpus``: the devices by number. ``with cuda.gpus[0]:`` makes one current."""

    @property
    def lst(self) -> list[Device]:
        """The devices as a list."""
        return [Device(number) for number in range(len(self))]

    @property
    def current(self) -> Device:
        """The current device."""
        return Device()

    def __len__(self) -> int:
        return _treadle.device_count()

    def __getitem__(self, number: int) -> Device:
        if not 0 <= _checks.integer("gpus", number) < len(self):
            raise IndexError(f"gpus: expected a number from 0 to {len(self) - 1}, got {number}")
        return Device(number)

    def __iter__(self) -> Iterator[Device]:
        return iter(self.lst)

    def __repr__(self) -> str:
        return f"<devices {self.lst}>"


gpus = DeviceList()


def list_devices() -> DeviceList:
    """The devices of this process."""
    return gpus


def current_context(devnum: int | None = None) -> Context:
    """The context of the current device, or of a numbered one. Raises ValueError for a number that no device has."""
    return Context(Device(devnum))


def close() -> None:
    """Ends the use of the current device: waits for all work and gives memory kept for reuse back to the system. Arrays stay valid
    and later calls work. Raises what kernels reported."""
    Device().reset()


def detect() -> bool:
    """Prints a table of the devices and returns whether kernels can run on any."""
    print(f"Found {len(gpus)} CUDA devices")
    for device in gpus:
        major, minor = device.compute_capability
        print(f"id {device.id}    {device.name!s:>40}                              [SUPPORTED]")
        for what, value in (
            ("Compute Capability", f"{major}.{minor}"),
            ("Multiprocessors", device.attributes["multiprocessors"]),
            ("Target", device.attributes["target"]),
            ("Memory (bytes)", device.attributes["total_bytes"]),
            ("UUID", device.uuid),
        ):
            print(f"{what:>40}: {value}")
    print(f"Summary:\n\t{len(gpus)}/{len(gpus)} devices are supported")
    return True


@contextlib.contextmanager
def defer_cleanup() -> Iterator[None]:
    """A context in which freeing memory is put off. Freeing never waits for a device here, so nothing has to be put off."""
    yield


def profile_start() -> None:
    """Tells an attached profiler to begin. None can attach to the CPU device; as with CUDA and no profiler, nothing happens."""


def profile_stop() -> None:
    """Tells an attached profiler to end, as ``profile_start``."""


@contextlib.contextmanager
def profiling() -> Iterator[None]:
    """A context between ``profile_start`` and ``profile_stop``."""
    profile_start()
    try:
        yield
    finally:
        profile_stop()


def is_float16_supported() -> bool:
    """Whether kernels have the type float16."""
    return True


def is_bfloat16_supported() -> bool:
    """Whether kernels have the type bfloat16."""
    return True


def is_supported_version() -> bool:
    """Whether the version of CUDA's runtime that ``runtime.get_version`` tells is one that Treadle follows."""
    return True


class Runtime:
    """``cuda.runtime``: the version of CUDA whose behaviour this follows."""

    def get_version(self) -> tuple[int, int]:
        """Major and minor version."""
        return (13, 0)

    def is_supported_version(self) -> bool:
        """As ``cuda.is_supported_version``."""
        return is_supported_version()

    @property
    def supported_versions(self) -> tuple[tuple[int, int], ...]:
        """The versions that Treadle follows."""
        return (self.get_version(),)


runtime = Runtime()
