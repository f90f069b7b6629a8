"""Creating arrays and putting them together. Everything is asynchronous on the current stream unless it says otherwise."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from treadle import _checks, _treadle
from treadle._array import ndarray
from treadle._bfloat16 import BFloat16
from treadle._convert import from_host, from_object, to_host
from treadle._records import element_name, is_record
from treadle._types import DTYPES, common_name, default_float, dtype_name, is_floating
from treadle.cuda._arrays import as_cuda_array, is_cuda_array


def _shape(shape: Any) -> tuple[int, ...]:
    """A shape given as an integer or a sequence. Raises TypeError for anything else, ValueError for negative extents."""
    extents: tuple[int, ...]
    try:
        extents = (operator.index(shape),)
    except TypeError:
        try:
            extents = tuple(operator.index(extent) for extent in shape)
        except TypeError:
            raise TypeError(f"shape: expected an integer or a sequence of integers, got {shape!r}") from None
    if any(extent < 0 for extent in extents):
        raise ValueError(f"shape: expected no negative dimensions, got {extents}")
    return extents


def is_fortran(order: str, what: str) -> bool:
    """Whether an order argument asks for the first index to run fastest. Raises ValueError for unknown orders."""
    if order not in ("C", "F", "A", "K"):
        raise ValueError(f"{what}: order: expected 'C', 'F', 'A' or 'K', got {order!r}")
    return order == "F"


def _name(dtype: Any) -> str:
    return default_float() if dtype is None else element_name(dtype)


def empty(shape: Any, dtype: Any = None, order: str = "C") -> ndarray:
    """A new array whose elements have any value.

    Args: shape: integer or sequence of integers; dtype: float64 if None. Raises: TypeError, ValueError for a bad shape or dtype;
    OutOfMemoryError."""
    # The checks below cost more than the memory: the plainest call goes without them.
    if type(shape) is int and shape >= 0 and type(dtype) is str and dtype in DTYPES and order == "C":
        return _treadle.empty((shape,), dtype)
    return new_array(shape, dtype, order, "empty")


def new_array(shape: Any, dtype: Any, order: str, what: str, shared: str = "") -> ndarray:
    """``empty`` for a function called ``what``; shared: "pinned" or "managed" for memory that the host reaches too."""
    extents, name = _shape(shape), _name(dtype)
    fortran = is_fortran(order, what)
    extents = extents[::-1] if fortran else extents
    array = _treadle.empty_shared(extents, name, shared == "managed") if shared else _treadle.empty(extents, name)
    return array._transpose([]) if fortran else array


def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C") -> ndarray:
    """A new array with every element ``fill_value``; without dtype, NumPy's type of the value.

    >>> import treadle as td
    >>> td.full((2, 2), 7)
    array([[7, 7],
           [7, 7]])
    """
    if dtype is None:
        dtype = fill_value.dtype if hasattr(fill_value, "dtype") else np.asarray(fill_value).dtype
    result = empty(shape, dtype, order)
    result._fill(fill_value)
    return result


def zeros(shape: Any, dtype: Any = None, order: str = "C") -> ndarray:
    """A new array of zeros; float64 without a dtype."""
    result = empty(shape, dtype, order)
    if is_record(result._dtype_name):
        result._set(..., from_host(np.zeros((), result.dtype)))
    else:
        result._fill(0)
    return result


def ones(shape: Any, dtype: Any = None, order: str = "C") -> ndarray:
    """A new array of ones; float64 without a dtype."""
    result = empty(shape, dtype, order)
    result._fill(1)
    return result


def device_array(what: str, value: Any) -> Any:
    """``value``, which must be a device array. Raises TypeError."""
    return _checks.instance(what, value, ndarray, "a device array")


def _like(what: str, a: ndarray, dtype: Any, shape: Any) -> tuple[Any, str]:
    _checks.described(f"{what}: a", a)
    return (a.shape if shape is None else shape), element_name(a.dtype if dtype is None else dtype)


def empty_like(a: ndarray, dtype: Any = None, shape: Any = None) -> ndarray:
    """A new array like ``a`` in shape and dtype, elements undefined."""
    return empty(*_like("empty_like", a, dtype, shape))


def zeros_like(a: ndarray, dtype: Any = None, shape: Any = None) -> ndarray:
    """A new array of zeros like ``a`` in shape and dtype."""
    return zeros(*_like("zeros_like", a, dtype, shape))


def ones_like(a: ndarray, dtype: Any = None, shape: Any = None) -> ndarray:
    """A new array of ones like ``a`` in shape and dtype."""
    return ones(*_like("ones_like", a, dtype, shape))


def full_like(a: ndarray, fill_value: Any, dtype: Any = None, shape: Any = None) -> ndarray:
    """A new array of ``fill_value`` like ``a`` in shape and dtype."""
    new_shape, name = _like("full_like", a, dtype, shape)
    return full(new_shape, fill_value, name)


def _holds_device_arrays(obj: Any) -> bool:
    return isinstance(obj, (list, tuple)) and any(
        isinstance(item, ndarray) or _holds_device_arrays(item) for item in obj
    )


def _copied(obj: Any, dtype: Any) -> ndarray:
    if dtype is None:
        return from_host(np.asarray(obj))
    name = element_name(dtype)
    try:
        return from_object(obj, name)
    except (TypeError, ValueError) as error:
        what = f"array: obj: expected what can be elements of {name}, got {type(obj).__name__}"
        raise type(error)(f"{what} ({error})") from None


def array(obj: Any, dtype: Any = None, copy: bool = True, order: str = "K", ndmin: int = 0) -> ndarray:
    """A new device array from a host array, a number, a nested sequence, or a device array (copied), also one of another library.

    Copies host data before it returns. Raises TypeError for dtypes that devices do not have.

    >>> import treadle as td
    >>> td.array([[1, 2], [3, 4]]).sum()
    array(10)
    """
    fortran, dimensions = is_fortran(order, "array"), _checks.integer("array: ndmin", ndmin)
    if not isinstance(obj, (ndarray, np.ndarray)) and is_cuda_array(obj):
        obj = as_cuda_array(obj)
    if isinstance(obj, ndarray):
        result = obj.astype(obj.dtype if dtype is None else dtype, copy)
    else:
        if _holds_device_arrays(obj):
            return stack([array(item, dtype) for item in obj])
        dtype = obj.dtype if dtype is None and isinstance(obj, BFloat16) else dtype
        result = _copied(obj, dtype)
        if fortran and result.ndim > 1:
            result = result._transpose([])._copy()._transpose([])
    while result.ndim < dimensions:
        result = result._expand_dims(0)
    return result


def asarray(obj: Any, dtype: Any = None, order: str = "K") -> ndarray:
    """A device array of ``obj``; a device array of the right dtype is returned as it is, and one of another library is shared."""
    return array(obj, dtype, copy=False, order=order)


def asnumpy(a: Any, stream: Any = None, order: str = "C", out: np.ndarray | None = None) -> np.ndarray:
    """A host copy of a device array (or ``np.asarray`` of anything else). Waits for ``stream``, by default the current one.
    Raises TypeError for a stream or an ``out`` that is none, ValueError for an ``out`` of another shape."""
    if isinstance(a, ndarray):
        return a.get(stream, order, out)
    return np.asarray(a, order="F" if is_fortran(order, "asnumpy") else None)


def ascontiguousarray(a: Any, dtype: Any = None) -> ndarray:
    """The array in C order: itself where it already is."""
    result = asarray(a, dtype)
    return result if result._c_contiguous else result._copy()


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> ndarray:
    """Numbers from ``start`` (0 if only one number is given) below ``stop``, ``step`` apart, as ``numpy.arange``.

    Raises: ValueError for a step of zero.

    >>> import treadle as td
    >>> td.arange(2, 10, 3)
    array([2, 5, 8])
    """
    if stop is None:
        start, stop = 0, start
    for what, value in (("start", start), ("stop", stop), ("step", step)):
        _checks.number(f"arange: {what}", value)
    if step == 0:
        raise ValueError("arange: step: expected a number other than zero, got 0")
    if dtype is None:
        dtype = np.result_type(*(np.asarray(x).dtype for x in (start, stop, step)))
    name = dtype_name(dtype)
    count = max(0, math.ceil((stop - start) / step))
    whole = not is_floating(name)
    start_integer = int(start) if whole else 0
    step_integer = (int(start + step) - int(start)) if whole else 0
    return _treadle.arange(float(start), float(step), start_integer, step_integer, count, name)


def linspace(start: float, stop: float, num: int = 50, endpoint: bool = True, dtype: Any = None) -> ndarray:
    """``num`` evenly spaced numbers from ``start`` to ``stop`` (included unless endpoint is False)."""
    count = _checks.integer("linspace: num", num)
    if count < 0:
        raise ValueError(f"linspace: num: expected a number of samples >= 0, got {num}")
    first, last = (_checks.number(f"linspace: {what}", value) for what, value in (("start", start), ("stop", stop)))
    return _treadle.linspace(float(first), float(last), count, bool(endpoint), _name(dtype))


def copy(a: ndarray) -> ndarray:
    """A new C-ordered array with the elements of ``a``."""
    return asarray(a)._copy()


def reshape(a: ndarray, shape: Any, order: str = "C") -> ndarray:
    """``a`` with another shape: a view where the strides allow it, else a copy. One extent may be -1."""
    return device_array("reshape: a", a).reshape(shape, order=order)


def ravel(a: ndarray) -> ndarray:
    """``a`` as one dimension: a view where the strides allow it, else a copy."""
    return device_array("ravel: a", a)._reshape(-1)


def transpose(a: ndarray, axes: Sequence[int] | None = None) -> ndarray:
    """The view of ``a`` with permuted (by default reversed) axes."""
    order = [] if axes is None else list(_checks.integers("transpose: axes", axes))
    return device_array("transpose: a", a)._transpose(order)


def swapaxes(a: ndarray, axis1: int, axis2: int) -> ndarray:
    """The view of ``a`` with two axes exchanged."""
    order = list(range(device_array("swapaxes: a", a).ndim))
    first, second = (
        _checks.axis(f"swapaxes: {what}", axis, a.ndim) for what, axis in (("axis1", axis1), ("axis2", axis2))
    )
    order[first], order[second] = second, first
    return a._transpose(order)


def expand_dims(a: ndarray, axis: int) -> ndarray:
    """The view of ``a`` with a new axis of length 1 at ``axis``."""
    return device_array("expand_dims: a", a)._expand_dims(_checks.integer("expand_dims: axis", axis))


def squeeze(a: ndarray, axis: int | None = None) -> ndarray:
    """The view of ``a`` without its axes of length 1 (or without the given one)."""
    return device_array("squeeze: a", a).squeeze(axis)


def broadcast_to(a: ndarray, shape: Any) -> ndarray:
    """The view of ``a`` repeated to ``shape`` by NumPy's rules. Do not write through it: elements share memory."""
    return device_array("broadcast_to: a", a)._broadcast_to(_shape(shape))


def astype(a: ndarray, dtype: Any) -> ndarray:
    """A copy of ``a`` with another dtype. Floats become integers by truncation; out of range they saturate."""
    return device_array("astype: a", a)._astype(dtype_name(dtype))


def _arrays(arrays: Any, what: str) -> list[ndarray]:
    items = [asarray(item) for item in _checks.sequence(f"{what}: arrays", arrays, "a sequence of arrays")]
    if not items:
        raise ValueError(f"{what}: arrays: expected at least one array, got none")
    return items


def _common(arrays: Sequence[Any], what: str) -> list[ndarray]:
    items = _arrays(arrays, what)
    common = common_name(items)
    return [item if item._dtype_name == common else item._astype(common) for item in items]


def concatenate(arrays: Sequence[Any], axis: int | None = 0) -> ndarray:
    """The arrays one after the other along an existing axis. Raises ValueError when their other extents differ."""
    items = _common(arrays, "concatenate")
    if axis is None:
        items, axis = [item._reshape(-1) for item in items], 0
    first = items[0]
    if not -first.ndim <= _checks.integer("concatenate: axis", axis) < first.ndim:
        raise ValueError(f"concatenate: axis: expected {-first.ndim} to {first.ndim - 1}, got {axis}")
    axis %= first.ndim
    for item in items:
        if item.ndim != first.ndim or any(item.shape[d] != first.shape[d] for d in range(first.ndim) if d != axis):
            raise ValueError(
                f"concatenate: expected arrays of shape {first.shape} except in axis {axis}, got {item.shape}"
            )
    shape = list(first.shape)
    shape[axis] = sum(item.shape[axis] for item in items)
    result = _treadle.empty(tuple(shape), first._dtype_name)
    begin = 0
    for item in items:
        end = begin + item.shape[axis]
        result[(slice(None),) * axis + (slice(begin, end),)] = item
        begin = end
    return result


def stack(arrays: Sequence[Any], axis: int = 0) -> ndarray:
    """The arrays, all of one shape, along a new axis."""
    items = _arrays(arrays, "stack")
    along = _checks.integer("stack: axis", axis)
    for item in items:
        if item.shape != items[0].shape:
            raise ValueError(f"stack: expected arrays of one shape, got {items[0].shape} and {item.shape}")
    return concatenate([item._expand_dims(along) for item in items], along)


def array_equal(a: Any, b: Any) -> bool:
    """Whether two arrays have the same shape and elements. Waits for the result."""
    a, b = asarray(a), asarray(b)
    return a.shape == b.shape and bool(to_host((a == b).all()))
