"""``guvectorize``: functions of arrays with named dimensions, repeated over all further dimensions."""

from __future__ import annotations

import functools
import math
import re
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
from treadle.cuda._vectorize import check_target
from treadle.types import Array, Number, Signature

_BLOCK = 64
_Dimensions = tuple[str, ...]


def parse_layout(layout: str) -> tuple[list[_Dimensions], list[_Dimensions]]:
    """The dimensions of inputs and outputs of a layout such as "(m,n),(n)->(m)". Raises ValueError for other texts."""
    one = r"\(\s*(?:\w+\s*(?:,\s*\w+\s*)*)?\)"
    if not isinstance(layout, str) or not re.fullmatch(
        rf"\s*{one}(?:\s*,\s*{one})*\s*->\s*{one}(?:\s*,\s*{one})*\s*", layout
    ):
        raise ValueError(f"guvectorize: layout: expected something like '(m,n),(n)->(m)', got {layout!r}")
    sides = [[tuple(re.findall(r"\w+", part)) for part in re.findall(one, side)] for side in layout.split("->")]
    return sides[0], sides[1]


class DeviceGUFunc:
    """A function of arrays with named dimensions, repeated over all dimensions before these, which broadcast.

    ``f(*inputs, out=None, stream=0)``; outputs may also follow the inputs. Types are resolved as by ``DeviceUFunc``; each repetition
    is a thread that calls the function with views. Host arrays give host arrays; if any input is a device array, so are the results.
    Several outputs come as a tuple. Elements of new outputs that the function does not write have any value.

    Raises: TypeError for arguments that fit no signature; ValueError for dimensions that contradict each other or are unknown.
    """

    __name__: str

    def __init__(self, py_func: Any, signatures: list[Signature], layout: str) -> None:
        functools.update_wrapper(self, py_func)
        self.py_func = py_func
        self.signature = layout
        self._in, self._out = parse_layout(layout)
        self.nin, self.nout = len(self._in), len(self._out)
        self._types: list[list[Number]] = []
        self._as_array: list[bool] = []  # whether an argument without dimensions is an array of one element
        for number, signature in enumerate(signatures):
            if len(signature.args) != self.nin + self.nout:
                raise TypeError(
                    f"guvectorize: signatures: expected {self.nin + self.nout} arguments in each, got {signature.args!r}"
                )
            for item, dimensions in zip(signature.args, [*self._in, *self._out], strict=True):
                rank = item.ndim if isinstance(item, Array) else 0
                if rank != len(dimensions) and not (rank == 1 and not dimensions):
                    raise TypeError(
                        f"guvectorize: signatures: expected {len(dimensions)} dimensions for ({','.join(dimensions)}), got {item}"
                    )
            as_array = [isinstance(item, Array) for item in signature.args]
            if number and as_array != self._as_array:
                raise TypeError("guvectorize: signatures: expected arrays and numbers in the same places of each")
            if not all(as_array[self.nin :]):
                raise TypeError(
                    "guvectorize: signatures: expected arrays for the outputs, as in 'void(f4[:], f4[:])' for '(n)->()'"
                )
            self._as_array = as_array
            self._types.append([scalar_of(item) for item in signature.args])
        self._kernels: dict[tuple[bool, ...], Dispatcher] = {}

    def _kernel(self, repeated: tuple[bool, ...]) -> Dispatcher:
        """The kernel whose thread i takes row i of the arguments that are repeated, and the others whole."""
        if repeated not in self._kernels:
            names = [f"x{number}" for number in range(self.nin + self.nout)]
            parts = [f"{name}[i]" if many else name for name, many in zip(names, repeated, strict=True)]
            self._kernels[repeated] = kernel_around(
                self.py_func, [*names, "count"], "count", f"core({', '.join(parts)})"
            )
        return self._kernels[repeated]

    def __call__(self, *args: Any, out: Any = None, stream: Any = 0) -> Any:
        outs: tuple[Any, ...] = (None,) * self.nout
        if len(args) == self.nin + self.nout and out is None:
            args, outs = args[: self.nin], args[self.nin :]
        elif out is not None:
            outs = out if isinstance(out, tuple) else (out,)
        if len(args) != self.nin or len(outs) != self.nout:
            raise TypeError(
                f"{self.__name__}: expected {self.nin} inputs and {self.nout} outputs or none, got {len(args)} and {len(outs)}"
            )
        with on_stream(stream):
            operands = [Operand(arg, self.__name__) for arg in args]
            types = self._types[resolve(self.__name__, operands, [types[: self.nin] for types in self._types])]
            sizes, loop = self._dimensions(operands, outs)
            shapes = [tuple(sizes[name] for name in dimensions) for dimensions in self._out]
            for given, shape, wanted in zip(outs, shapes, types[self.nin :], strict=True):
                if given is not None:
                    check_out(self.__name__, given, (*loop, *shape), wanted.dtype)
            results = [
                empty((*loop, *shape), wanted.name) for shape, wanted in zip(shapes, types[self.nin :], strict=True)
            ]
            if math.prod(loop):
                self._launch(operands, types, loop, results)
            to_host = not any(operand.on_device for operand in operands)
            delivered = tuple(deliver(result, given, to_host) for result, given in zip(results, outs, strict=True))
            return delivered[0] if self.nout == 1 else delivered

    def _dimensions(self, operands: list[Operand], outs: tuple[Any, ...]) -> tuple[dict[str, int], tuple[int, ...]]:
        """The sizes of the named dimensions, and the shape of those over which the function is repeated."""
        sizes: dict[str, int] = {}
        loops = []
        arguments = [*zip(self._in, (operand.shape for operand in operands), strict=True)]
        arguments += [
            (names, tuple(given.shape)) for names, given in zip(self._out, outs, strict=True) if hasattr(given, "shape")
        ]
        for number, (names, shape) in enumerate(arguments):
            if len(shape) < len(names):
                raise ValueError(
                    f"{self.__name__}: argument {number}: expected at least {len(names)} dimensions, got {len(shape)}"
                )
            split = len(shape) - len(names)
            for name, size in zip(names, shape[split:], strict=True):
                known = sizes.setdefault(name, int(name) if name.isdigit() else size)
                if known != size:
                    raise ValueError(
                        f"{self.__name__}: argument {number}: dimension '{name}': expected {known}, got {size}"
                    )
            if number < self.nin:
                loops.append(shape[:split])
        for names in self._out:
            for name in names:
                if name.isdigit():
                    sizes.setdefault(name, int(name))
                if name not in sizes:
                    raise ValueError(
                        f"{self.__name__}: dimension '{name}': expected it among the inputs, or an array as out"
                    )
        try:
            return sizes, np.broadcast_shapes(*loops)
        except ValueError:
            got = " and ".join(map(str, loops))
            raise ValueError(f"{self.__name__}: expected outer dimensions that broadcast together, got {got}") from None

    def _launch(self, operands: list[Operand], types: list[Number], loop: tuple[int, ...], results: list[Any]) -> None:
        count = math.prod(loop)
        repeated, arguments = [], []
        named = [*self._in, *self._out]
        for number, (names, wanted) in enumerate(zip(named, types, strict=True)):
            one = (1,) if not names and self._as_array[number] else ()
            if number >= self.nin:
                array = results[number - self.nin]
                inner = array.shape[len(loop) :]
                many = True
            else:
                operand = operands[number]
                split = len(operand.shape) - len(names)
                inner = operand.shape[split:]
                many = math.prod(operand.shape[:split]) > 1
                if not many and not names and not one:
                    arguments.append(operand.number(wanted.name))
                    repeated.append(False)
                    continue
                array = operand.array(wanted.name)
                array = broadcast(array, (*loop, *inner)) if many else array
            arguments.append(array._reshape(((count,) if many else ()) + (inner or one)))
            repeated.append(many)
        self._kernel(tuple(repeated))[math.ceil(count / _BLOCK), _BLOCK](*arguments, count)

    def __repr__(self) -> str:
        return f"<function {self.__name__} of arrays {self.signature}>"


def guvectorize(ftylist: Any, signature: str, target: str = "cuda", **options: Any) -> Any:
    """Makes a function of arrays with named dimensions: ``@guvectorize(["void(f4[:,:], f4[:], f4[:])"], "(m,n),(n)->(m)")``.

    Args: ftylist: a signature or a list of them, with types for inputs and outputs; signature: the layout; target: "cuda", the current
    device. The function writes its results into its last arguments; for "()" these are arrays of one element. Returns a decorator that
    gives a ``DeviceGUFunc``; kernels compile at first use.

    Raises: TypeError for signatures that do not fit the layout and unknown options, ValueError for a bad layout, UnsupportedError for
    another target.

    >>> import numpy as np
    >>> from treadle import cuda
    >>> @cuda.guvectorize(["void(float64[:], float64[:])"], "(n)->()")
    ... def total(x, out):
    ...     out[0] = 0.0
    ...     for i in range(x.shape[0]):
    ...         out[0] += x[i]
    >>> total(np.ones((2, 3)))
    array([3., 3.])
    """
    check_target("guvectorize", target, options)
    signatures = read_signatures(ftylist, "guvectorize")

    def decorate(function: Callable[..., Any]) -> DeviceGUFunc:
        return DeviceGUFunc(core_function(function, "guvectorize"), signatures, signature)

    return decorate
