"""Compiled code and its kernels, with cuda.core's names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from treadle import _checks, _treadle
from treadle._versions import explained
from treadle.errors import UnsupportedError

# The driver's numbers of a function's attributes.
_ATTRIBUTES = {
    "max_threads_per_block": 0,
    "shared_size_bytes": 1,
    "const_size_bytes": 2,
    "local_size_bytes": 3,
    "num_regs": 4,
    "ptx_version": 5,
    "binary_version": 6,
    "cache_mode_ca": 7,
    "max_dynamic_shared_size_bytes": 8,
    "preferred_shared_memory_carveout": 9,
}


class KernelAttributes:
    """What the driver tells of a kernel: ``num_regs``, ``local_size_bytes`` and so on; indexing by a device is accepted."""

    def __init__(self, native: Any) -> None:
        self._native = native

    def __getattr__(self, name: str) -> int:
        if name not in _ATTRIBUTES:
            raise AttributeError(f"attributes: expected one of {', '.join(_ATTRIBUTES)}, got '{name}'")
        return self._native.attribute(_ATTRIBUTES[name])

    def __getitem__(self, device: Any) -> KernelAttributes:
        return self


class KernelOccupancy:
    """How many blocks of a kernel fit on a multiprocessor."""

    def __init__(self, native: Any) -> None:
        self._native = native

    def max_active_blocks_per_multiprocessor(self, block_size: int, dynamic_shared_memory_size: int = 0) -> int:
        """Blocks of ``block_size`` threads with so many bytes of shared memory that run on one multiprocessor at once."""
        return self._native.occupancy(block_size, dynamic_shared_memory_size)


class Kernel:
    """A kernel of an ObjectCode; made by ``ObjectCode.get_kernel``."""

    def __init__(self, native: Any, module: ObjectCode) -> None:
        self._native = native
        self._module = module

    @property
    def name(self) -> str:
        """The symbol."""
        return self._native.name

    @property
    def attributes(self) -> KernelAttributes:
        """What the driver tells of it."""
        return KernelAttributes(self._native)

    @property
    def occupancy(self) -> KernelOccupancy:
        """How many blocks fit on a multiprocessor."""
        return KernelOccupancy(self._native)

    @property
    def num_arguments(self) -> int:
        """The number of parameters. Raises NotImplementedError for drivers before CUDA 12.4, which cannot tell."""
        return len(self.arguments_info)

    @property
    def arguments_info(self) -> list[tuple[int, int]]:
        """(offset, size) of each parameter, in bytes. Raises NotImplementedError as ``num_arguments``."""
        if not self._native.knows_parameters:
            raise NotImplementedError("arguments_info: expected a driver of CUDA 12.4 or newer")
        return self._native.parameters

    def __repr__(self) -> str:
        return f"<Kernel {self.name}>"


class ObjectCode:
    """Compiled code: ``code_type`` is "cubin", "ptx", "fatbin", or one that has to be linked first: "ltoir", "object", "library".
    Loaded when its first kernel is asked for."""

    def __init__(
        self, code: bytes, code_type: str, name: str = "", symbol_mapping: dict[str, str] | None = None
    ) -> None:
        self._code = code
        self._code_type = code_type
        self._name = name
        self._symbols = symbol_mapping or {}
        self._module: Any = None

    @staticmethod
    def from_cubin(module: Any, *, name: str = "", symbol_mapping: dict[str, str] | None = None) -> ObjectCode:
        """From a cubin: bytes, or the path of a file."""
        return ObjectCode(_bytes(module), "cubin", name, symbol_mapping)

    @staticmethod
    def from_ptx(module: Any, *, name: str = "", symbol_mapping: dict[str, str] | None = None) -> ObjectCode:
        """From PTX: text, bytes, or the path of a file."""
        return ObjectCode(_bytes(module), "ptx", name, symbol_mapping)

    @staticmethod
    def from_fatbin(module: Any, *, name: str = "", symbol_mapping: dict[str, str] | None = None) -> ObjectCode:
        """From a fat binary: bytes, or the path of a file."""
        return ObjectCode(_bytes(module), "fatbin", name, symbol_mapping)

    @staticmethod
    def from_ltoir(module: Any, *, name: str = "", symbol_mapping: dict[str, str] | None = None) -> ObjectCode:
        """From LTO IR, to be linked: bytes, or the path of a file."""
        return ObjectCode(_bytes(module), "ltoir", name, symbol_mapping)

    @staticmethod
    def from_object(module: Any, *, name: str = "", symbol_mapping: dict[str, str] | None = None) -> ObjectCode:
        """From an object file with device code, to be linked: bytes, or the path of a file."""
        return ObjectCode(_bytes(module), "object", name, symbol_mapping)

    @staticmethod
    def from_library(module: Any, *, name: str = "", symbol_mapping: dict[str, str] | None = None) -> ObjectCode:
        """From an archive of objects, to be linked: bytes, or the path of a file."""
        return ObjectCode(_bytes(module), "library", name, symbol_mapping)

    @property
    def code(self) -> bytes:
        """The code."""
        return self._code

    @property
    def code_type(self) -> str:
        """What it is: "cubin", "ptx", "ltoir", "fatbin", "object" or "library"."""
        return self._code_type

    @property
    def name(self) -> str:
        """The name that the program was given."""
        return self._name

    @property
    def symbol_mapping(self) -> dict[str, str]:
        """Symbols by the names that were asked for with name_expressions."""
        return self._symbols

    def _loaded(self) -> Any:
        if self._module is None:
            if self._code_type in ("ltoir", "object", "library"):
                raise UnsupportedError(
                    f"get_kernel: expected code that the driver loads, got {self._code_type}: link it first"
                )
            with explained(self._code):
                self._module = _treadle.load_module(self._code)
        return self._module

    def get_kernel(self, name: str) -> Kernel:
        """A kernel by its symbol, or by the name expression that was asked for. Raises DeviceError where there is none, or the driver
        refuses the code; UnsupportedError, a NotImplementedError, for code that has to be linked first."""
        _checks.instance("get_kernel: name", name, str, "a text")
        return Kernel(self._loaded().kernel(self._symbols.get(name, name)), self)

    def __repr__(self) -> str:
        return f"<ObjectCode {self._name or 'unnamed'}: {self._code_type}, {len(self._code)} bytes>"

    def __reduce__(self) -> Any:
        return ObjectCode, (self._code, self._code_type, self._name, self._symbols)


def _bytes(module: Any) -> bytes:
    if isinstance(module, (bytes, bytearray, memoryview)):
        return bytes(module)
    if not isinstance(module, (str, Path)):
        raise TypeError(
            f"ObjectCode: module: expected bytes, a text or the path of a file, got {type(module).__name__}"
        )
    text = str(module)
    # PTX begins with its version; anything else is a path.
    return text.encode() if "\n" in text else Path(text).read_bytes()
