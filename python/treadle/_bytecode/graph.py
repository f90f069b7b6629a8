"""The control flow of a function's instructions: copies merged, predecessors, depth of the stack, where paths meet again."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from .instructions import Instruction, NotUnderstood

_CALLER = -1
# What an instruction takes from the stack and leaves there; those with counts stand in _effect.
_EFFECTS = {
    "const": 1,
    "local": 1,
    "free": 1,
    "cell": 1,
    "store": -1,
    "attr": 0,
    "store_attr": -2,
    "binary": -1,
    "unary": 0,
    "compare": -1,
    "item": -1,
    "store_item": -3,
    "iter": 0,
    "pop": -1,
    "copy": 1,
    "swap": 0,
    "function": 0,
    "closure": -1,
    "jump": 0,
    "return": -1,
    "raise": -1,
    "assertion": 1,
}


def _effect(instruction: Instruction, edge: int) -> int:
    match instruction.op:
        case "tuple" | "list" | "slice" | "joined":
            return 1 - instruction.arg
        case "unpack":
            return instruction.arg - 1
        case "format":
            return -1 if instruction.arg else 0
        case "call":
            return -instruction.arg[0]
        case "branch":
            return -1
        case "keep":
            return 0 if edge == 0 else -1
        case "for":
            return 1 if edge == 0 else -1
    return _EFFECTS[instruction.op]


class Merging(enum.Enum):
    """Which instructions that do the same from there on are taken for copies of one."""

    SAME_PLACE = "place"  # by line and columns
    SAME_LINE_OF_NAMES = "line"  # names by line only: those in fused instructions have the columns of the first part
    NOTHING = "nothing"


class Graph:
    """Instructions by number, 0 the entry; facts about each."""

    def __init__(self, instructions: list[Instruction], merging: Merging) -> None:
        self.instructions, self.last = _merged(instructions, merging)
        count = len(self.instructions)
        self.before: list[set[int]] = [set() for _ in range(count)]
        self.before[0].add(_CALLER)
        for number, instruction in enumerate(self.instructions):
            for after in instruction.next:
                self.before[after].add(number)
        self.depth = self._depths()
        self.meeting = self._meetings()

    def place(self, number: int) -> int:
        """Where the last copy of an instruction stood."""
        return self.last[number]

    def _depths(self) -> list[int]:
        depth = [-1] * len(self.instructions)
        depth[0] = 0
        waiting = [0]
        while waiting:
            number = waiting.pop()
            instruction = self.instructions[number]
            for edge, after in enumerate(instruction.next):
                now = depth[number] + _effect(instruction, edge)
                if depth[after] not in (-1, now) or now < 0:
                    raise NotUnderstood("the stack is not the same on all paths", instruction.line)
                if depth[after] == -1:
                    depth[after] = now
                    waiting.append(after)
        return depth

    def _meetings(self) -> list[int | None]:
        """The first instruction that all paths from each one share: its immediate post-dominator."""
        count = len(self.instructions)
        backward: list[list[int]] = [[] for _ in range(count + 1)]  # of the reversed graph, the exit being `count`
        forward: list[list[int]] = [[] for _ in range(count + 1)]
        for number, instruction in enumerate(self.instructions):
            for after in instruction.next or (count,):
                backward[number].append(after)
                forward[after].append(number)
        found = immediate_dominators(forward, backward, count)
        return [None if found[number] in (None, count) else found[number] for number in range(count)]


def immediate_dominators(
    following: Sequence[Sequence[int]], before: Sequence[Sequence[int]], entry: int
) -> list[int | None]:
    """The immediate dominator of each node that the entry reaches."""
    order = reverse_postorder(following, entry)
    rank = {node: place for place, node in enumerate(order)}
    found: list[int | None] = [None] * len(following)
    found[entry] = entry
    changed = True
    while changed:
        changed = False
        for node in order[1:]:
            common: int | None = None
            for other in before[node]:
                if found[other] is None:
                    continue
                common = other if common is None else _common(found, rank, common, other)
            if found[node] != common:
                found[node] = common
                changed = True
    return found


def _common(found: Sequence[int | None], rank: dict[int, int], one: int, other: int) -> int:
    while one != other:
        if rank[one] > rank[other]:
            one = found[one] or 0
        else:
            other = found[other] or 0
    return one


def reverse_postorder(following: Sequence[Sequence[int]], entry: int) -> list[int]:
    order: list[int] = []
    seen = {entry}
    path = [(entry, iter(following[entry]))]
    while path:
        node, rest = path[-1]
        for after in rest:
            if after not in seen:
                seen.add(after)
                path.append((after, iter(following[after])))
                break
        else:
            path.pop()
            order.append(node)
    return order[::-1]


def _merged(instructions: list[Instruction], merging: Merging) -> tuple[list[Instruction], list[int]]:
    """Instructions that do the same from here on and come from the same place are one: the compiler writes the test of a loop
    twice and copies short endings. Also gives the place of the last copy of each."""
    if merging is Merging.NOTHING:
        return instructions, list(range(len(instructions)))
    kind: list[int] = []
    numbers: dict[object, int] = {}
    bare = _bare_returns(instructions)
    for number, instruction in enumerate(instructions):
        is_name = instruction.op in ("local", "store")
        columns = None if is_name and merging is Merging.SAME_LINE_OF_NAMES else instruction.columns
        origin = None if number in bare else (instruction.line, columns)
        key = (instruction.op, type(instruction.arg), repr(instruction.arg), origin)
        kind.append(numbers.setdefault(key, len(numbers)))
    groups = len(numbers)
    while True:
        numbers = {}
        kind = [
            numbers.setdefault((kind[number], *(kind[after] for after in instruction.next)), len(numbers))
            for number, instruction in enumerate(instructions)
        ]
        if len(numbers) == groups:
            break
        groups = len(numbers)
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for number, group in enumerate(kind):
        first.setdefault(group, number)
        last[group] = number
    place = {group: index for index, group in enumerate(sorted(first, key=first.__getitem__))}
    kept = [instructions[first[group]] for group in place]
    merged = [
        instruction._replace(next=tuple(place[kind[after]] for after in instruction.next)) for instruction in kept
    ]
    return merged, [last[group] for group in place]


def _bare_returns(instructions: list[Instruction]) -> set[int]:
    """The instructions of ``return None``: at the end of a function they have the line of whatever stands before them."""
    found = set()
    for number, instruction in enumerate(instructions):
        if instruction.op == "const" and instruction.arg is None:
            after = instruction.next[0]
            if instructions[after].op == "return" and sum(after in other.next for other in instructions) == 1:
                found |= {number, after}
    return found
