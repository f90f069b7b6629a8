"""What ``jit`` is told: its options, checked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from treadle.errors import UnsupportedError

BOUNDS = {"guard": 0, "raise": 1, "off": 2}
# Options by the types of their values. All but debug, opt and lineinfo are hints for NVIDIA's compiler: taken, checked and without
# effect on the CPU device, whose compiler always uses the disk cache.
_HINTS: dict[str, tuple[type, ...]] = {
    "inline": (bool, str),
    "forceinline": (bool,),
    "lineinfo": (bool,),
    "debug": (bool,),
    "opt": (bool, int),
    "max_registers": (int,),
    "cache": (bool,),
    "lto": (bool,),
    "shared_memory_carveout": (int, str),
}
_REFUSED = {
    "extensions": "arguments of foreign types are not taken: pass device arrays",
}


class Options(NamedTuple):
    """What the decorator was told."""

    bounds: str
    contract: bool
    fastmath: bool
    device: bool
    host_arrays: str  # "refuse" or "copy"
    disabled_passes: str
    max_threads: int = 0  # of a block, from launch_bounds; 0: the device's limit
    debug: int = 0  # what debuggers are told: 0 nothing, 1 lines, 2 lines and variables
    optimize: bool = True
    link: tuple[Any, ...] = ()  # files and codes that are linked to the kernel

    @property
    def compilation(self) -> tuple[int, bool, bool, str, int, bool]:
        """The options of the compiler, as the extension takes them."""
        return BOUNDS[self.bounds], self.contract, self.fastmath, self.disabled_passes, self.debug, self.optimize


def debug_options(hints: dict[str, Any]) -> tuple[int, bool]:
    """What debuggers are told, and whether the compiler optimises; of checked options."""
    level = 2 if hints.get("debug") else 1 if hints.get("lineinfo") else 0
    opt = hints.get("opt")
    return level, opt is None or bool(opt)


def check_hints(hints: dict[str, Any]) -> int:
    """Checks the options that are hints; returns the limit of threads of a block that launch_bounds sets, or 0.

    Raises: TypeError for unknown options and for values of another type; ValueError for values out of range; UnsupportedError for
    options that ask for what kernels do not have.
    """
    for name, value in hints.items():
        if name in _REFUSED:
            if value:
                raise UnsupportedError(f"jit: {name}: {_REFUSED[name]}")
        elif name in _HINTS:
            if value is not None and not isinstance(value, _HINTS[name]):
                wanted = " or ".join(kind.__name__ for kind in _HINTS[name])
                raise TypeError(f"jit: {name}: expected {wanted}, got {type(value).__name__}")
        elif name != "launch_bounds":
            raise TypeError(f"jit: unknown option {name!r}")
    return _max_threads(hints.get("launch_bounds"))


def _max_threads(bounds: Any) -> int:
    """The first of launch_bounds: threads of a block, then least blocks on a multiprocessor, then most blocks of a cluster."""
    if bounds is None:
        return 0
    values = tuple(bounds) if isinstance(bounds, Sequence) and not isinstance(bounds, str) else (bounds,)
    if not all(isinstance(value, int) for value in values):
        raise TypeError(f"jit: launch_bounds: expected an integer or a tuple of 1 to 3 integers, got {bounds!r}")
    if not 1 <= len(values) <= 3 or values[0] < 1:
        raise ValueError(f"jit: launch_bounds: expected 1 to 3 positive integers, got {bounds!r}")
    return values[0]


def bounds_option(bounds: str | None, boundscheck: bool | None, debug: bool = False) -> str:
    """What an index outside an array does: as told, by numba's options, by the environment, or "guard"."""
    where = "jit: bounds"
    if bounds is None:
        usual = "raise" if debug and boundscheck is None else "guard"
        bounds = "raise" if boundscheck else os.environ.get("TREADLE_BOUNDS") or usual
        where = "TREADLE_BOUNDS"
    if bounds not in BOUNDS:
        raise ValueError(f"{where}: expected 'guard', 'raise' or 'off', got {bounds!r}")
    return bounds
