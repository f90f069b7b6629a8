"""The threads of a launch, one at a time. Each runs until it waits or ends and then hands over; so memory is as it would be if a GPU
ran them in this order, and whoever stops under a debugger stops the whole grid.

A thread of the kernel needs a thread of the host only while it waits: one that does not is run by the host thread that ran the one
before. The chosen thread, where pdb stops, runs in the thread that called ``debug``.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from treadle._debug import warps
from treadle._debug.places import Place, place_here
from treadle.errors import DivergentBarrierError, UnsupportedError

_MOST_THREADS = 4096  # of the host, that wait at once
_ROUNDS = 2  # of a loop that waits, until others run

Index = tuple[int, int, int]


class Block:
    """A block that is under way."""

    def __init__(self, index: Index, number: int) -> None:
        self.index = index
        self.number = number
        self.shared: dict[Any, Any] = {}
        self.threads: list[Thread] = []  # those that have not ended


class Wait:
    """What a thread waits for: an operation of a block ("barrier") or warp ("warp") or the grid ("grid")."""

    def __init__(self, scope: str, name: str, place: Place, mask: int, args: tuple[Any, ...]) -> None:
        self.scope, self.name, self.place, self.mask, self.args = scope, name, place, mask, args


class Thread:
    """A thread of the kernel."""

    def __init__(self, block: Block, index: Index, number: int) -> None:
        self.block = block
        self.index = index
        self.number = number  # in its block, linear
        self.lane = number % warps.WARP
        self.wait: Wait | None = None
        self.result: Any = None
        self.gate: Any = None  # a lock that is closed while it waits
        self.rounds = 0

    def __repr__(self) -> str:
        return f"block {self.block.index}, thread {self.index}"


class Abandoned(BaseException):
    """Ends the threads that wait when the launch is given up."""


class _Host:
    """A thread of the host that runs threads of the kernel, one after the other."""

    def __init__(self) -> None:
        self.gate = _closed()
        self.task: Thread | None = None


def _closed() -> Any:
    lock = threading.Lock()
    lock.acquire()
    return lock


def _open(gate: Any) -> None:
    """Opens a gate that may be open already: an interrupt comes at any time."""
    with contextlib.suppress(RuntimeError):
        gate.release()


class Crew:
    """Runs ``run(thread)`` for all threads of a grid. ``waits``: threads wait in loops or for the grid, so that blocks have to be
    under way together. ``chosen``: block and thread that the calling thread runs, or None. ``only``: the one block to run."""

    def __init__(
        self,
        grid: Index,
        block: Index,
        run: Callable[[Thread], None],
        waits: bool = False,
        chosen: tuple[Index, Index] | None = None,
        only: Index | None = None,
    ) -> None:
        self.grid, self.block = grid, block
        self._run = run
        self._waits = waits
        self._chosen = chosen
        self._left = self._all_blocks(only)
        self._upcoming = next(self._left, None)
        self._blocks: list[Block] = []
        self._ready: deque[Thread] = deque()
        self._main = _Host()
        self._idle: list[_Host] = []
        self._hosts: list[threading.Thread] = []
        self._yields = 0  # of loops that wait since something else happened
        self._ended = False
        self.current: Thread | None = None
        self.failure: BaseException | None = None
        self.failed: Thread | None = None

    def _all_blocks(self, only: Index | None) -> Iterator[Block]:
        indices = itertools.product(*(range(extent) for extent in reversed(self.grid)))
        for number, (z, y, x) in enumerate(indices):
            if only is None or only == (x, y, z):
                yield Block((x, y, z), number)

    def launch(self) -> None:
        """Runs the grid. Raises what a thread raised; then ``failed`` is that thread."""
        try:
            self._hand_over()
            while not self._ended and self.failure is None:
                self._main.gate.acquire()
                if self._main.task is not None and self.failure is None:
                    self._do(self._main)
                    self._hand_over()
        except BaseException as error:  # of the one who waits at the keyboard
            self._fail(error, None)
        for host in self._idle:
            _open(host.gate)
        for thread in self._hosts:
            thread.join(5)
        if self.failure is not None:
            raise self.failure

    # ------------------------------------------------------------------------------------------------ running threads

    def _do(self, host: _Host) -> None:
        """Runs a thread to its end in this thread of the host."""
        thread, host.task = host.task, None
        assert thread is not None
        try:
            self._run(thread)
        except Abandoned:
            pass
        except BaseException as error:
            self._fail(error, thread)
        thread.block.threads.remove(thread)
        self._yields = 0

    def _hand_over(self) -> None:
        """Lets the next thread run, wherever it does."""
        if self.failure is not None:
            return
        try:
            thread = self._next()
            if thread is None:
                self._ended = True
                self._main.gate.release()
                return
            self._let_run(thread)
        except Exception as error:
            self._fail(error, None)

    def _let_run(self, thread: Thread) -> None:
        self.current = thread
        if thread.gate is not None:
            thread.gate.release()
            return
        if (thread.block.index, thread.index) == self._chosen:
            host = self._main
        elif self._idle:
            host = self._idle.pop()
        else:
            if len(self._hosts) >= _MOST_THREADS:
                raise UnsupportedError(
                    f"debug: more than {_MOST_THREADS} threads wait for each other: debug a smaller launch"
                )
            host = _Host()
            self._hosts.append(threading.Thread(target=self._serve, args=(host,), daemon=True, name="treadle debug"))
            self._hosts[-1].start()
        host.task = thread
        host.gate.release()

    def _serve(self, host: _Host) -> None:
        while True:
            host.gate.acquire()
            if host.task is None:
                return
            self._do(host)
            if self.failure is not None:
                return
            self._idle.append(host)
            self._hand_over()

    def _fail(self, error: BaseException, thread: Thread | None) -> None:
        """Gives the launch up: all that wait are let go, and end."""
        if self.failure is not None:
            return
        self.failure, self.failed = error, thread
        for block in self._blocks:
            for other in block.threads:
                if other.gate is not None:
                    _open(other.gate)
        _open(self._main.gate)

    # ------------------------------------------------------------------------------------------------- waiting threads

    def check(self) -> None:
        """Ends a thread of a launch that was given up."""
        if self.failure is not None:
            raise Abandoned

    def wait(self, scope: str, name: str, mask: int = 0, args: tuple[Any, ...] = ()) -> Any:
        """Waits with the others that take part; the result is this thread's."""
        thread = self.current
        assert thread is not None
        thread.wait = Wait(scope, name, place_here(), mask, args)
        self._yields = 0
        self._suspend(thread)
        return thread.result

    def round(self) -> None:
        """Called in each round of a loop that may wait for another thread."""
        thread = self.current
        assert thread is not None
        thread.rounds += 1
        self.check()
        if thread.rounds % _ROUNDS or not self._waits:
            return
        self._yields += 1
        if self._yields > len(self._ready) + 1 and (self._resolve() or self._admit()):
            self._yields = 0
        self._ready.append(thread)
        self._suspend(thread)

    def _suspend(self, thread: Thread) -> None:
        thread.gate = _closed()
        self._hand_over()
        thread.gate.acquire()
        thread.gate = None
        self.check()

    def _next(self) -> Thread | None:
        while not self._ready:
            self._blocks = [block for block in self._blocks if block.threads]
            if self._resolve() or (not self._blocks or self._waits_for_grid()) and self._admit():
                continue
            if not self._blocks:
                return None
            self._refuse(self._blocks[0])
        return self._ready.popleft()

    def _admit(self) -> bool:
        """Lets the next block begin, if there is one."""
        block, self._upcoming = self._upcoming, next(self._left, None)
        if block is None:
            return False
        x, y, z = self.block
        for number, (k, j, i) in enumerate(itertools.product(range(z), range(y), range(x))):
            block.threads.append(Thread(block, (i, j, k), number))
        self._blocks.append(block)
        self._ready.extend(block.threads)
        return True

    def _waits_for_grid(self) -> bool:
        return any(thread.wait and thread.wait.scope == "grid" for block in self._blocks for thread in block.threads)

    def _resolve(self) -> bool:
        """Lets those go whose partners have come; whether there were any."""
        resolved = [self._resolve_block(block) for block in self._blocks]  # all of them, not up to the first
        if True in resolved:
            return True
        everyone = [thread for block in self._blocks for thread in block.threads]
        return self._upcoming is None and self._meet(everyone, "grid")

    def _resolve_block(self, block: Block) -> bool:
        return warps.exchange(block.threads, self._let_go) or self._meet(block.threads, "barrier")

    def _meet(self, threads: list[Thread], scope: str) -> bool:
        """A barrier that all threads have come to."""
        waits = [thread.wait for thread in threads]
        first = waits[0] if waits else None
        if first is None or any(wait is None or wait.scope != scope or wait.place != first.place for wait in waits):
            return False
        result = warps.BARRIERS[first.name]([bool(wait.args[0]) for wait in waits if wait and wait.args])
        for thread in list(threads):
            self._let_go(thread, result)
        return True

    def _let_go(self, thread: Thread, result: Any) -> None:
        thread.wait, thread.result = None, result
        self._ready.append(thread)

    def _refuse(self, block: Block) -> None:
        """Nobody can go on: some threads wait here, some there."""
        first, *others = block.threads
        other = next((one for one in others if one.wait and first.wait and one.wait.place != first.wait.place), first)
        assert first.wait is not None and other.wait is not None
        raise DivergentBarrierError(
            f"a barrier was reached by some threads of block {block.index} only, while others went another way"
            f"{first.wait.place.text()}\n  the others waited at{other.wait.place.text()}\n"
            "  hint: all threads of a block must come to the same barrier; move it out of the branch, or let the others return"
        )
