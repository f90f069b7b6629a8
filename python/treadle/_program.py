"""From a Python function to the program the compiler takes: source text, names resolved, device functions gathered."""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import textwrap
import types
from typing import Any

import numpy as np

from treadle._syntax import FunctionWalker, UnsupportedSyntax, number_text
from treadle._types import SUPPORTED
from treadle.cuda._intrinsics import NOT_YET, Intrinsic
from treadle.errors import CompileError, UnsupportedError

_PYTHON: tuple[Any, ...] = (abs, bool, complex, divmod, float, int, len, max, min, pow, range, round)
_MATH_NAMES = (
    "acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh degrees erf erfc exp expm1 fabs floor fmod frexp gamma hypot "
    "isfinite isinf isnan ldexp lgamma log log10 log1p log2 modf pow radians remainder sin sinh sqrt tan tanh trunc"
).split()


def _builtin_names() -> dict[Any, str]:
    names: dict[Any, str] = {function: function.__name__ for function in _PYTHON}
    names |= {getattr(math, name): name for name in _MATH_NAMES}
    for name in ("exp2", "cbrt"):
        if hasattr(math, name):
            names[getattr(math, name)] = name
    names |= {np.dtype(name).type: name for name in SUPPORTED}
    names |= {
        np.sqrt: "sqrt",
        np.exp: "exp",
        np.log: "log",
        np.sin: "sin",
        np.cos: "cos",
        np.tan: "tan",
        np.abs: "abs",
        np.floor: "floor",
    }
    return names


_BUILTINS = _builtin_names()
_MOST_CONSTANT_BYTES = 1 << 20  # the text of a kernel holds them


# Source text that came along with pickled kernels, by what identifies their functions.
_carried: dict[tuple[str, int, bytes], tuple[str, int, str]] = {}


def _identity(function: types.FunctionType) -> tuple[str, int, bytes]:
    code = function.__code__
    return (code.co_name, code.co_firstlineno, code.co_code)


def take_sources(sources: dict[tuple[str, int, bytes], tuple[str, int, str]]) -> None:
    """Keeps source text for functions whose files are not here."""
    _carried.update(sources)


class Source:
    """Where a function stands: file, first line and text, dedented."""

    @classmethod
    def of(cls, function: types.FunctionType) -> Source:
        """The text kept when the function was decorated, or the file's now."""
        kept = function.__dict__.get("_treadle_source")
        return kept if isinstance(kept, cls) else cls(function)

    def __init__(self, function: types.FunctionType) -> None:
        try:
            # Of the code, not the function: a wrapper made with functools.wraps has a text of its own.
            lines, self.first_line = inspect.getsourcelines(function.__code__)
            self.file = function.__code__.co_filename
            self.text = "".join(lines)
        except (OSError, TypeError) as error:
            if _identity(function) not in _carried:
                raise CompileError(
                    f"kernel '{function.__name__}': its source text is not available ({error}); put the kernel into a file"
                ) from None
            self.file, self.first_line, self.text = _carried[_identity(function)]

    def describe(self, line: int, column: int, end: int) -> str:
        """The place of an error: file, line number, the line and a caret under it."""
        lines = self.text.splitlines()
        text = lines[line] if 0 <= line < len(lines) else ""
        margin = "".join("\t" if letter == "\t" else " " for letter in text[:column])
        caret = margin + "^" * max(1, end - column)
        return f'  File "{self.file}", line {self.first_line + line}\n    {text}\n    {caret}'


def _find(tree: ast.AST, function: types.FunctionType, source: Source) -> ast.FunctionDef | ast.Lambda:
    if function.__code__.co_name != "<lambda>":
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name == function.__code__.co_name:
                return node
    wanted = list(function.__code__.co_varnames[: function.__code__.co_argcount])
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda) and [arg.arg for arg in node.args.args] == wanted
    ]
    if len(found) == 1:
        return found[0]
    raise CompileError(
        f"kernel '{function.__name__}': cannot tell which lambda of {source.file}:{source.first_line} is meant"
    )


class Program:
    """The kernel syntax text of a function and of all device functions that it reaches."""

    def __init__(self, function: types.FunctionType) -> None:
        self._functions: list[types.FunctionType] = []
        self._first = 1  # line of the tree at which the function being written begins
        self._texts: list[str] = []
        self.sources: list[tuple[str, int, str]] = []
        self._add(function)
        self.text = "\n".join(self._texts)

    def portable_sources(self) -> dict[tuple[str, int, bytes], tuple[str, int, str]]:
        """The source text of every function, for a process that does not have the files."""
        return {_identity(function): source for function, source in zip(self._functions, self.sources, strict=True)}

    def _add(self, function: types.FunctionType) -> int:
        for number, known in enumerate(self._functions):
            if known is function:
                return number
        number = len(self._functions)
        source = Source.of(function)
        self._functions.append(function)
        self._texts.append("")
        self.sources.append((source.file, source.first_line, source.text))
        names = _free_names(function)

        def resolve(name: str, chain: list[str], node: ast.AST) -> tuple[str, int]:
            if name not in names and not hasattr(builtins, name):
                raise UnsupportedSyntax(f"name '{name}' is not defined", node, self._first)
            value = names[name] if name in names else getattr(builtins, name)
            used = 0
            while used < len(chain) and _is_namespace(value):
                if chain[used] in NOT_YET and getattr(value, "__name__", "") in ("treadle.cuda", "numba.cuda"):
                    raise UnsupportedSyntax(f"cuda.{chain[used]} is not supported in kernels yet", node, self._first)
                if not hasattr(value, chain[used]):
                    raise UnsupportedSyntax(f"'{name}' has no attribute '{chain[used]}'", node, self._first)
                value = getattr(value, chain[used])
                used += 1
            return self._value(value, ".".join([name, *chain[:used]]), node), used

        try:
            outer = self._first
            tree, before = _parse(source.text, function.__code__.co_name == "<lambda>")
            node = _find(tree, function, source)
            self._first = 1 + before
            walker = FunctionWalker(
                resolve,
                self._first,
                lines=[""] * before + source.text.splitlines(),
                is_python=lambda name: name not in names or names[name] is getattr(builtins, name, None),
            )
            self._texts[number] = walker.function(node, _identifier(function.__code__.co_name))
            self._first = outer
        except RecursionError:
            raise CompileError(f"kernel '{function.__name__}': an expression is nested too deeply") from None
        except UnsupportedSyntax as error:
            hint = f"\n  hint: {error.hint}" if error.hint else ""
            raise UnsupportedError(
                f"{error.message}\n{source.describe(error.line, error.column, error.end)}{hint}"
            ) from None
        return number

    def _value(self, value: Any, name: str, node: ast.AST) -> str:
        """The text of what a global name or closure variable holds: frozen now."""
        if value is None or isinstance(value, (bool, int, float)) and not isinstance(value, np.generic):
            return number_text(value)
        if isinstance(value, complex) and not isinstance(value, np.generic):
            return f"(call (builtin complex128) {number_text(value.real)} {number_text(value.imag)})"
        if getattr(value, "__module__", None) == "cmath" and callable(value):
            value = _complex_function(value.__name__)
        if isinstance(value, Intrinsic):
            return f"(builtin {value.builtin})"
        if isinstance(value, np.generic) and value.dtype.name in SUPPORTED:
            if isinstance(value, np.complexfloating):
                return f"(call (builtin {value.dtype.name}) {number_text(value.real.item())} {number_text(value.imag.item())})"
            return f"(call (builtin {value.dtype.name}) {number_text(value.item())})"
        if isinstance(value, np.dtype) and value.name in SUPPORTED:
            return f"(builtin {value.name})"
        if isinstance(value, tuple):
            return "(tuple " + " ".join(self._value(item, name, node) for item in value) + ")"
        if isinstance(value, str):
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        if isinstance(value, np.ndarray):
            return self._constant_array(value, name, node)
        kernel_type = getattr(value, "_treadle_dtype", None)
        if type(value).__module__.startswith("numba.") and str(value) in SUPPORTED:
            kernel_type = str(value)
        if kernel_type is not None:
            return f"(builtin {kernel_type})"
        try:
            builtin = _BUILTINS.get(value)
        except TypeError:
            builtin = None
        if builtin is not None:
            return f"(builtin {builtin})"
        function = getattr(value, "py_func", value)
        if isinstance(function, types.FunctionType):
            return f"(function {self._add(function)})"
        hint = (
            "pass arrays as arguments"
            if hasattr(value, "shape")
            else "kernels know numbers, tuples, math, numpy types and device functions"
        )
        raise UnsupportedSyntax(
            f"'{name}' is a {type(value).__name__}, which kernels cannot use", node, self._first, hint
        )

    def _constant_array(self, value: np.ndarray[Any, Any], name: str, node: ast.AST) -> str:
        """A host array as it is now; the kernel reads its own copy."""
        if value.dtype.name not in SUPPORTED:
            raise UnsupportedSyntax(
                f"'{name}' is an array of {value.dtype}, which kernels cannot use", node, self._first
            )
        if value.nbytes > _MOST_CONSTANT_BYTES:
            raise UnsupportedSyntax(
                f"'{name}' has {value.nbytes} bytes, and constant arrays at most {_MOST_CONSTANT_BYTES}",
                node,
                self._first,
                "pass the array as an argument",
            )
        extents = " ".join(map(str, value.shape))
        native = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("="))
        return f'(constarray {value.dtype.name} (tuple {extents}) "{native.tobytes().hex()}")'


def _complex_function(name: str) -> Any:
    """What stands for a function of Python's cmath."""
    from treadle.cuda import _cmath

    return getattr(_cmath, name, None)


def _identifier(name: str) -> str:
    return name if name.isidentifier() else "lambda_"


def _parse(text: str, is_lambda: bool) -> tuple[ast.Module, int]:
    """The tree of a function's text and the number of lines put before it."""
    if is_lambda:
        return ast.parse(_statement(textwrap.dedent(text))), 0
    # An indented function stands in a block: its comments and strings may begin anywhere, so nothing is taken off its lines.
    if text[:1].isspace():
        return ast.parse("if True:\n" + text), 1
    return ast.parse(text), 0


def _statement(text: str) -> str:
    """The text as something that parses: the source of a lambda may begin inside an expression or be cut after it."""
    try:
        ast.parse(text)
        return text
    except SyntaxError:
        start = text.find("lambda")
        if start < 0:
            raise
        for end in range(len(text), start, -1):
            candidate = " " * start + text[start:end]
            try:
                ast.parse(candidate.lstrip())
                return candidate.lstrip()
            except SyntaxError:
                continue
        raise


def _is_namespace(value: Any) -> bool:
    """Whether attributes of a free name are looked up now: modules, classes and the index objects, not values."""
    return isinstance(value, (types.ModuleType, type)) or type(value).__name__ in ("Dim3", "Namespace")


def _free_names(function: types.FunctionType) -> dict[str, Any]:
    names = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:
            continue  # not assigned yet
    return names
