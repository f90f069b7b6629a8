"""CPython's bytecode in one form for all its versions: a graph of simple instructions, without layout.

Jumps are followed, instructions that only keep time (``RESUME``, ``NOP``, ``TO_BOOL``, ``CACHE``) are left out, fused ones are
taken apart. What is left says what a function does and nothing about where its instructions stand.
"""

from __future__ import annotations

import dis
import sys
import types
from typing import Any, NamedTuple


class NotUnderstood(Exception):
    """A function that cannot be written down again. ``line`` is that of the file."""

    def __init__(self, message: str, line: int | None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


class Instruction(NamedTuple):
    """``next``: where control goes on. branch: (true, false); keep: (jump, fallthrough); for: (body, exit); return: ()."""

    op: str
    arg: Any
    line: int
    next: tuple[int, ...]
    falls: bool = True  # of a branch: whether the true side follows directly
    name: str = ""  # CPython's own
    columns: tuple[int | None, ...] = ()


_LEFT_OUT = set(
    "RESUME NOP CACHE PRECALL PUSH_NULL TO_BOOL MAKE_CELL COPY_FREE_VARS END_FOR EXTENDED_ARG NOT_TAKEN".split()
)
_PLAIN = {
    "BINARY_SUBSCR": "item",
    "GET_ITER": "iter",
    "POP_ITER": "pop",
    "POP_TOP": "pop",
    "RETURN_VALUE": "return",
    "STORE_SUBSCR": "store_item",
}
_UNARY = {"UNARY_INVERT": "~", "UNARY_NEGATIVE": "-", "UNARY_NOT": "not", "UNARY_POSITIVE": "+"}
_NAMES = {
    "LOAD_ATTR": "attr",
    "LOAD_CLOSURE": "cell",
    "LOAD_FAST": "local",
    "LOAD_FAST_BORROW": "local",
    "LOAD_FAST_CHECK": "local",
    "LOAD_GLOBAL": "free",
    "LOAD_METHOD": "attr",
    "STORE_ATTR": "store_attr",
    "STORE_FAST": "store",
}
_COUNTS = {
    "BUILD_LIST": "list",
    "BUILD_SLICE": "slice",
    "BUILD_TUPLE": "tuple",
    "COPY": "copy",
    "SWAP": "swap",
    "UNPACK_SEQUENCE": "unpack",
}
_FUSED = {
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": ("local", "local"),
    "LOAD_FAST_LOAD_FAST": ("local", "local"),
    "STORE_FAST_LOAD_FAST": ("store", "local"),
    "STORE_FAST_STORE_FAST": ("store", "store"),
}
_CONSTRUCTS = {
    "BUILD_MAP": "a dictionary",
    "BEFORE_WITH": "a with statement",
    "BUILD_CONST_KEY_MAP": "a dictionary",
    "BUILD_SET": "a set",
    "BUILD_STRING": "an f-string",
    "CALL_FUNCTION_EX": "a call with starred arguments",
    "CONVERT_VALUE": "an f-string",
    "DELETE_ATTR": "a del statement",
    "DELETE_FAST": "a del statement",
    "DELETE_SUBSCR": "a del statement",
    "FORMAT_SIMPLE": "an f-string",
    "FORMAT_VALUE": "an f-string",
    "IMPORT_NAME": "an import",
    "LIST_APPEND": "a comprehension",
    "LIST_EXTEND": "a list",
    "LOAD_ASSERTION_ERROR": "an assert statement",
    "LOAD_BUILD_CLASS": "a class",
    "LOAD_FAST_AND_CLEAR": "a comprehension",
    "LOAD_SPECIAL": "a with statement",
    "PUSH_EXC_INFO": "a try statement",
    "RAISE_VARARGS": "a raise statement",
    "SET_UPDATE": "a set",
    "STORE_GLOBAL": "a global statement",
    "UNPACK_EX": "a starred expression",
}
_COMPREHENSIONS = {
    "<dictcomp>": "a dictionary comprehension",
    "<genexpr>": "a generator expression",
    "<listcomp>": "a list comprehension",
    "<setcomp>": "a set comprehension",
}
_CLOSURE = 8  # the flag of MAKE_FUNCTION
_COMPARE_SHIFT = 5 if sys.version_info >= (3, 13) else 4 if sys.version_info >= (3, 12) else 0


class _Entry(NamedTuple):
    """An instruction whose way on is still the offset that it jumps to."""

    op: str
    arg: Any
    line: int
    target: int | None
    name: str
    columns: tuple[int | None, ...]


class _Reader:
    """Takes one code object in, instruction by instruction."""

    def __init__(self, code: types.CodeType) -> None:
        self.code = code
        self.read: list[_Entry] = []
        self.at: dict[int, int] = {}  # offset -> index in what was read
        self.keywords: tuple[str, ...] = ()
        self.line = code.co_firstlineno
        self.columns: tuple[int | None, ...] = ()
        self.after_loop = False

    def add(self, op: str, arg: Any = None, target: int | None = None, name: str = "") -> None:
        self.read.append(_Entry(op, arg, self.line, target, name, self.columns))

    def take(self, instruction: dis.Instruction) -> None:
        name, argument, value = instruction.opname, instruction.arg or 0, instruction.argval
        after_loop, self.after_loop = self.after_loop, name == "END_FOR"
        if (
            name in _LEFT_OUT
            or (name == "POP_TOP" and after_loop and sys.version_info >= (3, 13))
            or name == "POP_ITER"
        ):
            if name == "POP_ITER" and not after_loop:
                self.add("pop", name=name)
        elif name in _PLAIN:
            self.add(_PLAIN[name], name=name)
        elif name in _NAMES:
            self.add(_NAMES[name], value, name=name)
        elif name in _COUNTS:
            self.add(_COUNTS[name], argument, name=name)
        elif name in _UNARY:
            self.add("unary", _UNARY[name], name=name)
        elif name in _FUSED:
            for op, part in zip(_FUSED[name], value, strict=True):
                self.add(op, part, name=name)
        elif "JUMP" in name or name == "FOR_ITER":
            self.take_jump(name, value)
        else:
            self.take_other(name, argument, value, instruction.argrepr)

    def take_jump(self, name: str, target: int) -> None:
        if name == "FOR_ITER":
            self.add("for", None, target, name)
        elif name in ("JUMP_IF_FALSE_OR_POP", "JUMP_IF_TRUE_OR_POP"):
            self.add("keep", "TRUE" in name, target, name)
        elif name.endswith(("IF_FALSE", "IF_TRUE")):
            self.add("branch", name.endswith("TRUE"), target, name)
        elif name.endswith(("IF_NONE", "IF_NOT_NONE")):
            self.add("const", None, name=name)
            self.add("compare", "is", name=name)
            self.add("branch", "NOT" not in name, target, name)
        else:
            self.add("jump", None, target, name)

    def take_other(self, name: str, argument: int, value: Any, shown: str) -> None:
        code = self.code
        if name in ("LOAD_CONST", "LOAD_SMALL_INT"):
            if isinstance(value, types.CodeType) and value.co_name.startswith("<") and value.co_name != "<lambda>":
                raise NotUnderstood(
                    f"{_COMPREHENSIONS.get(value.co_name, value.co_name)} is not supported in kernels", self.line
                )
            self.add("const", value, name=name)
        elif name == "RETURN_CONST":
            self.add("const", value, name=name)
            self.add("return", name=name)
        elif name in ("LOAD_DEREF", "STORE_DEREF"):
            if name == "STORE_DEREF" and value in code.co_freevars:
                raise NotUnderstood("a nonlocal statement is not supported in kernels", self.line)
            self.add("store" if name == "STORE_DEREF" else "free" if value in code.co_freevars else "local", value)
        elif name == "BINARY_OP":
            self.add("item" if shown == "[]" else "binary", None if shown == "[]" else shown, name=name)
        elif name == "COMPARE_OP":
            self.add("compare", dis.cmp_op[argument >> _COMPARE_SHIFT], name=name)
        elif name in ("IS_OP", "CONTAINS_OP"):
            self.add("compare", ("is", "is not", "in", "not in")[argument + 2 * (name == "CONTAINS_OP")], name=name)
        elif name in ("BINARY_SLICE", "STORE_SLICE"):
            self.add("slice", 2, name=name)
            self.add("item" if name == "BINARY_SLICE" else "store_item", name=name)
        elif name == "KW_NAMES":
            self.keywords = code.co_consts[argument]
        elif name == "CALL":
            self.add("call", (argument, self.keywords), name=name)
            self.keywords = ()
        elif name == "CALL_KW":
            self.add("call", (argument, self.read.pop().arg), name=name)
        elif name == "CALL_INTRINSIC_1" and argument == 5:
            self.add("unary", "+", name=name)
        elif name == "MAKE_FUNCTION" or name == "SET_FUNCTION_ATTRIBUTE":
            # Until 3.12 one instruction does both.
            if name == "MAKE_FUNCTION":
                self.add("function", name=name)
            if argument == _CLOSURE:
                self.add("closure", name=name)
            elif argument:
                what = "a nested function has no default values and annotations in kernels"
                raise NotUnderstood(f"bytecode instruction {name}: {what}", self.line)
        else:
            what = f"{_CONSTRUCTS[name]} is not supported in kernels" if name in _CONSTRUCTS else "it is not understood"
            raise NotUnderstood(f"bytecode instruction {name}: {what}", self.line)


def _joined(read: list[_Entry], targets: set[int]) -> list[int]:
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
    reader = _Reader(code)
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
            case "return":
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
    """Whether two functions do the same, instruction by instruction, whatever the order of their blocks: a bisimulation."""
    seen = {(0, 0)}
    waiting = [(0, 0)]
    while waiting:
        a, b = waiting.pop()
        left, right = one[a], other[b]
        if left.op != right.op or len(left.next) != len(right.next) or not _same_argument(left.arg, right.arg):
            return False
        for pair in zip(left.next, right.next, strict=True):
            if pair not in seen:
                seen.add(pair)
                waiting.append(pair)
    return True
