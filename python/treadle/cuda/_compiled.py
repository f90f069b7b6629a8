"""What was compiled: one object for each signature of a kernel, and the methods of kernels that look into them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from treadle import _kernel_types as kernel_types
from treadle import _treadle
from treadle._records import numpy_dtype
from treadle._signatures import as_type, from_dtype, parse_signature

if TYPE_CHECKING:
    from treadle.cuda._options import Options


class LastCompile(NamedTuple):
    """How the latest variant of a kernel came to be."""

    milliseconds: float
    path: str
    from_cache: bool
    packet: int


def type_of_code(code: tuple[Any, ...]) -> kernel_types.Type:
    """The type that the extension's description of an argument stands for; layouts that numba has no name for are "A"."""
    kind, *rest = code
    if kind == "none":
        return kernel_types.NoneType("none")
    if kind == "namedtuple":
        rest = rest[1:]
    if kind in ("tuple", "namedtuple"):
        return kernel_types.Tuple(map(type_of_code, rest))
    scalar = from_dtype(numpy_dtype(rest[0]))
    return scalar if kind in ("scalar", "record") else kernel_types.Array(scalar, rest[1], "C" if rest[2] == 1 else "A")


class CompiledKernel:
    """A kernel compiled for one signature.

    On the CPU device a thread has no registers and no constant or local memory of its own that could be counted: these figures are 0.
    """

    regs_per_thread = 0
    const_mem_size = 0
    local_mem_per_thread = 0

    def __init__(self, kernel: Inspection, codes: tuple[Any, ...]) -> None:
        self._kernel = kernel
        self._codes = codes
        self.signature = kernel_types.Signature(kernel_types.NoneType("none"), map(type_of_code, codes))

    @property
    def shared_mem_per_block(self) -> int:
        """Bytes of the shared arrays whose size the kernel says."""
        return self._kernel._ready().shared_bytes(list(self._codes))

    @property
    def max_threads_per_block(self) -> int:
        """Threads that a block of this kernel may have: the device's limit, or launch_bounds if that is less."""
        limit = _treadle.attributes()["max_threads_per_block"]
        return min(limit, self._kernel.options.max_threads or limit)

    def _dump(self, stage: str) -> str:
        return self._kernel._ready().dump(list(self._codes), stage, min(256, self.max_threads_per_block))

    def inspect_llvm(self) -> str:
        """LLVM IR."""
        return self._dump("llvm")

    def inspect_asm(self, cc: Any = None) -> str:
        """Machine code as assembly text. cc: taken for compatibility, since there is one target."""
        return self._dump("asm")

    def inspect_sass(self) -> str:
        """The device's machine code as text: on the CPU device the same as ``inspect_asm``."""
        return self._dump("asm")

    def inspect_types(self, file: Any = None) -> None:
        """Prints the kernel with the type of every value, to standard output or a file."""
        print(f"{self._kernel.__name__} {self.signature.args!r}\n{self._dump('ir')}", file=file or sys.stdout)

    def __repr__(self) -> str:
        return f"<{self._kernel.__name__} compiled for {self.signature.args!r}>"


class Inspection:
    """The part of kernels that tells what is compiled. Signatures are given as for ``jit``; figures and texts come for one signature,
    or as a dictionary for all that are compiled. Raises KeyError for a signature that is not compiled."""

    __name__: str
    options: Options
    _signatures: list[kernel_types.Signature]

    if TYPE_CHECKING:

        def _ready(self) -> _treadle.Function: ...

    def explain(self, *types: Any, block: Any = 256) -> str:
        """What became of the kernel: why and how it was compiled last, how threads are laid out, where they part, how each access
        reaches memory and which bounds tests are left. types: as in signatures, by default those compiled last; block: its shape.

        Raises: ValueError where nothing is compiled and no types are given.
        """
        function = self._ready()
        known = function.signatures()
        codes = [as_type(item).code() for item in types] if types else list(known[0]) if known else None
        if codes is None:
            raise ValueError(f"{self.__name__}.explain: expected argument types, since nothing is compiled yet")
        lines = [f"kernel {self.__name__}({', '.join(str(type_of_code(code)) for code in codes)})"]
        if known:
            last = LastCompile(*function.last_compile())
            origin = (
                f"read from {last.path}" if last.from_cache else "compiled: no cache had these types, options and text"
            )
            lines.append(f"latest of {function.variants} variants: {origin}, {last.milliseconds:.2f} ms")
        return "\n".join(lines) + "\n" + function.dump(codes, "explain", block)

    @property
    def specialized(self) -> bool:
        """Whether this came from ``specialize``."""
        return False

    @property
    def overloads(self) -> dict[tuple[kernel_types.Type, ...], CompiledKernel]:
        """What is compiled, by argument types: the declared signatures, or what was asked for."""
        found: dict[tuple[kernel_types.Type, ...], CompiledKernel] = {}
        for codes in sorted(self._ready().signatures(), key=str):
            compiled = CompiledKernel(self, codes)
            found.setdefault(compiled.signature.args, compiled)
        # A kernel with signatures has these and no others; launches may have made variants of them for denser arrays.
        declared = dict.fromkeys(_canonical(signature.args) for signature in self._signatures)
        return {types: found[types] for types in declared} if declared and not self.options.device else found

    @property
    def signatures(self) -> list[tuple[kernel_types.Type, ...]]:
        """The argument types compiled so far."""
        return list(self.overloads)

    @property
    def nopython_signatures(self) -> list[kernel_types.Signature]:
        """The signatures compiled so far."""
        return [compiled.signature for compiled in self.overloads.values()]

    @property
    def definition(self) -> CompiledKernel:
        """The one thing that is compiled. Raises ValueError where there is none or more."""
        compiled = list(self.overloads.values())
        if len(compiled) != 1:
            raise ValueError(f"{self.__name__}.definition: expected one compiled signature, got {len(compiled)}")
        return compiled[0]

    @property
    def last_compile(self) -> LastCompile:
        """How the variant compiled last came to be: milliseconds, cache file, whether it was found there, lanes of a packet."""
        return LastCompile(*self._ready().last_compile())

    def compile(self, sig: Any) -> CompiledKernel:
        """Compiles for a signature and returns what came of it; at once if it is compiled already. Raises CompileError."""
        args = parse_signature(sig).args
        codes = tuple(item.code() for item in args)
        self._ready().prepare(list(codes))
        return CompiledKernel(self, codes)

    def dump(self, stage: str, *types: Any, block: Any = 256) -> str:
        """The kernel for argument types as text. stage: "ir", "passes", "llvm" or "asm"; types: as in signatures; without types,
        any that are compiled."""
        codes: Any = [as_type(item).code() for item in types]
        if not types:
            known = self._ready().signatures()
            if not known:
                raise ValueError(f"{self.__name__}.dump: expected argument types, since nothing is compiled yet")
            codes = list(known[0])
        return self._ready().dump(codes, stage, block)

    def _per_signature(self, signature: Any, what: str) -> Any:
        overloads = self.overloads
        if signature is not None:
            found = overloads.get(_canonical(parse_signature(signature).args))
            if found is None:
                raise KeyError(f"{self.__name__}: not compiled for {parse_signature(signature).args!r}")
            return _value(found, what)
        if self.specialized:
            return _value(self.definition, what)
        return {types: _value(compiled, what) for types, compiled in overloads.items()}

    def inspect_llvm(self, signature: Any = None) -> Any:
        """LLVM IR."""
        return self._per_signature(signature, "inspect_llvm")

    def inspect_asm(self, signature: Any = None) -> Any:
        """Machine code as assembly text."""
        return self._per_signature(signature, "inspect_asm")

    def inspect_sass(self, signature: Any = None) -> Any:
        """The device's machine code as text: on the CPU device the same as ``inspect_asm``."""
        return self._per_signature(signature, "inspect_sass")

    def inspect_types(self, file: Any = None) -> None:
        """Prints each compiled signature with the type of every value, to standard output or a file."""
        for compiled in self.overloads.values():
            compiled.inspect_types(file)

    def get_regs_per_thread(self, signature: Any = None) -> Any:
        """Registers of a thread: 0 on the CPU device, whose threads have none of their own."""
        return self._per_signature(signature, "regs_per_thread")

    def get_const_mem_size(self, signature: Any = None) -> Any:
        """Bytes of constant memory: 0 on the CPU device, where constants stand in the code."""
        return self._per_signature(signature, "const_mem_size")

    def get_shared_mem_per_block(self, signature: Any = None) -> Any:
        """Bytes of shared memory that the kernel declares."""
        return self._per_signature(signature, "shared_mem_per_block")

    def get_local_mem_per_thread(self, signature: Any = None) -> Any:
        """Bytes of local memory of a thread: 0 on the CPU device, where local arrays lie on the stacks of host threads."""
        return self._per_signature(signature, "local_mem_per_thread")

    def get_max_threads_per_block(self, signature: Any = None) -> Any:
        """Threads that a block may have: the device's limit, or launch_bounds if that is less."""
        return self._per_signature(signature, "max_threads_per_block")


def _canonical(args: tuple[kernel_types.Type, ...]) -> tuple[kernel_types.Type, ...]:
    """The types as ``overloads`` names them: Fortran order and read-only arrays are compiled as any strides."""
    return tuple(type_of_code(item.code()) for item in args)


def _value(compiled: CompiledKernel, what: str) -> Any:
    found = getattr(compiled, what)
    return found() if callable(found) else found
