"""The names of ``cuda`` that depend on the thread, its block or its warp. All others are operations that the compiler makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle._bfloat16 import host_dtype
from treadle._debug import warps
from treadle._debug.arrays import KernelArray, new_array
from treadle._debug.groups import Group, Tile, WholeBlock, WholeGrid
from treadle._debug.places import place_here
from treadle._debug.values import Scalar, convert, evaluate, firm, lift
from treadle._records import numpy_dtype
from treadle.errors import UnsupportedError

if TYPE_CHECKING:
    from treadle._debug.launch import Run


class ThreadValue:
    """A name that has a value without being called: threadIdx.x, laneid."""

    def __init__(self, get: Callable[[], Scalar]) -> None:
        self.get = get


class Builtin:
    """A function of the kernel language, computed by the compiler's code for it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        forms: list[str] = []
        given: list[Any] = []

        def place(value: Any) -> str:
            if isinstance(value, tuple):
                return "(tuple " + " ".join(map(place, value)) + ")"
            given.append(value)
            return f"{{{len(given) - 1}}}"

        forms = [place(arg) for arg in args] + [f"(kw {name} {place(arg)})" for name, arg in keywords.items()]
        return evaluate(f"(call (builtin {self._name}) {' '.join(forms)})", *given)

    def __repr__(self) -> str:
        return f"<{self._name} of kernels>"


class Atomic(Builtin):
    """An operation on an array's element, which must lie inside where faults are errors."""

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        array = args[0] if args else keywords.get("array", keywords.get("ary"))
        index = args[1] if len(args) > 1 else keywords.get("index", keywords.get("idx"))
        if isinstance(array, KernelArray) and index is not None and self._name != "atomic.compare_and_swap":
            array.place(index)
        return super().__call__(*args, **keywords)


def _int32(value: int) -> Scalar:
    return Scalar(np.int32(value))


def _int64(values: list[int]) -> Any:
    numbers = tuple(Scalar(np.int64(value)) for value in values)
    return numbers[0] if len(numbers) == 1 else numbers


class Intrinsics:
    """What the rows of the compiler's table of names stand for in a run."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def find(self, name: str) -> Any:
        base, _, member = name.partition(".")
        if base in ("threadIdx", "blockIdx", "blockDim", "gridDim"):
            return ThreadValue(lambda: _int32(self._extents(base)["xyz".index(member)]))
        if name == "laneid":
            return ThreadValue(lambda: _int32(self._thread.lane))
        if name in warps.BARRIERS:
            return lambda *votes: self._run.crew.wait("barrier", name, args=tuple(map(lift, votes)))
        if name in warps.OPERATIONS and name not in ("syncwarp", "activemask"):
            return lambda mask, *args, **keywords: self._warp(name, mask, (*args, *keywords.values()))
        if base == "atomic":
            return Atomic(name)
        return getattr(self, "_" + name.replace(".", "_"), None) or Builtin(name)

    @property
    def _thread(self) -> Any:
        return self._run.crew.current

    def _extents(self, name: str) -> tuple[int, int, int]:
        crew, thread = self._run.crew, self._thread
        found: dict[str, Any] = {
            "threadIdx": thread.index,
            "blockIdx": thread.block.index,
            "blockDim": crew.block,
            "gridDim": crew.grid,
        }
        extents: tuple[int, int, int] = found[name]
        return extents

    def _grid(self, ndim: Any) -> Any:
        thread, size = self._thread, self._run.crew.block
        return _int64([thread.block.index[d] * size[d] + thread.index[d] for d in range(int(ndim))])

    def _gridsize(self, ndim: Any) -> Any:
        crew = self._run.crew
        return _int64([crew.grid[d] * crew.block[d] for d in range(int(ndim))])

    # -------------------------------------------------------------------------------------------------------- memory

    def _shared_array(self, shape: Any, dtype: Any) -> KernelArray:
        # One array for each call in the source, as a static variable of a function would be; all that ask for the bytes of the
        # launch get the same.
        run = self._run
        shared = self._thread.block.shared
        is_dynamic = not isinstance(shape, tuple) and int(shape) == 0
        if is_dynamic:
            key: Any = None
            if key not in shared:
                shared[key] = new_array(run.shared_bytes, "uint8", run.outside, "shared")
            kind = host_dtype(numpy_dtype(dtype if isinstance(dtype, str) else dtype.name))
            count = run.shared_bytes // kind.itemsize
            return run.reinterpreted(shared[key], kind, count)
        key = place_here().steps[0]
        if key not in shared:
            shared[key] = new_array(shape, dtype, run.outside, "shared")
        array: KernelArray = shared[key]
        return array

    def _local_array(self, shape: Any, dtype: Any) -> KernelArray:
        return new_array(shape, dtype, self._run.outside, "local")

    def _const_array_like(self, array: Any) -> Any:
        if not isinstance(array, KernelArray):
            raise UnsupportedError("debug: const.array_like takes host arrays that the kernel finds among its globals")
        return array

    # -------------------------------------------------------------------------------------------------- order, warps

    def _threadfence(self) -> None:
        """One thread runs at a time: its accesses are in order for all others."""

    _threadfence_block = _threadfence_system = _threadfence

    def _nanosleep(self, ns: Any) -> None:
        self._run.crew.round()

    def _syncwarp(self, mask: Any = warps.ALL) -> None:
        self._run.crew.wait("warp", "syncwarp", int(mask) & warps.ALL)

    def _activemask(self) -> Any:
        return self._run.crew.wait("warp", "activemask", warps.ALL)

    def _lanemask_lt(self) -> Scalar:
        return Scalar(np.uint32((1 << self._thread.lane) - 1))

    def _warp(self, name: str, mask: Any, args: tuple[Any, ...]) -> Any:
        values = [firm(lift(arg)) for arg in args]
        if name.startswith("shfl"):
            values[1] = convert(values[1], ("scalar", "int32"))
        return self._run.crew.wait("warp", name, int(mask) & warps.ALL, tuple(values))

    # -------------------------------------------------------------------------------------------------------- groups

    def _cg_this_grid(self) -> Group:
        return WholeGrid(self._run)

    def _cg_this_thread_block(self) -> Group:
        return WholeBlock(self._run)

    def _cg_tiled_partition(self, group: Group, size: Any) -> Group:
        return Tile(self._run, int(size))
