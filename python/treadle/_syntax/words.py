"""What Python's constructs are called in the kernel syntax text, and in messages about those that kernels lack."""

from __future__ import annotations

import ast

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
UNARY = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}
COMPARE = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is_not",
}
CONSTRUCTS = {
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
HINTS = {
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


def local_name(name: str) -> str:
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


def bound_names(nodes: list[ast.AST]) -> list[str]:
    """The names assigned among the nodes, as often as they are."""
    return [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]


def quoted(text: str, ascii_only: bool = True) -> str:
    """The text as a string of the syntax: JSON's, whose module few kernels need."""
    import json

    return json.dumps(text, ensure_ascii=ascii_only)
