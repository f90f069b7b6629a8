"""Runs instructions on a stack of syntax trees: expressions come out as trees, stores as statements.

Branches inside expressions (``and``, ``or``, conditional values, comparison chains) are put together here; a branch between
statements ends a run, with as much of its condition as one test can hold.
"""

from __future__ import annotations

import ast
import itertools
import types
from collections.abc import Callable
from typing import Any, NamedTuple, cast

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


class _NotPure(Exception):
    """What was tried as part of an expression holds a statement."""


# What stands on the stack beside trees. All are trees for the type checker's sake only.


class Iterator(ast.expr):
    """The iterator of a for loop, there as long as the loop runs."""

    iterable: ast.expr


class Item(ast.expr):
    """The value that a for loop gives to its target."""


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


class Edge(NamedTuple):
    to: int
    value: ast.expr | None = None  # what stays on the stack on this way


class Decision(NamedTuple):
    """A condition and where it leads: ``yes`` (where control goes on directly) if it holds, or if ``negated`` it does not."""

    test: ast.expr
    negated: bool
    yes: Edge
    no: Edge
    nodes: frozenset[int]

    def condition(self) -> ast.expr:
        return _not(self.test) if self.negated else self.test


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


class Stop(NamedTuple):
    """Why a run ended: goto, return, for or branch."""

    kind: str
    at: int
    decision: Decision | None = None


def _not(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    return ast.UnaryOp(ast.Not(), test)


def _joined(op: ast.boolop, *values: ast.expr) -> ast.expr:
    parts: list[ast.expr] = []
    for value in values:
        same = isinstance(value, ast.BoolOp) and type(value.op) is type(op)
        parts += cast(ast.BoolOp, value).values if same else [value]
    return ast.BoolOp(op, parts)


def constant(value: object) -> ast.expr:
    """The tree of a constant as it stands in source text: no negative numbers, no tuples."""
    if isinstance(value, tuple):
        return ast.Tuple([constant(item) for item in value], ast.Load())
    if isinstance(value, (int, float)) and not isinstance(value, bool) and str(value).startswith("-"):
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(cast(Any, value))


class Machine:
    def __init__(self, graph: Graph, nested: Callable[[types.CodeType], ast.expr | ast.stmt]) -> None:
        self.graph = graph
        self._nested = nested
        self._numbers = itertools.count()
        self._cleanups: dict[int, set[int]] = {}  # last branch of a comparison chain -> where its early ends come by

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
        if isinstance(value, (Item, _Unpacked)) or not isinstance(value, _Chain) and value in state.stack[:-1]:
            raise self.fail(at, "what it drops is not understood")
        value = self._pop(state)
        if not state.at_base():
            raise _NotPure
        state.emit(ast.Expr(value))

    def _store(self, at: int, state: State, target: ast.expr) -> None:
        stack = state.stack
        value = stack.pop()
        if isinstance(value, _Unpacked):
            group = value.group
            group.targets.append(target)
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

    # -------------------------------------------------------------------------------------------- branches in expressions

    def run(self, at: int, state: State, stop: int | None = None, pure: bool = False, outer: int | None = None) -> Stop:
        """Executes from ``at``, over whole expressions with branches, until control divides or paths between statements meet.

        A branch whose ways meet at ``outer`` only is not taken as an expression of its own.
        """
        start = at
        while at != stop:
            instruction = self.graph.instructions[at]
            if at != start and state.at_base() and (len(self.graph.before[at]) > 1 or instruction.op == "for"):
                return Stop("goto", at)
            if instruction.op in ("return", "for"):
                return Stop(instruction.op, at)
            if instruction.op in ("branch", "keep"):
                state.line = instruction.line if state.line is None else min(state.line, instruction.line)
                value = self._pop(state)
                if _continues_chain(value, state.stack) and instruction.falls:
                    at = self._comparison_chain(at, value, state)
                    continue
                meeting = self.graph.meeting[at]
                if meeting is None or meeting == outer or self.graph.depth[meeting] <= len(state.stack):
                    return Stop("branch", at, self._decide(at, value, state.stack))
                self._push(state, self._value(self._decide(at, value, state.stack), state.stack, meeting))
                at = meeting
                continue
            self.step(at, state)
            if pure and state.statements:
                raise _NotPure
            at = instruction.next[0]
        return Stop("goto", at)

    def _comparison_chain(self, at: int, comparison: ast.expr, state: State) -> int:
        """From the first branch of ``a < b < c``: pushes the whole chain and goes to what follows its last comparison."""
        middle = state.stack[-1]
        cleanup = self.graph.instructions[at].next[0 if self.graph.instructions[at].op == "keep" else 1]
        inner = State(state.stack[:])
        node = self.graph.instructions[at].next[1 if self.graph.instructions[at].op == "keep" else 0]
        whole = cast(ast.Compare, comparison)
        base = len(state.stack) - 1
        while True:
            instruction = self.graph.instructions[node]
            if instruction.op in ("branch", "keep"):
                meeting = self.graph.meeting[node]
                value = self._pop(inner)
                if _continues_chain(value, inner.stack) and instruction.falls:
                    node = self._comparison_chain(node, value, inner)
                    continue
                if meeting is None or self.graph.depth[meeting] <= len(inner.stack):
                    raise self.fail(node, "a comparison chain like this is not understood")
                self._push(inner, self._value(self._decide(node, value, inner.stack), inner.stack, meeting))
                node = meeting
                continue
            self.step(node, inner)
            if inner.statements:
                raise self.fail(node, "a comparison chain like this is not understood")
            node = instruction.next[0]
            top = inner.stack[-1]
            if isinstance(top, ast.Compare) and top.left is middle:
                break
        link = cast(ast.Compare, inner.stack.pop())
        whole = ast.Compare(whole.left, [*whole.ops, *link.ops], [*whole.comparators, *link.comparators])
        self._push(inner, whole)
        state.stack[:] = inner.stack
        after = self.graph.instructions[node]
        if after.op in ("branch", "keep") and _continues_chain(whole, inner.stack[:-1]):
            return node  # one more link, with the same cleanup
        if len(inner.stack) != base + 1:
            raise self.fail(node, "a comparison chain like this is not understood")
        self._check_cleanup(cleanup, node)
        return node

    def _check_cleanup(self, cleanup: int, after: int) -> None:
        """The way of a comparison that fails early drops the middle value and goes where a false chain goes."""
        instructions = self.graph.instructions
        instruction = instructions[cleanup]
        self._cleanups.setdefault(after, set()).add(cleanup)
        if instruction.op == "swap":
            instruction = instructions[instruction.next[0]]
            expected = after
        else:
            expected = instructions[after].next[1] if instructions[after].op == "branch" else -1
        if instruction.op != "pop" or instruction.next[0] != expected:
            raise self.fail(cleanup, "a comparison chain like this is not understood")

    def _value(self, decision: Decision, stack: list[ast.expr], meeting: int) -> ast.expr:
        """What a branch inside an expression leaves on the stack where its ways meet."""

        def along(edge: Edge) -> ast.expr:
            state = State(stack[:])
            stop = self.run(edge.to, state, meeting, pure=True)
            if stop.kind != "goto" or stop.at != meeting or len(state.stack) != len(stack) + 1 or state.statements:
                raise self.fail(edge.to, "an expression like this is not understood")
            return self._pop(state)

        try:
            if decision.no.value is None:
                return ast.IfExp(decision.condition(), along(decision.yes), along(decision.no))
            if decision.no.to != meeting:
                raise self.fail(decision.no.to, "an expression like this is not understood")
            return _joined(ast.Or() if decision.negated else ast.And(), decision.no.value, along(decision.yes))
        except _NotPure:
            raise self.fail(decision.yes.to, "an expression like this is not understood") from None

    def _decide(self, at: int, value: ast.expr, stack: list[ast.expr]) -> Decision:
        """The condition that begins with a branch, and all that ``and``, ``or`` and conditional tests add to it."""
        instruction = self.graph.instructions[at]
        nodes = frozenset([at, *self._cleanups.get(at, ())])
        if instruction.op == "keep":
            jump, after = instruction.next
            decision = Decision(value, instruction.arg, Edge(after), Edge(jump, value), nodes)
        else:
            sides = instruction.next if instruction.falls else instruction.next[::-1]
            decision = Decision(value, not instruction.falls, Edge(sides[0]), Edge(sides[1]), nodes)
        outer = self.graph.meeting[at]
        while True:
            further = self._further(decision.yes.to, decision.nodes, stack, outer)
            combined = further and (_combined(decision, further) or self._conditional(decision, further, stack, outer))
            if not combined:
                return decision
            decision = combined

    def _further(self, at: int, nodes: frozenset[int], stack: list[ast.expr], outer: int | None) -> Decision | None:
        """The condition that begins at an instruction, if only ``nodes`` lead there and nothing but a condition stands there."""
        if not self.graph.before[at] <= nodes or self.graph.depth[at] != len(stack):
            return None
        state = State(stack[:])
        try:
            stop = self.run(at, state, outer, pure=True, outer=outer)
        except (_NotPure, NotUnderstood):
            return None
        if stop.kind != "branch" or len(state.stack) != len(stack) or state.statements:
            return None
        return stop.decision

    def _conditional(self, first: Decision, yes: Decision, stack: list[ast.expr], outer: int | None) -> Decision | None:
        """``(b if a else c)`` as a condition."""
        if first.no.value is not None:
            return None
        no = self._further(first.no.to, first.nodes, stack, outer)
        if no is None or yes.no.value is not None or no.no.value is not None:
            return None
        if (yes.yes.to, yes.no.to) == (no.yes.to, no.no.to):
            other = no.condition()
        elif (yes.yes.to, yes.no.to) == (no.no.to, no.yes.to):
            other = _not(no.condition())
        else:
            return None
        test = ast.IfExp(first.condition(), yes.condition(), other)
        return Decision(test, False, yes.yes, yes.no, first.nodes | yes.nodes | no.nodes)


def _combined(one: Decision, two: Decision) -> Decision | None:
    """Two conditions as one, where the second is asked if the first holds."""
    nodes = one.nodes | two.nodes
    if one.no.to == two.no.to and (one.no.value is None) == (two.no.value is None):
        if one.negated == two.negated:
            test = _joined(ast.Or() if one.negated else ast.And(), one.test, two.test)
            return Decision(test, one.negated, two.yes, Edge(two.no.to, two.no.value and test), nodes)
        if two.no.value is None:
            return Decision(_joined(ast.And(), one.condition(), two.condition()), False, two.yes, two.no, nodes)
    elif one.no.to == two.yes.to and one.no.value is None:
        if one.negated != two.negated:
            test = _joined(ast.Or() if one.negated else ast.And(), one.test, two.test)
            return Decision(test, two.negated, two.yes, Edge(two.no.to, two.no.value and test), nodes)
        if two.no.value is None:
            test = _joined(ast.Or(), _not(one.condition()), two.condition())
            return Decision(test, False, two.yes, two.no, nodes)
    return None


def _continues_chain(value: ast.expr, stack: list[ast.expr]) -> bool:
    return isinstance(value, ast.Compare) and bool(stack) and value.comparators[-1] is stack[-1]


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
