"""Calls: arguments in the order of the parameters, and functions defined in other functions."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from .words import Nested, bound_names, inner_nodes, local_name
from .writer import NestedFunction, Writer


class CallWriter(Writer):
    """Writes calls."""

    def function(self, node: Nested, name: str, captured: Sequence[str] = ()) -> str:
        raise NotImplementedError

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
        given += map(local_name, nested.captured if nested else [])
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
        own = {*params, *bound_names(inner_nodes(node))}
        used = [inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and inner.id not in own]
        if name in used:
            raise self._unsupported(f"'{name}' calls itself", node, "make it a device function of the module")
        walker = type(self)(
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
        self._nested[name] = NestedFunction(callee, params, captured)
