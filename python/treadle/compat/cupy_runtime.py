"""The namespace of ``cupy.cuda.runtime``: the part that programs ask for facts."""

from __future__ import annotations

from typing import Any

from treadle import _treadle
from treadle.cuda import Device


def getDeviceCount() -> int:
    """Number of devices."""
    return _treadle.device_count()


def getDevice() -> int:
    """Number of the current device."""
    return _treadle.device_index()


def setDevice(device: int) -> None:
    """Makes a device current for the calling thread."""
    Device(device).use()


def deviceCanAccessPeer(device: int, peerDevice: int) -> int:
    """1 where kernels of a device can reach memory of another one, else 0."""
    return int(device != peerDevice and _treadle.can_access_peer(Device(device).id, Device(peerDevice).id))


def deviceEnablePeerAccess(peerDevice: int) -> None:
    """Lets kernels of the current device use the memory of another one."""
    _treadle.set_peer_access(_treadle.device_index(), Device(peerDevice).id, True)


def deviceDisablePeerAccess(peerDevice: int) -> None:
    """Takes back what ``deviceEnablePeerAccess`` allowed, after the current device's work."""
    _treadle.set_peer_access(_treadle.device_index(), Device(peerDevice).id, False)


def getDeviceProperties(device: int) -> dict[str, Any]:
    """Facts about a device under the names of CUDA's runtime; the name is bytes, as in CuPy."""
    facts = Device(device).attributes
    major, minor = facts["compute_capability"]
    return {
        "name": facts["name"].encode(),
        "multiProcessorCount": facts["multiprocessors"],
        "warpSize": facts["warp_size"],
        "maxThreadsPerBlock": facts["max_threads_per_block"],
        "maxThreadsDim": facts["max_block"],
        "maxGridSize": facts["max_grid"],
        "sharedMemPerBlock": facts["shared_bytes_per_block"],
        "totalGlobalMem": facts["total_bytes"],
        "major": major,
        "minor": minor,
    }


def deviceSynchronize() -> None:
    """Waits for all work on all streams."""
    _treadle.synchronize()


def runtimeGetVersion() -> int:
    """The version of CUDA whose behaviour this follows."""
    return 13000


def driverGetVersion() -> int:
    """The version of CUDA whose behaviour this follows."""
    return 13000
