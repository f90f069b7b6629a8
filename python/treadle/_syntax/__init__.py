"""Python functions to the kernel syntax text of docs/design/syntax.md.

The walk knows nothing of types or of what is supported: it writes down the tree and asks a resolver for the meaning of names
that are not local. Constructs that have no place in the syntax raise ``UnsupportedSyntax`` with their position. The package imports
nothing of Treadle, since the build needs it before there is one.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from .calls import CallWriter
from .output import OutputWriter
from .words import (
    BINARY,
    COMPARE,
    CONSTRUCTS,
    HINTS,
    UNARY,
    Nested,
    UnsupportedSyntax,
    bound_names,
    inner_nodes,
    local_name,
    number_text,
    quoted,
)


class FunctionWalker(CallWriter, OutputWriter):
    """Writes one function."""

    def function(self, node: Nested, name: str, captured: Sequence[str] = (), types: Sequence[str] = ()) -> str:
        args = node.args
        if args.vararg or args.kwarg or args.kwonlyargs or args.posonlyargs:
            raise self._unsupported("a kernel's parameters are plain positional names", node)
        params = [*(arg.arg for arg in args.args), *captured]
        inner = inner_nodes(node)
        bound = bound_names(inner)
        self._locals = {*params, *bound}
        head = f"(fn {name} ({' '.join(map(local_name, params))})"
        if types:
            head += f" (types {' '.join(types)})"
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
                    holder, rest = local_name(targets[0].id), targets[1:]
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
                return f'(if{span} (un not {self._expr(test)}) (do (raise{span} "AssertionError" {quoted(text)})) (do))'
            case ast.Raise(exc=error):
                return self._raise(span, node, error)
            case ast.Expr(value=value):
                return f"(expr{span} {self._expr(value)})"
        kind = type(node).__name__
        raise self._unsupported(f"{CONSTRUCTS.get(kind, kind)} is not supported in kernels", node, HINTS.get(kind, ""))

    def _target(self, node: ast.expr) -> str:
        match node:
            case ast.Name(id=name):
                return local_name(name)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return "(tuple " + " ".join(self._target(element) for element in elements) + ")"
            case ast.Subscript():
                return self._expr(node)
            case ast.Attribute(value=value, attr=name):
                return f"(attr{self._span(node)} {self._expr(value)} {name})"
        raise self._unsupported("a kernel assigns to names, array elements and fields only", node)

    def _expr(self, node: ast.expr | None) -> str:
        if node is None:
            return "none"
        match node:
            case ast.Name(id=name) if name in self._nested:
                raise self._unsupported(f"the nested function '{name}' can only be called", node)
            case ast.Name(id=name):
                return local_name(name) if name in self._locals else self._free(name, [], node)
            case ast.Constant(value=value):
                return self._constant(value, node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.BinOp(left=left, op=op, right=right):
                return f"(bin{self._span(node)} {BINARY[type(op)]} {self._expr(left)} {self._expr(right)})"
            case ast.UnaryOp(op=op, operand=operand):
                return f"(un{self._span(node)} {UNARY[type(op)]} {self._expr(operand)})"
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
        raise self._unsupported(f"{CONSTRUCTS.get(kind, kind)} is not supported in kernels", node, HINTS.get(kind, ""))

    def _compare(self, node: ast.Compare, left: ast.expr, ops: list[ast.cmpop], comparators: list[ast.expr]) -> str:
        parts = [self._expr(left)]
        for op, comparator in zip(ops, comparators, strict=True):
            if type(op) not in COMPARE:
                raise self._unsupported("'in' is not supported in kernels", node, "compare with == and or")
            parts += [COMPARE[type(op)], self._expr(comparator)]
        if len(ops) == 1 and parts[1] in ("==", "!=") and parts[0][0] == parts[2][0] == '"':
            return number_text((parts[0] == parts[2]) == (parts[1] == "=="))
        return f"(cmp{self._span(node)} " + " ".join(parts) + ")"

    def _constant(self, value: object, node: ast.expr) -> str:
        if value is None or isinstance(value, (bool, int, float)):
            return number_text(value)
        if isinstance(value, complex):
            return f"(call (builtin complex128) {number_text(value.real)} {number_text(value.imag)})"
        if isinstance(value, str):
            return quoted(value, not value.isprintable())
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


__all__ = ["FunctionWalker", "UnsupportedSyntax", "inner_nodes", "number_text"]
