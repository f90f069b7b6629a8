"""CUDA C++ and PTX, compiled at run time, with cuda.core's names."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from treadle import _treadle, pathfinder
from treadle._versions import explained
from treadle.core._module import ObjectCode
from treadle.core._options import ProgramOptions
from treadle.core.utils import key_of, own_cache
from treadle.errors import UnsupportedError


@functools.cache
def find_compiler() -> None:
    """Loads NVRTC. Raises UnsupportedError, which is a NotImplementedError, saying what to install."""
    major = _treadle.driver_version() // 1000
    found = pathfinder.find("nvrtc", major)
    if found is None:
        raise UnsupportedError(
            f"compiling CUDA C++ needs NVRTC, which was not found: {pathfinder.install_hint('nvrtc', major)}"
        )
    _treadle.use_nvrtc(found.path)


class Program:
    """A source in "c++" or "ptx". Raises ValueError for another code_type, TypeError for a source that is no text.

    >>> from treadle.core import Program
    >>> Program("extern \\"C\\" __global__ void nothing() {}", "c++").backend
    'NVRTC'
    """

    def __init__(self, code: str, code_type: str, options: ProgramOptions | None = None) -> None:
        if code_type.lower() not in ("c++", "ptx"):
            raise ValueError(f"Program: code_type: expected 'c++' or 'ptx', got {code_type!r}")
        if not isinstance(code, str):
            raise TypeError(f"Program: code: expected a text, got {type(code).__name__}")
        self._code = code
        self._code_type = code_type.lower()
        self._options = options or ProgramOptions()

    @property
    def backend(self) -> str:
        """What compiles it."""
        return "NVRTC" if self._code_type == "c++" else "driver"

    def compile(
        self, target_type: str, name_expressions: Sequence[str] = (), logs: Any = None, *, cache: Any = None
    ) -> ObjectCode:
        """Compiled code of "cubin", "ptx" or, from C++, "ltoir", which nvJitLink optimises across files.

        Args: name_expressions: templates' instances and C++ functions whose kernels are asked for by these names later; logs: a text
        stream that takes the compiler's remarks; cache: where compiled code is looked for and kept (any mapping from keys to code,
        such as ``utils.FileStreamProgramCache``); by default Treadle's own on the disk.

        Raises: ValueError for another target; CompileError with the compiler's log; UnsupportedError, a NotImplementedError, where
        NVRTC is missing, and where there is no GPU for a cubin, or for PTX without ``arch``.
        """
        wanted = ("cubin", "ptx", "ltoir") if self._code_type == "c++" else ("cubin", "ptx")
        if target_type not in wanted:
            raise ValueError(f"compile: target_type: expected one of {', '.join(wanted)}, got {target_type!r}")
        if self._code_type == "ptx":
            code = ObjectCode(self._code.encode(), "ptx", self._options.name or "")
            return code if target_type == "ptx" else _linked_by_driver(code)
        if target_type == "cubin" and _treadle.device_kind() == "cpu":
            raise UnsupportedError(
                "compile: the CPU device does not run CUDA C++; without a GPU compile('ptx') makes code for use elsewhere"
            )
        find_compiler()
        flags = self._flags(target_type)
        kept = own_cache() if cache is None else cache
        key = key_of(self._code, "c++", flags, target_type, tuple(name_expressions), self._options.name)
        known = kept.get(key) if kept is not None else None
        if known is not None:
            return _unpacked(bytes(known), target_type, self._options.name or "")
        name = self._options.name or "default_program"
        with explained():
            code, log, symbols = _treadle.compile_cpp(
                self._code.encode(), name, flags, [], [], list(name_expressions), target_type
            )
        if logs is not None and log:
            logs.write(log)
        result = ObjectCode(
            code, target_type, self._options.name or "", dict(zip(name_expressions, symbols, strict=True))
        )
        if kept is not None:
            kept[key] = _packed(result)
        return result

    def _flags(self, target_type: str) -> list[str]:
        arch = self._options.arch
        if arch is None:
            if _treadle.device_kind() == "cpu":
                raise UnsupportedError(
                    "compile: arch: expected one such as 'sm_90', since there is no GPU to take it from"
                )
            major, minor = _treadle.attributes()["compute_capability"]
            arch = f"sm_{major}{minor}"
        if target_type != "cubin":
            arch = arch.replace("sm_", "compute_")
        flags = self._options.flags(arch)
        if target_type == "ltoir" and not self._options.link_time_optimization:
            flags.append("--dlink-time-opt")
        headers = pathfinder.find_headers()
        return [*flags, f"--include-path={headers}"] if headers else flags

    def close(self) -> None:
        """Nothing has to be given back by hand."""


def _linked_by_driver(code: ObjectCode) -> ObjectCode:
    with explained(code.code):
        linked, _ = _treadle.link([(code.code_type, code.code, code.name)], "", [], False, False)
    return ObjectCode(linked, "cubin", code.name)


def _packed(code: ObjectCode) -> bytes:
    """Code with its symbols behind it, as caches keep it: what reads it alone sees code with a tail that it ignores."""
    if not code.symbol_mapping:
        return code.code
    import json

    symbols = json.dumps(code.symbol_mapping).encode()
    return code.code + symbols + len(symbols).to_bytes(8, "little") + b"treadle symbols"


def _unpacked(data: bytes, target_type: str, name: str) -> ObjectCode:
    mark = b"treadle symbols"
    if not data.endswith(mark):
        return ObjectCode(data, target_type, name)
    import json

    end = len(data) - len(mark) - 8
    size = int.from_bytes(data[end : end + 8], "little")
    return ObjectCode(data[: end - size], target_type, name, json.loads(data[end - size : end]))
