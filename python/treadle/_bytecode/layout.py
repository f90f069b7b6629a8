"""Statements as source text, each on the line of the file it came from as far as there is room."""

from __future__ import annotations

import ast

_COMPOUND = (ast.If, ast.For, ast.While, ast.FunctionDef)


class Layout:
    """Collects lines; ``first`` is the number of the first."""

    def __init__(self, first: int) -> None:
        self._first = first
        self._lines: list[str] = []
        self._joinable = False  # whether a statement may follow on the last line

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"

    def _add(self, line: int, text: str, indent: int, simple: bool) -> None:
        wanted = line - self._first
        if simple and self._joinable and line and wanted == len(self._lines) - 1:
            self._lines[-1] += f"; {text}"
            return
        self._lines += [""] * (wanted - len(self._lines))
        self._lines.append(" " * (4 * indent) + text)
        self._joinable = simple

    def header(self, line: int, text: str, indent: int = 0) -> None:
        self._add(line, text, indent, False)

    def block(self, statements: list[ast.stmt], indent: int) -> None:
        for statement in statements or [ast.Pass()]:
            self.statement(statement, indent)
        self._joinable = False

    def statement(self, statement: ast.stmt, indent: int) -> None:
        line = getattr(statement, "lineno", 0)
        match statement:
            case ast.If():
                self._if(statement, indent, "if")
            case ast.While(test=test, body=body, orelse=orelse):
                self._loop(line, f"while {ast.unparse(test)}:", body, orelse, indent)
            case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
                loop = ast.For(target, iterable, [], [])
                self._loop(line, ast.unparse(ast.fix_missing_locations(loop)).split("\n")[0], body, orelse, indent)
            case ast.FunctionDef(name=name, args=args, body=body):
                self.header(line, f"def {name}({ast.unparse(args)}):", indent)
                self.block(body, indent + 1)
            case _:
                self._add(line, ast.unparse(ast.fix_missing_locations(statement)), indent, True)

    def _if(self, statement: ast.If, indent: int, word: str) -> None:
        self.header(statement.lineno, f"{word} {ast.unparse(statement.test)}:", indent)
        self.block(statement.body, indent + 1)
        orelse = statement.orelse
        if len(orelse) == 1 and isinstance(orelse[0], ast.If):
            self._if(orelse[0], indent, "elif")
        elif orelse:
            self.header(0, "else:", indent)
            self.block(orelse, indent + 1)

    def _loop(self, line: int, header: str, body: list[ast.stmt], orelse: list[ast.stmt], indent: int) -> None:
        self.header(line, header, indent)
        self.block(body, indent + 1)
        if orelse:
            self.header(0, "else:", indent)
            self.block(orelse, indent + 1)
