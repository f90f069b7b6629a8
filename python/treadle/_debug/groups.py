"""Cooperative groups: the grid, a block, and tiles of a warp."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle._debug import warps
from treadle._debug.values import Scalar, convert, firm, lift

if TYPE_CHECKING:
    from treadle._debug.launch import Run


def _int32(value: int) -> Scalar:
    return Scalar(np.int32(value))


class Group:
    """What all groups have."""

    def __init__(self, run: Run) -> None:
        self._run = run

    @property
    def _thread(self) -> Any:
        return self._run.crew.current

    def _block_size(self) -> int:
        x, y, z = self._run.crew.block
        return x * y * z

    def num_threads(self) -> Scalar:
        return self.size()

    def size(self) -> Scalar:
        raise NotImplementedError


class WholeGrid(Group):
    """this_grid()"""

    def sync(self) -> None:
        self._run.crew.wait("grid", "syncthreads")

    def size(self) -> Scalar:
        x, y, z = self._run.crew.grid
        return Scalar(np.int64(x * y * z * self._block_size()))

    def thread_rank(self) -> Scalar:
        return Scalar(np.int64(self._thread.block.number * self._block_size() + self._thread.number))


class WholeBlock(Group):
    """this_thread_block()"""

    def sync(self) -> None:
        self._run.crew.wait("barrier", "syncthreads")

    def size(self) -> Scalar:
        return _int32(self._block_size())

    def thread_rank(self) -> Scalar:
        return _int32(self._thread.number)


class Tile(Group):
    """tiled_partition(group, threads)"""

    def __init__(self, run: Run, threads: int) -> None:
        super().__init__(run)
        self._threads = threads

    @property
    def _first(self) -> int:
        """The tile's first lane in its warp."""
        return int(self._thread.lane) & ~(self._threads - 1)

    def _wait(self, name: str, *args: Any) -> Any:
        mask = (1 << self._threads) - 1 << self._first
        return self._run.crew.wait("warp", name, mask, tuple(firm(lift(arg)) for arg in args))

    def sync(self) -> None:
        self._wait("syncwarp")

    def size(self) -> Scalar:
        return _int32(self._threads)

    def thread_rank(self) -> Scalar:
        return _int32(self._thread.lane - self._first)

    def meta_group_rank(self) -> Scalar:
        return _int32(self._thread.number // self._threads)

    def meta_group_size(self) -> Scalar:
        return _int32((self._block_size() + self._threads - 1) // self._threads)

    def _shuffle(self, value: Any, own: int, source: int) -> Any:
        inside = source if 0 <= source < self._threads else own
        return self._wait("shfl_sync", value, _int32(self._first + inside))

    def _by(self, number: Any) -> int:
        return int(convert(lift(number), ("scalar", "int32")))

    def shfl(self, value: Any, lane: Any) -> Any:
        own = self._thread.lane - self._first
        return self._shuffle(value, own, self._by(lane) & (self._threads - 1))

    def shfl_up(self, value: Any, delta: Any) -> Any:
        own = self._thread.lane - self._first
        return self._shuffle(value, own, own - self._by(delta))

    def shfl_down(self, value: Any, delta: Any) -> Any:
        own = self._thread.lane - self._first
        return self._shuffle(value, own, own + self._by(delta))

    def shfl_xor(self, value: Any, mask: Any) -> Any:
        own = self._thread.lane - self._first
        return self._shuffle(value, own, own ^ self._by(mask))

    def any(self, predicate: Any) -> Any:
        return self._wait("any_sync", predicate)

    def all(self, predicate: Any) -> Any:
        return self._wait("all_sync", predicate)

    def _from_first(self, bits: Any) -> Any:
        """Bits counted from the first thread of the tile."""
        return Scalar(np.uint32((int(bits) & warps.ALL) >> self._first))

    def ballot(self, predicate: Any) -> Any:
        return self._from_first(self._wait("ballot_sync", predicate))

    def match_any(self, value: Any) -> Any:
        return self._from_first(self._wait("match_any_sync", value))

    def match_all(self, value: Any) -> Any:
        return self._wait("match_all_sync", value)
