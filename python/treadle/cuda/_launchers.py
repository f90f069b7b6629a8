"""What stands between ``kernel[grid, block]`` and the extension's launcher where arguments need more than it does itself."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from treadle import _treadle
from treadle._convert import HostArrayPassed, from_host, to_host
from treadle.cuda._host_visible import HostVisibleArray
from treadle.errors import HostArrayWarning


class In:
    """A host array as a kernel argument that is copied to the device before the launch, without a warning. Taken by kernels with
    ``host_arrays="copy"``. Raises TypeError for anything but NumPy arrays."""

    copies_in, copies_out = True, False

    def __init__(self, value: np.ndarray) -> None:
        if not isinstance(value, np.ndarray):
            raise TypeError(f"{type(self).__name__}: value: expected a NumPy array, got {type(value).__name__}")
        self.value = value


class Out(In):
    """A host array as a kernel argument that is filled from the device after the kernel; what it holds before is not copied."""

    copies_in, copies_out = False, True


class InOut(In):
    """A host array as a kernel argument that is copied to the device before the launch and back after the kernel."""

    copies_out = True


def _warns_of_copies() -> bool:
    """What numba's setting says, set by the program or in the environment."""
    config = sys.modules.get("numba.core.config")
    setting = getattr(config, "CUDA_WARN_ON_IMPLICIT_COPY", None)
    return bool(int(os.environ.get("NUMBA_CUDA_WARN_ON_IMPLICIT_COPY", "1") if setting is None else setting))


def _warn_of_copies() -> None:
    # The place of the warning is the launch, however many layers of Treadle lie between.
    depth, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("treadle."):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(
        "host arrays given to a kernel are copied to the device and back; use cuda.to_device to copy once",
        HostArrayWarning,
        stacklevel=depth,
    )


class CopyingLauncher:
    """A launcher that takes host arrays as numba.cuda does: copied in, and out again after the kernel, with a warning."""

    def __init__(self, launcher: Callable[..., Any]) -> None:
        self._launcher = launcher

    def __repr__(self) -> str:
        return f"<launcher of a kernel that copies host arrays: {self._launcher!r}>"

    def __call__(self, *args: Any, **keywords: Any) -> None:
        try:
            self._launcher(*args, **keywords)
        except HostArrayPassed:
            pass
        else:
            return
        if any(_is_host(arg) for arg in args) and _warns_of_copies():
            _warn_of_copies()
        wrapped = [InOut(arg) if _is_host(arg) else arg for arg in args]
        devices = [_on_device(arg) if isinstance(arg, In) else arg for arg in wrapped]
        self._launcher(*devices)
        for arg, device in zip(wrapped, devices, strict=True):
            if not isinstance(arg, In) or not arg.copies_out:
                continue
            host = arg.value
            if host.flags.writeable:
                host[...] = to_host(device)
            elif not np.array_equal(to_host(device), host, equal_nan=host.dtype.kind == "f"):
                raise ValueError("a kernel wrote to a host array that is read-only; the array is unchanged")


def _is_host(arg: Any) -> bool:
    return isinstance(arg, np.ndarray) and not isinstance(arg, HostVisibleArray)


def _on_device(arg: In) -> _treadle.ndarray:
    from treadle._creation import empty

    return from_host(arg.value) if arg.copies_in else empty(arg.value.shape, arg.value.dtype)


class ForAll:
    """``kernel.forall(n)``: launches enough one-dimensional blocks for n threads; for none it launches nothing."""

    def __init__(self, configure: Callable[[int], Any], ntasks: int) -> None:
        if ntasks < 0:
            raise ValueError(f"forall: ntasks: expected a number of threads, got {ntasks}")
        self._configure = configure
        self.ntasks = ntasks

    def __call__(self, *args: Any) -> None:
        if self.ntasks:
            self._configure(self.ntasks)(*args)
