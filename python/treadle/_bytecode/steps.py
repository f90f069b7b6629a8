"""Single instructions on a stack of syntax trees: expressions come out as trees, stores as statements."""

from __future__ import annotations

import ast
import itertools
import types
from collections.abc import Callable
from typing import Any, cast

from .graph import Graph
from .instructions import NotUnderstood

_BINARY: dict[str, ast.operator] = {
    "+": ast.Add(),
    "-": ast.Sub(),
    "*": ast.Mult(),
    "/": ast.Div(),
    "//": ast.FloorDiv(),
    "%": ast.Mod(),
    "**": ast.Pow(),
    "<<": ast.LShift(),
    ">>": ast.RShift(),
    "&": ast.BitAnd(),
    "|": ast.BitOr(),
    "^": ast.BitXor(),
    "@": ast.MatMult(),
}
_UNARY: dict[str, ast.unaryop] = {"-": ast.USub(), "+": ast.UAdd(), "~": ast.Invert(), "not": ast.Not()}
_COMPARE: dict[str, ast.cmpop] = {
    "==": ast.Eq(),
    "!=": ast.NotEq(),
    "<": ast.Lt(),
    "<=": ast.LtE(),
    ">": ast.Gt(),
    ">=": ast.GtE(),
    "is": ast.Is(),
    "is not": ast.IsNot(),
    "in": ast.In(),
    "not in": ast.NotIn(),
}


# What stands on the stack beside trees. All are trees for the type checker's sake only.


class Iterator(ast.expr):
    """The iterator of a for loop, there as long as the loop runs."""

    iterable: ast.expr


class Item(ast.expr):
    """The value that a for loop gives to its target."""


class Assertion(ast.Name):
    """The class of the exception that a failed assertion raises, whatever its name stands for."""


class _Cell(ast.expr):
    """A variable that a nested function reads."""


class _Chain(ast.expr):
    """A value already stored somewhere and still to be used."""

    value: ast.expr
    targets: list[ast.expr]


class _Unpacked(ast.expr):
    """One of the values that an unpacked one consists of."""

    group: _Group


class _Group(ast.expr):
    value: ast.expr
    parts: list[_Unpacked]
    targets: list[ast.expr]
    dropped: int = 0  # parts that go where the next one goes


class State:
    """Where a run stands."""

    def __init__(self, stack: list[ast.expr]) -> None:
        self.stack = stack
        self.statements: list[ast.stmt] = []
        self.line: int | None = None
        self.parallel: list[tuple[ast.expr, ast.expr]] = []  # values and targets of an assignment to several

    def at_base(self) -> bool:
        return all(isinstance(item, Iterator) for item in self.stack)

    def emit(self, statement: ast.stmt) -> None:
        statement.lineno = self.line or 0
        self.line = None
        self.statements.append(statement)


def constant(value: object) -> ast.expr:
    """The tree of a constant as it stands in source text: no negative numbers, no tuples."""
    if isinstance(value, tuple):
        return ast.Tuple([constant(item) for item in value], ast.Load())
    if isinstance(value, slice):
        limits = [None if limit is None else constant(limit) for limit in (value.start, value.stop, value.step)]
        return ast.Slice(*limits)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and str(value).startswith("-"):
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(cast(Any, value))


class Steps:
    """Executes single instructions; ``nested`` gives the tree of a function defined inside."""

    def __init__(self, graph: Graph, nested: Callable[[types.CodeType], ast.expr | ast.stmt]) -> None:
        self.graph = graph
        self._nested = nested
        self._numbers = itertools.count()

    def fail(self, at: int, message: str) -> NotUnderstood:
        instruction = self.graph.instructions[at]
        return NotUnderstood(f"bytecode instruction {instruction.name or instruction.op}: {message}", instruction.line)

    # ------------------------------------------------------------------------------------------------ single steps

    def _push(self, state: State, value: ast.expr) -> None:
        value.order = next(self._numbers)  # type: ignore[attr-defined]
        state.stack.append(value)

    def _pop(self, state: State) -> ast.expr:
        value = self._as_value(state.stack.pop())
        if isinstance(value, ast.FunctionDef):
            raise NotUnderstood("a nested function has no decorators and can only be called in kernels", state.line)
        return value

    @staticmethod
    def _as_value(value: ast.expr) -> ast.expr:
        """A value to compute with: one that was stored on the way is an assignment expression."""
        while isinstance(value, _Chain):
            inner: ast.expr = value.value
            for target in value.targets:
                inner = ast.NamedExpr(cast(ast.Name, target), inner)
            value = inner
        return value

    def step(self, at: int, state: State) -> None:
        instruction = self.graph.instructions[at]
        state.line = instruction.line if state.line is None else min(state.line, instruction.line)
        op, arg, stack = instruction.op, instruction.arg, state.stack
        match op:
            case "const":
                self._push(state, self._constant(arg))
            case "local" | "free":
                self._push(state, ast.Name(arg, ast.Load()))
            case "cell":
                self._push(state, _Cell())
            case "attr":
                self._push(state, ast.Attribute(self._pop(state), arg, ast.Load()))
            case "unary":
                self._push(state, ast.UnaryOp(_UNARY[arg], self._pop(state)))
            case "binary" | "compare" | "item":
                right = self._pop(state)
                self._push(state, self._binary(op, arg, self._pop(state), right))
            case "tuple" | "list":
                items = self._pop_several(state, arg)
                build = ast.Tuple if op == "tuple" else ast.List
                self._push(state, build(items, ast.Load()))
            case "slice":
                limits = [None if _is_none(part) else part for part in self._pop_several(state, arg)]
                self._push(state, ast.Slice(*limits))
            case "format":
                form = _format(self._pop(state)) if arg else None
                self._push(state, ast.JoinedStr([ast.FormattedValue(self._pop(state), -1, form)]))
            case "joined":
                self._push(state, ast.JoinedStr(sum(map(_pieces, self._pop_several(state, arg)), [])))
            case "assertion":
                self._push(state, Assertion("AssertionError", ast.Load()))
            case "call":
                count, keywords = arg
                given = self._pop_several(state, count)
                plain, named = given[: count - len(keywords)], given[count - len(keywords) :]
                pairs = [ast.keyword(name, value) for name, value in zip(keywords, named, strict=True)]
                self._push(state, ast.Call(self._pop(state), plain, pairs))
            case "function":
                if not isinstance(stack[-1], (ast.Lambda, ast.FunctionDef)):
                    raise self.fail(at, "what the function is made of is not understood")
            case "closure":
                stack[-2:] = stack[-1:]
            case "iter":
                iterator = Iterator()
                iterator.iterable = self._pop(state)
                self._push(state, iterator)
            case "copy":
                if arg > 1 and isinstance(stack[-arg], _Chain):
                    stack[-arg] = self._as_value(stack[-arg])
                stack.append(stack[-arg])
            case "swap":
                stack[-1], stack[-arg] = stack[-arg], stack[-1]
            case "unpack":
                self._unpack(state, arg)
            case "pop":
                self._drop(at, state)
            case "store":
                self._store(at, state, ast.Name(arg, ast.Store()))
            case "store_attr":
                base = self._pop(state)
                self._store(at, state, ast.Attribute(base, arg, ast.Store()))
            case "store_item":
                index = self._pop(state)
                self._store(at, state, ast.Subscript(self._pop(state), index, ast.Store()))
            case _:
                raise self.fail(at, "it is not understood here")

    def _constant(self, value: object) -> ast.expr:
        return cast(ast.expr, self._nested(value)) if isinstance(value, types.CodeType) else constant(value)

    def _pop_several(self, state: State, count: int) -> list[ast.expr]:
        return [self._pop(state) for _ in range(count)][::-1]

    @staticmethod
    def _binary(op: str, arg: str, left: ast.expr, right: ast.expr) -> ast.expr:
        if op == "item":
            return ast.Subscript(left, right, ast.Load())
        if op == "compare":
            return ast.Compare(left, [_COMPARE[arg]], [right])
        result = ast.BinOp(left, _BINARY[arg.removesuffix("=")], right)
        result.augmented = arg.endswith("=")  # type: ignore[attr-defined]
        return result

    def _unpack(self, state: State, count: int) -> None:
        group = _Group()
        group.value, group.parts, group.targets = state.stack.pop(), [], []
        for _ in range(count):
            part = _Unpacked()
            part.group = group
            group.parts.append(part)
        state.stack += group.parts[::-1]

    def _drop(self, at: int, state: State) -> None:
        value = state.stack[-1]
        if isinstance(value, Iterator):
            state.stack.pop()
            return
        if isinstance(value, _Unpacked):
            # Of two stores to one name side by side the compiler leaves the second: a, a, b = ...
            state.stack.pop()
            value.group.dropped += 1
            return
        if isinstance(value, Item) or not isinstance(value, _Chain) and value in state.stack[:-1]:
            raise self.fail(at, "what it drops is not understood")
        value = self._pop(state)
        if not state.at_base():
            raise self.fail(at, "what it drops is not understood")
        state.emit(ast.Expr(value))

    def _store(self, at: int, state: State, target: ast.expr) -> None:
        stack = state.stack
        value = stack.pop()
        if isinstance(value, _Unpacked):
            group = value.group
            if group.dropped and not isinstance(target, ast.Name):
                raise self.fail(at, "what is dropped before it is not understood")
            group.targets += [target] * (group.dropped + 1)
            group.dropped = 0
            if len(group.targets) == len(group.parts):
                stack.append(group.value)
                self._store(at, state, ast.Tuple(group.targets, ast.Store()))
            return
        if stack and stack[-1] is value:
            if isinstance(value, _Chain):
                value.targets.append(target)
                return
            chain = _Chain()
            chain.value, chain.targets = value, [target]
            stack.pop()
            self._push(state, chain)
            return
        if isinstance(value, (Iterator, _Cell)):
            raise self.fail(at, "what it stores is not understood")
        if state.at_base() and not state.parallel:
            state.emit(self._assignment(at, target, value))
            return
        if any(isinstance(item, _Unpacked) for item in stack):
            raise self.fail(at, "this way to unpack values is not understood")
        state.parallel.append((value, target))
        if state.at_base():
            pairs = sorted(state.parallel, key=lambda pair: pair[0].order)  # type: ignore[attr-defined]
            state.parallel = []
            targets = ast.Tuple([one for _, one in pairs], ast.Store())
            state.emit(ast.Assign([targets], ast.Tuple([one for one, _ in pairs], ast.Load())))

    def _assignment(self, at: int, target: ast.expr, value: ast.expr) -> ast.stmt:
        if isinstance(value, _Chain):
            return ast.Assign([*value.targets, target], value.value)
        if isinstance(value, ast.FunctionDef):
            return cast(ast.stmt, value)
        if isinstance(value, ast.BinOp) and getattr(value, "augmented", False):
            if not _same_place(target, value.left):
                raise self.fail(at, "an augmented assignment like this is not understood")
            return ast.AugAssign(cast(ast.Name, target), value.op, value.right)
        return ast.Assign([target], value)


def _pieces(value: ast.expr) -> list[ast.expr]:
    """What a part of an f-string consists of."""
    return list(value.values) if isinstance(value, ast.JoinedStr) else [value]


def _format(value: ast.expr) -> ast.JoinedStr:
    return value if isinstance(value, ast.JoinedStr) else ast.JoinedStr([value])


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _same_place(target: ast.expr, read: ast.expr) -> bool:
    """Whether an augmented assignment stores where it has read."""
    match target, read:
        case ast.Name(id=one), ast.Name(id=other):
            return one == other
        case ast.Subscript(value=base, slice=index), ast.Subscript(value=read_base, slice=read_index):
            return base is read_base and index is read_index
        case ast.Attribute(value=base, attr=one), ast.Attribute(value=read_base, attr=other):
            return base is read_base and one == other
    return False
