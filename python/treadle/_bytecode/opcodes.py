"""CPython's instructions by their names: which simple ones each stands for."""

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
    "BUILD_STRING": "joined",
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
    "CALL_FUNCTION_EX": "a call with starred arguments",
    "DELETE_ATTR": "a del statement",
    "DELETE_FAST": "a del statement",
    "DELETE_SUBSCR": "a del statement",
    "IMPORT_NAME": "an import",
    "LIST_APPEND": "a comprehension",
    "LIST_EXTEND": "a list",
    "LOAD_BUILD_CLASS": "a class",
    "LOAD_FAST_AND_CLEAR": "a comprehension",
    "LOAD_SPECIAL": "a with statement",
    "LOAD_SUPER_ATTR": "a call of super",
    "PUSH_EXC_INFO": "a try statement",
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
_CONVERSION, _HAS_FORMAT = 3, 4  # of FORMAT_VALUE
_COMPARE_SHIFT = 5 if sys.version_info >= (3, 13) else 4 if sys.version_info >= (3, 12) else 0


class Entry(NamedTuple):
    """An instruction whose way on is still the offset that it jumps to."""

    op: str
    arg: Any
    line: int
    target: int | None
    name: str
    columns: tuple[int | None, ...]


class Reader:
    """Takes one code object in, instruction by instruction."""

    def __init__(self, code: types.CodeType) -> None:
        self.code = code
        self.read: list[Entry] = []
        self.at: dict[int, int] = {}  # offset -> index in what was read
        self.keywords: tuple[str, ...] = ()
        self.line = code.co_firstlineno
        self.columns: tuple[int | None, ...] = ()
        self.after_loop = False
        self.asserting = False  # from where AssertionError is loaded to where it is raised

    def add(self, op: str, arg: Any = None, target: int | None = None, name: str = "") -> None:
        self.read.append(Entry(op, arg, self.line, target, name, self.columns))

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
        elif name == "FORMAT_VALUE" and argument & _CONVERSION == 0 or name in ("FORMAT_SIMPLE", "FORMAT_WITH_SPEC"):
            self.add("format", name == "FORMAT_WITH_SPEC" or argument & _HAS_FORMAT != 0, name=name)
        elif name in ("FORMAT_VALUE", "CONVERT_VALUE"):
            raise NotUnderstood("conversions (!r) are not supported in kernels", self.line)
        elif name == "LOAD_ASSERTION_ERROR" or name == "LOAD_COMMON_CONSTANT" and argument == 0:
            self.asserting = True
            self.add("assertion", name=name)
        elif name == "RAISE_VARARGS":
            self.take_raise(argument)
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

    def take_raise(self, count: int) -> None:
        if count != 1:
            raise NotUnderstood("kernels raise Python's own exceptions with constant text", self.line)
        if self.asserting and self.read[-1].op == "call":
            # Written as a call of a method: what stands where its object would is the message.
            self.read[-1] = self.read[-1]._replace(arg=(1, ()))
        self.asserting = False
        self.add("raise", name="RAISE_VARARGS")
