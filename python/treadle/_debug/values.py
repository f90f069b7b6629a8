"""Numbers with a kernel's types. Every operation on them is compiled, so that there is one set of rules."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from treadle import _treadle
from treadle._bfloat16 import bfloat16
from treadle._program import number_text
from treadle.cuda._host_visible import host_memory

Code = tuple[
    Any, ...
]  # of a type, as signatures have it: ("scalar", "int64"), ("array", "int64", 1, 0), ("tuple", ...)


class Operation:
    """An expression of the kernel language on arguments of fixed types, compiled."""

    def __init__(
        self, options: tuple[int, bool, bool, int], expression: str, names: list[str], codes: list[Code]
    ) -> None:
        bounds, contract, fastmath, debug = options

        def program(text: str, parameters: list[str]) -> Any:
            made = f"(fn debug ({' '.join(parameters)}) {text})"
            return _treadle.make_function("debug", made, [], bounds, contract, fastmath, "", debug)

        described = program(f"(return {expression})", names).dump(codes, "types", 1)
        lines = [json.loads(line) for line in described.splitlines()]
        kind: list[Any] = next(line[1] for line in lines if line[0] == "return")
        self._is_tuple = kind[0] == "tuple"
        parts = kind[1:] if self._is_tuple else [kind] if kind[0] != "none" else []
        self._out = [_treadle.empty((1,), part[1]) for part in parts]
        self._results = [host_memory(array) for array in self._out]
        places = [f"out{number}" for number in range(len(parts))]
        targets = [f"(item {place} 0)" for place in places]
        target = f"(tuple {' '.join(targets)})" if self._is_tuple else "".join(targets)
        text = f"(set {target} {expression})" if parts else f"(expr {expression})"
        self._launch = _treadle.make_launcher(program(text, [*places, *names]), 1, 1, None, 0, [*places, *names], False)

    def __call__(self, args: Sequence[Any]) -> Any:
        self._launch(*self._out, *args)
        try:
            _treadle.synchronize()
        except ZeroDivisionError:
            # The thread that is debugged says where.
            raise ZeroDivisionError("division by zero") from None
        results = tuple(Scalar(result[0]) for result in self._results)
        return results if self._is_tuple else results[0] if results else None


class Machine:
    """What computes. ``use`` makes it the one that operators on numbers ask, here and at the debugger's prompt."""

    current: ClassVar[Machine]

    def __init__(self, bounds: int, contract: bool, fastmath: bool, debug: int) -> None:
        self._options = (bounds, contract, fastmath, debug)
        self._operations: dict[Any, Operation] = {}

    def use(self) -> None:
        Machine.current = self

    def evaluate(self, form: str, args: Sequence[Any]) -> Any:
        """An expression whose places, {0}, {1} and so on, are taken by numbers and arrays."""
        texts: list[str] = []
        key: list[Any] = [form]
        given: list[Any] = []
        codes: list[Code] = []
        for number, arg in enumerate(args):
            arg = lift(arg)
            if isinstance(arg, Literal):
                texts.append(arg.text)
                key.append(arg.text)
                continue
            texts.append(f"p{number}")
            codes.append(code_of(arg))
            key.append(codes[-1])
            given.append(arg.passed())
        operation = self._operations.get(tuple(key))
        if operation is None:
            names = [text for number, text in enumerate(texts) if text == f"p{number}"]
            operation = self._operations[tuple(key)] = Operation(self._options, form.format(*texts), names, codes)
        result = operation(given)
        for arg in args:
            if hasattr(arg, "take_back"):
                arg.take_back()
        if not given and isinstance(result, Scalar):
            return Literal(result.value, form.format(*texts))  # the compiler folds such an expression as well
        return result


@functools.cache
def machine(bounds: int, contract: bool, fastmath: bool, debug: int) -> Machine:
    """The one for these options: what it has compiled serves all launches."""
    return Machine(bounds, contract, fastmath, debug)


def evaluate(form: str, *args: Any) -> Any:
    return Machine.current.evaluate(form, args)


def _binary(form: str) -> tuple[Any, Any]:
    def method(self: Scalar, other: Any) -> Any:
        return evaluate(form, self, other) if is_number(other) else NotImplemented

    def reflected(self: Scalar, other: Any) -> Any:
        return evaluate(form, other, self) if is_number(other) else NotImplemented

    return method, reflected


def _compare(operator: str) -> Any:
    return _binary(f"(cmp {{0}} {operator} {{1}})")[0]


class Scalar:
    """A number of a kernel: ``value`` is the NumPy scalar of its type."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    @property
    def type(self) -> str:
        return str(self.value.dtype.name)

    def passed(self) -> Any:
        """The number as launches take it fastest."""
        kind = self.type
        return self.value.item() if kind in ("int64", "float64", "bool", "complex128") else self.value

    def shown(self) -> Any:
        """The number as Python prints it; a float32 shows its own digits."""
        if self.type == bfloat16:
            return bfloat16(self.value)
        return self.value if self.type in ("float16", "float32", "complex64") else self.value.item()

    def __repr__(self) -> str:
        return f"{self.type}({self})"

    def __str__(self) -> str:
        return str(self.shown())

    def __format__(self, form: str) -> str:
        return format(self.shown(), form) if form else str(self.shown())

    def __bool__(self) -> bool:
        return bool(self.value)

    def __index__(self) -> int:
        if self.value.dtype.kind not in "iub":
            raise TypeError(f"an index must be an integer, got {self.type}")
        return int(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __complex__(self) -> complex:
        return complex(self.value)

    def __hash__(self) -> int:
        return hash(self.value)

    @property
    def real(self) -> Scalar:
        return Scalar(self.value.real) if self.value.dtype.kind == "c" else self

    @property
    def imag(self) -> Scalar:
        return Scalar(self.value.imag) if self.value.dtype.kind == "c" else Scalar(self.value.dtype.type(0))

    def conjugate(self) -> Any:
        return evaluate("(call (attr {0} conjugate))", self)

    __add__, __radd__ = _binary("(bin + {0} {1})")
    __sub__, __rsub__ = _binary("(bin - {0} {1})")
    __mul__, __rmul__ = _binary("(bin * {0} {1})")
    __truediv__, __rtruediv__ = _binary("(bin / {0} {1})")
    __floordiv__, __rfloordiv__ = _binary("(bin // {0} {1})")
    __mod__, __rmod__ = _binary("(bin % {0} {1})")
    __pow__, __rpow__ = _binary("(bin ** {0} {1})")
    __lshift__, __rlshift__ = _binary("(bin << {0} {1})")
    __rshift__, __rrshift__ = _binary("(bin >> {0} {1})")
    __and__, __rand__ = _binary("(bin & {0} {1})")
    __or__, __ror__ = _binary("(bin | {0} {1})")
    __xor__, __rxor__ = _binary("(bin ^ {0} {1})")
    __eq__, __ne__ = _compare("=="), _compare("!=")
    __lt__, __le__, __gt__, __ge__ = _compare("<"), _compare("<="), _compare(">"), _compare(">=")

    def __neg__(self) -> Any:
        return evaluate("(un - {0})", self)

    def __pos__(self) -> Any:
        return self

    def __invert__(self) -> Any:
        return evaluate("(un ~ {0})", self)

    def __abs__(self) -> Any:
        return evaluate("(call (builtin abs) {0})", self)


class Literal(Scalar):
    """A number that the compiler knows: it may give another type or operation than a variable's value. ``text``: in the syntax."""

    __slots__ = ("text",)

    def __init__(self, value: Any, text: str) -> None:
        super().__init__(value)
        self.text = text


def literal(value: Any) -> Literal:
    """A number that stands in a program."""
    if isinstance(value, complex):
        text = f"(call (builtin complex128) {number_text(value.real)} {number_text(value.imag)})"
        return Literal(np.complex128(value), text)
    if isinstance(value, bool):
        return Literal(np.bool_(value), number_text(value))
    if isinstance(value, int):
        kind = np.int64 if -(2**63) <= value < 2**63 else np.uint64
        return Literal(kind(value), number_text(value))
    return Literal(np.float64(value), number_text(value))


def is_number(value: Any) -> bool:
    return isinstance(value, (Scalar, bool, int, float, complex, np.generic))


def lift(value: Any) -> Any:
    """A number of Python or NumPy as one of kernels; anything else as it is."""
    if isinstance(value, np.generic):
        return Scalar(value)
    return literal(value) if isinstance(value, (bool, int, float, complex)) else value


def firm(value: Any) -> Any:
    """What a variable holds after an assignment: a literal becomes a value of its type."""
    return Scalar(value.value) if isinstance(value, Literal) else value


def code_of(value: Any) -> Code:
    """The type of a value, as signatures write it. Raises TypeError for what has none."""
    if value is None:
        return ("none",)
    if isinstance(value, Scalar):
        return ("scalar", value.type)
    if isinstance(value, tuple):
        items = tuple(code_of(lift(item)) for item in value)
        return ("namedtuple", value._fields, *items) if hasattr(value, "_fields") else ("tuple", *items)
    code = getattr(value, "code", None)
    if code is None:
        raise TypeError(f"{type(value).__name__} has no type among the arguments of kernels")
    return tuple(code)


def convert(value: Any, kind: Sequence[Any]) -> Any:
    """A value as a variable of a type holds it; ``kind`` as frontend/lowering.h describes it."""
    if kind[0] == "scalar":
        value = firm(lift(value))
        if not isinstance(value, Scalar) or value.type == kind[1]:
            return value
        return firm(evaluate(f"(call (builtin {kind[1]}) {{0}})", value))
    if kind[0] == "tuple" and isinstance(value, tuple):
        items = [convert(item, part) for item, part in zip(value, kind[1:], strict=True)]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


def negated(value: Any) -> Any:
    """``not value``, a bool of kernels."""
    if value is None or isinstance(value, str):
        return not value
    return evaluate("(un not {0})", value)
