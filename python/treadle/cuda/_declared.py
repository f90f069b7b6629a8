"""Functions of other languages that kernels call: their declarations, and the code that is linked for them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from treadle import _treadle
from treadle._kernel_types import Boolean, CPointer, Float, Integer, NoneType, Type
from treadle._signatures import parse_signature
from treadle.errors import UnsupportedError


class LinkableCode:
    """Code in memory that can be linked to kernels: ``data`` is bytes, or text of a source. ``name`` is for messages.

    Raises TypeError for data of another kind."""

    kind: str  # as the linkers know it; "c++" is compiled first

    def __init__(self, data: Any, name: str | None = None) -> None:
        if not isinstance(data, (str, bytes, bytearray, memoryview)):
            raise TypeError(f"{type(self).__name__}: data: expected bytes or a text, got {type(data).__name__}")
        self.data = data.encode() if isinstance(data, str) else bytes(data)
        self.name = name or f"<{type(self).__name__}>"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, LinkableCode) and other.data == self.data

    def __hash__(self) -> int:
        return hash((type(self), self.data))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {len(self.data)} bytes>"


class CUSource(LinkableCode):
    """CUDA C++, compiled by NVRTC."""

    kind = "c++"


class PTXSource(LinkableCode):
    """PTX."""

    kind = "ptx"


class Cubin(LinkableCode):
    """Machine code, made with relocatable device code."""

    kind = "cubin"


class Fatbin(LinkableCode):
    """A fat binary, made with relocatable device code."""

    kind = "fatbin"


class Object(LinkableCode):
    """An object file with device code."""

    kind = "object"


class Archive(LinkableCode):
    """A static library of objects with device code."""

    kind = "library"


class LTOIR(LinkableCode):
    """LTO IR, which nvJitLink links."""

    kind = "ltoir"


# The endings of files, by what they hold.
_BY_SUFFIX: dict[str, type[LinkableCode]] = {
    ".cu": CUSource,
    ".ptx": PTXSource,
    ".cubin": Cubin,
    ".fatbin": Fatbin,
    ".o": Object,
    ".a": Archive,
    ".lib": Archive,
    ".ltoir": LTOIR,
}


def listed_links(where: str, link: Any) -> tuple[Any, ...]:
    """The parts of a ``link`` option, checked. Raises TypeError, ValueError for what is no code, FileNotFoundError."""
    if link is None:
        return ()
    links = tuple(link) if isinstance(link, (list, tuple)) else (link,)
    return tuple(_checked(where, part) for part in links)


def _checked(where: str, part: Any) -> LinkableCode:
    if isinstance(part, LinkableCode):
        return part
    if not isinstance(part, (str, Path)):
        raise TypeError(f"{where}: link: expected a file, or code such as CUSource(text), got {type(part).__name__}")
    path = Path(part)
    kind = _BY_SUFFIX.get(path.suffix)
    if kind is None:
        raise ValueError(f"{where}: link: expected a file that ends with {', '.join(_BY_SUFFIX)}, got '{path}'")
    return kind(path.read_bytes(), str(path))


def images_of(links: list[LinkableCode]) -> list[tuple[str, bytes, str]]:
    """What the linker takes: kind, code and name. On the CPU device, which runs none of it, nothing."""
    if not links or _treadle.device_kind() == "cpu":
        return []
    from treadle.core._linker import need_linker

    if any(link.kind == "ltoir" for link in links):
        need_linker("linking LTO IR")
    return [_compiled(link) if link.kind == "c++" else (link.kind, link.data, link.name) for link in links]


def _compiled(source: LinkableCode) -> tuple[str, bytes, str]:
    from treadle.core import Program, ProgramOptions

    folder = str(Path(source.name).resolve().parent) if Path(source.name).is_file() else None
    options = ProgramOptions(name=source.name, relocatable_device_code=True, include_path=folder)
    return "cubin", Program(source.data.decode(), "c++", options).compile("cubin").code, source.name


class DeclaredFunction:
    """A function of another language, made by ``declare_device``; kernels call it."""

    def __init__(self, name: str, types: list[str], abi: str, links: tuple[Any, ...]) -> None:
        self.__name__ = self.name = name
        self.abi = abi
        self.links = links
        self.text = f"(external {name} {abi} {' '.join(types)})"  # in the program of a kernel

    def __call__(self, *args: Any) -> Any:
        raise TypeError(f"{self.name} is a function for GPUs: it is called from kernels")

    def __repr__(self) -> str:
        return f"<declared function {self.name}>"


def _passed(where: str, kind: Type) -> str:
    """How a kernel's program writes a type that functions of other languages take."""
    if isinstance(kind, CPointer) and isinstance(kind.dtype, (Boolean, Integer, Float)):
        return f"{kind.dtype.code()[1]}*"
    if isinstance(kind, (Boolean, Integer, Float)) and kind.code()[1] != "float16":
        return kind.code()[1]
    raise UnsupportedError(f"declare_device: {where}: expected a number or a pointer to numbers, got {kind}")


def declare_device(
    name: str, sig: Any, link: Any = None, use_cooperative: bool = False, abi: str = "numba"
) -> DeclaredFunction:
    """Declares a function in CUDA C++ or compiled code for kernels to call. For GPUs; compiling a kernel that calls it for the CPU
    device raises UnsupportedError.

    name: the symbol, so ``extern "C"`` in C++. sig: a signature such as ``"float32(float32, int32)"``, of numbers and
    ``CPointer(float32)``, for which arrays are passed, or ``ffi.from_buffer(array)``. link: what it is found in: the path of a file
    (.cu, .ptx, .cubin, .fatbin, .o, .a, .ltoir), code in memory (``CUSource(text)``, ``PTXSource``, ``Cubin`` ...), or a list of
    these. abi: "c", as in ``float f(float, int)``; "numba", as in ``int f(float *result, float, int)``, where 0 is returned.
    use_cooperative: taken for compatibility; cooperative launches need no mark.

    Raises: TypeError, ValueError for bad parameters, FileNotFoundError; UnsupportedError for types that cannot be passed.

    >>> from treadle import cuda
    >>> square = cuda.declare_device(
    ...     "square", "float32(float32)", abi="c",
    ...     link=cuda.CUSource('extern "C" __device__ float square(float x) { return x * x; }'))
    >>> @cuda.jit
    ... def squares(x):
    ...     i = cuda.grid(1)
    ...     if i < x.size:
    ...         x[i] = square(x[i])
    """
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise ValueError(f"declare_device: name: expected a symbol, got {name!r}")
    if abi not in ("numba", "c"):
        raise ValueError(f"declare_device: abi: expected 'numba' or 'c', got {abi!r}")
    signature = parse_signature(sig)
    result = signature.return_type
    if result is None:
        raise TypeError(f"declare_device: sig: expected a result and parameters, as in 'float32(float32)', got {sig!r}")
    types = ["none" if isinstance(result, NoneType) else _passed("result", result)]
    if types[0].endswith("*"):
        raise UnsupportedError("declare_device: result: expected a number, got a pointer")
    types += [_passed(f"parameter {number}", kind) for number, kind in enumerate(signature.args, 1)]
    return DeclaredFunction(name, types, abi, listed_links("declare_device", link))
