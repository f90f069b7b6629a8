"""Every error of the kernel language: its class, its words, and the place it points at."""

import importlib.util
import re
import textwrap

import numpy as np
import pytest

import treadle as td
from treadle import cuda, errors

HEAD = """
import math
import operator
import numpy as np
from treadle import cuda

GLOBAL_LIST = [1, 2]
GLOBAL_ARRAY = np.zeros(1 << 18)  # more than a kernel keeps as constants

@cuda.jit(device=True)
def helper(a, b):
    return a + b

@cuda.jit(device=True)
def with_default(a, b=GLOBAL_LIST):
    return a + b

LONG = tuple(range(300))

@cuda.jit(device=True)
def returns_nothing(a):
    return

@cuda.jit(device=True)
def recursive(n):
    return n * recursive(n - 1)
"""

# (body, exception, message, text that the caret points at); x is a 1-d float64 array, m a 2-d one, n an int64.
UNSUPPORTED, TYPING = errors.UnsupportedError, errors.TypingError
CASES = {
    "try": ("try:\n    x[0] = 1\nexcept ValueError:\n    pass", UNSUPPORTED, "exceptions cannot be caught", "try"),
    "with": ("with n:\n    pass", UNSUPPORTED, "context managers", "with"),
    "lambda": ("y = helper(lambda v: v, 1)", UNSUPPORTED, "a lambda is not supported", "lambda v: v"),
    "list comprehension": (
        "y = [v for v in range(3)]",
        UNSUPPORTED,
        "a list comprehension is not supported",
        "[v for v in range(3)]",
    ),
    "list": ("y = [1, 2]", UNSUPPORTED, "a list is not supported", "[1, 2]"),
    "dict": ("y = {1: 2}", UNSUPPORTED, "a dictionary is not supported", "{1: 2}"),
    "set": ("y = {1, 2}", UNSUPPORTED, "a set is not supported", "{1, 2}"),
    "yield": ("yield n", UNSUPPORTED, "generators", "yield n"),
    "nested function passed on": (
        "f = lambda v: v\ny = helper(f, 1)",
        UNSUPPORTED,
        "nested function 'f' can only be called",
        "f",
    ),
    "nested function twice": ("def f():\n    pass\nf = 2", UNSUPPORTED, "'f' has its name from several", "def"),
    "nested function with defaults": ("f = lambda v=1: v", UNSUPPORTED, "no decorators and default", "lambda v=1: v"),
    "nested recursion": ("def f(a):\n    return f(a)\ny = f(1)", UNSUPPORTED, "'f' calls itself", "def"),
    "nested function called wrongly": (
        "f = lambda v: v\ny = f(1, 2)",
        UNSUPPORTED,
        "expected 1 arguments, got 2",
        "f(1, 2)",
    ),
    "nonlocal": ("def f(a):\n    nonlocal n\n    n = a", UNSUPPORTED, "a nonlocal statement", "nonlocal n"),
    "import": ("import os", UNSUPPORTED, "import at module level", "import os"),
    "global": ("global q", UNSUPPORTED, "frozen", "global q"),
    "delete": ("q = 1\ndel q", UNSUPPORTED, "a del statement is not supported", "del q"),
    "raise": ("raise Undefined('x')", UNSUPPORTED, "no exception that kernels can raise", "raise Undefined('x')"),
    "assert": ("assert n > 0, str(n)", UNSUPPORTED, "must be constant text", "str(n)"),
    "f-string": ("s = f'{n}'", UNSUPPORTED, "an f-string is not supported", "f'{n}'"),
    "shared size of the launch": (
        "s = cuda.shared.array(n, 'float32')",
        TypeError,
        "shared.array: shape: expected constant integers, got a number of the launch",
        "cuda.shared.array(n, 'float32')",
    ),
    "local size that is a float": (
        "s = cuda.local.array((2, 1.5), 'float32')",
        TypeError,
        "local.array: shape: expected constant integers, got a float",
        "cuda.local.array((2, 1.5), 'float32')",
    ),
    "shared size that is negative": (
        "s = cuda.shared.array(-1, 'float32')",
        TypeError,
        "shape: expected extents from 0 to 2147483647, got -1",
        "cuda.shared.array(-1, 'float32')",
    ),
    "shared type that is a number": (
        "s = cuda.shared.array(4, 3)",
        TypeError,
        "shared.array: dtype: expected an element type, got a constant",
        "cuda.shared.array(4, 3)",
    ),
    "in": ("if n in (1, 2):\n    pass", UNSUPPORTED, "'in' is not supported", "n in (1, 2)"),
    "keyword of a builtin": ("y = math.sin(x=n)", UNSUPPORTED, "positional arguments", "math.sin(x=n)"),
    "unknown keyword": ("y = helper(1, c=2)", UNSUPPORTED, "'c' is not a parameter of the function", "c=2"),
    "keyword given twice": ("y = helper(1, a=2)", UNSUPPORTED, "'a' is given twice", "a=2"),
    "keyword missing": ("y = helper(b=2)", UNSUPPORTED, "no value is given for the parameter 'a'", "helper(b=2)"),
    "keywords in another order": (
        "y = helper(b=helper(1, 2), a=helper(3, 4))",
        UNSUPPORTED,
        "stand in another order than the parameters",
        "a=helper(3, 4)",
    ),
    "default value": ("y = with_default(1)", UNSUPPORTED, "'a default value' is a list", "with_default(1)"),
    "complex order": ("y = 1j < 2", TYPING, "complex numbers have no order", "1j < 2"),
    "walrus in a target": ("x[(k := n)] = 2", UNSUPPORTED, "an assignment expression .* in this place", "k := n"),
    "walrus in an update": ("x[0] += (k := n)", UNSUPPORTED, "an assignment expression .* in this place", "k := n"),
    "tuple hidden by a parameter": (
        "def f(LONG):\n    for v in LONG:\n        pass\nf(x)",
        UNSUPPORTED,
        r"runs over range",
        None,
    ),
    "long tuple in a loop": ("for v in LONG:\n    pass", UNSUPPORTED, "300 are too many", "LONG"),
    "star": ("a, *b = (1, 2, 3)", UNSUPPORTED, "names, array elements and fields", "*b"),
    "unknown name": ("y = undefined_name + 1", UNSUPPORTED, "name 'undefined_name' is not defined", "undefined_name"),
    "unknown attribute": ("y = math.no_such(n)", UNSUPPORTED, "'math' has no attribute 'no_such'", "math.no_such"),
    "python object": ("y = GLOBAL_LIST[0]", UNSUPPORTED, "'GLOBAL_LIST' is a list", "GLOBAL_LIST"),
    "global array": ("y = GLOBAL_ARRAY[0]", UNSUPPORTED, "pass the array as an argument", "GLOBAL_ARRAY"),
    "unsupported builtin": ("y = sorted(x)", UNSUPPORTED, "sorted", "sorted"),
    "print": ("print(x)", TYPING, "print: expected a number, got an array", "print(x)"),
    "recursion": ("y = recursive(n)", TYPING, "what 'recursive' returns cannot be told", "recursive(n)"),
    "for over array": ("for v in x:\n    pass", UNSUPPORTED, r"runs over range\(...\)", None),
    "array operand": ("y = x + 1", TYPING, "expected a number, got an array", "x + 1"),
    "operator function": (
        "y = operator.and_(x[0], 1)",
        TYPING,
        "unsupported operand types for &",
        "operator.and_(x[0], 1)",
    ),
    "bit operation on float": ("y = x[0] & 1", TYPING, "unsupported operand types for &", "x[0] & 1"),
    "invert float": ("y = ~x[0]", TYPING, "unary ~", "~x[0]"),
    "float index": ("y = x[1.5]", TYPING, "array index: expected an integer, got float64", "x[1.5]"),
    "too many indices": ("y = x[0, 1]", TYPING, "too many indices", "x[0, 1]"),
    "too few indices in a store": ("m[0] = 1", TYPING, "expected 2 indices, got 1", "m[0]"),
    "array stored": ("x[0] = m", TYPING, "stored value: expected a number", "x[0]"),
    "tuple index at run time": ("t = (1, 2)\ny = t[n]", TYPING, "constant integer", "t[n]"),
    "tuple index out of range": ("t = (1, 2)\ny = t[5]", TYPING, "out of range", "t[5]"),
    "tuple changed": ("t = (1, 2)\nt[0] = 5", TYPING, "tuples cannot be changed", "t[0]"),
    "unpacking": ("a, b = (1, 2, 3)", TYPING, "cannot unpack", None),
    "unpacking a number": ("a, b = n", TYPING, "cannot unpack", None),
    "number indexed": ("y = n[0]", TYPING, "cannot index", "n[0]"),
    "number called": ("y = n(0)", TYPING, "cannot call", "n(0)"),
    "number stored into": ("n[0] = 1", TYPING, "cannot store into", "n[0]"),
    "argument count": ("y = helper(1)", TYPING, "helper: expected 2 arguments, got 1", "helper(1)"),
    "argument count of a builtin": ("y = math.sin(n, n)", TYPING, "sin: expected 1 arguments, got 2", "math.sin(n, n)"),
    "type argument count": ("y = np.int32(1, 2)", TYPING, "int32: expected 1 argument, got 2", "np.int32(1, 2)"),
    "float range": ("for j in range(2.5):\n    pass", TYPING, "range: expected integers", "range(2.5)"),
    "zero step": ("for j in range(0, 5, 0):\n    pass", TYPING, "step must not be zero", "range(0, 5, 0)"),
    "range outside a loop": ("y = range(3)", TYPING, "range is for loops", "range(3)"),
    "kernel result": ("return n", TYPING, "a kernel returns nothing", "return n"),
    "grid of a variable": ("i = cuda.grid(n)", TYPING, "constant 1, 2 or 3", "cuda.grid(n)"),
    "grid of 4": ("i = cuda.grid(4)", TYPING, "constant 1, 2 or 3", "cuda.grid(4)"),
    "used before assignment": ("y = z + 1\nz = 2", TYPING, "'z' is used before anything is assigned", None),
    "mixed kinds": ("v = 1\nif n > 3:\n    v = x", TYPING, "cannot unify int64 and array", None),
    "array attribute": ("y = x.flat", TYPING, "no attribute 'flat'", "x.flat"),
    "number attribute": ("y = n.bit_length", TYPING, "no attribute 'bit_length'", "n.bit_length"),
    "is": ("if n is n:\n    pass", TYPING, "compares with None only", "n is n"),
    "literal too large": ("y = 100000000000000000000", TYPING, "does not fit into 64 bits", None),
    "result of nothing": ("y = returns_nothing(n) + 1", TYPING, "expected a number, got None", None),
    "negative slice step": ("y = x[::-1]", TYPING, "positive step", None),
    "popc of float": ("y = cuda.popc(x[0])", TYPING, "popc: expected integers", "cuda.popc(x[0])"),
    "len of a number": ("y = len(n)", TYPING, "len: expected an array or tuple", "len(n)"),
    "string": ("x[0] = 'a'", TYPING, "expected a number, got a string", None),
}


def module_of(tmp_path, body, name="errors_module"):
    path = tmp_path / f"{name}.py"
    text = HEAD + "\n@cuda.jit\ndef kernel(x, m, n):\n" + textwrap.indent(body, "    ") + "\n"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, path, text.splitlines()


@pytest.mark.parametrize("case", CASES)
def test_messages(case, tmp_path):
    body, exception, message, pointed = CASES[case]
    module, path, lines = module_of(tmp_path, body)
    x = td.zeros(4)
    with pytest.raises(exception, match=message) as caught:
        module.kernel[1, 1](x, td.zeros((2, 2)), 3)
    assert isinstance(caught.value, errors.CompileError)
    text = str(caught.value)
    place = re.search(r'File "(.*)", line (\d+)\n(.*)\n( *)(\^+)', text)
    assert place, text
    assert place[1] == str(path)
    line = lines[int(place[2]) - 1]
    assert place[3].strip() == line.strip()
    marked = place[3][len(place[4]) : len(place[4]) + len(place[5])]
    if pointed is not None:
        assert pointed in line, text
        assert (
            marked == pointed or (marked and pointed.startswith(marked)) or (len(marked) > 1 and pointed in marked)
        ), (marked, text)
    assert x.tolist() == [0, 0, 0, 0]
    # The next correct call works.
    good, _, _ = module_of(tmp_path, "x[cuda.grid(1)] = n", "good_module")
    good.kernel[1, 4](x, td.zeros((2, 2)), 3)
    assert x.tolist() == [3, 3, 3, 3]


def test_error_is_repeated(tmp_path):
    module, _, _ = module_of(tmp_path, "y = undefined_name")
    for _ in range(2):
        with pytest.raises(errors.UnsupportedError, match="undefined_name"):
            module.kernel[1, 1](td.zeros(1), td.zeros((1, 1)), 1)


def test_classes():
    assert issubclass(errors.TypingError, (errors.CompileError,)) and issubclass(errors.TypingError, TypeError)
    assert issubclass(errors.UnsupportedError, errors.CompileError)
    assert issubclass(errors.UnsupportedError, NotImplementedError)
    assert issubclass(errors.DeviceError, RuntimeError) and issubclass(errors.OutOfMemoryError, MemoryError)


@cuda.jit
def simple(x, n):
    i = cuda.grid(1)
    x[i] = n


ARGUMENTS = [
    ((np.zeros(3), 1), TypeError, "argument 'x'.*NumPy array on the host"),
    (([1, 2], 1), TypeError, "argument 'x'.*got list"),
    (("text", 1), TypeError, "argument 'x'.*got str"),
    (({}, 1), TypeError, "argument 'x'.*got dict"),
]


@pytest.mark.parametrize(("args", "exception", "message"), ARGUMENTS, ids=lambda v: type(v).__name__)
def test_bad_arguments(args, exception, message):
    with pytest.raises(exception, match=message):
        simple[1, 1](*args)
    x = td.zeros(2)
    simple[1, 2](x, 5)
    assert x.tolist() == [5, 5]


@pytest.mark.parametrize("args", [(), (1,), (1, 2, 3)])
def test_argument_count(args):
    with pytest.raises(TypeError, match="simple"):
        simple[1, 1](td.zeros(1), *args[1:]) if len(args) == 1 else simple[1, 1](*args)


def test_tuple_with_host_array():
    with pytest.raises(TypeError):
        simple[1, 1](td.zeros(1), (np.zeros(2), 1))


def test_integer_too_large():
    for value in (2**64, -(2**63) - 1):
        with pytest.raises((OverflowError, TypeError, ValueError)):
            simple[1, 1](td.zeros(1), value)


LAUNCHES = [
    ((1, 0), errors.DeviceError, "CUDA_ERROR_INVALID_VALUE.*block"),
    ((1, -1), errors.DeviceError, "CUDA_ERROR_INVALID_VALUE.*block"),
    ((1, 1025), errors.DeviceError, "CUDA_ERROR_INVALID_VALUE.*1024"),
    ((1, 2048), errors.DeviceError, "CUDA_ERROR_INVALID_VALUE"),
    ((1, (32, 33)), errors.DeviceError, "CUDA_ERROR_INVALID_VALUE.*1024 threads, got 1056"),
    ((1, (1, 1, 65)), errors.DeviceError, "CUDA_ERROR_INVALID_VALUE.*dimension 2"),
    ((-1, 1), errors.DeviceError, "CUDA_ERROR_INVALID_VALUE.*grid"),
    ((2**31, 1), errors.DeviceError, "CUDA_ERROR_INVALID_VALUE.*grid"),
    (((1, 70000), 1), errors.DeviceError, "CUDA_ERROR_INVALID_VALUE.*grid"),
    ((1, 2**40), errors.DeviceError, "CUDA_ERROR_INVALID_VALUE"),
    ((1, (2**32, 2**32, 1)), errors.DeviceError, "CUDA_ERROR_INVALID_VALUE"),
    ((77.0, 1), TypeError, "grid: expected an integer"),
    ((1, 1.5), TypeError, "block: expected an integer"),
    ((1, (1, 2.0)), TypeError, "block: expected an integer"),
    (("1", 1), TypeError, "grid"),
    ((None, 1), TypeError, "grid"),
    ((1, (1, 1, 1, 1)), ValueError, "block: expected an integer or a tuple of 1 to 3 integers, got 4"),
    (((1, 1, 1, 1), 1), ValueError, "grid: expected an integer or a tuple of 1 to 3 integers, got 4"),
    (((), 1), ValueError, "grid: .*got 0"),
    ((1,), ValueError, "expected kernel"),
    (5, ValueError, "expected kernel"),
    ((1, 1, 0, 0, 0), ValueError, "expected kernel"),
    ((1, 1, "stream"), TypeError, "stream: expected a stream"),
    ((1, 2**70), OverflowError, "too big"),
]


@pytest.mark.parametrize(("config", "exception", "message"), LAUNCHES, ids=lambda v: str(v)[:30])
def test_bad_launches(config, exception, message):
    x = td.zeros(1)
    with pytest.raises(exception, match=message):
        simple[config](x, 1)
    td.synchronize()
    assert x.tolist() == [0]
    simple[1, 1](x, 2)
    assert x.tolist() == [2]


def test_floats_are_refused_after_integers_too():
    x = td.zeros(1)
    simple[1, 64](x, 1)
    with pytest.raises(TypeError, match="grid"):
        simple[1.0, 64.0](x, 1)


def test_error_name():
    with pytest.raises(errors.DeviceError) as caught:
        simple[1, 2048](td.zeros(1), 1)
    assert caught.value.name == "CUDA_ERROR_INVALID_VALUE"


def test_empty_grid_and_arrays():
    x = td.zeros(3)
    simple[0, 32](x, 1)
    simple[(0, 5), (8, 8)](x, 1)
    simple[1, 32](td.zeros(0), 1)
    td.synchronize()
    assert x.tolist() == [0, 0, 0]


def test_calls_without_launch():
    with pytest.raises(ValueError, match="needs a launch configuration"):
        simple(td.zeros(1), 1)

    @cuda.jit(device=True)
    def function(x):
        return x

    assert function(3) == 3
    with pytest.raises(TypeError, match="device function"):
        function[1, 1](td.zeros(1))
    with pytest.raises(TypeError, match="only inside a kernel"):
        cuda.grid(1)


def test_jit_options():
    def function(x):
        pass

    with pytest.raises(TypeError, match="unknown option 'speed'"):
        cuda.jit(speed=3)(function)
    with pytest.raises(ValueError, match="bounds: expected 'guard', 'raise' or 'off'"):
        cuda.jit(bounds="maybe")(function)
    with pytest.raises(ValueError, match="host_arrays"):
        cuda.jit(host_arrays="yes")(function)
    with pytest.raises(TypeError, match="compiled already"):
        cuda.jit(cuda.jit(function))
    with pytest.raises(TypeError, match="expected a function or a signature"):
        cuda.jit(5)
    with pytest.raises(TypeError, match="expected a function"):
        cuda.jit(device=True)(5)
    for signature in ("void(float32", "void(what[:])", "void(float32[2])", "nonsense"):
        with pytest.raises(TypeError, match="signature"):
            cuda.jit(signature)(function)


def test_function_without_text():
    names = {}
    exec("from treadle import cuda\n@cuda.jit\ndef k(x):\n    i = 0\n    x[i] = y[v] + {1: 2}[i]\n", names)
    message = "function 'k' has no source text.*instruction BUILD_MAP: a dictionary is not supported in kernels"
    with pytest.raises(errors.UnsupportedError, match=rf'{message}\n  File "<string>", line 5\n  hint'):
        names["k"][1, 1](td.zeros(1))


@pytest.mark.parametrize("parameters", ["*x", "**x", "x, *, y", "x, y, /"])
def test_parameters(parameters, tmp_path):
    path = tmp_path / "parameters.py"
    path.write_text(f"from treadle import cuda\n@cuda.jit\ndef kernel({parameters}):\n    pass\n")
    spec = importlib.util.spec_from_file_location("parameters", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(errors.UnsupportedError, match="plain positional names"):
        module.kernel[1, 1](td.zeros(1))
