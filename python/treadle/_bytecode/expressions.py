"""Runs instructions over whole expressions.

Branches inside expressions (``and``, ``or``, conditional values, comparison chains) are put together here; a branch between
statements ends a run, with as much of its condition as one test can hold.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from typing import NamedTuple, cast

from .graph import Graph
from .instructions import NotUnderstood
from .steps import State, Steps


class _NotPure(Exception):
    """What was tried as part of an expression holds a statement."""


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
        return opposite(self.test) if self.negated else self.test


class Stop(NamedTuple):
    """Why a run ended: goto, return, raise, for or branch."""

    kind: str
    at: int
    decision: Decision | None = None


def opposite(test: ast.expr) -> ast.expr:
    """The condition that holds where another does not."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return operand
        case ast.Compare(left=left, ops=[ast.Is()], comparators=[ast.Constant(value=None) as none]):
            return ast.Compare(left, [ast.IsNot()], [none])
    return ast.UnaryOp(ast.Not(), test)


def _joined(op: ast.boolop, *values: ast.expr) -> ast.expr:
    parts: list[ast.expr] = []
    for value in values:
        same = isinstance(value, ast.BoolOp) and type(value.op) is type(op)
        parts += cast(ast.BoolOp, value).values if same else [value]
    return ast.BoolOp(op, parts)


class Machine(Steps):
    """Executes runs of instructions."""

    def __init__(self, graph: Graph, nested: Callable[[types.CodeType], ast.expr | ast.stmt]) -> None:
        super().__init__(graph, nested)
        self._cleanups: dict[int, set[int]] = {}  # last branch of a comparison chain -> where its early ends come by

    def run(self, at: int, state: State, stop: int | None = None, pure: bool = False, outer: int | None = None) -> Stop:
        """Executes from ``at``, over whole expressions with branches, until control divides or paths between statements meet.

        A branch whose ways meet at ``outer`` only is not taken as an expression of its own.
        """
        start = at
        while at != stop:
            instruction = self.graph.instructions[at]
            if at != start and state.at_base() and (len(self.graph.before[at]) > 1 or instruction.op == "for"):
                return Stop("goto", at)
            if instruction.op in ("return", "raise", "for"):
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
            other = opposite(no.condition())
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
            test = _joined(ast.Or(), opposite(one.condition()), two.condition())
            return Decision(test, False, two.yes, two.no, nodes)
    return None


def _continues_chain(value: ast.expr, stack: list[ast.expr]) -> bool:
    return isinstance(value, ast.Compare) and bool(stack) and value.comparators[-1] is stack[-1]
