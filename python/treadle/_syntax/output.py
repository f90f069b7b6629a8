"""What kernels tell the host: print, exceptions and assertions."""

from __future__ import annotations

import ast
import builtins

from .words import quoted
from .writer import Writer


class OutputWriter(Writer):
    """Writes output."""

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
                items.append(quoted(between))
            for piece in arg.values if isinstance(arg, ast.JoinedStr) else [arg]:
                items.append(self._printed(piece))
        if end:
            items.append(quoted(end))
        return f"(print{span} {' '.join(items)})"

    def _printed(self, piece: ast.expr) -> str:
        if not isinstance(piece, ast.FormattedValue):
            return self._expr(piece)
        if piece.conversion != -1:
            raise self._unsupported("conversions (!r) are not supported in kernels", piece)
        form = ""
        if isinstance(piece.format_spec, ast.JoinedStr):
            form = "".join(self._text_of(part, "a format") for part in piece.format_spec.values)
        return f"(fmt{self._span(piece)} {self._expr(piece.value)} {quoted(form)})"

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
        return f"(raise{span} {quoted(name)} {quoted(text)})"
