"""CPython's bytecode in one form for all its versions: a graph of simple instructions, without layout.

Jumps are followed, instructions that only keep time (``RESUME``, ``NOP``, ``TO_BOOL``, ``CACHE``) are left out, fused ones are
taken apart. What is left says what a function does and nothing about where its instructions stand.
"""

from __future__ import annotations

import dis
import types
from typing import Any, NamedTuple

from .opcodes import Entry, NotUnderstood, Reader

__all__ = ["Instruction", "NotUnderstood", "difference", "read", "same_behaviour"]


class Instruction(NamedTuple):
    """``next``: where control goes on. branch: (true, false); keep: (jump, fallthrough); for: (body, exit); return, raise: ()."""

    op: str
    arg: Any
    line: int
    next: tuple[int, ...]
    falls: bool = True  # of a branch: whether the true side follows directly
    name: str = ""  # CPython's own
    columns: tuple[int | None, ...] = ()


def _joined(read: list[Entry], targets: set[int]) -> list[int]:
    """What remains of ``copy 1; branch; pop``, the newer form of a jump that keeps the value: the indices, the copy now a keep."""
    kept = []
    index = 0
    while index < len(read):
        if (
            [entry.op for entry in read[index : index + 3]] == ["copy", "branch", "pop"]
            and read[index].arg == 1
            and not targets & {index + 1, index + 2}
        ):
            read[index] = read[index + 1]._replace(op="keep")
            kept.append(index)
            index += 3
            continue
        kept.append(index)
        index += 1
    return kept


def read(code: types.CodeType) -> list[Instruction]:
    """The instructions of a function; control enters at the first, and all can be reached.

    Raises NotUnderstood for what kernels cannot have or this module does not know.
    """
    if code.co_flags & 0x2A0:
        raise NotUnderstood("kernels cannot be generators or coroutines", code.co_firstlineno)
    reader = Reader(code)
    for instruction in dis.get_instructions(code):
        position = instruction.positions
        if position is not None and position.lineno is not None:
            reader.line = position.lineno
            reader.columns = (position.end_lineno, position.col_offset, position.end_col_offset)
        reader.at[instruction.offset] = len(reader.read)
        reader.take(instruction)
    if code.co_exceptiontable:
        raise NotUnderstood("exceptions cannot be caught in a kernel", code.co_firstlineno)
    listed = reader.read
    targets = {reader.at[entry.target] for entry in listed if entry.target is not None}
    order = _joined(listed, targets)
    follower = dict(zip(order, [*order[1:], len(listed)], strict=True))
    raw: dict[int, Instruction] = {}
    for index in order:
        entry = listed[index]
        jump = after = follower[index]
        if entry.target is not None:
            jump = reader.at[entry.target]
        next: tuple[int, ...] = (after,)
        falls, arg = True, entry.arg
        match entry.op:
            case "return" | "raise":
                next = ()
            case "branch":
                next, falls, arg = ((jump, after) if arg else (after, jump)), not arg, None
            case "for":
                next = (after, jump)
            case "keep":
                next = (jump, after)
            case "jump":
                next = (jump,)
        raw[index] = Instruction(entry.op, arg, entry.line, next, falls, entry.name, entry.columns)
    return _reached(_threaded(raw), 0)


def _threaded(raw: dict[int, Instruction]) -> dict[int, Instruction]:
    """Jumps to jumps made direct, so that it does not matter which of them the compiler has shortened."""

    def follow(index: int) -> int:
        seen = set()
        while index in raw and raw[index].op == "jump" and index not in seen:
            seen.add(index)
            index = raw[index].next[0]
        return index

    direct = {
        index: instruction._replace(next=tuple(map(follow, instruction.next))) for index, instruction in raw.items()
    }
    for index in sorted(direct, reverse=True):
        instruction = direct[index]
        while instruction.op == "keep":
            target = direct[instruction.next[0]]
            sense, after = instruction.arg, instruction.next[1]
            if target.op == "keep" and target.arg == sense:
                instruction = instruction._replace(next=(target.next[0], after))
                continue
            if target.op == "keep":
                jump = target.next[1]
            elif target.op == "branch":
                jump = target.next[0 if sense else 1]
            else:
                break
            sides = (jump, after) if sense else (after, jump)
            instruction = instruction._replace(op="branch", arg=None, next=sides, falls=not sense)
        direct[index] = instruction
    entry = follow(0)
    if entry != 0:
        direct[0] = Instruction("jump", None, direct[entry].line, (entry,))
    return direct


def _reached(direct: dict[int, Instruction], entry: int) -> list[Instruction]:
    if direct[entry].op == "jump":
        entry = direct[entry].next[0]
    order = {entry: 0}
    waiting = [entry]
    while waiting:
        for index in direct[waiting.pop()].next:
            if index not in order:
                order[index] = 0
                waiting.append(index)
    places = [entry, *sorted(index for index in order if index != entry)]
    number = {index: place for place, index in enumerate(places)}
    return [direct[index]._replace(next=tuple(number[i] for i in direct[index].next)) for index in places]


def _same_argument(one: Any, other: Any) -> bool:
    if isinstance(one, types.CodeType) and isinstance(other, types.CodeType):
        same_parameters = one.co_varnames[: one.co_argcount] == other.co_varnames[: other.co_argcount]
        return same_parameters and same_behaviour(read(one), read(other))
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_same_argument, one, other))
    return type(one) is type(other) and repr(one) == repr(other)


def same_behaviour(one: list[Instruction], other: list[Instruction]) -> bool:
    """Whether two functions do the same, instruction by instruction, whatever the order of their blocks."""
    return difference(one, other) is None


def difference(one: list[Instruction], other: list[Instruction]) -> Instruction | None:
    """The first instruction of one function that does what the other does not: both are followed side by side (a bisimulation)."""
    seen = {(0, 0)}
    waiting = [(0, 0)]
    for a, b in waiting:  # grows on the way
        left, right = one[a], other[b]
        if left.op != right.op or len(left.next) != len(right.next) or not _same_argument(left.arg, right.arg):
            return left
        for pair in zip(left.next, right.next, strict=True):
            if pair not in seen:
                seen.add(pair)
                waiting.append(pair)
    return None
