"""Statements that the kernel syntax text has no words for, written with those it has: a syntax tree to a syntax tree.

- the else part of a loop: a flag that breaks clear;
- a for loop over a tuple: its body once for each element, so that every element has its own type;
- assignment expressions: statements before the one they stand in, in the order of evaluation.

Names made here hold an apostrophe, which no name of a program does.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from treadle._syntax import inner_nodes

_MOST_ELEMENTS = 256
_Statement = TypeVar("_Statement", bound=ast.stmt)
_Expression = TypeVar("_Expression", bound=ast.expr)


class NotPossible(Exception):
    """A construct that cannot be written otherwise; ``node`` is where it stands."""

    def __init__(self, message: str, node: ast.AST, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.node = node
        self.hint = hint


def _contains(node: ast.AST, kind: type[ast.AST]) -> bool:
    return any(isinstance(inner, kind) for inner in inner_nodes(node))


def _stored(nodes: Sequence[ast.AST]) -> set[str]:
    names = (inner for inner in inner_nodes(*nodes) if isinstance(inner, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}


def is_needed(function: ast.AST) -> bool:
    """Whether anything in a function has to be written otherwise, or has functions in it, where that may be."""
    for node in inner_nodes(function):
        if isinstance(node, (ast.NamedExpr, ast.FunctionDef)) and node is not function:
            return True
        if isinstance(node, (ast.For, ast.While)) and node.orelse:
            return True
        if isinstance(node, ast.For) and not isinstance(node.iter, ast.Call):
            return True
    return False


def _placed(new: _Statement, old: ast.AST) -> _Statement:
    return ast.fix_missing_locations(ast.copy_location(new, old))


def _named(name: str, old: ast.AST) -> ast.Name:
    return ast.copy_location(ast.Name(name, ast.Load()), old)


def _assign(target: str | ast.expr, value: ast.expr, old: ast.AST) -> ast.Assign:
    return _placed(ast.Assign([ast.Name(target, ast.Store()) if isinstance(target, str) else target], value), old)


def _has_jump(statements: Sequence[ast.stmt], kind: type[ast.stmt]) -> bool:
    """Whether a break or continue among the statements is meant for the loop whose body they are."""
    for statement in statements:
        if isinstance(statement, kind):
            return True
        if isinstance(statement, ast.If) and (_has_jump(statement.body, kind) or _has_jump(statement.orelse, kind)):
            return True
    return False


def _with_jumps(statements: Sequence[ast.stmt], replace: Callable[[ast.stmt], list[ast.stmt]]) -> list[ast.stmt]:
    """The body of a loop with other statements for its own breaks and continues."""
    result: list[ast.stmt] = []
    for statement in statements:
        if isinstance(statement, (ast.Break, ast.Continue)):
            result += replace(statement)
        elif isinstance(statement, ast.If):
            sides = (_with_jumps(statement.body, replace), _with_jumps(statement.orelse, replace))
            result.append(ast.copy_location(ast.If(statement.test, *sides), statement))
        else:
            result.append(statement)
    return result


class Desugarer:
    """Rewrites the body of one function. ``length_of`` tells how many elements the tuple has that a free name stands for."""

    def __init__(self, length_of: Callable[[ast.expr], int | None]) -> None:
        self._length_of = length_of
        self._numbers = itertools.count(1)

    def body(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        return [made for statement in statements for made in self._statement(statement)]

    def _fresh(self, what: str) -> str:
        return f"{what}'{next(self._numbers)}"

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        before: list[ast.stmt] = []
        match node:
            case ast.FunctionDef():
                return [self._nested(node)]
            case ast.If(test=test, body=body, orelse=orelse):
                test = self._hoist(test, before)
                return [*before, ast.copy_location(ast.If(test, self.body(body), self.body(orelse)), node)]
            case ast.While():
                return self._while(node)
            case ast.For():
                return self._for(node)
            case ast.Assign(targets=targets, value=value):
                return [*before, *self._assignment(node, targets, value)]
            case ast.AugAssign() if _contains(node, ast.NamedExpr):
                return self._augmented(node)
            case ast.Return(value=ast.expr() as value):
                value = self._hoist(value, before)
                return [*before, ast.copy_location(ast.Return(value), node)]
            case ast.Expr(value=value):
                value = self._hoist(value, before)
                return [*before, ast.copy_location(ast.Expr(value), node)]
        return [node]

    def _nested(self, node: ast.FunctionDef) -> ast.FunctionDef:
        own = {arg.arg for arg in node.args.args} | _stored(node.body)

        def length_of(iterable: ast.expr) -> int | None:
            base = iterable
            while isinstance(base, ast.Attribute):
                base = base.value
            return None if isinstance(base, ast.Name) and base.id in own else self._length_of(iterable)

        inner = Desugarer(length_of)
        inner._numbers = self._numbers
        made = ast.FunctionDef(node.name, node.args, inner.body(node.body), node.decorator_list, node.returns)
        return ast.copy_location(made, node)

    def _assignment(self, node: ast.Assign, targets: list[ast.expr], value: ast.expr) -> list[ast.stmt]:
        for target in targets:
            self._refuse(target)
        before: list[ast.stmt] = []
        value = self._hoist(value, before)
        return [*before, ast.copy_location(ast.Assign(targets, value), node)]

    def _augmented(self, node: ast.AugAssign) -> list[ast.stmt]:
        """``x += (y := 1)``: the old value is read first."""
        if not isinstance(node.target, ast.Name):
            self._refuse(node)
        old = self._fresh("old")
        name = cast(ast.Name, node.target).id
        before: list[ast.stmt] = [_assign(old, _named(name, node.target), node)]
        value = self._hoist(node.value, before)
        result = ast.copy_location(ast.BinOp(_named(old, node.target), node.op, value), node)
        return [*before, _assign(name, result, node)]

    @staticmethod
    def _refuse(node: ast.AST) -> None:
        found = next((inner for inner in inner_nodes(node) if isinstance(inner, ast.NamedExpr)), None)
        if found is not None:
            message = "an assignment expression (:=) is not supported in this place in kernels"
            raise NotPossible(message, found, "assign in a statement before")

    # ------------------------------------------------------------------------------------------------------- loops

    def _while(self, node: ast.While) -> list[ast.stmt]:
        body = self.body(node.body)
        before: list[ast.stmt] = []
        test = self._hoist(node.test, before)
        start: list[ast.stmt] = []
        end: list[ast.stmt] = []
        if node.orelse:
            start, body, end = self._else_part(node, body)
        if before:
            leave = ast.copy_location(ast.UnaryOp(ast.Not(), test), test)
            body = [*before, _placed(ast.If(leave, [ast.Break()], []), node), *body]
            test = ast.copy_location(ast.Constant(True), test)
        return [*start, ast.copy_location(ast.While(test, body, []), node), *end]

    def _for(self, node: ast.For) -> list[ast.stmt]:
        before: list[ast.stmt] = []
        iterable = self._hoist(node.iter, before)
        self._refuse(node.target)
        body = self.body(node.body)
        start: list[ast.stmt] = []
        end: list[ast.stmt] = []
        elements = self._elements(iterable)
        if elements is not None:
            return [*before, *self._unrolled(node, elements, body)]
        if node.orelse:
            start, body, end = self._else_part(node, body)
        return [*before, *start, ast.copy_location(ast.For(node.target, iterable, body, []), node), *end]

    def _else_part(
        self, node: ast.For | ast.While, body: list[ast.stmt]
    ) -> tuple[list[ast.stmt], list[ast.stmt], list[ast.stmt]]:
        """What stands before a loop with an else part, its body, and what stands behind it."""
        orelse = self.body(node.orelse)
        if not _has_jump(body, ast.Break):
            return [], body, orelse
        flag = self._fresh("else")

        def replace(jump: ast.stmt) -> list[ast.stmt]:
            return [_assign(flag, ast.Constant(False), jump), jump] if isinstance(jump, ast.Break) else [jump]

        otherwise = _placed(ast.If(_named(flag, node), orelse, []), node.orelse[0])
        return [_assign(flag, ast.Constant(True), node)], _with_jumps(body, replace), [otherwise]

    def _elements(self, iterable: ast.expr) -> list[ast.expr] | None:
        """The elements of a tuple that a loop runs over; None if it runs over something else."""
        if isinstance(iterable, ast.Tuple):
            elements = list(iterable.elts)
        else:
            length = self._length_of(iterable)
            if length is None:
                return None
            places = [ast.copy_location(ast.Constant(place), iterable) for place in range(length)]
            elements = [ast.copy_location(ast.Subscript(iterable, place, ast.Load()), iterable) for place in places]
        if len(elements) > _MOST_ELEMENTS:
            message = f"a loop over a tuple is written out once for each element: {len(elements)} are too many"
            raise NotPossible(message, iterable, "loop over range(...)")
        return elements

    def _unrolled(self, node: ast.For, elements: list[ast.expr], body: list[ast.stmt]) -> list[ast.stmt]:
        changed = _stored([node.target, *body])
        result: list[ast.stmt] = []
        if isinstance(node.iter, ast.Tuple):
            elements = [self._kept(element, changed, result) for element in elements]
        breaks, continues = _has_jump(body, ast.Break), _has_jump(body, ast.Continue)
        flag = self._fresh("else")

        def replace(jump: ast.stmt) -> list[ast.stmt]:
            leave = ast.copy_location(ast.Break(), jump)
            return [_assign(flag, ast.Constant(False), jump), leave] if isinstance(jump, ast.Break) else [leave]

        if breaks:
            result.append(_assign(flag, ast.Constant(True), node))
        for number, element in enumerate(elements):
            one: list[ast.stmt] = [_assign(node.target, element, node), *body]
            if breaks or continues:
                # A loop that runs once gives break and continue something to leave.
                one = [*one[:1], *_with_jumps(body, replace), ast.copy_location(ast.Break(), node)]
                one = [_placed(ast.While(ast.Constant(True), one, []), node)]
            if breaks and number > 0:
                one = [_placed(ast.If(_named(flag, node), one, []), node)]
            result += one
        orelse = self.body(node.orelse)
        if orelse and breaks:
            orelse = [_placed(ast.If(_named(flag, node), orelse, []), node)]
        return result + orelse

    # --------------------------------------------------------------------------------------- assignment expressions

    def _kept(self, value: _Expression, changed: set[str], before: list[ast.stmt]) -> _Expression | ast.expr:
        """A value that what follows cannot change: a constant, a name that stays, or a new name for it."""
        match value:
            case ast.Constant():
                return value
            case ast.UnaryOp(operand=ast.Constant()):
                return value
            case ast.Name(id=name) if name not in changed:
                return value
            case ast.Attribute(value=base) if self._kept(base, changed, []) is base:
                return value
            case ast.Tuple(elts=elements):
                kept = [self._kept(element, changed, before) for element in elements]
                return ast.copy_location(ast.Tuple(kept, ast.Load()), value)
            case ast.Slice():
                limits = (value.lower, value.upper, value.step)
                parts = [None if limit is None else self._kept(limit, changed, before) for limit in limits]
                return ast.copy_location(ast.Slice(*parts), value)
        name = self._fresh("value")
        before.append(_assign(name, value, value))
        return _named(name, value)

    def _hoist(self, value: ast.expr, before: list[ast.stmt]) -> ast.expr:
        """An expression without assignment expressions, and in ``before`` the statements that take their place."""
        if not _contains(value, ast.NamedExpr):
            return value
        match value:
            case ast.NamedExpr(target=target, value=inner):
                before.append(_assign(target.id, self._hoist(inner, before), value))
                return _named(target.id, value)
            case ast.BoolOp(op=op, values=values) if any(_contains(one, ast.NamedExpr) for one in values[1:]):
                return self._hoist_logical(op, values, value, before)
            case ast.IfExp(test=test, body=body, orelse=orelse) if _contains(body, ast.NamedExpr) or _contains(
                orelse, ast.NamedExpr
            ):
                name = self._fresh("value")
                test = self._hoist(test, before)
                before.append(_placed(ast.If(test, self._set(name, body), self._set(name, orelse)), value))
                return _named(name, value)
            case ast.Compare(left=left, ops=ops, comparators=comparators) if len(ops) > 1:
                # One after the other, as and would: each middle value gets a name.
                middle = self._fresh("value")
                first = ast.Compare(left, ops[:1], [ast.NamedExpr(ast.Name(middle, ast.Store()), comparators[0])])
                rest = ast.Compare(ast.Name(middle, ast.Load()), ops[1:], comparators[1:])
                both = ast.copy_location(ast.BoolOp(ast.And(), [first, rest]), value)
                return self._hoist(ast.fix_missing_locations(both), before)
        return self._hoist_in_order(value, before)

    def _set(self, name: str, value: ast.expr) -> list[ast.stmt]:
        statements: list[ast.stmt] = []
        hoisted = self._hoist(value, statements)
        return [*statements, _assign(name, hoisted, value)]

    def _hoist_logical(
        self, op: ast.boolop, values: list[ast.expr], node: ast.expr, before: list[ast.stmt]
    ) -> ast.expr:
        name = self._fresh("value")
        inner = before
        for number, value in enumerate(values):
            if number > 0:
                test: ast.expr = _named(name, value)
                if isinstance(op, ast.Or):
                    test = ast.copy_location(ast.UnaryOp(ast.Not(), test), value)
                branch = ast.copy_location(ast.If(test, [], []), value)
                inner.append(branch)
                inner = branch.body
            inner += self._set(name, value)
        return _named(name, node)

    def _hoist_in_order(self, value: ast.expr, before: list[ast.stmt]) -> ast.expr:
        """The parts of an expression one after the other; those before an assignment are kept from being changed by it."""
        parts: list[tuple[str, int | None, ast.expr]] = []
        for field, child in ast.iter_fields(value):
            listed = child if isinstance(child, list) else [child]
            for index, part in enumerate(listed):
                part = part.value if isinstance(part, ast.keyword) else part
                if isinstance(part, ast.expr):
                    parts.append((field, index if isinstance(child, list) else None, part))
        last = max(number for number, (_, _, part) in enumerate(parts) if _contains(part, ast.NamedExpr))
        changed = {inner.target.id for inner in inner_nodes(value) if isinstance(inner, ast.NamedExpr)}
        made: dict[tuple[str, int | None], ast.expr] = {}
        for number, (field, place, part) in enumerate(parts):
            hoisted = self._hoist(part, before)
            made[field, place] = self._kept(hoisted, changed, before) if number < last else hoisted
        fields: dict[str, Any] = {}
        for field, child in ast.iter_fields(value):
            if not isinstance(child, list):
                fields[field] = made.get((field, None), child)
                continue
            fields[field] = [
                ast.copy_location(ast.keyword(part.arg, made[field, index]), part)
                if isinstance(part, ast.keyword)
                else made.get((field, index), part)
                for index, part in enumerate(child)
            ]
        return ast.copy_location(type(value)(**fields), value)
