"""Launches with cuda.core's names."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

from treadle import _checks
from treadle.core._module import Kernel
from treadle.core._stream import Stream


def _dims(name: str, value: Any) -> tuple[int, int, int]:
    parts = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    try:
        numbers = tuple(operator.index(part) for part in parts)
    except TypeError:
        raise TypeError(f"LaunchConfig: {name}: expected an integer or up to three, got {value!r}") from None
    if not 1 <= len(numbers) <= 3 or any(number < 1 for number in numbers):
        raise ValueError(f"LaunchConfig: {name}: expected one to three positive integers, got {value!r}")
    return (*numbers, 1, 1)[:3]  # type: ignore[return-value]


@dataclass
class LaunchConfig:
    """grid, block: blocks of the grid and threads of a block, in one to three dimensions; cluster: blocks of a cluster (compute
    capability 9.0 and later), where the grid counts clusters; shmem_size: bytes of shared memory beside the kernel's own;
    is_cooperative: all blocks run at once. Raises TypeError, ValueError."""

    grid: Any = 1
    cluster: Any = None
    block: Any = 1
    shmem_size: int = 0
    is_cooperative: bool = False
    cooperative_launch: bool = False

    def __post_init__(self) -> None:
        self.grid = _dims("grid", self.grid)
        self.block = _dims("block", self.block)
        if self.cluster is not None:
            self.cluster = _dims("cluster", self.cluster)
        if _checks.integer("LaunchConfig: shmem_size", self.shmem_size) < 0:
            raise ValueError(f"LaunchConfig: shmem_size: expected 0 or more bytes, got {self.shmem_size}")


def launch(stream: Any, config: LaunchConfig, kernel: Kernel, *kernel_args: Any) -> None:
    """Launches a kernel on a stream, asynchronously.

    Arguments: buffers and arrays (of any library) as pointers; integers as their parameter's size, or as 64 bits where the driver
    cannot tell it; floats as double; bools, complex numbers, NumPy and ctypes values as they are. They are kept alive by the caller.

    Raises: TypeError for another number of arguments or a value of another size than its parameter's; OverflowError for an integer
    that does not fit; DeviceError for a launch that the driver refuses.
    """
    if not isinstance(kernel, Kernel):
        raise TypeError(f"launch: kernel: expected a Kernel, got {type(kernel).__name__}")
    if not isinstance(config, LaunchConfig):
        raise TypeError(f"launch: config: expected a LaunchConfig, got {type(config).__name__}")
    grid = config.grid
    if config.cluster is not None:
        grid = tuple(one * other for one, other in zip(grid, config.cluster, strict=True))
    cooperative = config.is_cooperative or config.cooperative_launch
    kernel._native.launch(
        Stream._of(stream), grid, config.block, config.shmem_size, cooperative, config.cluster, kernel_args
    )
