"""Arrays as kernels see them: the memory itself, indexed with a kernel's rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from treadle import _treadle
from treadle._convert import from_host, to_host
from treadle._debug.values import Scalar, convert, evaluate, lift, literal
from treadle.cuda._host_visible import host_memory

# index, axis, shape -> raises, or returns where such an access reads zero and writes nothing
Outside = Callable[[int, int, tuple[int, ...]], None]


class ElementType:
    """An element type in a kernel: converts, and says what arrays hold."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *args: Any) -> Any:
        places = " ".join(f"{{{number}}}" for number in range(len(args)))
        return evaluate(f"(call (builtin {self.name}) {places})", *args)

    def __repr__(self) -> str:
        return self.name


def _numbers(values: tuple[int, ...]) -> tuple[Scalar, ...]:
    return tuple(Scalar(np.int64(value)) for value in values)


class KernelArray:
    """An array of a kernel. ``device`` is the device array, ``host`` the same memory for NumPy; without the first, compiled code gets
    a copy and what it leaves there is taken back."""

    def __init__(
        self,
        device: _treadle.ndarray | None,
        outside: Outside,
        host: Any = None,
        name: str = "",
        is_constant: bool = False,
    ) -> None:
        self.device = device
        self._copy: _treadle.ndarray | None = None
        self.host = host_memory(device) if host is None and device is not None else host
        self.kind = str(self.host.dtype.name)
        self._outside = outside
        self._name = name
        self._is_constant = is_constant

    code = property(lambda self: ("array", self.kind, self.host.ndim, 0))
    shape = property(lambda self: _numbers(self.host.shape))
    strides = property(lambda self: _numbers(self.host.strides))
    size = property(lambda self: Scalar(np.int64(self.host.size)))
    nbytes = property(lambda self: Scalar(np.int64(self.host.nbytes)))
    ndim = property(lambda self: literal(self.host.ndim))
    itemsize = property(lambda self: literal(self.host.itemsize))
    dtype = property(lambda self: ElementType(self.kind))

    @property
    def T(self) -> KernelArray:
        return self._like(None if self.device is None else self.device.transpose(), self.host.T)

    def _like(self, device: _treadle.ndarray | None, host: Any) -> KernelArray:
        return KernelArray(device, self._outside, host, self._name, self._is_constant)

    def passed(self) -> _treadle.ndarray:
        if self.device is not None:
            return self.device
        self._copy = from_host(self.host)
        return self._copy

    def take_back(self) -> None:
        if self._copy is not None:
            self.host[...] = to_host(self._copy)
            self._copy = None

    def __repr__(self) -> str:
        text = repr(self.host)
        return f"{self._name} {text}" if self._name else text

    def __len__(self) -> int:
        return len(self.host)

    def place(self, index: Any) -> tuple[int, ...] | None:
        """The place of an element, or None where it is outside and the kernel goes on."""
        parts = index if isinstance(index, tuple) else (index,)
        if len(parts) != self.host.ndim:
            raise TypeError(f"expected {self.host.ndim} indices, got {len(parts)}")
        place = []
        for axis, (part, extent) in enumerate(zip(parts, self.host.shape, strict=True)):
            given = part.__index__()
            number = given + extent if given < 0 else given
            if not 0 <= number < extent:
                self._outside(given, axis, self.host.shape)
                return None
            place.append(number)
        return tuple(place)

    def __getitem__(self, index: Any) -> Any:
        parts = index if isinstance(index, tuple) else (index,)
        if len(parts) < self.host.ndim or any(isinstance(part, slice) for part in parts):
            return self._view(parts)
        place = self.place(parts)
        return Scalar(self.host.dtype.type(0) if place is None else self.host[place])

    def __setitem__(self, index: Any, value: Any) -> None:
        if self._is_constant:
            raise TypeError("constant arrays cannot be written")
        place = self.place(index)
        if place is not None:
            self.host[place] = convert(lift(value), ("scalar", self.kind)).value

    def _view(self, parts: tuple[Any, ...]) -> KernelArray:
        fixed: list[Any] = []
        for axis, part in enumerate(parts):
            extent = self.host.shape[axis]
            if isinstance(part, slice):
                limits = (part.start, part.stop, part.step)
                fixed.append(slice(*(None if limit is None else limit.__index__() for limit in limits)))
                continue
            given = part.__index__()
            number = given + extent if given < 0 else given
            if not 0 <= number < extent:
                # Nothing is there: a view without elements, whose accesses are outside in turn.
                self._outside(given, axis, self.host.shape)
                rest = self.host.ndim - len(parts) + sum(isinstance(one, slice) for one in parts)
                empty = _treadle.empty((0,) * rest, self.kind)
                return self._like(empty, host_memory(empty))
            fixed.append(number)
        device = None if self.device is None else self.device._get(tuple(fixed))
        return self._like(device, self.host[tuple(fixed)])


def new_array(shape: Any, dtype: Any, outside: Outside, name: str) -> KernelArray:
    """A shared or local array. What it holds is what nobody has written: zeros here."""
    extents = tuple(int(part) for part in (shape if isinstance(shape, tuple) else (shape,)))
    kind = dtype if isinstance(dtype, str) else dtype.name
    array = KernelArray(_treadle.empty(extents, kind), outside, name=name)
    array.host[...] = 0
    return array
