"""From a Python function to the program the compiler takes: source text, names resolved, device functions gathered."""

from __future__ import annotations

import ast
import builtins
import enum
import math
import types
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from treadle._bfloat16 import BFloat16, host_dtype, is_bfloat16
from treadle._desugar import Desugarer, NotPossible, is_needed
from treadle._kernel_types import Boolean, Float, Integer, Signature
from treadle._records import element_name, is_record, numpy_dtype
from treadle._signatures import as_type
from treadle._source import Carried, Definition, Source, identity, source_of
from treadle._syntax import FunctionWalker, UnsupportedSyntax, inner_nodes, number_text
from treadle._types import DTYPES
from treadle.cuda._declared import DeclaredFunction
from treadle.cuda._intrinsics import Intrinsic
from treadle.cuda._vector_types import VectorType
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
    names |= {dtype.type: name for name, dtype in DTYPES.items()}
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


BUILTINS = _builtin_names()  # functions and types by what they are called in the compiler's table
_MOST_CONSTANT_BYTES = 1 << 20  # the text of a kernel holds them


class Program:
    """The kernel syntax text of a function and of all device functions that it reaches. ``stops``: it is for the debugger, where
    calls of ``breakpoint`` have a meaning."""

    def __init__(self, function: types.FunctionType, stops: bool = False) -> None:
        self._stops = stops
        self._functions: list[types.FunctionType | None] = []  # None: a function nested in another
        self._first = 1  # line of the tree at which the function being written begins
        self._texts: list[str] = []
        self._sources: list[Source] = []
        self.links: list[Any] = []  # of the declared functions, what their code is found in
        self._add(function, None)
        self.text = "\n".join(self._texts)
        self.sources = [source[:3] for source in self._sources]

    def portable_sources(self) -> Carried:
        """The source text of every function, for a process that does not have the files."""
        pairs = zip(self._functions, self._sources, strict=True)
        return {identity(function): tuple(source) for function, source in pairs if function is not None}

    def _add(self, function: types.FunctionType, declared: Signature | None) -> int:
        for number, known in enumerate(self._functions):
            if known is function:
                return number
        number = len(self._functions)
        try:
            source, node, before = source_of(function)
        except RecursionError:
            raise CompileError(f"kernel '{function.__name__}': an expression is nested too deeply") from None
        self._functions.append(function)
        self._texts.append("")
        self._sources.append(source)
        names = free_names(function)

        def define(text: str) -> str:
            self._functions.append(None)
            self._texts.append(text)
            self._sources.append(source)
            return f"(function {len(self._functions) - 1})"

        def look_up(name: str, chain: list[str], node: ast.AST) -> tuple[Any, int]:
            if name not in names and not hasattr(builtins, name):
                raise UnsupportedSyntax(f"name '{name}' is not defined", node, self._first)
            value = names[name] if name in names else getattr(builtins, name)
            used = 0
            while used < len(chain) and (_is_namespace(value) or isinstance(value, enum.Enum)):
                if not hasattr(value, chain[used]):
                    raise UnsupportedSyntax(f"'{name}' has no attribute '{chain[used]}'", node, self._first)
                value = getattr(value, chain[used])
                used += 1
            return value, used

        def resolve(name: str, chain: list[str], node: ast.AST) -> tuple[str, int]:
            value, used = look_up(name, chain, node)
            return self._value(value, ".".join([name, *chain[:used]]), node), used

        try:
            outer = self._first
            self._first = 1 + before
            node = self._desugared(node, look_up)
            walker = FunctionWalker(
                resolve,
                self._first,
                lines=[""] * before + source.text.split("\n"),
                parameters=self._parameters,
                define=define,
                is_python=lambda name: name not in names or names[name] is getattr(builtins, name, None),
                stops=self._stops,
            )
            self._texts[number] = walker.function(
                node, _identifier(function.__code__.co_name), types=declared_types(declared)
            )
            self._first = outer
        except RecursionError:
            raise CompileError(f"kernel '{function.__name__}': an expression is nested too deeply") from None
        except UnsupportedSyntax as error:
            hint = f"\n  hint: {error.hint}" if error.hint else ""
            raise UnsupportedError(
                f"{error.message}\n{source.describe(error.line, error.column, error.end)}{hint}"
            ) from None
        return number

    def _desugared(self, node: Definition, look_up: Callable[..., tuple[Any, int]]) -> Definition:
        if isinstance(node, ast.Lambda) or not is_needed(node):
            return node
        bound = [arg.arg for arg in node.args.args]
        lengths: dict[str, int] = {}
        for inner in inner_nodes(node):
            match inner:
                case ast.Name(id=name, ctx=ast.Store()):
                    bound.append(name)
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Tuple(elts=elements)):
                    lengths[name] = len(elements)

        def length_of(iterable: ast.expr) -> int | None:
            chain: list[str] = []
            base = iterable
            while isinstance(base, ast.Attribute):
                chain.insert(0, base.attr)
                base = base.value
            if not isinstance(base, ast.Name):
                return None
            if base.id in bound:
                return lengths.get(base.id) if not chain and bound.count(base.id) == 1 else None
            value, used = look_up(base.id, chain, iterable)
            return len(value) if used == len(chain) and isinstance(value, tuple) else None

        try:
            body = Desugarer(length_of).body(node.body)
        except NotPossible as error:
            raise UnsupportedSyntax(error.message, error.node, self._first, error.hint) from None
        made = ast.FunctionDef(node.name, node.args, body, node.decorator_list, node.returns)
        return ast.copy_location(made, node)

    def _parameters(self, callee: str, node: ast.AST) -> list[tuple[str, str | None]] | None:
        """The parameters of a device function, given its text, and the texts of their default values."""
        if not callee.startswith("(function "):
            return None
        function = self._functions[int(callee[len("(function ") : -1])]
        if function is None:
            return None
        code = function.__code__
        names = code.co_varnames[: code.co_argcount]
        values = function.__defaults__ or ()
        defaults: list[str | None] = [self._value(value, "a default value", node) for value in values]
        return list(zip(names, [None] * (len(names) - len(defaults)) + defaults, strict=True))

    def _value(self, value: Any, name: str, node: ast.AST) -> str:
        """The text of what a global name or closure variable holds: frozen now."""
        if isinstance(value, BFloat16):
            return f"(call (builtin bfloat16) {number_text(float(value))})"
        if value is None or isinstance(value, (bool, int, float)) and not isinstance(value, np.generic):
            return number_text(value)
        if isinstance(value, complex) and not isinstance(value, np.generic):
            return f"(call (builtin complex128) {number_text(value.real)} {number_text(value.imag)})"
        if getattr(value, "__module__", None) == "cmath" and callable(value):
            value = complex_function(value.__name__)
        if isinstance(value, DeclaredFunction):
            self.links += [link for link in value.links if link not in self.links]
            return value.text
        if _is_from_buffer(value):
            return f"(function {self._add(cast(types.FunctionType, from_buffer), None)})"
        if isinstance(value, Intrinsic):
            return f"(builtin {value.builtin})"
        if isinstance(value, np.generic) and value.dtype.name in DTYPES:
            if isinstance(value, np.complexfloating):
                return f"(call (builtin {value.dtype.name}) {number_text(value.real.item())} {number_text(value.imag.item())})"
            return f"(call (builtin {value.dtype.name}) {number_text(value.item())})"
        if isinstance(value, np.void):
            return f"(item {self._constant_array(np.asarray(value).reshape(1), name, node)} 0)"
        if isinstance(value, np.dtype) and value.names is not None:
            return self._element(value, name, node)
        if isinstance(value, np.dtype) and value.name in DTYPES:
            return f"(builtin {value.name})"
        if isinstance(value, enum.Enum):
            return self._value(value.value, name, node)
        if isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
            return f"(tupletype {_identifier(value.__name__)} {' '.join(value._fields)})"
        if isinstance(value, VectorType):
            return value.text
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            items = " ".join(self._value(item, name, node) for item in value)
            return f"(call {self._value(type(value), name, node)} {items})"
        if isinstance(value, tuple):
            return "(tuple " + " ".join(self._value(item, name, node) for item in value) + ")"
        if isinstance(value, str):
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        if isinstance(value, np.ndarray):
            return self._constant_array(value, name, node)
        kernel_type = getattr(value, "_treadle_dtype", None)
        if isinstance(value, type) and is_bfloat16(value):
            kernel_type = "bfloat16"
        if type(value).__module__.startswith("numba.") and str(value) in DTYPES:
            kernel_type = str(value)
        if type(value).__module__.startswith("numba.") and hasattr(value, "fields"):
            kernel_type = as_type(value).code()[1]
        if kernel_type is not None:
            return kernel_type if is_record(kernel_type) else f"(builtin {kernel_type})"
        try:
            builtin = BUILTINS.get(value)
        except TypeError:
            builtin = None
        if builtin is not None:
            return f"(builtin {builtin})"
        function = getattr(value, "py_func", value)
        if getattr(value, "__module__", None) == "_operator":
            from treadle.cuda._operators import operator_function  # few programs use them

            function = operator_function(value.__name__)
        if isinstance(function, types.FunctionType):
            return f"(function {self._add(function, getattr(value, 'declared', None))})"
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
        element = self._element(value.dtype, name, node)
        if value.nbytes > _MOST_CONSTANT_BYTES:
            raise UnsupportedSyntax(
                f"'{name}' has {value.nbytes} bytes, and constant arrays at most {_MOST_CONSTANT_BYTES}",
                node,
                self._first,
                "pass the array as an argument",
            )
        extents = " ".join(map(str, value.shape))
        native = np.ascontiguousarray(value, dtype=host_dtype(numpy_dtype(element)))
        return f'(constarray {element} (tuple {extents}) "{native.tobytes().hex()}")'

    def _element(self, dtype: np.dtype[Any], name: str, node: ast.AST) -> str:
        """The text of an element type."""
        try:
            return element_name(dtype, f"'{name}'")
        except TypeError as error:
            raise UnsupportedSyntax(f"{error}, which kernels cannot use", node, self._first) from None


def complex_function(name: str) -> Any:
    """What stands for a function of Python's cmath."""
    from treadle.cuda import _cmath

    return getattr(_cmath, name, None)


def declared_types(signature: Signature | None) -> list[str]:
    """The types to which a device function's result and arguments are converted: numbers' names, or "-" for what is left as it is;
    nothing where none are declared."""
    if signature is None:
        return []
    items = (signature.return_type, *signature.args)
    return [item.name if isinstance(item, (Boolean, Integer, Float)) else "-" for item in items]


def _identifier(name: str) -> str:
    return name if name.isidentifier() else "lambda_"


def _is_namespace(value: Any) -> bool:
    """Whether attributes of a free name are looked up now: modules, classes and the index objects, not values."""
    return isinstance(value, (types.ModuleType, type)) or type(value).__name__ in ("Dim3", "Namespace", "FFI")


def _is_from_buffer(value: Any) -> bool:
    """cffi's way to the address of an array, which numba programs pass to functions in C."""
    return (
        getattr(value, "__name__", None) == "from_buffer" and type(getattr(value, "__self__", None)).__name__ == "FFI"
    )


def from_buffer(array: Any) -> Any:
    """What stands for cffi's function in kernels."""
    return array


def free_names(function: types.FunctionType) -> dict[str, Any]:
    names = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:
            continue  # not assigned yet
    return names
