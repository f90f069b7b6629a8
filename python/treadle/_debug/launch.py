"""``kernel.debug(...)[grid, block](...)``."""

from __future__ import annotations

import operator
import pdb
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle import _treadle
from treadle._bfloat16 import host_dtype
from treadle._convert import argument, from_host
from treadle._debug.arrays import KernelArray
from treadle._debug.debugger import Attached, make_debugger
from treadle._debug.functions import Function
from treadle._debug.intrinsics import Intrinsics
from treadle._debug.names import counted
from treadle._debug.places import kernel_frame
from treadle._debug.threads import Crew, Index, Thread
from treadle._debug.values import Scalar, code_of, lift, machine
from treadle._program import declared_types
from treadle._records import numpy_dtype
from treadle.cuda._options import BOUNDS
from treadle.errors import DeviceError, UnsupportedError

if TYPE_CHECKING:
    import types

    from treadle._kernel_types import Signature
    from treadle.cuda._kernel import Dispatcher


class Run:
    """One launch: the threads, the memory and the functions of the kernel."""

    def __init__(
        self,
        function: types.FunctionType,
        options: tuple[int, bool, bool, int],
        block: Index,
        shared_bytes: int,
        attached: Attached,
        stops_anywhere: bool,
    ) -> None:
        self.options = options
        self.bounds, self.contract, *_ = options
        self.block = block
        self.shared_bytes = shared_bytes
        self.intrinsics = Intrinsics(self)
        self.crew: Crew
        self._attached = attached
        self._stops_anywhere = stops_anywhere
        self._functions: dict[types.FunctionType, Function] = {}
        self._constants: dict[int, KernelArray] = {}
        self.stops_in: Thread | None = None
        self.kernel = self.function(function)

    def function(self, function: types.FunctionType, declared: Signature | None = None) -> Function:
        if function not in self._functions:
            self._functions[function] = Function(self, function, declared_types(declared))
        return self._functions[function]

    def constant(self, array: np.ndarray[Any, Any]) -> KernelArray:
        """A host array among the globals: the kernel has a copy of its own."""
        if id(array) not in self._constants:
            copy = from_host(np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("=")))
            self._constants[id(array)] = KernelArray(copy, self.outside, name="constant", is_constant=True)
        return self._constants[id(array)]

    def reinterpreted(self, memory: KernelArray, kind: np.dtype[Any], count: int) -> KernelArray:
        """The first bytes of an array as elements of another type, which device arrays cannot say."""
        return KernelArray(None, self.outside, memory.host[: count * kind.itemsize].view(kind), name="shared")

    def outside(self, index: int, axis: int, shape: tuple[int, ...]) -> None:
        """An index outside an array: an error, unless the kernel is one that guards."""
        if self.bounds != 0:
            raise IndexError(f"index {index} is out of bounds for axis {axis} of an array of shape {shape}")

    def counted_range(self, *limits: Any) -> Any:
        return counted(limits, self.crew.check)

    def print(self, *args: Any, sep: str = " ", end: str = "\n") -> None:
        sys.stdout.write(sep.join(map(_text, args)) + end)

    def breakpoint(self) -> None:
        if self._stops_anywhere or self.crew.current is self.stops_in:
            self._attached.stop(kernel_frame())

    def argument(self, value: Any, name: str, copies: bool) -> Any:
        """An argument of the launch as the kernel's threads see it. Raises TypeError for what kernels cannot take."""
        if isinstance(value, _treadle.ndarray):
            return KernelArray(value, self.outside)
        if value is None or isinstance(value, Scalar):
            return value
        if isinstance(value, tuple) and value:
            items = [self.argument(item, f"{name}[{number}]", copies) for number, item in enumerate(value)]
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        if isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic):
            return Scalar(lift(value).value)
        found = argument(value, self.kernel.__name__, name, copies)
        if isinstance(found, _treadle.ndarray):
            return KernelArray(found, self.outside)
        kind = host_dtype(numpy_dtype(found[0]))
        words = np.array(found[1:], np.uint64)
        part = kind.itemsize // len(words)
        return Scalar(np.frombuffer(b"".join(word.tobytes()[:part] for word in words), kind)[0])

    def launch(self, values: list[Any], crew: Crew) -> None:
        self.crew = crew
        self.kernel_types = self.kernel.types([code_of(value) for value in values])
        self._ready = self.kernel.ready(values)
        self._values = values
        crew.launch()

    def run(self, thread: Thread, is_chosen: bool) -> None:
        """All that a thread does."""
        if not is_chosen:
            self._ready(*self._values)
            return
        self.stops_in = thread
        self._attached.run(self._ready, *self._values)


def _text(value: Any) -> str:
    """A value as kernels print it."""
    if not isinstance(value, tuple):
        return str(value)
    return "(" + ", ".join(map(_text, value)) + (",)" if len(value) == 1 else ")")


class Debugging:
    """A kernel that is to be launched under a debugger."""

    def __init__(
        self,
        kernel: Dispatcher,
        block: Any,
        thread: Any,
        commands: Sequence[str] | None,
        debugger: Any,
        bounds: str | None,
        post_mortem: bool,
        only_block: bool,
    ) -> None:
        if debugger is not None and not isinstance(debugger, pdb.Pdb):
            raise TypeError(f"debug: debugger: expected a pdb.Pdb, got {type(debugger).__name__}")
        if debugger is not None and commands is not None:
            raise TypeError("debug: commands: expected none beside a debugger, which has its own")
        if only_block and block is None:
            raise ValueError("debug: only_block: expected a block beside it, got None")
        self.kernel = kernel
        self.block = None if block is None else _three("debug: block", block, 0)
        self.thread = None if thread is None else _three("debug: thread", thread, 0)
        self.attached = Attached(debugger or make_debugger(commands))
        options = kernel.options
        self.options = (BOUNDS[bounds or options.bounds], options.contract, options.fastmath, options.debug)
        self.post_mortem, self.only_block = post_mortem, only_block

    def __getitem__(self, config: Any) -> Any:
        grid, block, _, shared = self.kernel._checked(config)
        target = _treadle.attributes()["target"]
        if not target.startswith("x86-64"):
            raise UnsupportedError(
                f"debug: expected the CPU device (TREADLE_DEVICE=cpu), got one with the target {target}"
            )
        launcher = _Launcher(self, _three("grid", grid, 1), _three("block", block, 1), shared)
        return self.kernel._with_conversions(launcher)

    def __repr__(self) -> str:
        return f"<{self.kernel!r} under a debugger>"


class _Launcher:
    """Called with the kernel's arguments, it runs the launch and waits for its end."""

    def __init__(self, debugging: Debugging, grid: Index, block: Index, shared_bytes: int) -> None:
        self._debugging = debugging
        self._grid, self._block, self._shared_bytes = grid, block, shared_bytes
        self._name = debugging.kernel.__name__
        limits = _treadle.attributes()
        x, y, z = block
        most = limits["max_threads_per_block"]
        fits = all(0 < n <= limit for n, limit in zip(block, limits["max_block"], strict=True)) and x * y * z <= most
        if not fits or not all(0 <= n <= limit for n, limit in zip(grid, limits["max_grid"], strict=True)):
            raise DeviceError(
                f"CUDA_ERROR_INVALID_VALUE: launch of {self._name}: expected a block of 1 to {most} threads in dimensions up to "
                f"{limits['max_block']} and a grid up to {limits['max_grid']}, got block {block}, grid {grid}"
            )
        if shared_bytes < 0:
            raise DeviceError(
                f"CUDA_ERROR_INVALID_VALUE: launch of {self._name}: shared memory: expected a number of bytes, got {shared_bytes}"
            )
        if 0 in grid:
            return
        for what, index, extents in (("block", debugging.block, grid), ("thread", debugging.thread, block)):
            if index is not None and not all(0 <= i < n for i, n in zip(index, extents, strict=True)):
                around = "grid" if what == "block" else "block"
                raise ValueError(f"debug: {what}: expected an index in the {around} of {extents}, got {index}")

    def __call__(self, *args: Any, **keywords: Any) -> None:
        debugging, kernel = self._debugging, self._debugging.kernel
        code = kernel.py_func.__code__
        names = code.co_varnames[: code.co_argcount]
        if keywords:
            raise TypeError(f"{self._name}: a launch takes its arguments by position, not by keyword")
        if len(args) != len(names):
            raise TypeError(f"{self._name}: expected {len(names)} arguments ({', '.join(names)}), got {len(args)}")
        _treadle.synchronize()
        chosen = None
        if debugging.block is not None and debugging.thread is not None:
            chosen = (debugging.block, debugging.thread)
        run = Run(
            kernel.py_func, debugging.options, self._block, self._shared_bytes, debugging.attached, chosen is None
        )
        machine(*debugging.options).use()
        copies = kernel.options.host_arrays == "copy"
        for arg, name in zip(args, names, strict=True):
            dtype = getattr(arg, "dtype", None)
            if getattr(dtype, "names", None):
                raise UnsupportedError(
                    f"debug: argument '{name}': expected no records, got an array or scalar of {dtype}"
                )
        values = [run.argument(arg, name, copies) for arg, name in zip(args, names, strict=True)]
        waits = run.kernel.compiled.dump([code_of(value) for value in values], "waits", self._block) != ""
        crew = Crew(
            self._grid,
            self._block,
            lambda thread: run.run(thread, (thread.block.index, thread.index) == chosen),
            waits,
            chosen,
            debugging.block if debugging.only_block else None,
        )
        with debugging.attached.attached():
            try:
                run.launch(values, crew)
            except Exception as error:
                if crew.failed is None:
                    raise
                error.add_note(f"kernel '{self._name}', {crew.failed}")
                if debugging.post_mortem:
                    debugging.attached.post_mortem(error)
                raise


def _three(what: str, value: Any, rest: int) -> Index:
    """One to three integers as three."""
    parts = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if not 1 <= len(parts) <= 3 or any(isinstance(part, float) or not hasattr(part, "__index__") for part in parts):
        raise TypeError(f"{what}: expected an integer or a tuple of 1 to 3 integers, got {value!r}")
    x, y, z = (*map(operator.index, parts), rest, rest)[:3]
    return x, y, z
