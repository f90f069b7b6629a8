"""What all parts of the walk share: places in the text, names, and the way to write an expression."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable
from typing import NamedTuple

from .words import UnsupportedSyntax

# resolve(name, attributes, node) gives the text of a free name with its attribute chain, and how many attributes that covers.
Resolver = Callable[[str, list[str], ast.AST], tuple[str, int]]
# parameters(callee, node) gives the names and default values of a device function from its text.
Parameters = Callable[[str, ast.AST], list[tuple[str, str | None]] | None]
# define(text) makes a nested function one of the program and gives the text that calls it.
Define = Callable[[str], str]


class NestedFunction(NamedTuple):
    """A function defined in another: how it is called, its parameters, and variables around it, given as further arguments."""

    callee: str
    params: list[str]
    captured: list[str]


class Writer:
    """The state of writing one function."""

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
        self._nested: dict[str, NestedFunction] = {}
        self._first_line = first_line
        self._spans = spans
        self._lines = lines or []
        self._is_python = is_python
        self._stops = stops
        self._locals: set[str] = set()
        self._chained = itertools.count(1)

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

    def _is_builtin(self, name: str) -> bool:
        return name not in self._locals and self._is_python(name)

    def _expr(self, node: ast.expr | None) -> str:
        raise NotImplementedError

    def _text_of(self, node: ast.expr, what: str) -> str:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        raise self._unsupported(f"{what} must be constant text in kernels", node)
