"""Linking of compiled code, with cuda.core's names."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Any

from treadle import _checks, _treadle, pathfinder
from treadle._versions import explained
from treadle.core._module import ObjectCode
from treadle.core._options import listed
from treadle.errors import UnsupportedError

# Options of nvJitLink: those that are on or off, those that stand alone where they are true, those with a value.
_FLAGS = {"ftz": "-ftz", "prec_div": "-prec-div", "prec_sqrt": "-prec-sqrt", "fma": "-fma"}
_SWITCHES = {
    "link_time_optimization": "-lto",
    "debug": "-g",
    "lineinfo": "-lineinfo",
    "time": "-time",
    "verbose": "-verbose",
    "optimize_unused_variables": "-optimize-unused-variables",
    "no_cache": "-no-cache",
}
_VALUES = {
    "max_register_count": "-maxrregcount",
    "kernels_used": "-kernels-used",
    "variables_used": "-variables-used",
    "ptxas_options": "-Xptxas",
    "split_compile": "-split-compile",
    "split_compile_extended": "-split-compile-extended",
}


@functools.cache
def find_linker() -> bool:
    """Loads nvJitLink; whether it is there, in a version that the driver's is not older than."""
    found = pathfinder.find("nvjitlink", _treadle.driver_version() // 1000)
    if found is None:
        return False
    _treadle.use_nvjitlink(found.path)
    return True


def need_linker(what: str) -> None:
    """Loads nvJitLink for something that only it does. Raises UnsupportedError, a NotImplementedError, saying what to install."""
    if not find_linker():
        hint = pathfinder.install_hint("nvjitlink", _treadle.driver_version() // 1000)
        raise UnsupportedError(f"{what} needs nvJitLink, which was not found: {hint}")


@dataclass
class LinkerOptions:
    """Fields are nvJitLink's options with underscores; None leaves nvJitLink's default. name: of the result; arch: such as "sm_90",
    the current device's by default; ptx: taken for compatibility, since ``link("ptx")`` says it."""

    name: str | None = "default_linker"
    arch: str | None = None
    max_register_count: int | None = None
    time: bool | None = None
    verbose: bool | None = None
    link_time_optimization: bool | None = None
    ptx: bool | None = None
    debug: bool | None = None
    lineinfo: bool | None = None
    ftz: bool | None = None
    prec_div: bool | None = None
    prec_sqrt: bool | None = None
    fma: bool | None = None
    kernels_used: Any = None
    variables_used: Any = None
    optimize_unused_variables: bool | None = None
    ptxas_options: Any = None
    split_compile: int | None = None
    split_compile_extended: int | None = None
    no_cache: bool | None = None

    def flags(self) -> list[str]:
        """The options as nvJitLink reads them, without the architecture. Raises TypeError, ValueError for wrong ones."""
        if self.arch is not None:
            _checks.instance("LinkerOptions: arch", self.arch, str, "a text such as 'sm_90'")
            if not re.fullmatch(r"sm_\d{2,3}[a-z]?", self.arch):  # nvJitLink crashes on some others
                raise ValueError(f"LinkerOptions: arch: expected one such as 'sm_90', got {self.arch!r}")
        for name in ("max_register_count", "split_compile", "split_compile_extended"):
            if (number := getattr(self, name)) is not None and _checks.integer(f"LinkerOptions: {name}", number) < 0:
                raise ValueError(f"LinkerOptions: {name}: expected 0 or more, got {number}")
        for name in ("kernels_used", "variables_used", "ptxas_options"):
            for text in listed(getattr(self, name)):
                _checks.instance(f"LinkerOptions: {name}", text, str, "a text or a list of texts")
        result = [
            f"{flag}={str(bool(value)).lower()}"
            for name, flag in _FLAGS.items()
            if (value := getattr(self, name)) is not None
        ]
        result += [flag for name, flag in _SWITCHES.items() if getattr(self, name)]
        result += [f"{flag}={value}" for name, flag in _VALUES.items() for value in listed(getattr(self, name))]
        return result


class Linker:
    """Links ``object_codes`` to one code.

    What they may be: PTX, LTO IR, cubins and objects made with relocatable device code, archives of these. nvJitLink links where it
    is found, also without a GPU when ``options.arch`` says for which; else the driver's linker, which knows no options and no LTO IR.

    Raises: TypeError for what is no ObjectCode, ValueError for none and for a wrong arch; UnsupportedError, a NotImplementedError, for
    options where nvJitLink is missing.

    >>> from treadle.core import Linker
    >>> Linker.which_backend() in ("nvJitLink", "driver")
    True
    """

    def __init__(self, *object_codes: ObjectCode, options: LinkerOptions | None = None) -> None:
        for number, code in enumerate(object_codes):
            if not isinstance(code, ObjectCode):
                raise TypeError(f"Linker: object code {number}: expected an ObjectCode, got {type(code).__name__}")
        if not object_codes:
            raise ValueError("Linker: expected at least one object code, got none")
        self._codes = object_codes
        self._options = LinkerOptions() if options is None else options
        _checks.instance("Linker: options", self._options, LinkerOptions, "LinkerOptions")
        self._flags = self._options.flags()
        self._log = ""
        if self._flags:
            need_linker(f"Linker: {self._flags[0]}")
        if any(code.code_type == "ltoir" for code in object_codes):
            need_linker("linking LTO IR")

    @staticmethod
    def which_backend() -> str:
        """What links: "nvJitLink" or "driver"."""
        return "nvJitLink" if find_linker() else "driver"

    @property
    def backend(self) -> str:
        """What links."""
        return self.which_backend()

    def link(self, target_type: str) -> ObjectCode:
        """The linked code, a "cubin"; or "ptx", what link-time optimisation leaves of LTO IR.

        Raises ValueError for another target, CompileError with the linker's log, UnsupportedError where only nvJitLink could."""
        if target_type not in ("cubin", "ptx"):
            raise ValueError(f"link: target_type: expected 'cubin' or 'ptx', got {target_type!r}")
        if target_type == "ptx":
            need_linker("link('ptx')")
        images = [(code.code_type, code.code, code.name or f"code {number}") for number, code in enumerate(self._codes)]
        by_nvjitlink = find_linker()
        arch = self._arch() if by_nvjitlink else ""
        with explained():
            code, self._log = _treadle.link(images, arch, self._flags, target_type == "ptx", by_nvjitlink)
        return ObjectCode(code, target_type, self._options.name or "")

    def _arch(self) -> str:
        if self._options.arch is not None:
            return self._options.arch
        if _treadle.device_kind() == "cpu":
            raise UnsupportedError("link: arch: expected one such as 'sm_90', since there is no GPU to take it from")
        return _treadle.attributes()["target"]

    def get_info_log(self) -> str:
        """What the linker remarked at the last ``link``."""
        return self._log

    def get_error_log(self) -> str:
        """Empty: the log of a linking that failed is in its exception."""
        return ""

    def close(self) -> None:
        """Nothing has to be given back by hand."""
