"""What ``jit`` is told: its options, checked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from treadle.errors import UnsupportedError

BOUNDS = {"guard": 0, "raise": 1, "off": 2}
# Options by the types of their values. All but debug, opt, lineinfo and max_registers are hints: taken, checked and without effect.
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
    min_blocks: int = 0  # on a multiprocessor of a GPU, from launch_bounds; 0: any
    max_registers: int = 0  # of a thread of a GPU; 0: as many as the block leaves

    @property
    def compilation(self) -> tuple[int, bool, bool, str, int, bool, int, int]:
        """The options of the compiler, as the extension takes them."""
        return (
            BOUNDS[self.bounds],
            self.contract,
            self.fastmath,
            self.disabled_passes,
            self.debug,
            self.optimize,
            self.min_blocks,
            self.max_registers,
        )


def debug_options(hints: dict[str, Any]) -> tuple[int, bool]:
    """What debuggers are told, and whether the compiler optimises; of checked options."""
    level = 2 if hints.get("debug") else 1 if hints.get("lineinfo") else 0
    opt = hints.get("opt")
    return level, opt is None or bool(opt)


def check_hints(hints: dict[str, Any]) -> tuple[int, int, int]:
    """Checks the options that are hints; gives the most threads of a block and the least blocks on a multiprocessor, as launch_bounds
    sets them, and the most registers; 0 for what is not set.

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
    registers = hints.get("max_registers") or 0
    if registers < 0:
        raise ValueError(f"jit: max_registers: expected a positive number, got {registers}")
    return *_launch_bounds(hints.get("launch_bounds")), registers


def _launch_bounds(bounds: Any) -> tuple[int, int]:
    """Of launch_bounds: threads of a block and least blocks on a multiprocessor; most blocks of a cluster come last."""
    if bounds is None:
        return 0, 0
    values = tuple(bounds) if isinstance(bounds, Sequence) and not isinstance(bounds, str) else (bounds,)
    if not all(isinstance(value, int) for value in values):
        raise TypeError(f"jit: launch_bounds: expected an integer or a tuple of 1 to 3 integers, got {bounds!r}")
    if not 1 <= len(values) <= 3 or values[0] < 1 or min(values) < 0:
        raise ValueError(f"jit: launch_bounds: expected 1 to 3 positive integers, got {bounds!r}")
    return values[0], values[1] if len(values) > 1 else 0


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
