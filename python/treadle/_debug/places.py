"""Which frames of the interpreter belong to kernels, and where a thread stands."""

from __future__ import annotations

import sys
from types import FrameType
from typing import NamedTuple

MARK = "__treadle_debug__"  # a name among the globals of every function that a debug run has made


class Place(NamedTuple):
    """A place in a kernel, with all calls that lead to it."""

    steps: tuple[tuple[str, int, int], ...]  # file, first line of the function, instruction
    line: int

    def text(self) -> str:
        return f'\n  File "{self.steps[0][0]}", line {self.line}' if self.steps else ""


def is_kernels(frame: FrameType) -> bool:
    return MARK in frame.f_globals


def kernel_frame() -> FrameType | None:
    """The innermost frame of a kernel."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_kernels(frame):
        frame = frame.f_back
    return frame


def place_here() -> Place:
    steps = []
    frame = innermost = kernel_frame()
    while frame is not None:
        if is_kernels(frame):
            code = frame.f_code
            steps.append((code.co_filename, code.co_firstlineno, frame.f_lasti))
        frame = frame.f_back
    return Place(tuple(steps), innermost.f_lineno if innermost is not None else 0)
