"""RawKernel and RawModule: CUDA C++ with CuPy's names."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from treadle import _treadle
from treadle.core._launch import _dims
from treadle.core._module import Kernel, ObjectCode
from treadle.core._options import ProgramOptions
from treadle.core._program import Program


class _Options(ProgramOptions):
    """CuPy gives options as the compiler's own words."""

    words: tuple[str, ...] = ()

    def flags(self, arch: str) -> list[str]:
        return [f"--gpu-architecture={arch}", *self.words]


def _compiled(code: str, options: Sequence[str], names: Sequence[str]) -> ObjectCode:
    chosen = _Options()
    chosen.words = tuple(options)
    return Program(code, "c++", chosen).compile("cubin", names)


class RawKernel:
    """A kernel in CUDA C++: ``kernel(grid, block, args, shared_mem=0, stream=None)``. Compiled at the first use, for the current
    device; on the disk cache afterwards.

    Args: code: the source; name: the kernel's, extern "C", or as C++ writes a template's instance; options: the compiler's words, such
    as "-std=c++17"; backend: "nvrtc"; translate_cucomplex, enable_cooperative_groups, jitify: taken for compatibility.

    Raises: TypeError for a code or name that is no text, ValueError for another backend; at the first use CompileError with the
    compiler's log, and UnsupportedError, a NotImplementedError, where there is no GPU or NVRTC is missing.
    """

    def __init__(
        self,
        code: str,
        name: str,
        options: Sequence[str] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        *,
        enable_cooperative_groups: bool = False,
        jitify: bool = False,
    ) -> None:
        if not isinstance(code, str) or not isinstance(name, str):
            raise TypeError("RawKernel: code, name: expected texts")
        if backend != "nvrtc":
            raise ValueError(f"RawKernel: backend: expected 'nvrtc', got {backend!r}")
        self.code, self.name, self.options = code, name, tuple(options)
        self._cooperative = enable_cooperative_groups
        self._kernels: dict[int, Kernel] = {}

    @classmethod
    def _of(cls, kernel: Kernel, name: str, cooperative: bool) -> RawKernel:
        self = cls("", name, enable_cooperative_groups=cooperative)
        self._kernels[_treadle.device_index()] = kernel
        return self

    @property
    def kernel(self) -> Kernel:
        """The compiled kernel, for the current device."""
        index = _treadle.device_index()
        if index not in self._kernels:
            names = () if self.name.isidentifier() else (self.name,)
            self._kernels[index] = _compiled(self.code, self.options, names).get_kernel(self.name)
        return self._kernels[index]

    def compile(self, log_stream: Any = None) -> None:
        """Compiles now. log_stream: taken for compatibility; remarks are in the error where there is one."""
        assert self.kernel is not None

    def __call__(self, grid: Any, block: Any, args: Sequence[Any], *, shared_mem: int = 0, stream: Any = None) -> None:
        """Launches, asynchronously on ``stream`` or the current one. args: as ``treadle.core.launch`` takes them."""
        native = None if stream is None else stream._native
        self.kernel._native.launch(
            native, _dims("grid", grid), _dims("block", block), shared_mem, self._cooperative, None, tuple(args)
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.kernel.attributes, name)

    @property
    def attributes(self) -> dict[str, int]:
        """What the driver tells of it, by name."""
        from treadle.core._module import _ATTRIBUTES

        return {name: getattr(self.kernel.attributes, name) for name in _ATTRIBUTES}

    def __repr__(self) -> str:
        return f"<RawKernel {self.name}>"


class RawModule:
    """Several kernels and variables in CUDA C++ (``code``) or in a file of PTX or a cubin (``path``). name_expressions: C++ functions
    and templates' instances that ``get_function`` knows by these names.

    Raises: TypeError unless one of code and path is given; otherwise as RawKernel."""

    def __init__(
        self,
        *,
        code: str | None = None,
        path: str | None = None,
        options: Sequence[str] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        name_expressions: Sequence[str] | None = None,
        jitify: bool = False,
    ) -> None:
        if (code is None) == (path is None):
            raise TypeError("RawModule: expected either code or path")
        self.code, self.file_path = code, path
        self.options = tuple(options)
        self.name_expressions = tuple(name_expressions or ())
        self._cooperative = enable_cooperative_groups
        self._modules: dict[int, ObjectCode] = {}

    @property
    def module(self) -> ObjectCode:
        """The compiled code, for the current device."""
        index = _treadle.device_index()
        if index not in self._modules:
            if self.code is not None:
                self._modules[index] = _compiled(self.code, self.options, self.name_expressions)
            else:
                data = Path(str(self.file_path)).read_bytes()
                self._modules[index] = ObjectCode(data, "ptx" if data.lstrip()[:1] in (b".", b"/") else "cubin")
        return self._modules[index]

    def compile(self, log_stream: Any = None) -> None:
        """Compiles now."""
        assert self.module is not None

    @functools.cache  # noqa: B019  # as long as the module lives
    def get_function(self, name: str) -> RawKernel:
        """A kernel by its symbol or name expression. Raises DeviceError where there is none."""
        return RawKernel._of(self.module.get_kernel(name), name, self._cooperative)

    def get_global(self, name: str) -> Any:
        """The address of a variable. Raises DeviceError where there is none."""
        from treadle._array import MemoryPointer

        symbol = self.module.symbol_mapping.get(name, name)
        address, _ = self.module._loaded().variable(symbol)
        pointer = MemoryPointer.__new__(MemoryPointer)
        pointer.ptr = address
        pointer._array = self  # type: ignore[assignment]
        return pointer
