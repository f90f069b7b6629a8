"""``import treadle.dropin`` as a program's first line makes ``cupy`` and ``numba.cuda`` mean Treadle.

``treadle run`` does the same. Only CUDA names are taken over: an installed numba keeps everything else. Processes started by
multiprocessing follow suit.
"""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

_TARGETS = {
    "cupy": "treadle.compat.cupy",
    "cupy.cuda": "treadle.compat.cupy_cuda",
    "cupy.cuda.runtime": "treadle.compat.cupy_runtime",
    "cupy.random": "treadle.random",
    "numba.cuda": "treadle.compat.numba_cuda",
    "numba.cuda.types": "treadle.types",
    "numba.cuda.errors": "treadle.compat.numba_cudadrv_names",
    "numba.cuda.libdevice": "treadle.cuda.libdevice",
    "numba.cuda.random": "treadle.cuda.random",
    "numba.cuda.kernels": "treadle.compat.numba_cuda",
    "numba.cuda.kernels.reduction": "treadle.compat.numba_cuda",
    "numba.cuda.cudadrv": "treadle.compat.numba_cudadrv",
}
_TARGETS |= {
    "cuda.core": "treadle.core",
    "cuda.core.experimental": "treadle.core",
    "cuda.core.utils": "treadle.core.utils",
    "cuda.bindings": "treadle.compat.cuda_bindings",
    "cuda.bindings.nvrtc": "treadle.compat.cuda_nvrtc",
    "cuda.profiler": "treadle.profiler",
}
_TARGETS |= {
    f"numba.cuda.{name}": "treadle.compat.numba_cuda"
    for name in ("api", "args", "compiler", "decorators", "dispatcher")
}
_TARGETS |= {
    f"numba.cuda.cudadrv.{name}": "treadle.compat.numba_cudadrv_names"
    for name in ("devicearray", "devices", "driver", "error", "nvvm", "runtime")
}
# Used only where no numba is installed.
_NUMBA_WITHOUT_NUMBA = {
    "numba": "treadle.compat.numba",
    "numba.types": "treadle.types",
    "numba.core": "treadle.compat.numba_core",
    "numba.core.config": "treadle.compat.numba_config",
    "numba.core.errors": "treadle.compat.numba_errors",
    "numba.core.types": "treadle.types",
    "numba.np": "treadle.compat.numba_np",
    "numba.np.numpy_support": "treadle.compat.numba_np",
}


def _join_errors(errors: ModuleType) -> None:
    """Puts Treadle's exceptions and warnings below those of numba's with the same meaning: ``except numba.core.errors.TypingError``
    catches Treadle's. An except clause looks at base classes and nothing else, so they become base classes."""
    from treadle import errors as own

    for ours, name in (
        (own.CompileError, "NumbaError"),
        (own.TypingError, "TypingError"),
        (own.UnsupportedError, "UnsupportedError"),
        (own.HostArrayWarning, "NumbaPerformanceWarning"),
    ):
        theirs = getattr(errors, name, None)
        if theirs is not None and not issubclass(ours, theirs):
            ours.__bases__ = (*ours.__bases__, theirs)


def _take_over_decorators(numba: ModuleType) -> None:
    """``numba.vectorize`` and ``numba.guvectorize`` with target="cuda" are Treadle's."""
    from treadle import cuda

    def choose(name: str) -> None:
        theirs, ours = getattr(numba, name), getattr(cuda, name)

        @functools.wraps(theirs)
        def decorate(*args: Any, **options: Any) -> Any:
            return ours(*args, **options) if options.get("target") == "cuda" else theirs(*args, **options)

        setattr(numba, name, decorate)

    for name in ("vectorize", "guvectorize"):
        if hasattr(numba, name):
            choose(name)


# What is done to modules of an installed numba once they are imported.
_AFTERWARDS: dict[str, Callable[[ModuleType], None]] = {
    "numba": _take_over_decorators,
    "numba.core.errors": _join_errors,
}


class _AliasLoader(importlib.abc.Loader):
    def __init__(self, target: str) -> None:
        self._target = target

    def exec_module(self, module: ModuleType) -> None:
        source = importlib.import_module(self._target)
        own = {
            name: value
            for name, value in vars(source).items()
            if name not in ("__name__", "__spec__", "__loader__", "__package__", "__path__")
        }
        vars(module).update(own)

        def missing(name: str) -> Any:
            try:
                return getattr(source, name)
            except AttributeError:
                if f"{module.__name__}.{name}" in _ALIASES:
                    return importlib.import_module(f"{module.__name__}.{name}")
                raise AttributeError(f"module '{module.__name__}' of Treadle has no attribute '{name}'") from None

        vars(module)["__getattr__"] = missing
        if module.__name__ in _AFTERWARDS_OF_ALIASES:
            _AFTERWARDS_OF_ALIASES[module.__name__](module)


def _let_host_arrays_through(module: ModuleType) -> None:
    """Arrays meet NumPy as numba.cuda's do."""
    from treadle.compat.numba_arrays import allow_host_arrays

    allow_host_arrays()


_AFTERWARDS_OF_ALIASES: dict[str, Callable[[ModuleType], None]] = {
    "numba.core.errors": _join_errors,
    "numba.cuda": _let_host_arrays_through,
}


def _change_afterwards(loader: importlib.abc.Loader, change: Callable[[ModuleType], None]) -> None:
    """Makes a loader do something to its module after the module's own code."""
    execute = loader.exec_module

    def execute_and_change(module: ModuleType) -> None:
        execute(module)
        change(module)

    loader.exec_module = execute_and_change  # type: ignore[method-assign]


_ALIASES = _TARGETS | _NUMBA_WITHOUT_NUMBA


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, targets: dict[str, str]) -> None:
        self._targets = targets

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        name = self._targets.get(fullname)
        if name is None:
            return self._real_spec(fullname, path, target) if fullname in _AFTERWARDS else None
        spec = importlib.machinery.ModuleSpec(fullname, _AliasLoader(name), is_package=True)
        spec.submodule_search_locations = []
        return spec

    def _real_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> importlib.machinery.ModuleSpec | None:
        """What the other finders say, with a step after the module's own code."""
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(fullname, path, target)
            if spec is not None and spec.loader is not None:
                _change_afterwards(spec.loader, _AFTERWARDS[fullname])
                return spec
        return None


def _follow_into_processes() -> None:
    """Makes the processes that multiprocessing starts do the same, before they import the program's main module."""
    from multiprocessing import forkserver, spawn

    original = spawn.get_command_line
    if getattr(original, "_treadle", False):
        return

    def get_command_line(**kwds: Any) -> list[str]:
        command = original(**kwds)
        if "-c" in command:
            at = command.index("-c") + 1
            command[at] = "import treadle.dropin; " + command[at]
        return command

    get_command_line._treadle = True  # type: ignore[attr-defined]
    spawn.get_command_line = get_command_line
    forkserver.set_forkserver_preload(["__main__", "treadle.dropin"])


def _install() -> None:
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    targets = dict(_TARGETS)
    if "cuda" not in sys.modules and importlib.util.find_spec("cuda") is None:
        targets["cuda"] = "treadle.compat.cuda_namespace"
    if "numba" not in sys.modules and importlib.util.find_spec("numba") is None:
        targets |= _NUMBA_WITHOUT_NUMBA
    for name in [
        name
        for name in sys.modules
        if name.split(".")[0] == "cupy" or name.startswith(("numba.cuda", "cuda.core", "cuda.bindings"))
    ]:
        del sys.modules[name]
    if "numba" in sys.modules and hasattr(sys.modules["numba"], "cuda"):
        del sys.modules["numba"].cuda
    sys.meta_path.insert(0, _Finder(targets))
    for name, change in _AFTERWARDS.items():
        if name in sys.modules:
            change(sys.modules[name])
    _follow_into_processes()


_install()
