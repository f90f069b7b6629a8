"""``jit``: kernels and device functions written in Python."""

from __future__ import annotations

import functools
import importlib.util
import os
import pickle
import sys
import threading
import types as python_types
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from treadle import _treadle
from treadle import types as kernel_types
from treadle._convert import HostArrayPassed, from_host, to_host
from treadle._program import Program
from treadle._source import keep_source, take_sources
from treadle.errors import CompileError, HostArrayWarning

_BOUNDS = {"guard": 0, "raise": 1, "off": 2}
_HINT_OPTIONS = {
    "inline",
    "lineinfo",
    "debug",
    "opt",
    "max_registers",
    "cache",
    "lto",
    "launch_bounds",
    "forceinline",
    "link",
    "extensions",
}


class LastCompile(NamedTuple):
    """How the latest variant of a kernel came to be."""

    milliseconds: float
    path: str
    from_cache: bool
    packet: int


class Options(NamedTuple):
    """What the decorator was told."""

    bounds: str
    contract: bool
    fastmath: bool
    device: bool
    host_arrays: str  # "refuse" or "copy"
    disabled_passes: str


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
        warnings.warn(
            "host arrays given to a kernel are copied to the device and back; use cuda.to_device to copy once",
            HostArrayWarning,
            stacklevel=2,
        )
        devices = [from_host(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
        self._launcher(*devices)
        for host, device in zip(args, devices, strict=True):
            if not isinstance(host, np.ndarray):
                continue
            if host.flags.writeable:
                host[...] = to_host(device)
            elif not np.array_equal(to_host(device), host, equal_nan=host.dtype.kind == "f"):
                raise ValueError("a kernel wrote to a host array that is read-only; the array is unchanged")


class TypedLauncher:
    """A launcher of a kernel with signatures: numbers are converted to the declared types, arrays must have them."""

    def __init__(self, launcher: Any, name: str, signatures: list[kernel_types.Signature]) -> None:
        self._launcher = launcher
        self._name = name
        self._signatures = signatures

    def __call__(self, *args: Any) -> None:
        for signature in self._signatures:
            converted = _converted(args, signature)
            if converted is not None:
                self._launcher(*converted)
                return
        got = ", ".join(
            f"array({arg.dtype}, {arg.ndim}d)" if hasattr(arg, "ndim") else type(arg).__name__ for arg in args
        )
        raise TypeError(f"{self._name}: expected arguments of {' or '.join(map(repr, self._signatures))}, got ({got})")


def _converted(args: tuple[Any, ...], signature: kernel_types.Signature) -> list[Any] | None:
    """The arguments in the types of a signature; None where they do not fit it."""
    if len(args) != len(signature.args):
        return None
    converted = []
    for arg, wanted in zip(args, signature.args, strict=True):
        if isinstance(wanted, kernel_types.Array):
            fits = hasattr(arg, "ndim") and arg.ndim == wanted.ndim and str(arg.dtype) == wanted.dtype.name
            if not fits or (wanted.layout == "C" and not arg.flags["C_CONTIGUOUS"]):
                return None
            converted.append(arg)
        elif isinstance(arg, (bool, int, float, np.generic)):
            converted.append(np.dtype(wanted.name).type(arg))
        else:
            return None
    return converted


class Dispatcher:
    """A kernel or device function. ``kernel[grid, block, stream](*args)`` launches; compiled for each combination of argument types.

    grid, block: integers or tuples of 1 to 3 integers. Launches are asynchronous on ``stream`` (by default the current one) and
    return None. Arguments: device arrays, Python and NumPy numbers, tuples of these.

    Raises: TypeError for arguments kernels cannot take; TypingError or UnsupportedError where the kernel has no meaning for the
    types; DeviceError (CUDA_ERROR_INVALID_VALUE) for a grid or block out of limits. What threads report (bounds="raise") is raised
    by the next synchronisation.
    """

    __name__: str
    __qualname__: str

    def __init__(
        self, py_func: python_types.FunctionType, options: Options, signatures: list[kernel_types.Signature]
    ) -> None:
        functools.update_wrapper(self, py_func)
        keep_source(py_func)
        self.py_func = py_func
        self.options = options
        self._lock = threading.Lock()
        self._function: _treadle.Function | None = None
        self._program: Program | None = None
        self._launchers: dict[Any, Any] = {}
        self._signatures = signatures
        if signatures and not options.device:
            for signature in signatures:
                self._ready().prepare([arg.code() for arg in signature.args])

    def _ready(self) -> _treadle.Function:
        """The compiled side, made at first use: globals and closures are frozen then."""
        with self._lock:
            if self._function is None:
                options = self.options
                self._program = Program(self.py_func)
                self._function = _treadle.make_function(
                    self.py_func.__name__,
                    self._program.text,
                    self._program.sources,
                    _BOUNDS[options.bounds],
                    options.contract,
                    options.fastmath,
                    options.disabled_passes,
                )
            return self._function

    def __getitem__(self, config: Any) -> Any:
        try:
            launcher = self._launchers[config]
        except (KeyError, TypeError):
            return self._configure(config)
        # 1.0 finds the launcher of 1, but is refused like everywhere.
        return launcher if type(config[0]) is not float and type(config[1]) is not float else self._configure(config)

    def _configure(self, config: Any) -> Any:
        if self.options.device:
            raise TypeError(f"{self.__name__} is a device function: it is called from kernels, not launched")
        if not isinstance(config, tuple) or not 2 <= len(config) <= 4:
            raise ValueError(
                f"launch of {self.__name__}: expected kernel[grid, block] or kernel[grid, block, stream, shared], got {config!r}"
            )
        grid, block = (tuple(part) if isinstance(part, list) else part for part in config[:2])
        stream = config[2] if len(config) > 2 else None
        for name, part in (("grid", grid), ("block", block)):
            _check_dimensions(name, part)
        code = self.py_func.__code__
        names = list(code.co_varnames[: code.co_argcount])
        copies = self.options.host_arrays == "copy"
        launcher: Any = _treadle.make_launcher(self._ready(), grid, block, _stream_of(stream), names, copies)
        if copies:
            launcher = CopyingLauncher(launcher)
        if self._signatures:
            launcher = TypedLauncher(launcher, self.__name__, self._signatures)
        key = (grid, block, *config[2:])
        if len(self._launchers) > 1000:
            self._launchers.clear()
        self._launchers[key] = launcher
        return launcher

    def __call__(self, *args: Any) -> Any:
        if self.options.device:
            return self.py_func(*args)
        raise ValueError(f"kernel {self.__name__} needs a launch configuration: {self.__name__}[grid, block](...)")

    def __reduce__(self) -> Any:
        # By name where the other side can import it; else by value, with the text that compiling needs.
        module = sys.modules.get(self.__module__)
        if self.__module__ != "__main__" and getattr(module, self.__qualname__, None) is self:
            return self.__qualname__
        try:
            sources = Program(self.py_func).portable_sources()
        except CompileError:
            sources = {}
        return _rebuild, (_portable(self.py_func), tuple(self.options), self._signatures, sources)

    def __repr__(self) -> str:
        return f"<{'device function' if self.options.device else 'kernel'} {self.__qualname__}>"

    def forall(self, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> Any:
        """A launcher with enough one-dimensional blocks for ``ntasks`` threads."""
        block = tpb or 256
        return self[max(1, (ntasks + block - 1) // block), block, stream, sharedmem]

    @property
    def last_compile(self) -> LastCompile:
        """How the variant compiled last came to be: milliseconds, cache file, whether it was found there, lanes of a packet."""
        return LastCompile(*self._ready().last_compile())

    @property
    def signatures(self) -> list[tuple[Any, ...]]:
        """The argument types compiled so far."""
        return [tuple(signature) for signature in self._ready().signatures()]

    def dump(self, stage: str, *types: Any, block: Any = 256) -> str:
        """The kernel for argument types as text. stage: "ir", "passes", "llvm" or "asm"; types: as in signatures; without types,
        those compiled last."""
        codes: Any = [kernel_types.as_type(item).code() for item in types]
        if not types:
            known = self.signatures
            if not known:
                raise ValueError(f"{self.__name__}.dump: expected argument types, since nothing is compiled yet")
            codes = list(known[0])
        return self._ready().dump(codes, stage, block)

    def inspect_llvm(self, signature: Any = None) -> str:
        """LLVM IR of the variant compiled last, or of a signature."""
        return self.dump("llvm", *(kernel_types.parse_signature(signature).args if signature else ()))

    def inspect_asm(self, signature: Any = None) -> str:
        """Machine code of the variant compiled last, or of a signature, as assembly text."""
        return self.dump("asm", *(kernel_types.parse_signature(signature).args if signature else ()))


def _portable(function: Any) -> Any:
    """A function by value where cloudpickle is there to do it; pickle by itself knows functions by name only."""
    if importlib.util.find_spec("cloudpickle") is None:
        return function
    import cloudpickle  # type: ignore[import-untyped]

    return cloudpickle.dumps(function)


def _rebuild(function: Any, options: tuple[Any, ...], signatures: Any, sources: Any) -> Dispatcher:
    take_sources(sources)
    return Dispatcher(
        pickle.loads(function) if isinstance(function, bytes) else function, Options(*options), signatures
    )


def _check_dimensions(name: str, value: Any) -> None:
    parts = value if isinstance(value, tuple) else (value,)
    for part in parts:
        if isinstance(part, (float, np.floating)) or not hasattr(part, "__index__"):
            raise TypeError(f"{name}: expected an integer or a tuple of integers, got {value!r}")


def _stream_of(stream: Any) -> Any:
    if stream is None or (isinstance(stream, int) and stream == 0):
        return None
    native = getattr(stream, "_native", None)
    if native is None:
        raise TypeError(f"stream: expected a stream, None or 0, got {type(stream).__name__}")
    return native


def jit(
    func_or_sig: Any = None,
    *,
    device: bool = False,
    bounds: str | None = None,
    fastmath: bool = False,
    fmad: bool = True,
    host_arrays: str = "refuse",
    disabled_passes: str = "",
    boundscheck: bool | None = None,
    **hints: Any,
) -> Any:
    """Makes a kernel (or, with ``device=True``, a function that kernels call) of a Python function.

    ``@jit``, ``@jit(option=...)``, ``@jit("void(float32[:], int64)")`` and lists of signatures work; signatures compile at once.

    bounds: what an index outside an array does. "guard" (default): reads give zero, writes do nothing; "raise": also IndexError at
    the next synchronisation; "off": not tested. ``TREADLE_BOUNDS`` sets the default. fmad: a * b + c may be rounded once.
    fastmath: reassociation and reciprocals. host_arrays: "refuse" or "copy" NumPy arguments. Raises TypeError, ValueError for bad
    options, CompileError for signatures that do not compile.

    >>> import treadle as td
    >>> from treadle import cuda
    >>> @cuda.jit
    ... def double(x):
    ...     i = cuda.grid(1)
    ...     x[i] = 2 * x[i]
    """
    unknown = set(hints) - _HINT_OPTIONS
    if unknown:
        raise TypeError(f"jit: unknown option {sorted(unknown)[0]!r}")
    where = "jit: bounds"
    if bounds is None:
        bounds = "raise" if boundscheck else os.environ.get("TREADLE_BOUNDS") or "guard"
        where = "TREADLE_BOUNDS"
    if bounds not in _BOUNDS:
        raise ValueError(f"{where}: expected 'guard', 'raise' or 'off', got {bounds!r}")
    if host_arrays not in ("refuse", "copy"):
        raise ValueError(f"jit: host_arrays: expected 'refuse' or 'copy', got {host_arrays!r}")
    options = Options(bounds, fmad, fastmath, device, host_arrays, disabled_passes)
    if isinstance(func_or_sig, Dispatcher):
        raise TypeError(f"jit: {func_or_sig.__name__} is compiled already")
    if isinstance(func_or_sig, python_types.FunctionType):
        return Dispatcher(func_or_sig, options, [])
    if (
        func_or_sig is not None
        and not isinstance(func_or_sig, (str, list, tuple, kernel_types.Signature))
        and not hasattr(func_or_sig, "return_type")
    ):
        raise TypeError(f"jit: expected a function or a signature, got {type(func_or_sig).__name__}")
    given = func_or_sig if isinstance(func_or_sig, list) else [] if func_or_sig is None else [func_or_sig]
    signatures = [kernel_types.parse_signature(item) for item in given]

    def decorate(function: Callable[..., Any]) -> Dispatcher:
        if not isinstance(function, python_types.FunctionType):
            raise TypeError(f"jit: expected a function, got {type(function).__name__}")
        return Dispatcher(function, options, signatures)

    return decorate
