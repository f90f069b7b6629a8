"""The source text of functions: from their file, from the interpreter's command line, or made from their bytecode."""

from __future__ import annotations

import ast
import functools
import inspect
import io
import sys
import types
from typing import NamedTuple

from treadle.errors import UnsupportedError

Definition = ast.FunctionDef | ast.Lambda


class Source(NamedTuple):
    """Where a function stands: file, number of the first line, and the lines that hold it."""

    file: str
    first_line: int
    text: str
    span: tuple[int, int, int, int] | None = None  # of a lambda in the text: line from 0, byte, last line, byte

    def describe(self, line: int, column: int, end: int) -> str:
        """The place of an error: file, line number, the line and a caret under it."""
        lines = self.text.split("\n")
        text = lines[line] if 0 <= line < len(lines) else ""
        margin = "".join("\t" if letter == "\t" else " " for letter in text[:column])
        caret = margin + "^" * max(1, end - column)
        return f'  File "{self.file}", line {self.first_line + line}\n    {text}\n    {caret}'

    def parse(self, name: str) -> tuple[Definition, int] | None:
        """The definition, and the number of lines that stand before the text in its line numbers."""
        if self.span is not None:
            text, before = self._lambda_alone(), 1
        elif self.text[:1].isspace():
            # It stands in a block. Its comments and strings may begin anywhere, so nothing is taken off its lines.
            text, before = "if True:\n" + self.text, 1
        else:
            text, before = self.text, 0
        try:
            tree = ast.parse(text)
        except SyntaxError:
            return None
        for node in ast.walk(tree):
            if isinstance(node, ast.Lambda) if self.span else isinstance(node, ast.FunctionDef) and node.name == name:
                assert isinstance(node, (ast.FunctionDef, ast.Lambda))
                return node, before
        return None

    def _lambda_alone(self) -> str:
        """The lambda at its place, with spaces for all that stands around it."""
        assert self.span is not None
        line, column, end_line, end_column = self.span
        lines = [text.encode() for text in self.text.split("\n")[: end_line + 1]]
        lines[end_line] = lines[end_line][:end_column]
        lines[line] = b" " * column + lines[line][column:]
        return "(\n" + "\n".join(text.decode() for text in lines) + "\n)"


# Source text that came along with pickled kernels, by what identifies their functions.
Carried = dict[tuple[str, int, bytes], tuple[object, ...]]
_carried: dict[tuple[str, int, bytes], Source] = {}


def identity(function: types.FunctionType) -> tuple[str, int, bytes]:
    code = function.__code__
    return (code.co_name, code.co_firstlineno, code.co_code)


def take_sources(sources: Carried) -> None:
    """Keeps source text for functions whose files are not here."""
    _carried.update({key: Source(*source) for key, source in sources.items()})  # type: ignore[arg-type]


def keep_source(function: types.FunctionType) -> None:
    """Keeps the text as it is now: the file may change before the first launch."""
    if "_treadle_source" not in function.__dict__:
        function._treadle_source = _written_source(function.__code__)  # type: ignore[attr-defined]


def _does_the_same(node: Definition, code: types.CodeType) -> bool:
    """Whether a tree compiles to the code; the reader of bytecode is loaded for those that need it."""
    from treadle import _bytecode

    return _bytecode.does_the_same(node, code)


def source_of(function: types.FunctionType) -> tuple[Source, Definition, int]:
    """The text of a function, its tree, and the number of lines before the text in the tree's line numbers.

    Raises UnsupportedError where there is no text and the bytecode is not understood.
    """
    code = function.__code__
    missing = object()
    kept = function.__dict__.get("_treadle_source", missing)
    for source in (_carried.get(identity(function)), _written_source(code) if kept is missing else kept):
        found = source.parse(code.co_name) if source is not None else None
        if source is None or found is None:
            continue
        # Code of one name may come from several texts: what is typed, executed from strings, or stands on one line.
        doubtful = source.file.startswith("<") or source.span is not None
        if not doubtful or _does_the_same(found[0], code):
            return source, *found
    from treadle import _bytecode

    try:
        source = Source(code.co_filename, code.co_firstlineno, _bytecode.text_of(code))
    except _bytecode.NotUnderstood as error:
        raise UnsupportedError(
            f"function '{function.__name__}' has no source text to compile, and from its bytecode: {error.message}\n"
            f'  File "{code.co_filename}", line {error.line}\n'
            "  hint: put the function into a file"
        ) from None
    if code.co_name == "<lambda>":
        length = len(source.text.rstrip().encode())
        source = source._replace(span=(0, 0, 0, length))
    found = source.parse(code.co_name)
    assert found is not None
    return source, *found


def _written_source(code: types.CodeType) -> Source | None:
    """The text that a function was compiled from, as far as it can be told."""
    if code.co_name != "<lambda>":
        try:
            # Of the code, not the function: a wrapper made with functools.wraps has a text of its own.
            lines, first = inspect.getsourcelines(code)
            return Source(code.co_filename, first, "".join(lines))
        except (OSError, TypeError, SyntaxError):
            pass
    lines = _lines_of(code)
    tree = _tree("".join(lines)) if lines else None
    if tree is None:
        return None
    if code.co_name == "<lambda>":
        node = _lambda_of(tree, code)
        if node is None:
            return None
        first, end = node.lineno, node.end_lineno or node.lineno
        span = (0, node.col_offset, end - first, node.end_col_offset or 0)
        return Source(code.co_filename, first, "".join(lines[first - 1 : end]), span)
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and function.name == code.co_name:
            first = min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])
            if first == code.co_firstlineno:
                return Source(code.co_filename, first, "".join(lines[first - 1 : function.end_lineno]))
    return None


def _lines_of(code: types.CodeType) -> list[str]:
    """All lines of the file that a code object is from, or may be from."""
    try:
        return inspect.findsource(code)[0]
    except (OSError, TypeError):
        pass
    options = sys.orig_argv
    if code.co_filename == "<string>" and "-c" in options[:-1]:
        return io.StringIO(options[options.index("-c") + 1]).readlines()
    return []


@functools.lru_cache(maxsize=4)
def _tree(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None


def _lambda_of(tree: ast.Module, code: types.CodeType) -> ast.Lambda | None:
    """Of the lambdas that begin on the line of a code object, the one that holds the columns of its instructions."""
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda)
        and node.lineno == code.co_firstlineno
        and tuple(arg.arg for arg in node.args.args) == code.co_varnames[: code.co_argcount]
    ]
    places = [
        ((line, column), (end_line, end_column))
        for line, end_line, column, end_column in code.co_positions()
        if column and None not in (line, end_line, end_column)
    ]

    def holds(node: ast.Lambda) -> bool:
        begin, end = (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)
        return all(begin <= first and last <= end for first, last in places)

    fitting = [node for node in found if holds(node) and (len(found) == 1 or _does_the_same(node, code))]
    # The walk goes from the outside in: of nested lambdas that hold all columns, the innermost is meant.
    return fitting[-1] if fitting and (places or len(fitting) == 1) else None
