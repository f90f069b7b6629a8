"""Python functions to the kernel syntax text of docs/design/syntax.md.

The walk knows nothing of types or of what is supported: it writes down the tree and asks a resolver for the meaning of names
that are not local. Constructs that have no place in the syntax raise ``UnsupportedSyntax`` with their position.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import json
from collections.abc import Callable, Sequence
from typing import NamedTuple

BINARY = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.MatMult: "@",
}
_UNARY = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}
_COMPARE = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is_not",
}
_CONSTRUCTS = {
    "JoinedStr": "an f-string",
    "NamedExpr": "an assignment expression (:=)",
    "Global": "a global statement",
    "Nonlocal": "a nonlocal statement",
    "FunctionDef": "a nested function",
    "AsyncFunctionDef": "a coroutine",
    "ClassDef": "a class",
    "Match": "a match statement",
    "Try": "a try statement",
    "TryStar": "a try statement",
    "With": "a with statement",
    "Delete": "a del statement",
    "Import": "an import",
    "ImportFrom": "an import",
    "ListComp": "a list comprehension",
    "SetComp": "a set comprehension",
    "DictComp": "a dictionary comprehension",
    "GeneratorExp": "a generator expression",
    "List": "a list",
    "Dict": "a dictionary",
    "Set": "a set",
    "Lambda": "a lambda",
    "Yield": "yield",
    "YieldFrom": "yield from",
    "Await": "await",
    "Starred": "a starred expression",
}
_HINTS = {
    "Try": "exceptions cannot be caught in a kernel",
    "With": "context managers are host code",
    "ListComp": "write a loop that stores into an array",
    "List": "use a tuple, or an array argument",
    "Dict": "pass arrays; dictionaries live on the host",
    "Lambda": "give it a name and call it",
    "Yield": "kernels cannot be generators",
    "Await": "kernels cannot be coroutines",
    "Import": "import at module level",
    "ImportFrom": "import at module level",
    "Global": "globals are frozen when the kernel is compiled",
    "Delete": "names need no deleting in a kernel",
}


class UnsupportedSyntax(Exception):
    """A construct that kernels do not have. ``line`` counts from the function's first line, 0-based."""

    def __init__(self, message: str, node: ast.AST, first_line: int, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.line = getattr(node, "lineno", first_line) - first_line
        self.column = getattr(node, "col_offset", 0)
        one_line = getattr(node, "end_lineno", None) == getattr(node, "lineno", None)
        self.end = getattr(node, "end_col_offset", self.column + 1) if one_line else self.column + 1


def number_text(value: bool | int | float | None) -> str:
    """The atom for a Python constant."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return float(value).hex()


# Atoms with a meaning of their own; local variables of these names get a mark that no Python name has.
_RESERVED = {"inf", "nan", "true", "false", "none"}


def _local(name: str) -> str:
    return f"{name}'" if name in _RESERVED else name


Nested = ast.FunctionDef | ast.Lambda
_FUNCTIONS = {ast.FunctionDef, ast.Lambda}
_LEAVES = {ast.Name, ast.Constant, str, type(None)}


def inner_nodes(*nodes: ast.AST) -> list[ast.AST]:
    """Nodes and all below them, without what belongs to functions defined there."""
    found = list(nodes)
    for node in found:  # grows on the way
        kind = type(node)
        if kind in _LEAVES or kind in _FUNCTIONS and node not in nodes:
            continue
        for field in kind._fields:
            value = getattr(node, field, None)
            if type(value) is list:
                found += value
            elif value is not None and isinstance(value, ast.AST):
                found.append(value)
    return found


def _bound_names(nodes: list[ast.AST]) -> list[str]:
    """The names assigned among the nodes, as often as they are."""
    return [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]


# resolve(name, attributes, node) gives the text of a free name with its attribute chain, and how many attributes that covers.
Resolver = Callable[[str, list[str], ast.AST], tuple[str, int]]
# parameters(callee, node) gives the names and default values of a device function from its text.
Parameters = Callable[[str, ast.AST], list[tuple[str, str | None]] | None]
# define(text) makes a nested function one of the program and gives the text that calls it.
Define = Callable[[str], str]


class _NestedFunction(NamedTuple):
    """A function defined in another: how it is called, its parameters, and variables around it, given as further arguments."""

    callee: str
    params: list[str]
    captured: list[str]


class FunctionWalker:
    """Writes one function."""

    def __init__(
        self,
        resolve: Resolver,
        first_line: int,
        spans: bool = True,
        lines: list[str] | None = None,
        parameters: Parameters = lambda callee, node: None,
        define: Define | None = None,
        is_python: Callable[[str], bool] = lambda name: True,
        stops: bool = False,
    ) -> None:
        self._resolve = resolve
        self._parameters = parameters
        self._define = define
        self._nested: dict[str, _NestedFunction] = {}
        self._first_line = first_line
        self._spans = spans
        self._lines = lines or []
        self._is_python = is_python
        self._stops = stops
        self._locals: set[str] = set()
        self._chained = itertools.count(1)

    def function(self, node: Nested, name: str, captured: Sequence[str] = ()) -> str:
        args = node.args
        if args.vararg or args.kwarg or args.kwonlyargs or args.posonlyargs:
            raise self._unsupported("a kernel's parameters are plain positional names", node)
        params = [*(arg.arg for arg in args.args), *captured]
        inner = inner_nodes(node)
        bound = _bound_names(inner)
        self._locals = {*params, *bound}
        head = f"(fn {name} ({' '.join(map(_local, params))})"
        if isinstance(node, ast.Lambda):
            return f"{head} (return {self._expr(node.body)}))"
        body = node.body
        if (
            body
            and isinstance(body[0], ast.Expr)
            and isinstance(body[0].value, ast.Constant)
            and isinstance(body[0].value.value, str)
        ):
            body = body[1:]  # the docstring
        if self._define is not None:
            self._define_nested(inner[1:], bound)
        statements = " ".join(self._stmt(statement) for statement in body)
        return f"{head} {statements})"

    def _define_nested(self, nodes: list[ast.AST], bound: list[str]) -> None:
        """Makes functions of the program of those defined in this one; they stand for their names from then on."""
        definitions: list[tuple[str, Nested]] = []
        for node in nodes:
            match node:
                case ast.FunctionDef(name=name):
                    bound.append(name)
                    definitions.append((name, node))
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda() as function):
                    definitions.append((name, function))
        for name, definition in sorted(definitions, key=lambda one: (one[1].lineno, one[1].col_offset)):
            self._add_nested(name, definition, bound)

    def _add_nested(self, name: str, node: Nested, bound: list[str]) -> None:
        assert self._define is not None
        if bound.count(name) > 1 or name in self._nested:
            raise self._unsupported(f"the nested function '{name}' has its name from several statements", node)
        if isinstance(node, ast.FunctionDef) and node.decorator_list or node.args.defaults:
            raise self._unsupported("a nested function has no decorators and default values in kernels", node)
        params = [arg.arg for arg in node.args.args]
        own = {*params, *_bound_names(inner_nodes(node))}
        used = [inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and inner.id not in own]
        if name in used:
            raise self._unsupported(f"'{name}' calls itself", node, "write the recursion as a loop")
        walker = FunctionWalker(
            self._resolve,
            self._first_line,
            self._spans,
            self._lines,
            self._parameters,
            self._define,
            self._is_python,
            self._stops,
        )
        around = [self._nested[one].captured for one in used if one in self._nested]
        names = [one for one in used if one not in self._nested and one in self._locals] + sum(around, [])
        captured = sorted(set(names) - own)
        if set(sum(around, [])) & own:
            raise self._unsupported("a nested function hides a variable that another one it calls reads", node)
        walker._nested = {one: self._nested[one] for one in used if one in self._nested}
        callee = self._define(walker.function(node, name, captured))
        self._nested[name] = _NestedFunction(callee, params, captured)

    def _span(self, node: ast.expr | ast.stmt) -> str:
        if not self._spans:
            return ""
        begin = self._column(node.lineno, node.col_offset)
        one_line = node.end_lineno == node.lineno and node.end_col_offset is not None
        end = self._column(node.lineno, node.end_col_offset or 0) if one_line else begin + 1
        return f" @{node.lineno - self._first_line}:{begin}:{end}"

    def _column(self, line: int, offset: int) -> int:
        """The column of a byte offset, in letters."""
        text = self._lines[line - 1] if line <= len(self._lines) else ""
        return offset if text.isascii() else len(text.encode()[:offset].decode(errors="ignore"))

    def _unsupported(self, message: str, node: ast.AST, hint: str = "") -> UnsupportedSyntax:
        return UnsupportedSyntax(message, node, self._first_line, hint)

    def _block(self, statements: list[ast.stmt]) -> str:
        return "(do " + " ".join(self._stmt(statement) for statement in statements) + ")"

    def _stmt(self, node: ast.stmt) -> str:
        span = self._span(node)
        match node:
            case ast.FunctionDef(name=name) if name in self._nested:
                return "(pass)"
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda()) if name in self._nested:
                return "(pass)"
            case ast.Assign(targets=targets, value=value):
                if len(targets) == 1:
                    return f"(set{span} {self._target(targets[0])} {self._expr(value)})"
                # The value is evaluated once: the first name holds it, or one that no Python name is.
                holder, rest = f"chained'{next(self._chained)}", targets
                if isinstance(targets[0], ast.Name):
                    holder, rest = _local(targets[0].id), targets[1:]
                sets = " ".join(f"(set{span} {self._target(target)} {holder})" for target in rest)
                return f"(set{span} {holder} {self._expr(value)}) {sets}"
            case ast.AnnAssign(target=target, value=value):
                return "(pass)" if value is None else f"(set{span} {self._target(target)} {self._expr(value)})"
            case ast.AugAssign(target=target, op=op, value=value):
                return f"(aug{span} {BINARY[type(op)]} {self._target(target)} {self._expr(value)})"
            case ast.If(test=test, body=body, orelse=orelse):
                return f"(if{span} {self._expr(test)} {self._block(body)} {self._block(orelse)})"
            case ast.While(test=test, body=body, orelse=[]):
                return f"(while{span} {self._expr(test)} {self._block(body)})"
            case ast.For(target=target, iter=iterable, body=body, orelse=[]):
                return f"(for{span} {self._target(target)} {self._expr(iterable)} {self._block(body)})"
            case ast.While() | ast.For():
                raise self._unsupported(
                    "loops with an else part are not supported in kernels", node, "use a flag variable"
                )
            case ast.Break():
                return f"(break{span})"
            case ast.Continue():
                return f"(continue{span})"
            case ast.Pass():
                return "(pass)"
            case ast.Return(value=None):
                return f"(return{span})"
            case ast.Return(value=value):
                return f"(return{span} {self._expr(value)})"
            case ast.Expr(value=ast.Constant()):
                return "(pass)"
            case ast.Expr(value=ast.Call(func=ast.Name(id="print"), args=args, keywords=keywords)) if self._is_builtin(
                "print"
            ):
                return self._print(span, args, keywords)
            case ast.Expr(value=ast.Call(func=ast.Name(id="breakpoint"))) if self._is_builtin("breakpoint"):
                if self._stops:
                    return "(pass)"
                raise self._unsupported(
                    "breakpoint() stops only where a kernel runs under its debugger",
                    node,
                    "launch it with kernel.debug()[grid, block](...), or take the call out",
                )
            case ast.Assert(test=test, msg=message):
                text = "" if message is None else self._text_of(message, "an assertion's message")
                return f'(if{span} (un not {self._expr(test)}) (do (raise{span} "AssertionError" {json.dumps(text)})) (do))'
            case ast.Raise(exc=error):
                return self._raise(span, node, error)
            case ast.Expr(value=value):
                return f"(expr{span} {self._expr(value)})"
        kind = type(node).__name__
        raise self._unsupported(
            f"{_CONSTRUCTS.get(kind, kind)} is not supported in kernels", node, _HINTS.get(kind, "")
        )

    def _target(self, node: ast.expr) -> str:
        match node:
            case ast.Name(id=name):
                return _local(name)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return "(tuple " + " ".join(self._target(element) for element in elements) + ")"
            case ast.Subscript():
                return self._expr(node)
        raise self._unsupported("a kernel assigns to names and array elements only", node)

    def _expr(self, node: ast.expr | None) -> str:
        if node is None:
            return "none"
        match node:
            case ast.Name(id=name) if name in self._nested:
                raise self._unsupported(f"the nested function '{name}' can only be called", node)
            case ast.Name(id=name):
                return _local(name) if name in self._locals else self._free(name, [], node)
            case ast.Constant(value=value):
                return self._constant(value, node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.BinOp(left=left, op=op, right=right):
                return f"(bin{self._span(node)} {BINARY[type(op)]} {self._expr(left)} {self._expr(right)})"
            case ast.UnaryOp(op=op, operand=operand):
                return f"(un{self._span(node)} {_UNARY[type(op)]} {self._expr(operand)})"
            case ast.BoolOp(op=op, values=values):
                head = "and" if isinstance(op, ast.And) else "or"
                return f"({head}{self._span(node)} " + " ".join(map(self._expr, values)) + ")"
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                return self._compare(node, left, ops, comparators)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return f"(ifexp{self._span(node)} {self._expr(test)} {self._expr(body)} {self._expr(orelse)})"
            case ast.Subscript(value=value, slice=index):
                return f"(item{self._span(node)} {self._expr(value)} {self._expr(index)})"
            case ast.Slice(lower=lower, upper=upper, step=step):
                return f"(slice {self._expr(lower)} {self._expr(upper)} {self._expr(step)})"
            case ast.Tuple(elts=elements):
                return "(tuple " + " ".join(map(self._expr, elements)) + ")"
            case ast.Call():
                return self._call(node)
        kind = type(node).__name__
        raise self._unsupported(
            f"{_CONSTRUCTS.get(kind, kind)} is not supported in kernels", node, _HINTS.get(kind, "")
        )

    def _is_builtin(self, name: str) -> bool:
        return name not in self._locals and self._is_python(name)

    def _print(self, span: str, args: list[ast.expr], keywords: list[ast.keyword]) -> str:
        """Pieces of text and values in their order, with what stands between and at the end."""
        between, end = " ", "\n"
        for keyword in keywords:
            if keyword.arg == "sep":
                between = self._text_of(keyword.value, "sep")
            elif keyword.arg == "end":
                end = self._text_of(keyword.value, "end")
            else:
                raise self._unsupported(f"print in kernels has no parameter '{keyword.arg}'", keyword)
        items: list[str] = []
        for number, arg in enumerate(args):
            if number and between:
                items.append(json.dumps(between))
            for piece in arg.values if isinstance(arg, ast.JoinedStr) else [arg]:
                items.append(self._printed(piece))
        if end:
            items.append(json.dumps(end))
        return f"(print{span} {' '.join(items)})"

    def _printed(self, piece: ast.expr) -> str:
        if not isinstance(piece, ast.FormattedValue):
            return self._expr(piece)
        if piece.conversion != -1:
            raise self._unsupported("conversions (!r) are not supported in kernels", piece)
        form = ""
        if isinstance(piece.format_spec, ast.JoinedStr):
            form = "".join(self._text_of(part, "a format") for part in piece.format_spec.values)
        return f"(fmt{self._span(piece)} {self._expr(piece.value)} {json.dumps(form)})"

    def _text_of(self, node: ast.expr, what: str) -> str:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        raise self._unsupported(f"{what} must be constant text in kernels", node)

    def _raise(self, span: str, node: ast.stmt, error: ast.expr | None) -> str:
        """raise Class, or raise Class("text"), of Python's exceptions."""
        match error:
            case ast.Name(id=name) if self._is_builtin(name):
                text = ""
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if self._is_builtin(name) and len(args) < 2:
                text = self._text_of(args[0], "an exception's message") if args else ""
            case _:
                raise self._unsupported("kernels raise Python's own exceptions with constant text", node)
        kind = getattr(builtins, name, None)
        if not (isinstance(kind, type) and issubclass(kind, Exception)):
            raise self._unsupported(f"'{name}' is no exception that kernels can raise", node)
        return f"(raise{span} {json.dumps(name)} {json.dumps(text)})"

    def _call(self, node: ast.Call) -> str:
        nested = self._nested.get(node.func.id) if isinstance(node.func, ast.Name) else None
        callee = nested.callee if nested else self._expr(node.func)
        given = [self._expr(arg) for arg in node.args]
        parameters = self._parameters(callee, node)
        if nested:
            # Variables around it are read when it is called, as Python does.
            parameters = [(name, None) for name in nested.params]
            if len(given) > len(parameters) or not node.keywords and len(given) < len(parameters):
                expected = f"expected {len(parameters)} arguments, got {len(given)}"
                raise self._unsupported(f"the nested function '{ast.unparse(node.func)}': {expected}", node)
        if parameters is not None and (node.keywords or len(given) < len(parameters)):
            given = self._matched(node, given, parameters)
        else:
            # The compiler knows the parameters of built-in functions.
            for keyword in node.keywords:
                if keyword.arg is None:
                    raise self._unsupported("calls in kernels take no ** arguments", keyword)
                given.append(f"(kw {keyword.arg} {self._expr(keyword.value)})")
        given += map(_local, nested.captured if nested else [])
        return f"(call{self._span(node)} {callee} " + " ".join(given) + ")"

    def _matched(self, node: ast.Call, given: list[str], parameters: list[tuple[str, str | None]]) -> list[str]:
        """The arguments of a call in the order of the parameters, with default values for those that are left out."""
        names = [name for name, _ in parameters]
        texts = dict(zip(names, given, strict=False))
        called = [text for text in given if "(function " in text]
        latest = len(given) - 1
        for keyword in node.keywords:
            if keyword.arg not in names or keyword.arg in texts:
                problem = "is given twice" if keyword.arg in texts else "is not a parameter of the function"
                raise self._unsupported(f"argument '{keyword.arg}' {problem}", keyword)
            text = texts[keyword.arg] = self._expr(keyword.value)
            called += [text] if "(function " in text else []
            if names.index(keyword.arg) < latest and len(called) > 0:
                raise self._unsupported(
                    "arguments that call functions stand in another order than the parameters",
                    keyword,
                    "give them in the order of the parameters",
                )
            latest = max(latest, names.index(keyword.arg))
        for name, default in parameters:
            if name not in texts and default is not None:
                texts[name] = default
            elif name not in texts and node.keywords:
                raise self._unsupported(f"no value is given for the parameter '{name}'", node)
        return given[len(names) :] + [texts[name] for name in names if name in texts]

    def _compare(self, node: ast.Compare, left: ast.expr, ops: list[ast.cmpop], comparators: list[ast.expr]) -> str:
        parts = [self._expr(left)]
        for op, comparator in zip(ops, comparators, strict=True):
            if type(op) not in _COMPARE:
                raise self._unsupported("'in' is not supported in kernels", node, "compare with == and or")
            parts += [_COMPARE[type(op)], self._expr(comparator)]
        if len(ops) == 1 and parts[1] in ("==", "!=") and parts[0][0] == parts[2][0] == '"':
            return number_text((parts[0] == parts[2]) == (parts[1] == "=="))
        return f"(cmp{self._span(node)} " + " ".join(parts) + ")"

    def _constant(self, value: object, node: ast.expr) -> str:
        if value is None or isinstance(value, (bool, int, float)):
            return number_text(value)
        if isinstance(value, complex):
            return f"(call (builtin complex128) {number_text(value.real)} {number_text(value.imag)})"
        if isinstance(value, str):
            return json.dumps(value)
        raise self._unsupported(f"constants of type {type(value).__name__} are not supported in kernels", node)

    def _attribute(self, node: ast.Attribute) -> str:
        chain: list[str] = []
        base: ast.expr = node
        while isinstance(base, ast.Attribute):
            chain.insert(0, base.attr)
            base = base.value
        if isinstance(base, ast.Name) and base.id not in self._locals:
            return self._free(base.id, chain, node)
        return f"(attr{self._span(node)} {self._expr(node.value)} {node.attr})"

    def _free(self, name: str, chain: list[str], node: ast.expr) -> str:
        """A free name: the resolver may consume attributes; what it leaves are attributes of the value."""
        text, used = self._resolve(name, chain, node)
        for attribute in chain[used:]:
            text = f"(attr{self._span(node)} {text} {attribute})"
        return text
