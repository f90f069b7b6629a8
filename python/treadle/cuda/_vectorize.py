"""``vectorize``: element-wise functions with broadcasting, made of functions of numbers."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from treadle.cuda._generated import core_function, kernel_around
from treadle.cuda._kernel import Dispatcher
from treadle.cuda._streams import on_stream
from treadle.cuda._ufunc_arguments import (
    Operand,
    broadcast,
    check_out,
    deliver,
    empty,
    read_signatures,
    resolve,
    scalar_of,
)
from treadle.errors import UnsupportedError
from treadle.types import Number, Signature, void

_BLOCK = 256


class DeviceUFunc:
    """An element-wise function of host and device arrays and numbers, with NumPy's broadcasting.

    ``f(*arrays, out=None, stream=0)``: of the signatures the first to which all arguments cast safely is taken, as NumPy does; Python
    numbers count by kind and value. Host arrays give host arrays (scalars give scalars); if any argument is a device array, so is the
    result. ``out``: a host or device array that is filled instead and returned. Device results are asynchronous on ``stream``.

    Raises: TypeError for arguments that fit no signature, ValueError for shapes that do not broadcast or another shape of ``out``.
    """

    __name__: str

    def __init__(self, py_func: Any, signatures: list[Signature], identity: Any = None) -> None:
        functools.update_wrapper(self, py_func)
        self.py_func = py_func
        self.identity = identity
        self.nin = len(signatures[0].args)
        self.nout = 1
        self._inputs: list[list[Number]] = []
        self._results: list[Number] = []
        for signature in signatures:
            if len(signature.args) != self.nin or self.nin == 0:
                raise TypeError(
                    f"vectorize: signatures: expected {max(self.nin, 1)} arguments in each, got {signature.args!r}"
                )
            if signature.return_type is None or signature.return_type == void:
                raise TypeError("vectorize: signatures: expected a result type, as in 'float32(float32)'")
            self._inputs.append([scalar_of(item) for item in signature.args])
            self._results.append(scalar_of(signature.return_type))
        self._kernels: dict[tuple[bool, ...], Dispatcher] = {}
        for inputs, result in zip(self._inputs, self._results, strict=True):
            self._kernel((False,) * self.nin).compile(void(*(item[::1] for item in (*inputs, result))))

    def _kernel(self, is_number: tuple[bool, ...]) -> Dispatcher:
        """The kernel over flat dense arrays, with numbers for the arguments that have no dimensions."""
        if is_number not in self._kernels:
            names = [f"x{number}" for number in range(self.nin)]
            parts = [name if number else f"{name}[i]" for name, number in zip(names, is_number, strict=True)]
            self._kernels[is_number] = kernel_around(
                self.py_func, [*names, "out"], "out.size", f"out[i] = core({', '.join(parts)})"
            )
        return self._kernels[is_number]

    @property
    def types(self) -> list[str]:
        """The signatures in NumPy's letters, such as "ff->f"."""
        return [
            "".join(item.dtype.char for item in inputs) + "->" + result.dtype.char
            for inputs, result in zip(self._inputs, self._results, strict=True)
        ]

    @property
    def ntypes(self) -> int:
        """Number of signatures."""
        return len(self._results)

    def __call__(self, *args: Any, out: Any = None, stream: Any = 0) -> Any:
        if len(args) == self.nin + 1 and out is None:
            *args, out = args  # type: ignore[assignment]
        if len(args) != self.nin:
            raise TypeError(f"{self.__name__}: expected {self.nin} arguments, got {len(args)}")
        if isinstance(out, tuple) and len(out) == 1:
            out = out[0]
        with on_stream(stream):
            operands = [Operand(arg, self.__name__) for arg in args]
            number = resolve(self.__name__, operands, self._inputs)
            try:
                shape = np.broadcast_shapes(*(operand.shape for operand in operands))
            except ValueError:
                shapes = " and ".join(str(operand.shape) for operand in operands)
                raise ValueError(f"{self.__name__}: expected shapes that broadcast together, got {shapes}") from None
            result = self._results[number]
            if out is not None:
                check_out(self.__name__, out, shape, result.dtype)
            filled = empty(shape, result.name)
            if filled.size:
                self._launch(operands, self._inputs[number], filled)
            return deliver(filled, out, not any(operand.on_device for operand in operands))

    def _launch(self, operands: list[Operand], types: list[Number], filled: Any) -> None:
        is_number = tuple(operand.shape == () and not operand.on_device for operand in operands)
        arguments: list[Any] = []
        for operand, wanted, alone in zip(operands, types, is_number, strict=True):
            if alone:
                arguments.append(operand.number(wanted.name))
            else:
                arguments.append(broadcast(operand.array(wanted.name), filled.shape)._reshape(filled.size))
        self._kernel(is_number)[math.ceil(filled.size / _BLOCK), _BLOCK](*arguments, filled._reshape(filled.size))

    def reduce(self, arg: Any, stream: Any = 0) -> Any:
        """All elements of a one-dimensional array put together by a function of two, as by ``cuda.Reduce``.

        Raises: TypeError for functions of another number of arguments, ValueError for an empty array and no identity."""
        from treadle.cuda._reduce import Reduce

        if self.nin != 2:
            raise TypeError(f"{self.__name__}.reduce: expected a function of 2 arguments, got one of {self.nin}")
        reduce = Reduce(self.py_func)
        if self.identity is not None:
            return reduce(arg, init=self.identity, stream=stream)
        if arg.size == 0:
            raise ValueError(f"{self.__name__}.reduce: expected elements, since there is no identity")
        with on_stream(stream):
            first = Operand(arg[0], self.__name__).number(str(arg.dtype))
            return reduce(arg[1:], init=first)

    def __repr__(self) -> str:
        return f"<element-wise function {self.__name__} of {', '.join(self.types)}>"


def vectorize(ftylist_or_function: Any = (), target: str = "cuda", identity: Any = None, **options: Any) -> Any:
    """Makes an element-wise function of a function of numbers: ``@vectorize(["float32(float32, float32)", ...])``.

    Args: ftylist_or_function: a signature or a list of them, in the order in which they are tried; target: "cuda", the current device;
    identity: what ``reduce`` of no elements gives. Compiles at once. Returns a decorator that gives a ``DeviceUFunc``.

    Raises: TypeError for missing or odd signatures and unknown options, UnsupportedError for another target, CompileError.

    >>> import numpy as np
    >>> from treadle import cuda
    >>> @cuda.vectorize(["int64(int64, int64)", "float64(float64, float64)"])
    ... def larger(a, b):
    ...     return a if a > b else b
    >>> larger(np.array([1, 5, 3]), 2)
    array([2, 5, 3])
    """
    check_target("vectorize", target, options)
    if callable(ftylist_or_function) and not hasattr(ftylist_or_function, "return_type"):
        raise TypeError("vectorize: signatures: expected at least one, as in vectorize(['float32(float32)'])")
    signatures = read_signatures(ftylist_or_function or [], "vectorize")

    def decorate(function: Callable[..., Any]) -> DeviceUFunc:
        return DeviceUFunc(core_function(function, "vectorize"), signatures, identity)

    return decorate


def check_target(what: str, target: str, options: dict[str, Any]) -> None:
    """Raises UnsupportedError for other targets than "cuda", TypeError for options that have no meaning."""
    if target != "cuda":
        raise UnsupportedError(f"{what}: target: expected 'cuda', got {target!r}: use numba for functions of the host")
    for name in options:
        if name not in ("nopython", "cache", "fastmath"):
            raise TypeError(f"{what}: unknown option {name!r}")
