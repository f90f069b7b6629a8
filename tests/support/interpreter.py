"""A plain Python interpretation of kernels: the undecorated function runs once for every thread, on typed numbers.

Numbers carry numba.cuda's types: integer arithmetic is 64 bits wide and wraps, literals are int64 and float64, division is true
division, floor division and modulo have Python's signs, integer division by zero gives zero. Arrays wrap negative indices; outside
reads give zero and outside writes do nothing.

Functions that wait for other threads become generators: each wait yields what is waited for, and a scheduler sends the result when all
who take part have come. Shared and local arrays tell when a result would depend on the order of the threads or on what memory held
before, so that a program that is interpreted without an error has one meaning.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import math
import sys
import textwrap
import types

import numpy as np

INTS = ("int8", "int16", "int32", "int64")
UINTS = ("uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
WIDTH = {name: int(name.lstrip("uintfloa")) for name in INTS + UINTS + FLOATS} | {"bool": 8}
NUMPY = {name: np.dtype(name).type for name in (*INTS, *UINTS, *FLOATS, "bool")}


def is_float(t):
    return t[0] == "f"


def is_unsigned(t):
    return t[0] == "u"


def _mixed(a, b):
    if is_float(a) and is_float(b):
        return a if WIDTH[a] > WIDTH[b] else b
    flt, whole = (a, b) if is_float(a) else (b, a)
    return "float32" if WIDTH[flt] == 32 and (whole == "bool" or WIDTH[whole] <= 16) else "float64"


def _arithmetic(a, b):
    if is_float(a) or is_float(b):
        return _mixed(a, b)
    if a == b == "bool":
        return "int64"
    if all(is_unsigned(t) or t == "bool" for t in (a, b)):
        return "uint64"
    if "uint64" in (a, b):
        return "float64"
    return "int64"


def _bitwise(a, b):
    if a == "bool":
        return b
    if b == "bool":
        return a
    if "uint64" in (a, b):
        return "uint64"
    return "uint64" if is_unsigned(a) and is_unsigned(b) else "int64"


_ALL = ("bool", *INTS, *UINTS, *FLOATS)
ARITHMETIC = {(a, b): _arithmetic(a, b) for a in _ALL for b in _ALL}
BITWISE = {(a, b): _bitwise(a, b) for a in _ALL for b in _ALL if not is_float(a) and not is_float(b)}
MATH = {t: t if is_float(t) else "float64" for t in _ALL}


def wrap(value, t):
    """A Python integer as a value of an integer type."""
    bits = WIDTH[t]
    value &= (1 << bits) - 1
    return value - (1 << bits) if t[0] == "i" and value >> (bits - 1) else value


def round_to(value, t):
    if t == "float64":
        return value
    with np.errstate(all="ignore"):
        return float(NUMPY[t](value))


def to_float(value, t):
    """An integer as a float, rounded once."""
    if t == "float64":
        return float(value)
    with np.errstate(all="ignore"):
        return float(np.asarray(value, dtype="int64" if value < 2**63 else "uint64").astype(t))


def saturated(value, t):
    """A float as an integer: truncated, limited to the type, NaN as zero."""
    if value != value:
        return 0
    low, high = (0, 2 ** WIDTH[t] - 1) if is_unsigned(t) else (-(2 ** (WIDTH[t] - 1)), 2 ** (WIDTH[t] - 1) - 1)
    if math.isinf(value):
        return high if value > 0 else low
    return min(max(math.trunc(value), low), high)


class Num:
    """A number with a type."""

    __slots__ = ("t", "v")

    def __init__(self, v, t):
        self.v = v
        self.t = t

    def __repr__(self):
        return f"{self.t}({self.v})"

    def __bool__(self):
        return self.v != 0

    def __index__(self):
        if is_float(self.t):
            raise TypeError("float as index")
        return int(self.v)

    def __int__(self):
        return int(self.v)

    def __float__(self):
        return float(self.v)

    def __add__(self, other):
        a, b, t = operands(self, other)
        return Num(round_to(a + b, t) if t[0] == "f" else wrap(a + b, t), t)

    def __sub__(self, other):
        a, b, t = operands(self, other)
        return Num(round_to(a - b, t) if t[0] == "f" else wrap(a - b, t), t)

    def __mul__(self, other):
        a, b, t = operands(self, other)
        return Num(round_to(a * b, t) if t[0] == "f" else wrap(a * b, t), t)

    def __truediv__(self, other):
        a, b, t = operands(self, other)
        if t[0] != "f":
            a, b, t = to_float(a, "float64"), to_float(b, "float64"), "float64"
        return Num(round_to(divide(a, b), t), t)

    def __floordiv__(self, other):
        a, b, t = operands(self, other)
        if t[0] != "f":
            return Num(0 if b == 0 else wrap(a // b, t), t)
        with np.errstate(all="ignore"):
            return Num(float(NUMPY[t](a) // NUMPY[t](b)), t)

    def __mod__(self, other):
        a, b, t = operands(self, other)
        if t[0] != "f":
            return Num(0 if b == 0 else wrap(a % b, t), t)
        with np.errstate(all="ignore"):
            return Num(float(NUMPY[t](a) % NUMPY[t](b)), t)

    def __pow__(self, other):
        a, b = lift(self), lift(other)
        if not is_float(a.t) and not is_float(b.t):
            t = "uint64" if ARITHMETIC[a.t, b.t] == "uint64" else "int64"
            base, power = cast(a, t).v, cast(b, t).v
            if power >= 0:
                return Num(wrap(pow(base, power, 1 << 64), t), t)
            return Num(1 if base == 1 else (-1 if power & 1 else 1) if base == -1 else 0, t)
        t = "float32" if a.t == "float32" and not is_float(b.t) else ARITHMETIC[a.t, b.t]
        with np.errstate(all="ignore"):
            return Num(float(np.power(NUMPY[t](cast(a, t).v), NUMPY[t](cast(b, t).v))), t)

    def __lshift__(self, other):
        t = "uint64" if is_unsigned(self.t) else "int64"
        a, b = cast(self, t).v, cast(lift(other), t).v
        return Num(wrap(a << b, t) if 0 <= b < 64 else 0, t)

    def __rshift__(self, other):
        t = "uint64" if is_unsigned(self.t) else "int64"
        a, b = cast(self, t).v, cast(lift(other), t).v
        return Num(a >> b if 0 <= b < 64 else (-1 if a < 0 else 0), t)

    def __and__(self, other):
        a, b, t = bits(self, other)
        return Num(wrap(a & b, t) if t != "bool" else a & b, t)

    def __or__(self, other):
        a, b, t = bits(self, other)
        return Num(wrap(a | b, t) if t != "bool" else a | b, t)

    def __xor__(self, other):
        a, b, t = bits(self, other)
        return Num(wrap(a ^ b, t) if t != "bool" else a ^ b, t)

    def __neg__(self):
        if is_float(self.t):
            return Num(-self.v, self.t)
        # numba negates in the operand's type and widens the result.
        own = "int64" if self.t == "bool" else self.t
        t = "uint64" if is_unsigned(self.t) else "int64"
        return Num(wrap(wrap(-self.v, own), t), t)

    def __pos__(self):
        return self

    def __invert__(self):
        if self.t == "bool":
            return Num(1 - int(self.v), "bool")
        t = "uint64" if is_unsigned(self.t) else "int64"
        return Num(wrap(~int(self.v), t), t)

    def __eq__(self, other):
        return compare(self, other, lambda a, b: a == b)

    def __ne__(self, other):
        return compare(self, other, lambda a, b: a != b)

    def __lt__(self, other):
        return compare(self, other, lambda a, b: a < b)

    def __le__(self, other):
        return compare(self, other, lambda a, b: a <= b)

    def __gt__(self, other):
        return compare(self, other, lambda a, b: a > b)

    def __ge__(self, other):
        return compare(self, other, lambda a, b: a >= b)

    __hash__ = None


def _reflected(name):
    def method(self, other):
        return getattr(lift(other), f"__{name}__")(self)

    return method


for _name in "add sub mul truediv floordiv mod pow lshift rshift and or xor".split():
    setattr(Num, f"__r{_name}__", _reflected(_name))


def divide(a, b):
    if b == 0:
        if a != a or a == 0:
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)
    return a / b


def lift(value):
    if isinstance(value, Num):
        return value
    if isinstance(value, (bool, np.bool_)):
        return Num(int(value), "bool")
    if isinstance(value, np.generic):
        return Num(value.item(), value.dtype.name)
    if isinstance(value, int):
        return Num(wrap(value, "int64"), "int64") if value < 2**63 else Num(value, "uint64")
    if isinstance(value, float):
        return Num(value, "float64")
    raise TypeError(f"not a number: {value!r}")


def cast(num, t):
    num = lift(num)
    if num.t == t:
        return num
    if t == "bool":
        return Num(int(num.v != 0), t)
    if is_float(t):
        return Num(round_to(num.v, t) if is_float(num.t) else to_float(int(num.v), t), t)
    return Num(saturated(num.v, t) if is_float(num.t) else wrap(int(num.v), t), t)


def operands(a, b):
    b = lift(b)
    if a.t == b.t and a.t in ("int64", "float64"):
        return a.v, b.v, a.t
    t = ARITHMETIC[a.t, b.t]
    return cast(a, t).v, cast(b, t).v, t


def bits(a, b):
    b = lift(b)
    t = BITWISE[a.t, b.t]
    return int(cast(a, t).v), int(cast(b, t).v), t


def compare(a, b, how):
    b = lift(b)
    if is_float(a.t) != is_float(b.t):
        t = _mixed(a.t, b.t)
        a, b = cast(a, t), cast(b, t)
    return Num(int(how(a.v, b.v)), "bool")


class Complex:
    """A complex128 number; real numbers that it meets become complex first."""

    def __init__(self, real, imag=0.0):
        self.re, self.im = float(real), float(imag)

    real = property(lambda self: Num(self.re, "float64"))
    imag = property(lambda self: Num(self.im, "float64"))
    v = property(lambda self: complex(self.re, self.im))

    @staticmethod
    def of(value):
        return value if isinstance(value, Complex) else Complex(cast(value, "float64").v)

    def conjugate(self):
        return Complex(self.re, -self.im)

    def __neg__(self):
        return Complex(-self.re, -self.im)

    def __add__(self, other):
        other = Complex.of(other)
        return Complex(self.re + other.re, self.im + other.im)

    def __sub__(self, other):
        other = Complex.of(other)
        return Complex(self.re - other.re, self.im - other.im)

    def __mul__(self, other):
        other = Complex.of(other)
        return Complex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

    def __eq__(self, other):
        other = Complex.of(other)
        return Num(int(self.re == other.re and self.im == other.im), "bool")

    def __ne__(self, other):
        return Num(1 - (self == other).v, "bool")

    __hash__ = None


class GuardedArray:
    """A NumPy array as kernels see it."""

    def __init__(self, data):
        self.data = data
        self.t = data.dtype.name

    shape = property(lambda self: tuple(Num(n, "int64") for n in self.data.shape))
    strides = property(lambda self: tuple(Num(n, "int64") for n in self.data.strides))
    size = property(lambda self: Num(self.data.size, "int64"))
    ndim = property(lambda self: Num(self.data.ndim, "int64"))
    nbytes = property(lambda self: Num(self.data.nbytes, "int64"))
    itemsize = property(lambda self: Num(self.data.itemsize, "int64"))
    T = property(lambda self: GuardedArray(self.data.T))
    dtype = property(lambda self: _converter(self.t))

    def __len__(self):
        return len(self.data)

    def place_for(self, index, access):
        """The place of an element, or None where it is outside; ``access`` is "read", "write" or the name of an atomic operation."""
        return self._place(index)

    def _place(self, index):
        place = []
        for part, n in zip(index if isinstance(index, tuple) else (index,), self.data.shape, strict=True):
            i = part.__index__()
            i += n if i < 0 else 0
            if not 0 <= i < n:
                return None
            place.append(i)
        return tuple(place)

    def __getitem__(self, index):
        parts = index if isinstance(index, tuple) else (index,)
        if len(parts) < self.data.ndim or any(isinstance(part, slice) for part in parts):
            return self._view(parts)
        place = self.place_for(index, "read")
        t = self.t
        if t == "complex128":
            return Complex(0.0) if place is None else Complex(self.data[place].real, self.data[place].imag)
        if place is None:
            return Num(0.0 if is_float(t) else 0, t)
        return Num(self.data.item(place) if t != "bool" else int(self.data[place]), t)

    def _view(self, parts):
        fixed = []
        for axis, part in enumerate(parts):
            if isinstance(part, slice):
                limits = (part.start, part.stop, part.step)
                fixed.append(slice(*(None if limit is None else limit.__index__() for limit in limits)))
                continue
            i = part.__index__()
            i += self.data.shape[axis] if i < 0 else 0
            if not 0 <= i < self.data.shape[axis]:
                kept = [s for s in fixed if isinstance(s, slice)] + [
                    p for p in parts[axis + 1 :] if isinstance(p, slice)
                ]
                return GuardedArray(np.zeros((0,) * (len(kept) + self.data.ndim - len(parts)), self.data.dtype))
            fixed.append(i)
        return GuardedArray(self.data[tuple(fixed)])

    def __setitem__(self, index, value):
        place = self.place_for(index, "write")
        if place is not None:
            self.data[place] = Complex.of(value).v if self.t == "complex128" else cast(value, self.t).v


class OrderError(Exception):
    """A result that depends on the order of the threads, or a read of memory that nobody has written."""


class WatchedArray(GuardedArray):
    """A shared or local array. ``log`` holds, for each element, who has accessed it how since the last barrier of the block."""

    def __init__(self, cuda, data, places=None, log=None):
        super().__init__(data)
        self.cuda = cuda
        self.places = np.arange(data.size).reshape(data.shape) if places is None else places
        self.log = {} if log is None else log

    T = property(lambda self: WatchedArray(self.cuda, self.data.T, self.places.T, self.log))

    def _view(self, parts):
        places = GuardedArray(self.places)._view(parts).data
        return WatchedArray(self.cuda, super()._view(parts).data, places, self.log)

    def place_for(self, index, access):
        place = self._place(index)
        if place is None:
            return None
        element = self.places.item(place)
        if element not in self.log:
            if access != "write":
                raise OrderError(f"{access} of element {index}, which nobody has written")
            self.log[element] = [None, {}]
        entry = self.log[element]
        thread, warp, warp_phase, phase = self.cuda.moment()
        if entry[0] != phase:
            entry[:] = [phase, {}]
        # Per kind of access and warp between two syncwarps: the one thread that did it, or -1 for several.
        for kind, accesses in entry[1].items():
            if kind == access != "write":
                continue
            for (other_warp, other_phase), other in accesses.items():
                if other != thread and not (other_warp == warp and other_phase != warp_phase):
                    raise OrderError(f"{access} of element {index} by thread {thread}, {kind} by thread {other}")
        mine = entry[1].setdefault(access, {})
        mine[warp, warp_phase] = thread if mine.get((warp, warp_phase), thread) == thread else -1
        return place


_ATOMIC = {
    "add": lambda old, value: old + value,
    "sub": lambda old, value: old - value,
    "and_": lambda old, value: old & value,
    "or_": lambda old, value: old | value,
    "xor": lambda old, value: old ^ value,
    "min": min,
    "max": max,
    "exch": lambda old, value: value,
}


class _Atomic:
    """``cuda.atomic`` on integers."""

    @staticmethod
    def cas(array, index, old, value):
        place = array.place_for(index, "cas")
        t = array.t
        if place is None:
            return Num(0, t)
        found = array.data.item(place)
        if found == cast(old, t).v:
            array.data[place] = cast(value, t).v
        return Num(found, t)


def _atomic(name, rule):
    def operation(array, index, value):
        place = array.place_for(index, f"atomic {name}")
        t = array.t
        if place is None:
            return Num(0, t)
        found = array.data.item(place)
        array.data[place] = wrap(rule(found, cast(value, t).v), t)
        return Num(found, t)

    return staticmethod(operation)


for _name, _rule in _ATOMIC.items():
    setattr(_Atomic, _name, _atomic(_name, _rule))


class _Dim3:
    def __init__(self, values):
        self.x, self.y, self.z = (Num(value, "int32") for value in values)


class FakeCuda:
    """The ``cuda`` of one thread."""

    atomic = _Atomic

    def __init__(self):
        self.jit = lambda *args, **kwargs: args[0] if args and callable(args[0]) else lambda f: f
        self.shared = types.SimpleNamespace(array=self._shared_array)
        self.local = types.SimpleNamespace(array=self._local_array)
        self.warpsize = Num(32, "int64")
        self.shared_bytes = 0

    def enter_block(self):
        self._shared = {}
        self.phase = 0
        self.warp_phases = {}

    def _shared_array(self, shape, dtype):
        frame = sys._getframe(1)
        where = frame.f_code, frame.f_lasti
        if where not in self._shared:
            if not isinstance(shape, tuple) and int(shape) == 0:
                shape = self.shared_bytes // np.dtype(getattr(dtype, "type_name", dtype)).itemsize
            self._shared[where] = self._local_array(shape, dtype)
        return self._shared[where]

    def _local_array(self, shape, dtype):
        shape = tuple(map(int, shape)) if isinstance(shape, tuple) else (int(shape),)
        return WatchedArray(self, np.zeros(shape, getattr(dtype, "type_name", dtype)))

    def moment(self):
        """(thread, warp, syncwarps of the thread, barriers of the block)"""
        thread = self.thread
        return thread, thread // 32, self.warp_phases.get(thread, 0), self.phase

    def place(self, grid, block, block_index, thread_index):
        self.thread = thread_index[0] + block[0] * (thread_index[1] + block[1] * thread_index[2])
        self.laneid = Num(self.thread % 32, "int32")
        self.gridDim, self.blockDim = _Dim3(grid), _Dim3(block)
        self.blockIdx, self.threadIdx = _Dim3(block_index), _Dim3(thread_index)
        self._grid = tuple(Num(b * n + t, "int64") for b, n, t in zip(block_index, block, thread_index, strict=True))
        self._gridsize = tuple(Num(g * n, "int64") for g, n in zip(grid, block, strict=True))

    def grid(self, n):
        n = int(n)
        return self._grid[0] if n == 1 else self._grid[:n]

    def gridsize(self, n):
        n = int(n)
        return self._gridsize[0] if n == 1 else self._gridsize[:n]

    @staticmethod
    def popc(x):
        return Num(bin(x.v & ((1 << WIDTH[x.t]) - 1)).count("1"), x.t)

    @staticmethod
    def clz(x):
        return Num(WIDTH[x.t] - (x.v & ((1 << WIDTH[x.t]) - 1)).bit_length(), x.t)

    @staticmethod
    def brev(x):
        text = format(x.v & ((1 << WIDTH[x.t]) - 1), f"0{WIDTH[x.t]}b")
        return Num(wrap(int(text[::-1], 2), x.t), x.t)

    @staticmethod
    def ffs(x):
        return Num((x.v & -x.v).bit_length(), "int32")

    def lanemask_lt(self):
        return Num((1 << self.thread % 32) - 1, "uint32")

    @staticmethod
    def selp(c, a, b):
        t = unified(a, b)
        return cast(a if c else b, t)


def unified(*values):
    t = lift(values[0]).t
    for value in values[1:]:
        other = lift(value).t
        if other == t:
            continue
        t = ARITHMETIC[t, other] if is_float(t) or is_float(other) else np.promote_types(t, other).name
    return t


def _extreme(better):
    def function(*args):
        result = lift(args[0])
        for arg in args[1:]:
            t = unified(result, arg)
            a, b = cast(result, t), cast(arg, t)
            result = b if better(b.v, a.v) else a
        return result

    return function


def typed_range(*args):
    limits = [lift(arg) for arg in args]
    t = "uint64" if all(limit.t == "uint64" for limit in limits) else "int64"
    if len(args) == 3 and limits[2].v == 0:
        return iter(())
    return (Num(value, t) for value in range(*(limit.__index__() for limit in limits)))


def _round(x, digits=None):
    x = lift(x)
    if not is_float(x.t):
        return x
    if digits is not None:
        return cast(Num(round(x.v, int(digits)), "float64"), x.t)
    return Num(saturated(float(np.rint(x.v)), "int64"), "int64")


def _numpy_math(name):
    function = getattr(np, name)

    def call(*args):
        nums = [lift(arg) for arg in args]
        t = MATH[nums[0].t]
        for num in nums[1:]:
            t = ARITHMETIC[t, MATH[num.t]]
        with np.errstate(all="ignore"):
            result = function(*(NUMPY[t](cast(num, t).v) for num in nums))
        if result.dtype == bool:
            return Num(int(result), "bool")
        return Num(float(result), t)

    return call


class FakeMath:
    pi, e, inf, nan, tau = (Num(getattr(math, name), "float64") for name in ("pi", "e", "inf", "nan", "tau"))


_MATH = {
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
}
_MATH |= {"atanh": "arctanh", "pow": "power"}
for _name in (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh degrees exp exp2 expm1 fabs floor fmod hypot isfinite isinf "
    "isnan log log10 log1p log2 pow radians sin sinh sqrt tan tanh trunc"
).split():
    setattr(FakeMath, _name, staticmethod(_numpy_math(_MATH.get(_name, _name))))


def _converter(t):
    def convert(value=0):
        return cast(value, t)

    convert.type_name = t
    return convert


BUILTINS = {
    "abs": lambda x: (
        x if is_unsigned(x.t) or x.t == "bool" else Num(wrap(abs(x.v), x.t) if x.t[0] == "i" else abs(x.v), x.t)
    ),
    "min": _extreme(lambda b, a: b < a),
    "max": _extreme(lambda b, a: b > a),
    "int": _converter("int64"),
    "float": _converter("float64"),
    "bool": _converter("bool"),
    "complex": lambda real, imag: Complex(real, imag),
    "round": _round,
    "range": typed_range,
    "len": lambda value: Num(len(value), "int64"),
    "pow": lambda a, b: a**b,
    "divmod": lambda a, b: (a // b, a % b),
}


class FakeNumpy:
    pass


for _name in (*INTS, *UINTS, *FLOATS):
    setattr(FakeNumpy, _name, staticmethod(_converter(_name)))
FakeNumpy.bool_ = staticmethod(_converter("bool"))


class _Literals(ast.NodeTransformer):
    """Numbers in the source become typed numbers, ``not x`` a typed bool."""

    def visit_Constant(self, node):
        if isinstance(node.value, (int, float)) and not isinstance(node.value, str):
            call = ast.Call(ast.Name("_lift", ast.Load()), [node], [])
            return ast.copy_location(call, node)
        return node

    def visit_UnaryOp(self, node):
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            return ast.copy_location(ast.Call(ast.Name("_lift", ast.Load()), [node], []), node)
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            return ast.copy_location(ast.Call(ast.Name("_not", ast.Load()), [node.operand], []), node)
        return node


# --------------------------------------------------------------------------------------------------------------- waiting

BARRIERS = {
    "syncthreads": lambda votes: None,
    "syncthreads_count": lambda votes: Num(sum(votes), "int32"),
    "syncthreads_and": lambda votes: Num(int(all(votes)), "int32"),
    "syncthreads_or": lambda votes: Num(int(any(votes)), "int32"),
}


def _bits(lanes):
    return Num(wrap(sum(1 << lane for lane in lanes), "int32"), "int32")


def _shuffle(source):
    def values(args):
        result = {}
        for lane, (value, by) in args.items():
            other = source(lane, int(by))
            other = other if 0 <= other < 32 else lane
            if other not in args:
                raise OrderError(f"lane {lane} takes a value from lane {other}, which does not take part")
            result[lane] = args[other][0]
        return result

    return values


def _vote(rule):
    """The same result for all, from the lanes with their truth values."""
    return lambda args: dict.fromkeys(args, rule({lane: bool(arg[0]) for lane, arg in args.items()}))


def _match_all(args):
    same = len({arg[0].v for arg in args.values()}) == 1
    return dict.fromkeys(args, (_bits(args if same else ()), Num(int(same), "bool")))


# From the arguments behind the mask of each lane to the results.
WARP = {
    "syncwarp": lambda args: dict.fromkeys(args),
    "shfl_sync": _shuffle(lambda lane, by: by % 32),
    "shfl_up_sync": _shuffle(lambda lane, by: lane - by),
    "shfl_down_sync": _shuffle(lambda lane, by: lane + by),
    "shfl_xor_sync": _shuffle(lambda lane, by: lane ^ by),
    "all_sync": _vote(lambda votes: Num(int(all(votes.values())), "bool")),
    "any_sync": _vote(lambda votes: Num(int(any(votes.values())), "bool")),
    "eq_sync": _vote(lambda votes: Num(int(len(set(votes.values())) == 1), "bool")),
    "ballot_sync": _vote(lambda votes: _bits(lane for lane, vote in votes.items() if vote)),
    "match_any_sync": lambda args: {
        lane: _bits(other for other in args if args[other][0].v == args[lane][0].v) for lane in args
    },
    "match_all_sync": _match_all,
}


class _Waits(ast.NodeTransformer):
    """``cuda.syncthreads()`` and its kin become yields, calls of functions that hold some are passed on to the scheduler."""

    def __init__(self, waiting):
        self.waiting = waiting
        self.found = False

    def visit_Call(self, node):
        self.generic_visit(node)
        func = node.func
        if isinstance(func, ast.Name) and func.id in self.waiting:
            self.found = True
            return ast.copy_location(ast.YieldFrom(node), node)
        if isinstance(func, ast.Attribute) and getattr(func.value, "id", "") == "cuda":
            if func.attr in BARRIERS or func.attr in WARP:
                self.found = True
                request = ast.Tuple([ast.Constant(func.attr), ast.Tuple(node.args, ast.Load())], ast.Load())
                return ast.copy_location(ast.Yield(request), node)
        return node


class _Thread:
    """A thread that waits now and then; ``wait`` is (name, arguments, where) or None at the end."""

    def __init__(self, cuda, run):
        self.place = {name: vars(cuda)[name] for name in ("thread", "laneid", "blockIdx", "threadIdx", "_grid")}
        self.number = cuda.thread
        self.cuda = cuda
        self.run = run
        self.resume(None)

    def resume(self, value):
        vars(self.cuda).update(self.place)
        try:
            name, args = self.run.send(value)
        except StopIteration:
            self.wait = None
            return
        where, run = [], self.run
        while run is not None:
            where.append((run.gi_code, run.gi_frame.f_lasti))
            run = run.gi_yieldfrom
        self.wait = name, args, where


def _run_warps(cuda, waiting):
    """Lets the groups of lanes go that are complete; whether there was one."""
    groups = {}
    for thread in waiting:
        name, args, where = thread.wait
        if name in WARP:
            mask = int(args[0]) & 0xFFFFFFFF if args else 0xFFFFFFFF
            groups.setdefault((thread.number // 32, name, mask, str(where)), []).append(thread)
    progress = False
    for (warp, name, mask, _), group in groups.items():
        members = [t for t in waiting if t.number // 32 == warp and mask >> t.number % 32 & 1]
        if members != group:
            continue
        results = WARP[name]({thread.number % 32: thread.wait[1][1:] for thread in group})
        if name == "syncwarp":
            cuda.warp_phases |= {thread.number: cuda.warp_phases.get(thread.number, 0) + 1 for thread in group}
        for thread in group:
            thread.resume(results[thread.number % 32])
        progress = True
    return progress


def run_together(cuda, threads):
    """Runs the threads of a block to their ends."""
    while waiting := [thread for thread in threads if thread.wait]:
        if _run_warps(cuda, waiting):
            continue
        name, _, where = waiting[0].wait
        if name not in BARRIERS or any(thread.wait[2] != where for thread in waiting):
            raise OrderError("the threads of the block wait at different places")
        result = BARRIERS[name]([bool(vote) for thread in waiting for vote in thread.wait[1]])
        cuda.phase += 1
        for thread in waiting:
            thread.resume(result)


class Interpreted:
    """A kernel (or plain function) made ready for interpretation; ``constants`` replaces frozen globals of other kinds."""

    def __init__(self, function, cuda=None):
        function = getattr(function, "py_func", function)
        self.cuda = cuda or FakeCuda()
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        node = next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == function.__name__)
        node.decorator_list = []
        node.returns = None
        node = _Literals().visit(node)
        names = dict(function.__globals__)
        names |= {
            name: cell.cell_contents
            for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        }
        used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        self.globals = {**BUILTINS, "_lift": lift, "_not": lambda x: Num(int(not x), "bool"), "cuda": self.cuda}
        for name in used & set(names):
            if name not in BUILTINS and name != "cuda":
                self.globals[name] = self._fake(names[name])
        waits = _Waits({name for name, value in self.globals.items() if inspect.isgeneratorfunction(value)})
        module = ast.fix_missing_locations(ast.Module([waits.visit(node)], []))
        exec(compile(module, f"<interpreted {function.__name__}>", "exec"), self.globals)
        self.function = self.globals[function.__name__]
        self.waits = waits.found

    def _fake(self, value):
        if value is math:
            return FakeMath
        if value is np:
            return FakeNumpy
        if isinstance(value, tuple):
            return tuple(map(self._fake, value))
        if isinstance(value, (bool, int, float, np.generic)):
            return lift(value)
        if isinstance(value, types.FunctionType) or hasattr(value, "py_func"):
            return Interpreted(value, self.cuda).function
        name = getattr(value, "builtin", None)
        return getattr(self.cuda, name) if name else value

    def argument(self, value):
        if isinstance(value, np.ndarray):
            return GuardedArray(value)
        if isinstance(value, tuple):
            return tuple(map(self.argument, value))
        return lift(value)

    def launch(self, grid, block, *args):
        """Runs the whole grid, block after block; NumPy arrays among the arguments are changed."""
        shapes = []
        for shape in (grid, block):
            shape = shape if isinstance(shape, tuple) else (shape,)
            shapes.append((*shape, 1, 1)[:3])
        values = [self.argument(arg) for arg in args]
        places = [[range(n) for n in reversed(shape)] for shape in shapes]
        for block_index in itertools.product(*places[0]):
            self.cuda.enter_block()
            threads = []
            for thread_index in itertools.product(*places[1]):
                self.cuda.place(*shapes, block_index[::-1], thread_index[::-1])
                run = self.function(*values)
                if self.waits:
                    threads.append(_Thread(self.cuda, run))
            run_together(self.cuda, threads)


def interpret(kernel, grid, block, *args, shared_bytes=0):
    """The arguments after the kernel as copies: what NumPy arrays hold afterwards. ``shared_bytes``: of the launch, for one array."""

    def copied(arg):
        if isinstance(arg, np.ndarray):
            result = np.lib.stride_tricks.as_strided(arg.copy(), arg.shape) if arg.ndim == 0 else arg.copy(order="K")
            return result
        return tuple(map(copied, arg)) if isinstance(arg, tuple) else arg

    copies = [copied(arg) for arg in args]
    cuda = FakeCuda()
    cuda.shared_bytes = shared_bytes
    Interpreted(kernel, cuda).launch(grid, block, *copies)
    return copies
