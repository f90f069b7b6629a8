"""PTX of kernels as text, with or without a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from treadle import _kernel_types as kernel_types
from treadle import _treadle
from treadle._signatures import parse_signature
from treadle.cuda._kernel import jit
from treadle.errors import UnsupportedError

_OLDEST = (7, 5)


def _current(where: str) -> Any:
    if _treadle.device_kind() == "cpu":
        raise ValueError(
            f"{where}: expected a GPU as the current device, got the CPU device: compile_ptx takes cc=(9, 0)"
        )
    return _treadle.attributes()["compute_capability"]


def _capability(where: str, cc: Any) -> int:
    if not isinstance(cc, tuple) or len(cc) != 2 or not all(isinstance(part, int) for part in cc):
        raise TypeError(f"{where}: cc: expected a compute capability such as (9, 0), got {cc!r}")
    if cc < _OLDEST:
        raise ValueError(f"{where}: cc: expected at least {_OLDEST}, got {cc!r}")
    return 10 * cc[0] + cc[1]


def _text(
    where: str, pyfunc: Callable[..., Any], sig: Any, cc: Any, device: bool, output: str, hints: dict[str, Any]
) -> tuple[str, kernel_types.Type]:
    if output != "ptx":
        raise UnsupportedError(f"{where}: output: expected 'ptx', got {output!r}")
    if device:
        raise UnsupportedError(
            f"{where}: device: expected a kernel; device functions become part of the kernels that call them"
        )
    capability = _capability(where, cc)
    known = {
        name: value
        for name, value in hints.items()
        if name in ("debug", "lineinfo", "fastmath", "opt", "fmad", "bounds")
    }
    others = sorted(set(hints) - set(known) - {"abi", "abi_info", "launch_bounds", "forceinline", "lto"})
    if others:
        raise TypeError(f"{where}: unknown option {others[0]!r}")
    kernel = jit(**known)(getattr(pyfunc, "py_func", pyfunc))
    codes = [arg.code() for arg in parse_signature(sig).args]
    text = kernel._ready().dump(codes, "asm", (256,), capability)
    return text, kernel_types.NoneType("none")


def compile_ptx(
    pyfunc: Callable[..., Any], sig: Any, device: bool = False, cc: Any = _OLDEST, output: str = "ptx", **options: Any
) -> tuple[str, kernel_types.Type]:
    """PTX of a kernel for an NVIDIA GPU, and the type of its result, which is none. Compiles on any machine.

    pyfunc: a function or a kernel; sig: its argument types, as for ``jit``; cc: the GPU's compute capability; options: as for
    ``jit``. The entry is ``treadle_kernel``; its parameters are words of 8 bytes: for an array the address, the extents and the
    strides in bytes, for a number its bits, then five that the runtime passes.

    Raises: TypeError, ValueError for bad options; UnsupportedError for device functions and for output other than "ptx";
    CompileError.

    >>> from treadle import cuda
    >>> def double(x):
    ...     i = cuda.grid(1)
    ...     x[i] = 2 * x[i]
    >>> text, result = cuda.compile_ptx(double, "void(float32[::1])", cc=(9, 0))
    >>> ".target sm_90" in text, result
    (True, none)
    """
    return _text("compile_ptx", pyfunc, sig, cc, device, output, options)


def compile(
    pyfunc: Callable[..., Any], sig: Any, device: bool = False, cc: Any = _OLDEST, output: str = "ptx", **options: Any
) -> tuple[str, kernel_types.Type]:
    """The same as ``compile_ptx``."""
    return _text("compile", pyfunc, sig, cc, device, output, options)


def compile_for_current_device(
    pyfunc: Callable[..., Any], sig: Any, device: bool = False, output: str = "ptx", **options: Any
) -> tuple[str, kernel_types.Type]:
    """``compile`` for the current GPU. Raises ValueError on the CPU device."""
    return _text(
        "compile_for_current_device", pyfunc, sig, _current("compile_for_current_device"), device, output, options
    )


def compile_ptx_for_current_device(
    pyfunc: Callable[..., Any], sig: Any, device: bool = False, output: str = "ptx", **options: Any
) -> tuple[str, kernel_types.Type]:
    """``compile_ptx`` for the current GPU. Raises ValueError on the CPU device."""
    return _text(
        "compile_ptx_for_current_device",
        pyfunc,
        sig,
        _current("compile_ptx_for_current_device"),
        device,
        output,
        options,
    )
