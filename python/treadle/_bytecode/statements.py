"""From runs of instructions to nested statements: which branch is an if, which way back is a loop, which way out a break.

Follows the dominator tree: what a node dominates is written inside it, and where paths meet again is written behind it. Code that
fits no statement is written twice, within limits.
"""

from __future__ import annotations

import ast
import dataclasses
from typing import cast

from .expressions import Machine, opposite
from .graph import immediate_dominators, reverse_postorder
from .instructions import NotUnderstood
from .steps import Assertion, Item, Iterator, State

_MOST_COPIES = 40  # nodes written more than once


@dataclasses.dataclass(eq=False)
class Node:
    """Statements without branches between them, and how control goes on: return, raise, goto, branch or for."""

    at: int
    place: int
    kind: str = ""
    statements: list[ast.stmt] = dataclasses.field(default_factory=list)
    test: ast.expr | None = None
    next: list[Node] = dataclasses.field(default_factory=list)
    before: int = 0  # ways that lead here, without those back to a loop
    dominates: list[Node] = dataclasses.field(default_factory=list)
    repeats: bool = False  # the begin of a loop
    loop: set[int] = dataclasses.field(default_factory=set)
    line: int = 0
    target: ast.expr | None = None  # of a for loop

    def failed_assertion(self) -> tuple[ast.expr | None] | None:
        """The message of the assertion whose failure this is."""
        match self:
            case Node(kind="raise", statements=[], test=Assertion()):
                return (None,)
            case Node(kind="raise", statements=[], test=ast.Call(func=Assertion(), args=[message])):
                return (message,)
        return None

    def is_bare_return(self) -> bool:
        return self.kind == "return" and not self.statements and self.test is None


@dataclasses.dataclass(frozen=True, eq=False)
class _Context:
    """What follows a list of statements by itself, and where continue and break lead."""

    next: Node | None
    head: Node | None = None
    exit: Node | None = None
    outer: tuple[Node, ...] = ()  # begins and exits of the loops around


def _fresh(at: int, machine: Machine) -> Node:
    return Node(at, machine.graph.place(at), line=machine.graph.instructions[at].line)


def nodes_of(machine: Machine) -> dict[int, Node]:
    """All runs of a function, by where they begin; 0 is the first."""
    nodes: dict[int, Node] = {}
    waiting: list[tuple[Node, list[ast.expr]]] = []

    def reach(at: int, stack: list[ast.expr]) -> Node:
        if at not in nodes:
            nodes[at] = _fresh(at, machine)
            waiting.append((nodes[at], stack))
        return nodes[at]

    reach(0, [])
    while waiting:
        node, stack = waiting.pop()
        state = State(stack[:])
        stop = machine.run(node.at, state)
        node.kind, node.statements = stop.kind, state.statements
        if stop.kind in ("return", "raise"):
            value = state.stack.pop()
            node.test = None if isinstance(value, ast.Constant) and value.value is None else value
            node.line = state.line or node.line
            if not state.at_base():
                raise machine.fail(stop.at, "values are left behind")
        elif not state.at_base():
            if not (stop.kind == "for" and isinstance(state.stack[-1], Iterator)):
                raise machine.fail(stop.at, "values are left behind")
        if stop.kind == "for":
            iterator = state.stack[-1]
            if node.statements or not isinstance(iterator, Iterator):
                raise machine.fail(stop.at, "a loop like this is not understood")
            node.test = iterator.iterable
            body, exit = machine.graph.instructions[stop.at].next
            node.next = [reach(body, [*state.stack, Item()]), reach(exit, state.stack[:-1])]
        elif stop.kind == "branch" and stop.decision is not None:
            if stop.decision.no.value is not None:
                raise machine.fail(stop.at, "a value is kept across statements")
            node.test = stop.decision.condition()
            node.line = state.line or node.line
            node.next = [reach(edge.to, state.stack) for edge in (stop.decision.yes, stop.decision.no)]
        elif stop.kind == "goto":
            node.next = [reach(stop.at, state.stack)]
    return nodes


class Structure:
    """The statements of a function."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        found = nodes_of(machine)
        numbers = {at: number for number, at in enumerate(found)}
        self._nodes = list(found.values())
        following = [[numbers[after.at] for after in node.next] for node in self._nodes]
        before: list[list[int]] = [[] for _ in self._nodes]
        for number, targets in enumerate(following):
            for target in targets:
                before[target].append(number)
        dominator = immediate_dominators(following, before, 0)
        order = reverse_postorder(following, 0)
        rank = {number: place for place, number in enumerate(order)}
        for number, node in enumerate(self._nodes):
            above = dominator[number]
            if above is not None and number != 0:
                self._nodes[above].dominates.append(node)
            for other in before[number]:
                if rank[other] < rank[number]:
                    node.before += 1
                    continue
                node.repeats = True
                self._add_loop(node, number, other, before)
        self._copies = 0
        self._written: set[int] = set()

    def _add_loop(self, head: Node, number: int, end: int, before: list[list[int]]) -> None:
        """Adds what stands between the begin of a loop and one of its ways back."""
        head.loop.add(number)
        waiting = [end]
        while waiting:
            one = waiting.pop()
            if one not in head.loop:
                head.loop.add(one)
                waiting += before[one]

    def statements(self) -> list[ast.stmt]:
        bare = next((node for node in self._nodes if node.is_bare_return()), None)
        return self._node(self._nodes[0], _Context(bare))

    def _fail(self, node: Node) -> NotUnderstood:
        return self._machine.fail(node.at, "the flow of control around it fits no statements")

    # ------------------------------------------------------------------------------------------------------ writing

    def _go(self, target: Node, context: _Context) -> list[ast.stmt]:
        """How control gets to a node from the end of a list of statements."""
        if target is context.next:
            return []
        jump = self._jump(target, context)
        return [jump] if jump else self._node(target, context)

    @staticmethod
    def _jump(target: Node, context: _Context) -> ast.stmt | None:
        statement: ast.stmt | None = None
        if target is context.head:
            statement = ast.Continue()
        elif target is context.exit:
            statement = ast.Break()
        elif target.is_bare_return():
            statement = ast.Return(None)
        if statement is not None:
            statement.lineno = 0
        return statement

    def _node(self, node: Node, context: _Context) -> list[ast.stmt]:
        if node in context.outer:
            raise self._fail(node)
        if node.at in self._written and not node.is_bare_return():
            self._copies += 1
            if self._copies > _MOST_COPIES:
                raise self._fail(node)
        self._written.add(node.at)
        if node.kind == "for":
            return self._for(node, context)
        if node.repeats:
            return self._while(node, context)
        return self._plain(node, context)

    def _plain(self, node: Node, context: _Context) -> list[ast.stmt]:
        statements = list(node.statements)
        if node.kind == "return":
            if node.test is None and (context.next is None or context.next.is_bare_return()):
                return statements
            statement: ast.stmt = ast.Return(node.test)
            statement.lineno = node.line
            return [*statements, statement]
        if node.kind == "raise":
            raised = ast.Raise(node.test, None)
            raised.lineno = node.line
            return [*statements, raised]
        if node.kind == "goto":
            return statements + self._go(node.next[0], context)
        yes, no = node.next
        joins = [other for other in node.dominates if other.before > 1 and not self._is_end(other, context)]
        if not joins:
            return statements + self._if(node, yes, no, context)
        join = max(joins, key=lambda other: other.place)
        inner = dataclasses.replace(context, next=join)
        return [*statements, *self._if(node, yes, no, inner), *self._node(join, context)]

    @staticmethod
    def _is_end(node: Node, context: _Context) -> bool:
        return node.is_bare_return() or node in (context.next, context.head, context.exit)

    def _if(self, node: Node, yes: Node, no: Node, context: _Context) -> list[ast.stmt]:
        test = cast(ast.expr, node.test)
        for failure, after, holds in ((no, yes, test), (yes, no, _asserted(test))):
            message = failure.failed_assertion()
            if message is not None:
                asserted = ast.Assert(holds, *message)
                asserted.lineno = node.line
                return [asserted, *self._go(after, context)]
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and yes is context.next is context.head:
            # What ends the body of a loop is jumped over with the test turned round.
            test, yes, no = test.operand, no, yes
        body = self._go(yes, context)
        if not body and no is not context.next:
            jump = self._jump(yes, context)
            if jump:
                body = [jump]
        orelse = self._go(no, context)
        if not body and not orelse:
            body = [ast.Pass()]
        if not body:
            test, body, orelse = ast.UnaryOp(ast.Not(), test), orelse, []
        flat = len(body) == 1 and isinstance(body[0], (ast.Return, ast.Break, ast.Continue)) or _leaves(body)
        statement = ast.If(test, body, [] if flat else orelse)
        statement.lineno = node.line
        return [statement, *orelse] if flat else [statement]

    def _loop(
        self, node: Node, body: Node, exit: Node | None, context: _Context, statement: ast.For | ast.While
    ) -> list[ast.stmt]:
        """A loop with ``exit`` where it ends by itself; what other ways out lead to as well follows an else part."""
        after = exit
        if exit is not None:
            joins = [other for other in node.dominates if other.before > 1 and not self._is_end(other, context)]
            behind = [other for other in joins if other is not exit and other.place > exit.place]
            after = max(behind, key=lambda other: other.place, default=None) or self._left_to(node, body, exit, context)
        outer = (*context.outer, *(one for one in (context.head, context.exit) if one is not None))
        inside = _Context(node, node, after, tuple(one for one in outer if one is not after))
        statement.body = (self._go(body, inside) if body is not node else self._plain(node, inside)) or [ast.Pass()]
        statement.lineno = node.line
        if after is None:
            return [statement]
        if after is not exit:
            statement.orelse = self._go(cast(Node, exit), dataclasses.replace(context, next=after))
        return [statement, *self._go(after, context)]

    @staticmethod
    def _left_to(node: Node, body: Node, exit: Node, context: _Context) -> Node:
        """Where the breaks of a loop lead: to its exit, or past an else part to something outside."""
        around = [one for one in (context.next, context.exit, context.head) if one is not None and one is not exit]
        around = [one for one in around if not one.is_bare_return() and one is not node]
        seen = [node, exit]
        waiting = [body]
        while waiting:
            one = waiting.pop()
            if one not in seen:
                seen.append(one)
                waiting += [] if one in around else one.next
        return next((one for one in around if one in seen), exit)

    def _for(self, node: Node, context: _Context) -> list[ast.stmt]:
        body, exit = node.next
        if node.target is None:
            first = body.statements[0] if body.statements else None
            if not (isinstance(first, ast.Assign) and isinstance(first.value, Item)) or body.repeats:
                raise self._fail(node)
            node.target = first.targets[0]
            body.statements = body.statements[1:]
        statement = ast.For(node.target, cast(ast.expr, node.test), [], [])
        return self._loop(node, body, exit, context, statement)

    def _while(self, node: Node, context: _Context) -> list[ast.stmt]:
        if node.kind == "branch" and not node.statements and not any(after.failed_assertion() for after in node.next):
            inside, outside = node.next
            numbers = {id(self._nodes[number]) for number in node.loop}
            test = cast(ast.expr, node.test)
            if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and id(inside) not in numbers:
                test, inside, outside = test.operand, outside, inside
            if id(inside) in numbers and id(outside) not in numbers:
                return self._loop(node, inside, outside, context, ast.While(test, [], []))
        endless = ast.While(ast.Constant(True), [], [])
        return self._loop(node, node, self._exit(node, context), context, endless)

    def _exit(self, node: Node, context: _Context) -> Node | None:
        """Where an endless loop is left to: what stands behind it, not what is written inside before a break or return."""
        loop = [self._nodes[number] for number in node.loop]
        end = max(one.place for one in loop)
        inside = set(map(id, loop))
        around = [one for one in (context.next, context.head, context.exit) if one is not None]
        ways = [after for one in loop for after in one.next if id(after) not in inside]
        seen: dict[int, Node] = {}
        while ways:
            one = ways.pop()
            if id(one) not in seen:
                seen[id(one)] = one
                ways += [after for after in one.next if id(after) not in inside and one not in around]
        below = self._below(node)
        behind = [one for one in seen.values() if one.place > end and id(one) in below and not one.is_bare_return()]
        if behind:
            return min(behind, key=lambda one: one.place)
        bare = (one for one in seen.values() if one.is_bare_return())
        return next((one for one in around if id(one) in seen), None) or next(bare, None)

    @staticmethod
    def _below(node: Node) -> set[int]:
        """What a node dominates."""
        found: set[int] = set()
        waiting = [node]
        while waiting:
            one = waiting.pop()
            found.add(id(one))
            waiting += one.dominates
        return found


def _leaves(statements: list[ast.stmt]) -> bool:
    """Whether control never gets past the end of some statements."""
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, ast.If):
        return _leaves(last.body) and _leaves(last.orelse)
    return isinstance(last, (ast.Return, ast.Raise, ast.Break, ast.Continue))


def _asserted(failure: ast.expr) -> ast.expr:
    """What is asserted where ``failure`` is what fails."""
    if isinstance(failure, ast.BoolOp) and any(isinstance(value, ast.UnaryOp) for value in failure.values):
        other = ast.And() if isinstance(failure.op, ast.Or) else ast.Or()
        return ast.BoolOp(other, [_asserted(value) for value in failure.values])
    return opposite(failure)
