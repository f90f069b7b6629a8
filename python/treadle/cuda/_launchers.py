"""What stands between ``kernel[grid, block]`` and the extension's launcher where arguments need more than it does itself."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from treadle import _kernel_types as kernel_types
from treadle import _treadle
from treadle._convert import HostArrayPassed, from_host, to_host
from treadle.cuda._host_visible import HostVisibleArray
from treadle.errors import HostArrayWarning, UnsupportedError


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

    def __init__(self, launcher: _treadle.Launcher) -> None:
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
        if any(_is_host(arg) for arg in args):
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


class TypedLauncher:
    """A launcher of a kernel with signatures: numbers are converted to the declared types, arrays must have them. Of several
    signatures that fit, the one with the mildest conversions is taken; among equals the first."""

    def __init__(self, launcher: Any, name: str, signatures: list[kernel_types.Signature]) -> None:
        self._launcher = launcher
        self._name = name
        self._signatures = signatures

    def __call__(self, *args: Any) -> None:
        best: tuple[list[int], list[Any]] | None = None
        for signature in self._signatures:
            fit = _fit(args, signature)
            if fit is not None and (best is None or fit[0] < best[0]):
                best = fit
        if best is None:
            got = ", ".join(
                f"array({arg.dtype}, {arg.ndim}d)" if hasattr(arg, "ndim") else type(arg).__name__ for arg in args
            )
            wanted = " or ".join(f"({', '.join(map(str, signature.args))})" for signature in self._signatures)
            raise TypeError(f"{self._name}: expected arguments of {wanted}, got ({got})")
        self._launcher(*best[1])


def _fit(args: tuple[Any, ...], signature: kernel_types.Signature) -> tuple[list[int], list[Any]] | None:
    """How harsh the conversions are ([unsafe ones, safe ones]) and the arguments in the types of a signature; None: no fit."""
    if len(args) != len(signature.args):
        return None
    cost, converted = [0, 0], []
    for arg, wanted in zip(args, signature.args, strict=True):
        fit = _fit_one(arg, wanted)
        if fit is None:
            return None
        cost = [total + part for total, part in zip(cost, fit[0], strict=True)]
        converted.append(fit[1])
    return cost, converted


def _fit_one(arg: Any, wanted: kernel_types.Type) -> tuple[list[int], Any] | None:
    if isinstance(wanted, kernel_types.Array):
        array = arg.value if isinstance(arg, In) else arg
        fits = hasattr(array, "ndim") and array.ndim == wanted.ndim and str(array.dtype) == wanted.dtype.name
        if not fits or isinstance(array, np.generic):
            return None
        flags = array.flags
        if (wanted.is_c_contig and not flags["C_CONTIGUOUS"]) or (wanted.layout == "F" and not flags["F_CONTIGUOUS"]):
            return None
        return [0, 0], arg
    if isinstance(wanted, kernel_types.BaseTuple):
        if not isinstance(arg, tuple):
            return None
        fit = _fit(arg, kernel_types.Signature(None, wanted.types))
        return None if fit is None else (fit[0], tuple(map(_tuple_item, fit[1])))
    if isinstance(arg, (bool, int, float, np.generic)) and isinstance(wanted, kernel_types.Number):
        given = np.asarray(arg)
        if given.dtype.kind not in "biuf":
            return None
        unsafe = not np.can_cast(given.dtype, wanted.dtype)
        return [int(unsafe), int(given.dtype != wanted.dtype)], given.astype(wanted.dtype)[()]
    return None


def _tuple_item(value: Any) -> Any:
    """A number in a tuple as the Python number that stands for its type."""
    if not isinstance(value, np.generic):
        return value
    if value.dtype.name not in ("bool", "int64", "float64"):
        raise UnsupportedError(
            f"numbers in tuple arguments: expected bool, int64 or float64 in the signature, got {value.dtype}"
        )
    return value.item()


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
