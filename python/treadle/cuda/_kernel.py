"""``jit``: kernels and device functions written in Python."""

from __future__ import annotations

import functools
import importlib.util
import math
import operator
import pickle
import sys
import threading
import types as python_types
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle import _kernel_types as kernel_types
from treadle import _treadle
from treadle._signatures import parse_signature, typeof
from treadle.cuda._compiled import Inspection
from treadle.cuda._declared import images_of, listed_links
from treadle.cuda._launchers import CopyingLauncher, ForAll
from treadle.cuda._options import Options, bounds_option, check_hints, debug_options
from treadle.cuda._typed_launcher import TypedLauncher
from treadle.errors import CompileError, DeviceError

# What compiling needs is loaded with the first kernel: importing Treadle should cost little beside importing NumPy.
if TYPE_CHECKING:
    from treadle._program import Program


# Kernels that keep launchers for streams.
_with_streams: weakref.WeakSet[Dispatcher] = weakref.WeakSet()


def forget_stream(stream: Any) -> None:
    """Drops the launchers that are kept for a stream: they hold it."""
    for kernel in list(_with_streams):
        for config in [config for config in list(kernel._launchers) if config[2:3] == (stream,)]:
            kernel._launchers.pop(config, None)


class Dispatcher(Inspection):
    """A kernel or device function. ``kernel[grid, block, stream](*args)`` launches; compiled for each combination of argument types.

    grid, block: integers or tuples of 1 to 3 integers. Launches are asynchronous on ``stream`` (by default the current one) and
    return None. Arguments: device arrays, Python and NumPy numbers, NumPy records (copies that are only read), tuples of these.

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
        from treadle._source import keep_source

        keep_source(py_func)
        self.py_func = py_func
        self.options = options
        self._lock = threading.Lock()
        self._function: _treadle.Function | None = None
        self._program: Program | None = None
        self._launchers: dict[Any, Any] = {}
        self._signatures = signatures
        self._specializations: dict[tuple[kernel_types.Type, ...], Dispatcher] = {}
        self._specialized = False
        if signatures and not options.device:
            for signature in signatures:
                self._ready().prepare([arg.code() for arg in signature.args])

    @property
    def declared(self) -> kernel_types.Signature | None:
        """The types that a device function was declared with, to which calls convert numbers; None where there is no one signature."""
        alone = self.options.device and len(self._signatures) == 1
        return self._signatures[0] if alone else None

    def _ready(self) -> _treadle.Function:
        """The compiled side, made at first use: globals and closures are frozen then."""
        with self._lock:
            if self._function is None:
                from treadle._program import Program

                program = self._program = Program(self.py_func)
                links = [*self.options.link, *program.links]
                self._function = _treadle.make_function(
                    self.py_func.__name__, program.text, program.sources, *self.options.compilation, images_of(links)
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
        grid, block, stream, shared = self._checked(config)
        code = self.py_func.__code__
        names = list(code.co_varnames[: code.co_argcount])
        copies = self.options.host_arrays == "copy"
        launcher = self._with_conversions(
            _treadle.make_launcher(self._ready(), grid, block, _stream_of(stream), shared, names, copies)
        )
        key = (grid, block, *config[2:])
        if len(self._launchers) > 1000:
            self._launchers.clear()
        self._launchers[key] = launcher
        if stream is not None:
            _with_streams.add(self)
        return launcher

    def _checked(self, config: Any) -> tuple[Any, Any, Any, int]:
        """Grid, block, stream and bytes of shared memory of a launch."""
        if self.options.device:
            raise TypeError(f"{self.__name__} is a device function: it is called from kernels, not launched")
        if not isinstance(config, tuple) or not 2 <= len(config) <= 4:
            raise ValueError(
                f"launch of {self.__name__}: expected kernel[grid, block] or kernel[grid, block, stream, shared], got {config!r}"
            )
        grid, block = (tuple(part) if isinstance(part, list) else part for part in config[:2])
        for name, part in (("grid", grid), ("block", block)):
            _check_dimensions(name, part)
        threads = math.prod(block) if isinstance(block, tuple) else block
        if 0 < self.options.max_threads < threads:
            raise DeviceError(
                f"CUDA_ERROR_INVALID_VALUE: launch of {self.__name__}: block: expected at most {self.options.max_threads} threads, "
                f"as launch_bounds says, got {threads}"
            )
        stream = config[2] if len(config) > 2 else None
        shared = config[3] if len(config) > 3 else 0
        _check_dimensions("shared memory", shared)
        return grid, block, stream, operator.index(shared)

    def _with_conversions(self, launcher: Any) -> Any:
        """A launcher that takes the arguments which this kernel's options and signatures allow."""
        if self.options.host_arrays == "copy":
            launcher = CopyingLauncher(launcher)
        if self._signatures:
            launcher = TypedLauncher(launcher, self.__name__, self._signatures)
        return launcher

    def debug(
        self,
        block: Any = (0, 0, 0),
        thread: Any = (0, 0, 0),
        *,
        commands: Sequence[str] | None = None,
        debugger: Any = None,
        bounds: str | None = None,
        post_mortem: bool = False,
        only_block: bool = False,
    ) -> Any:
        """The kernel for one launch under pdb: ``kernel.debug(thread=5)[grid, block](*args)``.

        The kernel's own source runs as Python, with the compiled kernel's types, memory and results, for all threads of the grid.
        pdb stops at the first line of one thread; the others run without stopping, and hand over where they wait for each other.
        The launch waits for the device and is through when it returns.

        block, thread: index of the block in the grid and of the thread in the block, an integer or a tuple of 1 to 3; None: no thread
        is chosen, and pdb stops where a thread comes to ``breakpoint()``. commands: for pdb, in place of the terminal; behind them it
        continues. debugger: a ``pdb.Pdb`` to use. bounds: as for ``jit``, by default the kernel's. post_mortem: an exception in a
        thread stops there. only_block: the other blocks do not run.

        Raises: what the first failing thread raises, with a note of its block and thread; IndexError at once for an index outside
        where bounds is not "guard"; bdb.BdbQuit when the debugger is left; TypeError, ValueError, DeviceError, CompileError as
        launches do; ValueError for a block or thread outside the launch.

        >>> import treadle as td
        >>> from treadle import cuda
        >>> @cuda.jit
        ... def double(x):
        ...     i = cuda.grid(1)
        ...     x[i] = 2 * x[i]
        >>> x = td.arange(4, dtype="int32")
        >>> double.debug(thread=3, commands=["next", "p i, x[i]"])[1, 4](x)
        > <doctest ...>(3)double()
        -> i = cuda.grid(1)
        > <doctest ...>(4)double()
        -> x[i] = 2 * x[i]
        (int64(3), int32(3))
        >>> x.get()
        array([0, 2, 4, 6], dtype=int32)
        """
        from treadle._debug.launch import Debugging

        if bounds is not None:
            bounds_option(bounds, None)
        return Debugging(self, block, thread, commands, debugger, bounds, post_mortem, only_block)

    def __call__(self, *args: Any) -> Any:
        if self.options.device:
            return self.py_func(*args)
        raise ValueError(f"kernel {self.__name__} needs a launch configuration: {self.__name__}[grid, block](...)")

    def __reduce__(self) -> Any:
        # By name where the other side can import it; else by value, with the text that compiling needs.
        module = sys.modules.get(self.__module__)
        if self.__module__ != "__main__" and getattr(module, self.__qualname__, None) is self:
            return self.__qualname__
        from treadle._program import Program

        try:
            sources = Program(self.py_func).portable_sources()
        except CompileError:
            sources = {}
        return _rebuild, (
            _portable(self.py_func),
            tuple(self.options),
            self._signatures,
            sources,
            self._specialized,
        )

    def __repr__(self) -> str:
        return f"<{'device function' if self.options.device else 'kernel'} {self.__qualname__}>"

    def configure(self, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0) -> Any:
        """A launcher: the same as ``kernel[griddim, blockdim, stream, sharedmem]``."""
        return self[griddim, blockdim, stream, sharedmem]

    def forall(self, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> ForAll:
        """A launcher with enough one-dimensional blocks of ``tpb`` threads (256, or what launch_bounds allows) for ``ntasks`` threads;
        for none it launches nothing. Raises ValueError for a negative number."""
        block = tpb or min(256, self.options.max_threads or 256)
        return ForAll(lambda count: self[(count + block - 1) // block, block, stream, sharedmem], ntasks)

    def specialize(self, *args: Any) -> Dispatcher:
        """A kernel for the types of these arguments only, compiled at once; the same one for the same types.

        Raises: TypeError for arguments kernels cannot take and for a kernel that is specialized already; CompileError."""
        if self.options.device or self._specialized:
            what = "a device function" if self.options.device else "specialized already"
            raise TypeError(f"specialize: {self.__name__}: expected a kernel of all types, got one that is {what}")
        try:
            types = tuple(typeof(arg) for arg in args)
        except ValueError as error:
            raise TypeError(f"specialize: {self.__name__}: {error}") from None
        if types not in self._specializations:
            kernel = Dispatcher(
                self.py_func, self.options, [kernel_types.Signature(kernel_types.NoneType("none"), types)]
            )
            kernel._specialized = True
            self._specializations[types] = kernel
        return self._specializations[types]

    @property
    def specialized(self) -> bool:
        """Whether this came from ``specialize``."""
        return self._specialized


def _portable(function: Any) -> Any:
    """A function by value where cloudpickle is there to do it; pickle by itself knows functions by name only."""
    if importlib.util.find_spec("cloudpickle") is None:
        return function
    import cloudpickle  # type: ignore[import-untyped]

    return cloudpickle.dumps(function)


def _rebuild(
    function: Any, options: tuple[Any, ...], signatures: Any, sources: Any, specialized: bool = False
) -> Dispatcher:
    from treadle._source import take_sources

    take_sources(sources)
    kernel = Dispatcher(
        pickle.loads(function) if isinstance(function, bytes) else function, Options(*options), signatures
    )
    kernel._specialized = specialized
    return kernel


def _check_dimensions(name: str, value: Any) -> None:
    parts = value if isinstance(value, tuple) else (value,)
    for part in parts:
        if isinstance(part, (float, np.floating)) or not hasattr(part, "__index__"):
            raise TypeError(f"{name}: expected an integer or a tuple of integers, got {value!r}")


def _stream_of(stream: Any) -> Any:
    if stream is None or (isinstance(stream, int) and stream == 0):
        return None
    native = getattr(stream, "_native", None)
    if not isinstance(native, _treadle.Stream):
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

    ``@jit``, ``@jit(option=...)``, ``@jit("void(float32[:], int64)")`` and lists of signatures work; signatures compile at once. Calls
    of a device function with one signature convert numbers to its types. Device functions may call themselves; more than 1000 calls
    inside each other are a RecursionError at the next synchronisation.

    bounds: what an index outside an array does. "guard" (default): reads give zero, writes do nothing; "raise": also IndexError at
    the next synchronisation; "off": not tested. ``TREADLE_BOUNDS`` sets the default. fmad: a * b + c may be rounded once.
    fastmath: reassociation and reciprocals. host_arrays: "refuse" or "copy" NumPy arguments. launch_bounds: the most threads of a
    block, alone or first of a tuple, then the least blocks that a GPU's multiprocessor has room for. max_registers: of a thread of a
    GPU. debug: debuggers such as gdb know lines and variables, and bounds is "raise" unless it is given; lineinfo: lines. opt=False:
    nothing is optimised, and threads run one at a time where no warp has to run together. inline, forceinline, cache, lto,
    shared_memory_carveout: hints without effect.
    link: files or codes (``CUSource``, ``PTXSource``, ``Cubin`` ...) in which the functions are that the kernel declares, see
    ``declare_device``.

    Raises TypeError, ValueError for bad options; UnsupportedError for extensions; CompileError for signatures that do not
    compile.

    >>> import treadle as td
    >>> from treadle import cuda
    >>> @cuda.jit
    ... def double(x):
    ...     i = cuda.grid(1)
    ...     x[i] = 2 * x[i]
    """
    for name, value in (("fastmath", fastmath), ("fmad", fmad), ("device", device)):
        if not isinstance(value, (int, np.bool_)):
            raise TypeError(f"jit: {name}: expected bool, got {type(value).__name__}")
    links = listed_links("jit", hints.pop("link", None))
    max_threads, min_blocks, max_registers = check_hints(hints)
    bounds = bounds_option(bounds, boundscheck, bool(hints.get("debug")))
    if host_arrays not in ("refuse", "copy"):
        raise ValueError(f"jit: host_arrays: expected 'refuse' or 'copy', got {host_arrays!r}")
    options = Options(
        bounds,
        fmad,
        fastmath,
        device,
        host_arrays,
        disabled_passes,
        max_threads,
        *debug_options(hints),
        links,
        min_blocks,
        max_registers,
    )
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
    signatures = [parse_signature(item) for item in given]

    def decorate(function: Callable[..., Any]) -> Dispatcher:
        if not isinstance(function, python_types.FunctionType):
            raise TypeError(f"jit: expected a function, got {type(function).__name__}")
        return Dispatcher(function, options, signatures)

    return decorate
