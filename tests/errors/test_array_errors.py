"""Errors of arrays: every refused argument is named; nothing is written; the next call works."""

import numpy as np
import pytest

import treadle as td

A = (3, 4)

CALLS = {
    "shape text": (lambda: td.zeros("3"), TypeError, "shape"),
    "shape float": (lambda: td.zeros(2.5), TypeError, "shape: expected an integer or a sequence of integers, got 2.5"),
    "shape floats": (lambda: td.empty((2, 1.5)), TypeError, "shape"),
    "shape none": (lambda: td.ones(None), TypeError, "shape"),
    "negative shape": (lambda: td.zeros((3, -1)), ValueError, "shape: expected no negative dimensions"),
    "huge shape": (lambda: td.zeros((2**40, 2**40)), (ValueError, MemoryError), "too large|memory"),
    "dtype text": (lambda: td.zeros(3, "flot"), TypeError, "dtype: expected a dtype, got 'flot'"),
    "dtype long complex": (
        lambda: td.zeros(3, np.clongdouble),
        TypeError,
        "dtype: expected a boolean, integer, floating or complex dtype",
    ),
    "dtype object": (lambda: td.zeros(3, object), TypeError, "dtype"),
    "dtype string": (lambda: td.zeros(3, "U5"), TypeError, "dtype"),
    "dtype datetime": (lambda: td.zeros(3, "M8[s]"), TypeError, "dtype"),
    "dtype structured": (lambda: td.zeros(3, [("a", "S4")]), TypeError, "dtype: field 'a'"),
    "dtype longdouble": (lambda: td.zeros(3, np.longdouble), TypeError, "dtype"),
    "object array": (
        lambda: td.array([object()]),
        TypeError,
        "array: expected a boolean, integer, floating or complex",
    ),
    "text array": (lambda: td.array(["a"]), TypeError, "array"),
    "ragged": (lambda: td.array([[1], [1, 2]]), ValueError, "."),
    "astype": (lambda: td.zeros(3).astype("V8"), TypeError, "dtype"),
    "complex to real": (lambda: td.array([1j]).astype("float64"), TypeError, "cannot cast complex128 to float64"),
    "complex fill": (lambda: td.zeros(3).fill(1j), TypeError, "cannot cast complex128 to float64"),
    "complex out": (lambda: td.add(td.zeros(3), 1j, out=td.zeros(3)), TypeError, "cannot cast complex128 to float64"),
    "complex order": (lambda: td.array([1j]) < 2, TypeError, "less.*not supported for type complex128"),
    "complex sine": (lambda: td.sin(td.array([1j])), TypeError, "sin.*not supported for type complex128"),
    "complex maximum": (lambda: td.array([1j]).max(), TypeError, "max.*not supported for type complex128"),
    "view": (lambda: td.zeros(3).view("float32"), ValueError, r"\[view\] dtype"),
    "arange step": (lambda: td.arange(1, 5, 0), ValueError, "step"),
    "linspace": (lambda: td.linspace(0, 1, -2), ValueError, "num"),
    "broadcast": (lambda: td.zeros(3) + td.zeros(4), ValueError, r"add.*\(3,\).*\(4,\)"),
    "broadcast where": (lambda: td.where(td.zeros(3) > 0, td.zeros(2), 1), ValueError, "where"),
    "host operand": (lambda: td.zeros(3) + np.zeros(3), TypeError, "host: copy it with treadle.asarray"),
    "host operand first": (lambda: np.zeros(3) + td.zeros(3), TypeError, "."),
    "list operand": (lambda: td.zeros(3) + [1, 2, 3], TypeError, "expected a device array or a number, got list"),
    "text operand": (lambda: td.add(td.zeros(3), "a"), TypeError, "got str"),
    "none operand": (lambda: td.sqrt(None), TypeError, "got NoneType"),
    "operand count": (lambda: td.sqrt(td.zeros(3), td.zeros(3)), TypeError, "sqrt.*expected 1 operands, got 2"),
    "operand count 2": (lambda: td.add(td.zeros(3)), TypeError, "add.*expected 2 operands, got 1"),
    "no operands": (lambda: td.add(), TypeError, "add"),
    "bits of floats": (lambda: td.zeros(3) & 1, TypeError, "bitwise_and.*float64"),
    "invert floats": (lambda: ~td.zeros(3), TypeError, "invert.*float64"),
    "shift floats": (lambda: td.zeros(3) << 1, TypeError, "left_shift.*float64"),
    "negative bools": (lambda: -td.zeros(3, bool), TypeError, "negative.*bool"),
    "subtract bools": (lambda: td.zeros(3, bool) - td.zeros(3, bool), TypeError, "subtract.*bool.*logical_xor"),
    "number outside type": (
        lambda: td.zeros(3, "int8") + 300,
        (ValueError, OverflowError),
        "300 is out of bounds for int8",
    ),
    "out host": (
        lambda: td.add(td.zeros(3), 1, out=np.zeros(3)),
        TypeError,
        "out: expected a device array, got ndarray",
    ),
    "out shape": (
        lambda: td.add(td.zeros(3), 1, out=td.zeros(4)),
        ValueError,
        r"out: expected shape \(3,\), got \(4,\)",
    ),
    "out type": (
        lambda: td.add(td.zeros(3), 1, out=td.zeros(3, "int32")),
        TypeError,
        "out: cannot cast float64 to int32",
    ),
    "axis": (lambda: td.zeros(A).sum(axis=2), (IndexError, ValueError), "sum.*axis"),
    "negative axis": (lambda: td.zeros(A).max(axis=-3), (IndexError, ValueError), "max.*axis"),
    "repeated axis": (lambda: td.zeros(A).sum(axis=(0, 0)), ValueError, "axis 0 is repeated"),
    "repeated negative axis": (lambda: td.zeros(A).sum(axis=(0, -2)), ValueError, "repeated"),
    "axis type": (lambda: td.zeros(A).sum(axis="x"), TypeError, "."),
    "axis float": (lambda: td.zeros(A).sum(axis=1.0), TypeError, "."),
    "empty max": (lambda: td.zeros(0).max(), ValueError, "max.*zero-size"),
    "empty argmin": (lambda: td.zeros((0, 3)).argmin(axis=0), ValueError, "argmin.*zero-size"),
    "reduction dtype": (lambda: td.sum(td.zeros(3), dtype="V8"), TypeError, "dtype"),
    "max dtype": (lambda: td.max(td.zeros(3), dtype="int32"), TypeError, "max"),
    "reshape": (lambda: td.zeros(A).reshape(5, 5), ValueError, "reshape"),
    "reshape two unknowns": (lambda: td.zeros(A).reshape(-1, -1), ValueError, "reshape"),
    "reshape unknown": (lambda: td.zeros(A).reshape(5, -1), ValueError, "reshape"),
    "transpose count": (lambda: td.zeros(A).transpose(0), ValueError, "axes: expected 2 axes, got 1"),
    "transpose repeated": (lambda: td.zeros(A).transpose(0, 0), ValueError, "repeated"),
    "transpose axis": (lambda: td.zeros(A).transpose(0, 2), (ValueError, IndexError), "transpose"),
    "swapaxes": (lambda: td.swapaxes(td.zeros(A), 0, 2), (ValueError, IndexError), "."),
    "squeeze": (lambda: td.zeros(A).squeeze(0), ValueError, "squeeze.*axis"),
    "expand_dims": (lambda: td.expand_dims(td.zeros(A), 5), (ValueError, IndexError), "expand_dims"),
    "broadcast_to": (lambda: td.broadcast_to(td.zeros(3), (4,)), ValueError, "broadcast_to"),
    "broadcast_to smaller": (lambda: td.broadcast_to(td.zeros(A), (4,)), ValueError, "broadcast_to"),
    "concatenate none": (lambda: td.concatenate([]), ValueError, "expected at least one array"),
    "concatenate shapes": (lambda: td.concatenate([td.zeros(A), td.zeros((3, 5))]), ValueError, "concatenate.*shape"),
    "concatenate ranks": (lambda: td.concatenate([td.zeros(A), td.zeros(4)]), ValueError, "concatenate"),
    "concatenate axis": (lambda: td.concatenate([td.zeros(A)] * 2, 2), (ValueError, IndexError), "axis"),
    "concatenate scalars": (lambda: td.concatenate([td.zeros(()), td.zeros(())]), ValueError, "concatenate"),
    "stack shapes": (lambda: td.stack([td.zeros(3), td.zeros(4)]), ValueError, "stack"),
    "stack axis": (lambda: td.stack([td.zeros(3)] * 2, 3), (ValueError, IndexError), "."),
    "stack none": (lambda: td.stack([]), ValueError, "."),
    "index": (lambda: td.zeros(A)[3], IndexError, "index 3 is out of bounds for axis 0 with size 3"),
    "negative index": (lambda: td.zeros(A)[:, -5], IndexError, "index -5 is out of bounds for axis 1 with size 4"),
    "too many indices": (lambda: td.zeros(A)[0, 0, 0], IndexError, "too many indices"),
    "two ellipses": (lambda: td.zeros(A)[..., ...], IndexError, "single ellipsis"),
    "float index": (lambda: td.zeros(A)[1.0], IndexError, "expected integers, slices"),
    "text index": (lambda: td.zeros(A)["a"], IndexError, "got str"),
    "slice of floats": (lambda: td.zeros(A)[0.5:], TypeError, "."),
    "slice step": (lambda: td.zeros(A)[::0], ValueError, "slice step cannot be zero"),
    "set shape": (lambda: td.zeros(A).__setitem__(0, td.zeros(3)), ValueError, r"\(4,\).*\(3,\)"),
    "set host": (lambda: td.zeros(A).__setitem__(0, np.zeros(4)), TypeError, "host"),
    "set list": (lambda: td.zeros(A).__setitem__(0, [1, 2, 3, 4]), TypeError, "got list"),
    "set text": (lambda: td.zeros(A).__setitem__(0, "x"), TypeError, "got str"),
    "set index": (lambda: td.zeros(A).__setitem__(5, 1), IndexError, "out of bounds"),
    "len": (lambda: len(td.zeros(())), TypeError, "unsized"),
    "iter": (lambda: iter(td.zeros(())), TypeError, "0-d"),
    "bool": (lambda: bool(td.zeros(3)), ValueError, "ambiguous"),
    "int": (lambda: int(td.zeros(3)), TypeError, "one element"),
    "index protocol": (lambda: [1, 2][td.zeros(())], TypeError, "integer"),
    "hash": (lambda: hash(td.zeros(3)), TypeError, "unhashable"),
    "numpy function": (lambda: np.sin(td.zeros(3)), TypeError, "sin|ndarray"),
    "numpy array": (lambda: np.asarray(td.zeros(3)), TypeError, "treadle.asnumpy"),
    "normal scale": (lambda: td.random.normal(0, -1, 3), ValueError, "scale"),
    "random dtype": (lambda: td.random.random(3, dtype="int32"), TypeError, "float32 or float64"),
    "randint empty": (lambda: td.random.randint(5, 5), ValueError, "low < high"),
    "randint limits": (lambda: td.random.randint(0, 300, dtype="int8"), ValueError, "int8"),
    "random shape": (lambda: td.random.random(-3), ValueError, "shape"),
    "device": (lambda: td.cuda.Device(7), ValueError, "device: expected a number from 0 to"),
    "get out": (lambda: td.zeros(3).get(out=np.zeros(4)), ValueError, "."),
}


@pytest.mark.parametrize("case", CALLS)
def test_messages(case):
    call, exception, message = CALLS[case]
    with pytest.raises(exception, match=message):
        call()
    assert (td.ones(3) + 1).tolist() == [2, 2, 2]


@pytest.mark.parametrize("name", [n for n in td.ufuncs if td.ufuncs[n].nin == 2])
def test_every_operation_names_itself(name):
    with pytest.raises(TypeError, match=td.ufuncs[name].__name__):
        td.ufuncs[name](td.zeros(3), np.zeros(3))
    with pytest.raises(ValueError, match=td.ufuncs[name].__name__):
        td.ufuncs[name](td.zeros(3, "int32"), td.zeros(4, "int32"))


def test_failed_assignment_writes_nothing():
    a = td.arange(6).reshape(2, 3)
    for index, value in ((0, td.zeros(2)), (slice(None), "x"), ((0, 0, 0), 1), (slice(None), np.zeros((2, 3)))):
        with pytest.raises((TypeError, ValueError, IndexError)):
            a[index] = value
    assert a.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize(
    "make",
    (
        lambda: td.zeros((1,) * 65),
        lambda: td.zeros(1).reshape((1,) * 65),
        lambda: td.broadcast_to(td.zeros(1), (1,) * 65),
        lambda: td.expand_dims(td.zeros((1,) * 64), 0),
        lambda: td.zeros((1,) * 64)[None],
        lambda: td.array(0.0, ndmin=65),
        lambda: td.stack([td.zeros((1,) * 64)]),
    ),
)
def test_too_many_dimensions(make):
    with pytest.raises(ValueError, match="expected an array of at most 64 dimensions, got 65"):
        make()
    assert td.zeros((1,) * 64).ndim == 64


def test_out_of_memory():
    with pytest.raises((td.errors.OutOfMemoryError, ValueError)):
        td.empty(2**60, "int8")
    assert td.ones(3).sum().get() == 3


def test_failed_calls_leak_nothing():
    td.synchronize()
    used = td._treadle.memory_use()[0]
    for _ in range(50):
        with pytest.raises(ValueError):
            td.ones(1000) + td.ones(1001)
    td.synchronize()
    assert td._treadle.memory_use()[0] <= used + 64_000
