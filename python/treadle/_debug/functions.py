"""Kernels and device functions made ready for Python, once for each combination of argument types."""

from __future__ import annotations

import ast
import builtins
import copy
import json
import types
from typing import TYPE_CHECKING, Any

from treadle import _treadle
from treadle._debug import rewrite
from treadle._debug.intrinsics import ThreadValue
from treadle._debug.names import is_namespace, meaning
from treadle._debug.places import MARK
from treadle._debug.values import Code, code_of, convert, evaluate, firm, lift, negated
from treadle._program import Program, free_names
from treadle._source import source_of
from treadle.errors import UnsupportedError

if TYPE_CHECKING:
    from treadle._debug.launch import Run


class Function:
    """A function of the user's as kernels call it. declared: names of the types of its result and arguments, or nothing."""

    def __init__(self, run: Run, function: types.FunctionType, declared: list[str]) -> None:
        self._run = run
        self._function = function
        self._declared = declared
        self._made: dict[Any, Any] = {}
        self._compiled: _treadle.Function | None = None
        self.__name__ = function.__name__

    def __repr__(self) -> str:
        return f"<device function {self.__name__}>"

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        values = [firm(lift(arg)) for arg in self._ordered(args, keywords)]
        if not self._declared:
            return self.ready(values)(*values)
        result, *types = self._declared
        values = [_declared(value, kind) for value, kind in zip(values, types, strict=True)]
        return _declared(self.ready(values)(*values), result)

    def _ordered(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> list[Any]:
        """The arguments of a call by the order of the parameters, with the default values."""
        code = self._function.__code__
        names = code.co_varnames[: code.co_argcount]
        defaults = self._function.__defaults__ or ()
        known = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
        values = {name: meaning(self._run, value) for name, value in known.items()}
        values |= dict(zip(names, args, strict=False)) | keywords
        missing = [name for name in names if name not in values]
        if missing or len(args) > len(names) or len(values) > len(names):
            raise TypeError(f"{self.__name__}: expected the arguments {', '.join(names)}")
        return [values[name] for name in names]

    @property
    def compiled(self) -> _treadle.Function:
        """The compiled side, for what it knows of types."""
        if self._compiled is None:
            program = Program(self._function, stops=True)
            self._compiled = _treadle.make_function(
                self.__name__, program.text, program.sources, *self._run.options[:3], ""
            )
        return self._compiled

    def types(self, codes: list[Code]) -> rewrite.Types:
        lines = self.compiled.dump(codes, "types", self._run.block).splitlines()
        return rewrite.Types([json.loads(line) for line in lines])

    def ready(self, values: list[Any]) -> Any:
        """The Python function for arguments of these types."""
        try:
            codes: Any = tuple(map(code_of, values))
        except TypeError:
            codes = None  # functions and groups: the kernel's own types hold what is known
        if codes not in self._made:
            found = self._run.kernel_types.of_function(self.__name__) if codes is None else self.types(list(codes))
            self._made[codes] = self._make(found)
        return self._made[codes]

    def _make(self, found: rewrite.Types) -> Any:
        source, node, before = source_of(self._function)
        names = free_names(self._function)
        lines = [""] * before + source.text.split("\n")

        def column(line: int, offset: int) -> int:
            text = lines[line - 1] if line <= len(lines) else ""
            return offset if text.isascii() else len(text.encode()[:offset].decode(errors="ignore"))

        def look_up(name: str, chain: list[str]) -> tuple[Any, int]:
            value = names[name] if name in names else getattr(builtins, name, None)
            used = 0
            while used < len(chain) and (
                is_namespace(value) or isinstance(value, type) or hasattr(type(value), "_member_map_")
            ):
                if not hasattr(value, chain[used]):
                    break
                value = getattr(value, chain[used])
                used += 1
            return value, used

        rewriter = rewrite.Rewriter(
            found,
            1 + before,
            column,
            look_up,
            lambda value: isinstance(meaning(self._run, value), ThreadValue) if hasattr(value, "builtin") else False,
            self._run.contract,
        )
        try:
            tree = rewriter.function(copy.deepcopy(node), self.__name__)
        except rewrite.Ambiguous:
            raise UnsupportedError(
                f"debug: a function that '{self.__name__}' defines or is given is called with several types of arguments\n"
                "  hint: make it a device function"
            ) from None
        ast.increment_lineno(tree, source.first_line - 1 - before)
        scope = self._globals(tree, names)
        scope |= rewriter.constants
        exec(compile(ast.Module([tree], []), source.file, "exec", dont_inherit=True, optimize=0), scope)
        made = scope[self.__name__]
        if meaning(self._run, names.get(self.__name__)) is self:
            scope[self.__name__] = self  # which finds the code for the types of each call
        return made

    def _globals(self, tree: ast.AST, names: dict[str, Any]) -> dict[str, Any]:
        run = self._run
        scope: dict[str, Any] = {
            "__name__": self._function.__module__,
            MARK: run,
            rewrite.CONVERT: convert,
            rewrite.FIRM: firm,
            rewrite.NOT: negated,
            rewrite.ROUND: lambda: run.crew.round(),
            rewrite.FUSED: evaluate,
            rewrite.VALUE: lambda value: meaning(run, value).get(),
            "print": run.print,
            "breakpoint": run.breakpoint,
        }
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id != self.__name__}
        for name in used:
            if name in names:
                scope[name] = meaning(run, names[name])
            elif hasattr(builtins, name) and name not in scope:
                scope[name] = meaning(run, getattr(builtins, name))
        return scope


def _declared(value: Any, kind: str) -> Any:
    return value if kind == "-" else convert(value, ("scalar", kind))
