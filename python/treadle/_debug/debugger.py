"""pdb for one thread of a kernel: it sees the kernel's frames and no others."""

from __future__ import annotations

import contextlib
import pdb
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any

from treadle._debug.places import is_kernels


class _Commands:
    """What somebody types who continues when there is nothing left to do."""

    def __init__(self, commands: Sequence[str]) -> None:
        self._commands = iter(commands)

    def readline(self) -> str:
        return next(self._commands, "continue") + "\n"


class _Scripted(pdb.Pdb):
    """pdb that reads from no terminal."""

    def __init__(self, commands: Sequence[str]) -> None:
        super().__init__(stdin=_Commands(commands), stdout=sys.stdout, nosigint=True, readrc=False)  # type: ignore[arg-type]
        self.prompt = ""


def make_debugger(commands: Sequence[str] | None) -> pdb.Pdb:
    """pdb at the terminal, or one that obeys commands and then lets the kernel run on."""
    return pdb.Pdb() if commands is None else _Scripted(commands)


class Attached:
    """A debugger while a kernel runs under it."""

    def __init__(self, debugger: pdb.Pdb) -> None:
        self._debugger = debugger

    @contextlib.contextmanager
    def attached(self) -> Iterator[None]:
        """It stops in kernels only, and shows their part of the stack."""
        debugger: Any = self._debugger
        stop_here, get_stack, before = debugger.stop_here, debugger.get_stack, sys.gettrace()
        debugger.stop_here = lambda frame: is_kernels(frame) and stop_here(frame)

        def kernels_stack(frame: Any, traceback: Any) -> Any:
            stack, _ = get_stack(frame, traceback)
            kept = [entry for entry in stack if is_kernels(entry[0])] or stack
            return kept, len(kept) - 1

        debugger.get_stack = kernels_stack
        try:
            yield
        finally:
            sys.settrace(before)
            del debugger.stop_here, debugger.get_stack

    def run(self, function: Callable[..., Any], *args: Any) -> Any:
        """Calls a function of a kernel and stops at its first line."""
        self._debugger.reset()
        sys.settrace(self._debugger.trace_dispatch)
        try:
            return function(*args)
        finally:
            sys.settrace(None)

    def stop(self, frame: FrameType | None) -> None:
        """Stops at the next line of a kernel's frame."""
        debugger: Any = self._debugger
        if sys.gettrace() is None:
            debugger.reset()
        outer = frame
        while outer is not None:
            if is_kernels(outer):
                outer.f_trace = debugger.trace_dispatch
                debugger.botframe = outer
            outer = outer.f_back
        debugger.set_step()
        sys.settrace(debugger.trace_dispatch)

    def post_mortem(self, error: BaseException) -> None:
        """Stops where an exception was raised."""
        traceback = error.__traceback__
        while traceback is not None and not is_kernels(traceback.tb_frame):
            traceback = traceback.tb_next
        if traceback is not None:
            self._debugger.reset()
            self._debugger.interaction(None, traceback)
