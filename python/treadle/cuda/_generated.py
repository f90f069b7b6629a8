"""Kernels around a user's function whose number of parameters is known at run time only: they are written as text."""

from __future__ import annotations

import linecache
import types
from typing import Any

from treadle.cuda import _intrinsics
from treadle.cuda._kernel import Dispatcher, jit


def kernel_around(core: Any, parameters: list[str], count: str, statement: str) -> Dispatcher:
    """The kernel in which each thread i below ``count`` runs a statement with ``core``, a function or device function."""
    text = f"def kernel({', '.join(parameters)}):\n    i = grid(1)\n    if i < {count}:\n        {statement}\n"
    name = f"<treadle kernel: {statement}>"
    # The compiler reads a kernel's text where tracebacks do; entries without a time are never thrown away.
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"core": core, "grid": _intrinsics.grid, "__name__": __name__}
    exec(compile(text, name, "exec"), scope)
    return jit(scope["kernel"])


def core_function(function: Any, what: str) -> types.FunctionType:
    """The Python function behind a function or device function. Raises TypeError for anything else."""
    found = getattr(function, "py_func", function)
    if not isinstance(found, types.FunctionType):
        raise TypeError(f"{what}: expected a function, got {type(function).__name__}")
    return found


def function_of(
    name: str, parameters: list[str], lines: list[str], scope: dict[str, Any], doc: str
) -> types.FunctionType:
    """A device function whose body is text; the names in it are those of ``scope``."""
    text = f"def {name}({', '.join(parameters)}):\n" + "".join(f"    {line}\n" for line in lines)
    file = f"<treadle function: {scope.get('__name__', '')}.{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    made: dict[str, Any] = {}
    exec(compile(text, file, "exec"), scope, made)
    function: types.FunctionType = made[name]
    function.__doc__ = doc
    return function
