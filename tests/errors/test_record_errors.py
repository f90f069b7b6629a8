"""What is wrong with records, in kernels and on the host: the class of the error, its words, and the place it points at."""

import importlib.util
import re
import textwrap

import numpy as np
import pytest

import treadle as td
from treadle import cuda, errors, types

HEAD = """
import numpy as np
from treadle import cuda

POINT = np.dtype([("x", "f4"), ("y", "f8")])
OTHER = np.dtype([("x", "f4")])
TEXT = np.dtype([("name", "S4"), ("x", "f4")])
UNION = np.dtype({"names": ["i", "f"], "formats": ["i4", "f4"], "offsets": [0, 0]})
LARGE = np.dtype([("v", "f8", (200,))])
TABLE = np.zeros(3, POINT)

@cuda.jit(device=True)
def helper(r):
    return r.z
"""
PACKED = np.dtype([("b", "i1"), ("x", "f4"), ("v", "i4", (3,)), ("p", [("a", "i2")]), ("c", "c8"), ("t", "M8[s]")])
TYPING, UNSUPPORTED, COMPILE = errors.TypingError, errors.UnsupportedError, errors.CompileError
KNOWN = "its fields are: b, x, v, p, c, t"

# (body, exception, message, text that the caret points at); a is a 1-d array of PACKED, x one of float64, r a record of PACKED.
CASES = {
    "unknown attribute": ("x[0] = a[0].z", TYPING, f"the record has no field 'z'.*{KNOWN}", "a[0].z"),
    "unknown name": ("x[0] = a[0]['size']", TYPING, f"no field 'size'.*{KNOWN}", "a[0]['size']"),
    "unknown in array": ("x[0] = a['q'][0]", TYPING, f"no field 'q'.*{KNOWN}", "a['q']"),
    "unknown nested": ("x[0] = a[0].p.z", TYPING, "no field 'z'.*its fields are: a", "a[0].p.z"),
    "unknown target": ("a[0].z = 1", TYPING, f"no field 'z'.*{KNOWN}", "a[0].z"),
    "unknown in function": ("x[0] = helper(a[0])", TYPING, f"no field 'z'.*{KNOWN}", "r.z"),
    "attribute of array": ("x[0] = a.z", TYPING, f"no field 'z'.*{KNOWN}", "a.z"),
    "number of field": ("x[0] = a[0][9]", TYPING, "field 9 is out of range for a record of 6 fields", "a[0][9]"),
    "varying field": ("x[0] = a[0][cuda.grid(1)]", TYPING, "indexed with the name of a field", "a[0][cuda.grid(1)]"),
    "complex number": ("a[0].x = 1j", TYPING, "field 'x': expected a number, got a complex number", "a[0].x"),
    "string": ("a[0].x = 'text'", TYPING, "field 'x': expected a number, got a string", "a[0].x"),
    "record into number": ("a[0].x = a[1]", TYPING, "field 'x': expected a number, got a record", "a[0].x"),
    "number into record": ("a[0].p = 3", TYPING, r"expected record\(a: int16\), got int64", "a[0].p"),
    "number into element": ("a[0] = 3", TYPING, r"expected record\(b: int8, .*v: int32\[3\].*got int64", "a[0]"),
    "tuple into record": (
        "a[0].p = (1, 2)",
        TYPING,
        r"expected record\(a: int16\), got tuple\(int64, int64\)",
        "a[0].p",
    ),
    "another record": ("a[0] = TABLE[0]", TYPING, r"expected record\(b.*got record\(x: float32, y: float64\)", "a[0]"),
    "array of any length": ("a[0].v = x", UNSUPPORTED, "shape is known when the kernel is compiled", "a[0].v"),
    "number into array": ("a[0].v = 1", TYPING, r"expected array\(int32, 1d\), got int64", "a[0].v"),
    "array of another shape": (
        "a[0].v = cuda.local.array(4, np.int32)",
        TYPING,
        "expected an array of 3 elements, got one of 4",
        "a[0].v",
    ),
    "array of another type": ("a[0].v = TABLE", TYPING, r"expected array\(int32, 1d\), got constant array", "a[0].v"),
    "field of whole array": ("a['x'] = 1", UNSUPPORTED, "a field of a whole array cannot be assigned to", "a['x']"),
    "attribute of whole array": ("a.x = 1", TYPING, "cannot assign to an attribute of array", "a.x"),
    "attribute of number": ("y = 1\ny.real = 2", TYPING, "cannot store into int64", "y.real"),
    "argument": ("r.x = 1", TYPING, "records given to a kernel are copies that are only read", "r.x"),
    "argument's array": ("r.v[0] = 1", TYPING, "records given to a kernel are copies that are only read", "r.v[0]"),
    "argument in variable": (
        "s = a[0]\nif x[0] > 0:\n    s = r\ns.x = 1",
        TYPING,
        "records given to a kernel are copies that are only read",
        "s.x",
    ),
    "constant": ("TABLE[0].x = 1", TYPING, "constant arrays cannot be written", "TABLE[0].x"),
    "too many indices": ("x[0] = a[0].v[0, 1]", TYPING, "the array has 1 dimensions, got 2", "a[0].v[0, 1]"),
    "too few indices": ("a['v'][0] = 1", TYPING, "expected 2 indices, got 1", "a['v'][0]"),
    "arithmetic": ("x[0] = a[0] + 1", TYPING, r"operand of \+: expected a number, got a record", "a[0] + 1"),
    "condition": ("if a[0]:\n    x[0] = 1", TYPING, "expected a number or bool as a condition", "a[0]"),
    "several types": (
        "s = a[0]\nif x[0] > 0:\n    s = TABLE[0]\nx[0] = s.x",
        TYPING,
        "cannot unify record",
        "s = TABLE[0]",
    ),
    "array of records in atomic": (
        "cuda.atomic.add(a, 0, 1)",
        TYPING,
        "expected an array of numbers, got array",
        "cuda",
    ),
    "unaligned atomic": (
        "cuda.atomic.add(a['x'], 0, 1)",
        TYPING,
        "expected numbers at multiples of 4 bytes, got a field at multiples of 1.*align=True",
        "cuda",
    ),
    "atomic on argument": ("cuda.atomic.add(r.v, 0, 1)", TYPING, "copies that are only read", "cuda"),
    "made": ("s = POINT(1, 2)", TYPING, "records are not made in kernels", "POINT(1, 2)"),
    "text in dtype": (
        "s = cuda.local.array(2, TEXT)",
        UNSUPPORTED,
        "'TEXT': field 'name': expected a boolean, integer, .* got .S4, which kernels cannot use",
        "TEXT",
    ),
    "overlap": (
        "s = cuda.local.array(2, UNION)",
        UNSUPPORTED,
        "fields that overlap are not held by local arrays",
        "cuda",
    ),
    "large": (
        "s = cuda.shared.array(0, LARGE)",
        COMPILE,
        "sized by the launch may have at most 1024 bytes, got 1600",
        "cuda",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_kernels(name, tmp_path):
    body, exception, message, marked = CASES[name]
    source = f"{HEAD}\n@cuda.jit\ndef kernel(a, x, r):\n{textwrap.indent(body, '    ')}\n"
    path = tmp_path / "bad.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location("bad", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    host = np.zeros(4, PACKED)
    with pytest.raises(exception) as caught:
        module.kernel[1, 1](cuda.to_device(host), td.zeros(3), host[0])
    text = str(caught.value)
    assert re.search(message, text, re.DOTALL), text
    lines = text.splitlines()
    carets = next(number for number, line in enumerate(lines) if line.strip() and not line.strip(" ^|~"))
    begin = lines[carets].index("^")
    assert lines[carets - 1][begin:].startswith(marked), text


@cuda.jit
def takes(first, second):
    pass


TEXTS = np.zeros(2, [("x", "f4"), ("p", [("name", "U3")])])


@pytest.mark.parametrize(
    ("call", "exception", "message"),
    [
        (lambda: cuda.to_device(TEXTS), TypeError, r"field 'p.name': expected a boolean, .* got <U3"),
        (lambda: cuda.device_array(3, [("o", object)]), TypeError, "dtype: field 'o': expected a boolean"),
        (lambda: cuda.device_array(3, [("g", np.longdouble)]), TypeError, "dtype: field 'g': expected a boolean"),
        (lambda: cuda.device_array(3, [('a"b', "f4")]), TypeError, "without quotes and backslashes"),
        (lambda: cuda.device_array(3, [("e", "f4", (0,))]), TypeError, "at least one field and one byte"),
        (lambda: takes[1, 1](1, TEXTS[0]), TypeError, "takes: argument 'second': field 'p.name': expected a boolean"),
        (lambda: takes[1, 1]((1, TEXTS[0]), 1), TypeError, r"takes: argument 'first\[1\]': field 'p.name': expected"),
        (lambda: takes[1, 1](1, np.void(b"abc")), TypeError, "takes: argument 'second': expected a boolean"),
        (lambda: takes[1, 1](np.zeros(2, PACKED), 1), TypeError, "argument 'first': expected a device array"),
        (
            lambda: cuda.to_device(np.zeros(2, PACKED)).sum(),
            TypeError,
            "expected an array of numbers, got an array of records",
        ),
        (lambda: cuda.to_device(np.zeros(2, PACKED)) + 1, TypeError, "expected an array of numbers"),
        (
            lambda: cuda.to_device(np.zeros(2, PACKED))["z"],
            ValueError,
            "no field of name z: the fields are b, x, v, p, c, t",
        ),
        (lambda: cuda.to_device(np.zeros(2, PACKED))["x"], errors.UnsupportedError, "multiples of 4 bytes"),
        (lambda: cuda.to_device(np.zeros(2, PACKED))["v"], errors.UnsupportedError, "'v': expected a field of numbers"),
        (lambda: td.zeros(2).astype(PACKED), TypeError, "dtype: expected a boolean"),
        (
            lambda: cuda.to_device(np.zeros(2, PACKED)).copy_to_device(np.zeros(2, [("b", "i1")])),
            TypeError,
            "ary: expected dtype",
        ),
        (
            lambda: cuda.to_device(np.zeros(2, PACKED)).setitem(0, td.zeros(2, [("b", "i1")])[0]),
            TypeError,
            "records of the same dtype",
        ),
        (lambda: types.from_dtype(np.dtype([("s", "S3")])), TypeError, "expected a boolean"),
        (lambda: cuda.jit((types.from_dtype(PACKED)["v"],))(lambda v: None), TypeError, "expected slices"),
    ],
)
def test_host(call, exception, message):
    with pytest.raises(exception, match=message):
        call()


def test_signature_of_another_record():
    kernel = cuda.jit((types.from_dtype(PACKED)[:], types.from_dtype(PACKED)))(takes.py_func)
    with pytest.raises(TypeError, match="expected arguments of"):
        kernel[1, 1](cuda.to_device(np.zeros(2, [("x", "f4")])), np.zeros(1, PACKED)[0])
    with pytest.raises(TypeError, match="expected arguments of"):
        kernel[1, 1](cuda.to_device(np.zeros(2, PACKED)), 1)
    kernel[1, 1](cuda.to_device(np.zeros(2, PACKED)), np.zeros(1, PACKED)[0])
