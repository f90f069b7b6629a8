"""The namespace of ``cupy.cuda.runtime``: the part that programs ask for facts."""

from __future__ import annotations

from typing import Any

from treadle import _treadle


def getDeviceCount() -> int:
    """Number of devices."""
    return _treadle.device_count()


def getDevice() -> int:
    """Number of the current device."""
    return 0


def getDeviceProperties(device: int) -> dict[str, Any]:
    """Facts about a device under the names of CUDA's runtime; the name is bytes, as in CuPy."""
    facts = _treadle.attributes()
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
