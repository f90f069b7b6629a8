"""``import treadle.dropin`` as a program's first line makes ``cupy`` and ``numba.cuda`` mean Treadle.

``treadle run`` does the same. Only CUDA names are taken over: an installed numba keeps everything else. Processes started by
multiprocessing follow suit.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

_TARGETS = {
    "cupy": "treadle.compat.cupy",
    "cupy.cuda": "treadle.compat.cupy_cuda",
    "cupy.cuda.runtime": "treadle.compat.cupy_runtime",
    "cupy.random": "treadle.random",
    "numba.cuda": "treadle.compat.numba_cuda",
    "numba.cuda.types": "treadle.types",
}
# Used only where no numba is installed.
_NUMBA_WITHOUT_NUMBA = {
    "numba": "treadle.compat.numba",
    "numba.types": "treadle.types",
    "numba.core": "treadle.compat.numba_core",
}
_NUMBA_WITHOUT_NUMBA["numba.core.errors"] = "treadle.compat.numba_errors"


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
                raise AttributeError(f"module '{module.__name__}' of Treadle has no attribute '{name}'") from None

        vars(module)["__getattr__"] = missing


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, targets: dict[str, str]) -> None:
        self._targets = targets

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        name = self._targets.get(fullname)
        if name is None:
            return None
        spec = importlib.machinery.ModuleSpec(fullname, _AliasLoader(name), is_package=True)
        spec.submodule_search_locations = []
        return spec


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
    if "numba" not in sys.modules and importlib.util.find_spec("numba") is None:
        targets |= _NUMBA_WITHOUT_NUMBA
    for name in [name for name in sys.modules if name.split(".")[0] == "cupy" or name.startswith("numba.cuda")]:
        del sys.modules[name]
    if "numba" in sys.modules and hasattr(sys.modules["numba"], "cuda"):
        del sys.modules["numba"].cuda
    sys.meta_path.insert(0, _Finder(targets))
    _follow_into_processes()


_install()
