"""The syntax tree of a kernel as Python runs it with a kernel's meaning. Every statement keeps its line, so that a debugger shows the
user's file.

Added are: literals with the compiler's types, conversions where a variable's type is that of several assignments, products and sums
that the compiler may round once, and a call in each round of a while loop, which lets other threads run.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable, Sequence
from typing import Any

from treadle._debug.values import literal
from treadle._syntax import BINARY, Nested, inner_nodes

# Names of the functions that rewritten trees call; none is a Python identifier that a user's program can have.
CONVERT, FIRM, NOT, ROUND, FUSED, VALUE = (f"{name}'" for name in "convert firm not round fused value".split())

Kind = list[Any]  # of a type, as frontend/lowering.h describes it


class Types:
    """What the front end says of a function for some types of arguments. Functions nested in it are known by their names."""

    def __init__(self, lines: Sequence[Sequence[Any]]) -> None:
        self.returned: Kind = ["none"]
        self._variables: dict[tuple[str, str], list[Kind]] = {}
        self._values: dict[tuple[str, int, int], list[Kind]] = {}
        for what, *facts in lines:
            if what == "return":
                self.returned = facts[0]
            elif what == "variable":
                prefix, _, name = facts[0].rpartition("/")
                self._variables.setdefault((_function(prefix), name.rstrip("'")), []).append(facts[1])
            else:
                prefix, line, column, kind = facts
                self._values.setdefault((_function(prefix.rstrip("/")), line, column), []).append(kind)

    def of_function(self, name: str) -> Types:
        """What is known of a function that this one calls."""
        return _OfFunction(self, name)

    def variable(self, function: str, name: str) -> Kind | None:
        return _agreed(self._variables.get((function, name), []))

    def value(self, function: str, line: int, column: int) -> Kind | None:
        return _agreed(self._values.get((function, line, column), []))


class _OfFunction(Types):
    """The types of a function with another's knowledge of it."""

    def __init__(self, outer: Types, name: str) -> None:
        super().__init__([])
        self._outer, self._name = outer, name
        self.returned = outer.variable(name, "#return") or ["none"]

    def variable(self, function: str, name: str) -> Kind | None:
        return self._outer.variable(function or self._name, name)

    def value(self, function: str, line: int, column: int) -> Kind | None:
        return self._outer.value(function or self._name, line, column)


def _function(prefix: str) -> str:
    """Of "f#3": "f"; the function itself has no prefix."""
    return prefix.rpartition("/")[2].partition("#")[0]


class Ambiguous(Exception):
    """A nested function that is compiled with several types of its variables."""


def _agreed(kinds: list[Kind]) -> Kind | None:
    if any(kind != kinds[0] for kind in kinds[1:]):
        raise Ambiguous
    return kinds[0] if kinds and kinds[0][0] in ("scalar", "tuple") else None


# (name, attributes) -> the value of a free name with attributes, and how many of them it takes
LookUp = Callable[[str, list[str]], tuple[Any, int]]


class Rewriter(ast.NodeTransformer):
    """Rewrites one function. ``constants`` is filled with the objects that the tree names."""

    def __init__(
        self,
        types: Types,
        first_line: int,
        column: Callable[[int, int], int],
        look_up: LookUp,
        is_thread_value: Callable[[Any], bool],
        contract: bool,
    ) -> None:
        self.constants: dict[str, Any] = {}
        self._types = types
        self._first_line = first_line
        self._column = column
        self._look_up = look_up
        self._is_thread_value = is_thread_value
        self._contract = contract
        self._bound: list[set[str]] = []
        self._function = ""

    # ------------------------------------------------------------------------------------------------------ functions

    def function(self, node: Nested, name: str) -> ast.FunctionDef:
        body: list[ast.stmt] = (
            [ast.copy_location(ast.Return(node.body), node.body)] if isinstance(node, ast.Lambda) else node.body
        )
        arguments = ast.arguments([], [ast.arg(arg.arg) for arg in node.args.args], None, [], [], None, [])
        made = self._made(arguments, body, name, node)
        made.body = made.body or [ast.copy_location(ast.Pass(), node)]
        return ast.fix_missing_locations(made)

    def _made(self, arguments: ast.arguments, body: list[ast.stmt], name: str, old: Nested) -> ast.FunctionDef:
        parameters = [arg.arg for arg in arguments.args]
        bound = {
            node.id for node in inner_nodes(*body) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        bound |= {node.name for node in inner_nodes(*body) if isinstance(node, ast.FunctionDef)}
        self._bound.append({*parameters, *bound})
        held = [self._held(ast.Name(one, ast.Store()), body[0]) for one in parameters] if body else []
        statements = [*sum(held, []), *self._block(body)]
        self._bound.pop()
        return ast.copy_location(ast.FunctionDef(name, arguments, statements, [], None), old)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        outer, self._function = self._function, node.name
        made = self._made(node.args, node.body, node.name, node)
        self._function = outer
        return made

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self._bound.append({arg.arg for arg in node.args.args})
        made = ast.Lambda(node.args, self.visit(node.body))
        self._bound.pop()
        return ast.copy_location(made, node)

    # ----------------------------------------------------------------------------------------------------- statements

    def _block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for statement in statements:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue
            made = self.visit(statement)
            result += made if isinstance(made, list) else [made]
        return result

    def _held(self, target: ast.expr, old: ast.AST) -> list[ast.stmt]:
        """Statements that give the names of a target what their variables hold of it."""
        if isinstance(target, (ast.Tuple, ast.List)):
            return sum((self._held(element, old) for element in target.elts), [])
        if not isinstance(target, ast.Name):
            return []
        kind = self._types.variable(self._function, target.id)
        name = ast.Name(target.id, ast.Load())
        value = _call(CONVERT, name, self._constant(kind)) if kind else _call(FIRM, name)
        return [_placed(ast.Assign([ast.Name(target.id, ast.Store())], value), old)]

    def _converted(self, value: ast.expr, kind: Kind) -> ast.expr:
        return _placed(_call(CONVERT, value, self._constant(kind)), value)

    def _constant(self, value: Any) -> ast.expr:
        name = f"{len(self.constants)}'"
        self.constants[name] = value
        return ast.Name(name, ast.Load())

    def visit_Assign(self, node: ast.Assign) -> Any:
        value = self.visit(node.value)
        targets = [self.visit(target) for target in node.targets]
        made = ast.copy_location(ast.Assign(targets, value), node)
        if isinstance(node.value, ast.Lambda):
            return made
        return [made, *sum((self._held(target, node) for target in node.targets), [])]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return self.visit_Assign(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        old = _loaded(node.target)
        value = ast.copy_location(ast.BinOp(old, node.op, node.value), node)
        return self.visit_Assign(ast.copy_location(ast.Assign([node.target], value), node))

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Any:
        kind = self._types.variable(self._function, node.target.id)
        value = self.visit(node.value)
        value = self._converted(value, kind) if kind else _placed(_call(FIRM, value), node)
        return ast.copy_location(ast.NamedExpr(node.target, value), node)

    def visit_For(self, node: ast.For) -> Any:
        body = [*self._held(node.target, node), *self._block(node.body)]
        made = ast.For(self.visit(node.target), self.visit(node.iter), body, self._block(node.orelse))
        return ast.copy_location(made, node)

    def visit_While(self, node: ast.While) -> Any:
        test = node.test if isinstance(node.test, ast.Constant) else self.visit(node.test)
        round_ = _placed(ast.Expr(_call(ROUND)), node.body[0])
        return ast.copy_location(ast.While(test, [round_, *self._block(node.body)], self._block(node.orelse)), node)

    def visit_If(self, node: ast.If) -> Any:
        body = self._block(node.body) or [ast.copy_location(ast.Pass(), node.body[0])]
        return ast.copy_location(ast.If(self.visit(node.test), body, self._block(node.orelse)), node)

    def visit_Return(self, node: ast.Return) -> Any:
        if node.value is None:
            return node
        value = self.visit(node.value)
        kind = self._types.returned if self._function == "" else self._types.variable(self._function, "#return")
        if kind and kind[0] in ("scalar", "tuple"):
            value = self._converted(value, kind)
        return ast.copy_location(ast.Return(value), node)

    def visit_Raise(self, node: ast.Raise) -> Any:
        return node

    # ---------------------------------------------------------------------------------------------------- expressions

    def visit_Constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, (bool, int, float, complex)):
            return ast.copy_location(self._constant(literal(node.value)), node)
        return node

    def _chosen(self, node: ast.expr, made: ast.expr) -> ast.expr:
        line = node.lineno - self._first_line
        kind = self._types.value(self._function, line, self._column(node.lineno, node.col_offset))
        return self._converted(made, kind) if kind else made

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        made = ast.copy_location(ast.BoolOp(node.op, [self.visit(value) for value in node.values]), node)
        return self._chosen(node, made)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        made = ast.IfExp(self.visit(node.test), self.visit(node.body), self.visit(node.orelse))
        return self._chosen(node, ast.copy_location(made, node))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        operand = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return _placed(_call(NOT, operand), node)
        return ast.copy_location(ast.UnaryOp(node.op, operand), node)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        if self._contract and isinstance(node.op, (ast.Add, ast.Sub)) and _has_product(node):
            operands: list[ast.expr] = []
            form = _form(node, operands)
            values = [self.visit(operand) for operand in operands]
            return _placed(_call(FUSED, ast.Constant(form), *values), node)
        return ast.copy_location(ast.BinOp(self.visit(node.left), node.op, self.visit(node.right)), node)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> Any:
        return ast.copy_location(ast.FormattedValue(self.visit(node.value), node.conversion, node.format_spec), node)

    def visit_Name(self, node: ast.Name) -> Any:
        return self._free(node, node.id, []) or node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        chain: list[str] = []
        base: ast.expr = node
        while isinstance(base, ast.Attribute):
            chain.insert(0, base.attr)
            base = base.value
        if isinstance(base, ast.Name) and (found := self._free(node, base.id, chain)):
            return found
        return ast.copy_location(ast.Attribute(self.visit(node.value), node.attr, node.ctx), node)

    def _free(self, node: ast.expr, name: str, chain: list[str]) -> ast.expr | None:
        """What stands for a free name that is a number, or a value of the thread; None for all that Python looks up itself."""
        if any(name in bound for bound in self._bound) or not isinstance(getattr(node, "ctx", None), ast.Load):
            return None
        value, used = self._look_up(name, chain)
        if used < len(chain):
            return None
        if self._is_thread_value(value):
            return _placed(_call(VALUE, self._constant(value)), node)
        if isinstance(value, enum.Enum) or chain and isinstance(value, (bool, int, float, complex)):
            while isinstance(value, enum.Enum):
                value = value.value
            return ast.copy_location(self._constant(literal(value)), node)
        return None


def _call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


def _placed(node: Any, old: ast.AST) -> Any:
    """A new tree at the place of an old one: all that has no place yet."""
    line, column = getattr(old, "lineno", 1), getattr(old, "col_offset", 0)
    for inner in ast.walk(node):
        if "lineno" in inner._attributes and not hasattr(inner, "lineno"):
            inner.lineno, inner.col_offset, inner.end_lineno, inner.end_col_offset = line, column, line, column  # type: ignore[attr-defined]
    return node


def _loaded(target: ast.expr) -> ast.expr:
    """The value that a target has."""
    match target:
        case ast.Name(id=name):
            return ast.copy_location(ast.Name(name, ast.Load()), target)
        case ast.Subscript(value=value, slice=index):
            return ast.copy_location(ast.Subscript(value, index, ast.Load()), target)
    return target


def _has_product(node: ast.expr) -> bool:
    """Whether a sum or difference adds a product."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, (ast.Add, ast.Sub)):
        return False
    parts = (node.left, node.right)
    return any(isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mult) or _has_product(part) for part in parts)


def _form(node: ast.expr, operands: list[ast.expr]) -> str:
    """A tree of sums and products in the kernel syntax; the operands take its places."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
        left = _form(node.left, operands)
        return f"(bin {BINARY[type(node.op)]} {left} {_form(node.right, operands)})"
    operands.append(node)
    return f"{{{len(operands) - 1}}}"
