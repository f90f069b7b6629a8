"""Kernels whose source text is nowhere: text made from bytecode, against the text itself and against its kernels."""

import ast
import glob
import importlib.util
import inspect
import json
import math
import os
import pickle
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import treadle as td
from treadle import _bytecode, cuda, errors

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [
    *sorted((ROOT / "examples").glob("*.py")),
    *sorted((ROOT / "bench").glob("*/*.py")),
    *sorted((ROOT / "src/library").glob("*.py")),
    *sorted((ROOT / "tests").glob("*/*.py")),
]
PYTHONS = [sys.executable, *sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.1[1-9].*/bin/python")))]
# What is not among a kernel's constructs, in the words of the messages.
REFUSED = ("is not supported in kernels", "in kernels", "caught", "generators", "plain positional")


@pytest.mark.parametrize("python", PYTHONS)
def test_round_trip(python, support):
    command = [python, support / "round_trip.py", *SOURCES]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    counts = json.loads(result.stdout)
    assert counts["understood"] > 380
    # The rest differs by which side of an if comes first.
    assert counts["same"] > 0.98 * counts["understood"], counts
    strange = [reason for reason in counts["refused"] if not any(known in reason for known in REFUSED)]
    assert not strange


def test_round_trip_of_made_up_programs(fuzz, support, tmp_path):
    for seed in range(12):
        source = fuzz.generate(seed)
        (tmp_path / f"{seed}.py").write_text(source if isinstance(source, str) else source[0])
    command = [sys.executable, support / "round_trip.py", *tmp_path.glob("*.py")]
    counts = json.loads(subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout)
    assert counts["understood"] >= 0.9 * (counts["understood"] + sum(counts["refused"].values())), counts


def without_text(function):
    """The same function, with a code object that no text is known of."""
    code = function.__code__.replace(co_filename="<nowhere>")
    copy = types.FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__qualname__ = function.__qualname__
    return copy


class Copy:
    """Interpreted by its text, launched as a kernel that has none."""

    def __init__(self, kernel):
        self.py_func, self.__name__ = kernel.py_func, kernel.__name__
        self.copy = cuda.jit(fmad=kernel.options.contract)(without_text(kernel.py_func))

    def __getitem__(self, config):
        return self.copy[config]


def load_tests(name):
    path = ROOT / f"tests/differential/{name}.py"
    spec = importlib.util.spec_from_file_location(f"{name}_by_bytecode", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return vars(module)


TESTS = load_tests("test_kernels") | load_tests("test_sugar")
PLAIN_TESTS = [
    name
    for name, test in TESTS.items()
    if name.startswith("test_")
    and not getattr(test, "pytestmark", None)
    and set(inspect.signature(test).parameters) in ({"check_kernel"}, {"check_kernel", "numbers"})
]


@pytest.fixture(scope="session")
def sampled():
    path = ROOT / "tests/differential/conftest.py"
    spec = importlib.util.spec_from_file_location("differential_conftest", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.sample


@pytest.mark.parametrize("name", PLAIN_TESTS)
def test_kernels(name, check_kernel, sampled):
    def check(kernel, *args, **keywords):
        check_kernel(Copy(kernel), *args, **keywords)

    test = TESTS[name]
    test(*([check, sampled] if "numbers" in inspect.signature(test).parameters else [check]))


CONSTRUCTS = {
    "empty": "pass",
    "early return": "if n < 0:\n    return 1\nx[0] = 2\nreturn x[0]",
    "elif": "if n == 1:\n    a = 1\nelif n == 2:\n    a = 2\nelif n == 3:\n    return 7\nelse:\n    a = 4\nreturn a",
    "nested if": "a = 0\nif n:\n    if m:\n        a = 1\n    else:\n        a = 2\nelse:\n    a = 3\nreturn a",
    "and or": "if n and m or not n and (m or n > 3):\n    return 1\nreturn 2",
    "not": "if not (n and m):\n    return 1\nreturn 2",
    "value and or": "a = n and m or 3\nb = n or m and 4\nreturn a, b, (n or m) and (m or n), not n",
    "chain": "return 0 < n < m <= 9, n < m != 3 == 3",
    "chain in a condition": "if 0 < n < m and m < 8 or n < m < 2:\n    return 1\nreturn 2",
    "chain of calls": "return (n < (m or 5) < abs(n + 7)) + (n if 1 < m < 4 else m)",
    "conditional values": "return (1 if n else 2) + (n if m else (3 if n > m else 4))",
    "conditional condition": "if (n if m else not n):\n    return 1\nreturn 0",
    "conditional arguments": "return max(n if m else 1, m if n else 2)",
    "while": "i = 0\nwhile i < n:\n    i += 1\n    if i == m:\n        break\n    if i % 2:\n        continue\n    x[i % 3] += i\nreturn i",
    "while true": "i = 0\nwhile True:\n    i += 1\n    if i > n:\n        break\n    x[i % 3] -= i\nreturn i",
    "while not": "i = 0\nwhile not i > n:\n    i += 1\nreturn i",
    "while and": "i = 0\nwhile i < n and (i < m or i == 2):\n    i += 1\nreturn i",
    "loops in loops": "s = 0\nfor i in range(n):\n    for j in range(i, m):\n        if j == 3:\n            break\n        while s < j:\n            s += 1\n            if s == 2:\n                continue\n            s += 1\n    else:\n        s += 100\nreturn s",
    "return from loops": "for i in range(n):\n    while True:\n        if i > m:\n            return i\n        if i < 2:\n            break\n        return -i\nreturn 99",
    "break with work": "r = 0\nfor i in range(n):\n    if i == m:\n        r = i * 2\n        x[1] = r\n        break\n    if i == 4:\n        r = 77\n        break\nx[2] = r\nreturn r",
    "loops left at once": "for i in range(n):\n    for j in range(m):\n        if i * j == 4:\n            break\n    else:\n        x[0] += 1\n        continue\n    break\nreturn i if n > 0 else m",
    "while else": "i = 0\nwhile i < n:\n    if i == m:\n        break\n    i += 1\nelse:\n    i = -1\nreturn i",
    "nothing but a loop": "for i in range(n):\n    if i == m:\n        break\n    x[0] += 1",
    "augmented": "a = n\na += 1\na -= m\na *= 2\na //= 3\na **= 2\na <<= 1\na |= 1\nx[n % 3] *= 2\nx[0] -= a\nreturn a",
    "unpacking": "a, b = n, m\na, b = b, a\n(a, b), c = (b, a), n\nx[0], x[1] = x[1], x[0]\nreturn a, b, c",
    "unpacking to one name": "_, _, a = x\nb, _, _ = x\nreturn a, b, _",
    "three at once": "a, b, c = n, m, 1\na, b, c = c, a, b\nx[0], x[1], x[2] = a, x[0], x[1]\nreturn a, b, c",
    "chained assignment": "a = b = n + m\nc = x[0] = a\nreturn a, b, c",
    "assignment expression": "if (k := n + 1) > 2 and (m := k * 2):\n    return k, m\nreturn k, (k := 3) + k",
    "assignment in a chain": "a = n + (n := m) * (n := 2) + max(n, (n := n + 1), n)\nreturn a, 0 < (q := n) < m, q",
    "slices": "return x[1:n], x[:n], x[n:], x[::2], x[1:n:2], x[:]",
    "numbers": "return -1, -2.5, 1e300, -0.0, +n, ~n, True, None, (1, (2, 3)), 10**400",
    "attributes": "return x.shape[0], math.pi, math.floor(n / 2).real",
    "keywords": "return sorted((n, m, 3), reverse=True), int('11', base=n + 2 if n > 0 else 3)",
    "strings": "s = 'it\\'s' \"\\n\"\nreturn s == 'a', 'b' 'c'",
    "lambda": "f = lambda a: a + 1\nreturn f(n)",
    "nested function": "def f(a, b):\n    if a:\n        return b\n    return 2\nreturn f(n, m)",
    "closures": "k = 3\ndef f(a):\n    def g(b):\n        return a * b + k\n    return g(2) + g(n)\nh = lambda a: f(a) + k * m\nk += 1\nreturn h(n), f(m)",
    "is": "return n is None, m is not None, n == None\n",
    "is in a condition": "if n is None or m is not None:\n    return 1\nreturn 2",
    "for over a tuple": "s = 0\nfor i in (1, n, 3):\n    s += i\nreturn s",
    "for over pairs": "s = 0\nfor i, (j, k) in ((1, (2, 3)), (n, (m, 1))):\n    s += i * j - k\nreturn s",
    "on one line": "s = 0\nfor i in range(n): s += i; s *= 2\nif s: s += 1; x[0] = s\nwhile s > 3: s -= 2\nreturn s",
    "f-strings": "s = f'{n}'\nt = f'a {n} and {m + 1:>5}!'\nu = f'{n:{m + 3}d}' + f'{{{n}}}' f'{m}'\nreturn s, t, u, f'{n:.2f}{m}'",
    "f-string with quotes": 'return f"{n}\'s\\n {m}\\"{n}\\" \\t"',
    "assert": "assert n >= 0\nassert m != 2, 'two'\nassert n < 5, f'{n} is large'\nreturn n",
    "assert with and, or, not": "assert n > 0 and m > 0, 'both'\nassert n == 1 or m == 1 or not n + m > 7, 'one'\nassert not n == m\nreturn 1",
    "assert in an if": "if n > 2:\n    assert m, 'm'\n    x[0] = 1\nelif n:\n    assert not m\nelse:\n    assert n or m > 2\nreturn x[0]",
    "assert in loops": "for i in range(n):\n    assert i != m, 'm'\n    x[0] += i\nwhile True:\n    assert n != 4\n    n += 1\n    if n > 6:\n        break\nwhile n > m:\n    n -= 1\n    assert n != 3\nreturn n",
    "assert at the end": "x[0] = n\nassert n == m, 'not the same'",
    "assert of a chain": "assert 0 <= n < m, 'order'\nassert (n if m else 1) > 0\nreturn n",
    "assert with calls": "assert abs(n) < 4, str(m)\nassert max(n, m) > 0, min(n, m)\nreturn 1",
    "raise": "if n < 0:\n    raise ValueError('negative')\nif m == 3:\n    raise KeyError\nx[0] = n\nif n == m:\n    raise IndexError\nreturn 5",
    "raise in an else": "if n > 0:\n    x[0] = 1\nelif m > 0:\n    x[1] = 2\nelse:\n    raise RuntimeError(f'{n}, {m}')\nreturn x[0]",
    "raise on both sides": "if n > m:\n    raise ValueError('larger')\nelse:\n    raise ValueError('smaller')",
    "raise in loops": "for i in range(n):\n    if i == m:\n        raise ValueError('m')\n    x[0] += 1\nelse:\n    x[1] = 9\nwhile True:\n    n += 1\n    if n > 4:\n        raise ValueError(n)\n    if n == m:\n        return n",
    "raise after all": "x[0] = n\nif m:\n    return 2\nraise AssertionError('at the end')",
    "raise of an assertion": "if n == 2:\n    raise AssertionError\nif n == 3:\n    raise AssertionError('by hand')\nassert m\nreturn 1",
    "same on both sides": "if n:\n    x[0] = m\nelse:\n    x[0] = m\nreturn x[0] if n else x[0]",
}


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_constructs(name):
    body = "\n".join("    " + line for line in CONSTRUCTS[name].splitlines())
    names = {"math": math}
    exec(compile(f"def made(x, n, m):\n{body}\n", "<made>", "exec", dont_inherit=True), names)
    code = names["made"].__code__
    text = _bytecode.text_of(code)
    again = {"math": math}
    exec(text, again)

    def result(function, n, m):
        x = np.array([5, 6, 7])
        try:
            return repr(function(x, n, m)), x.tolist()
        except Exception as error:  # noqa: BLE001
            return repr(error), x.tolist()

    for n in range(-1, 6):
        for m in range(-1, 6):
            assert result(again["made"], n, m) == result(names["made"], n, m), text
    assert _bytecode.does_the_same(ast.parse(text).body[0], code)


@pytest.mark.parametrize("python", PYTHONS)
def test_constructs_of_every_version(python, support, tmp_path):
    """Text from bytecode is compared with the bytecode where it is made, so what is understood is right."""
    functions = []
    bodies = [body for name, body in CONSTRUCTS.items() if name != "closures"]  # whose inner function is none by itself
    for number, body in enumerate(bodies):
        functions.append(f"def made{number}(x, n, m):\n" + "\n".join("    " + line for line in body.splitlines()))
    (tmp_path / "made.py").write_text("\n\n".join(functions))
    command = [python, support / "round_trip.py", tmp_path / "made.py"]
    counts = json.loads(subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout)
    assert counts["understood"] >= len(bodies) and not counts["refused"], counts


OUTPUT = """
from treadle import cuda

@cuda.jit(device=True)
def checked(v):
    if v > 100:
        raise ValueError("too large")
    return v * 2

@cuda.jit
def kernel(x, n):
    i = cuda.grid(1)
    assert n != 13, "unlucky"
    if i < x.size:
        x[i] = checked(n + i)
        print(f"{i}: {x[i]:.1f}", n, sep="|")
"""


def test_output_and_exceptions(capsys):
    names = {}
    exec(OUTPUT, names)
    x = td.zeros(2)
    names["kernel"][1, 4](x, 5)
    cuda.synchronize()
    assert x.tolist() == [10, 12] and capsys.readouterr().out == "0: 10.0|5\n1: 12.0|5\n"
    names["kernel"][1, 4](x, 13)
    with pytest.raises(AssertionError, match=r"unlucky \(kernel 'kernel', block \(0, 0, 0\), thread \(0, 0, 0\)\)"):
        cuda.synchronize()
    names["kernel"][1, 4](x, 100)
    with pytest.raises(ValueError, match=r"too large \(kernel 'kernel', block \(0, 0, 0\), thread \(1, 0, 0\)\)"):
        cuda.synchronize()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("try:\n        x[0] = 1\n    except ValueError:\n        pass", "a try statement"),
        ("y = [v for v in x]", "a .*comprehension"),
        ("y = {1: n}", "a dictionary"),
        ("print(f'{n!r}')", "conversions"),
        ("yield n", "generators"),
        ("import os", "an import"),
        ("y = max(*x)", "starred"),
        ("raise", "Python's own exceptions"),
        ("raise ValueError from KeyError", "Python's own exceptions"),
    ],
)
def test_refused(body, message):
    names = {}
    exec(f"from treadle import cuda\n@cuda.jit\ndef kernel(x, n):\n    {body}\n", names)
    with pytest.raises(errors.UnsupportedError, match=rf"'kernel'.*{message}[^\n]*\n  File \"<string>\", line [2-6]\n"):
        names["kernel"][1, 1](td.zeros(1), 1)


def test_text_that_does_something_else_is_refused():
    """Python has folded the or, and would fold all the rest of text made from what it left."""
    names = {}
    exec("from treadle import cuda\n@cuda.jit\ndef kernel(x, n):\n    x[0] = (3 or n) << 1\n", names)
    message = "'kernel'.*bytecode instruction .*: no text is found that does the same\n  File \"<string>\", line 4\n"
    with pytest.raises(errors.UnsupportedError, match=message):
        names["kernel"][1, 1](td.zeros(1), 1)


def test_text_of_other_code_is_not_taken():
    """Two texts of one file name: what linecache knows of it belongs to one of them."""
    import linecache

    text = "from treadle import cuda\n@cuda.jit\ndef kernel(x):\n    x[0] = {}\n"
    shown = text.format(5)
    linecache.cache["<cell>"] = (len(shown), None, shown.splitlines(keepends=True), "<cell>")
    for value in (5, 6):
        names = {}
        exec(compile(text.format(value), "<cell>", "exec"), names)
        x = td.zeros(1)
        names["kernel"][1, 1](x)
        assert x.tolist() == [value]


# ---------------------------------------------------------------------------------------------------------- lambdas

# fmt: off
ADD, MULTIPLY, NESTED = cuda.jit(lambda x, n: store(x, cuda.grid(1), n + 1)), cuda.jit(lambda x, n: store(x, cuda.grid(1), n * 7)), (lambda: cuda.jit(lambda x, n: store(x, cuda.grid(1), inner(n))))()
inner, twin, other = cuda.jit(lambda v: v - 2, device=True), cuda.jit(lambda v: v - 2, device=True), cuda.jit(lambda v: v - 3, device=True)
# fmt: on


@cuda.jit(device=True)
def store(x, i, value):
    x[i] = value


@pytest.mark.parametrize(("kernel", "value"), [(ADD, 11), (MULTIPLY, 70), (NESTED, 8)])
def test_lambdas_on_one_line(kernel, value):
    for one in (kernel, cuda.jit(without_text(kernel.py_func))):
        x = td.zeros(3)
        one[1, 3](x, 10)
        assert x.tolist() == [value] * 3


def test_device_lambdas_on_one_line():
    @cuda.jit
    def kernel(x):
        x[0], x[1], x[2] = inner(5), twin(5), other(5)

    x = td.zeros(3)
    kernel[1, 1](x)
    assert x.tolist() == [3, 3, 2]


def test_error_in_a_lambda(tmp_path):
    path = tmp_path / "lambdas.py"
    line = "kernels = ['ä€', cuda.jit(lambda x: x[0]), cuda.jit(lambda x: x[0] & 1.5), cuda.jit(lambda x: x[1])]"
    path.write_text(f"from treadle import cuda\n# a page ends here: \x0c\n{line}\n")
    spec = importlib.util.spec_from_file_location("lambdas", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(errors.TypingError) as caught:
        module.kernels[2][1, 1](td.zeros(2))
    place = f'  File "{path}", line 3\n    {line}\n    ' + " " * line.index("x[0] & 1.5") + "^" * len("x[0] & 1.5")
    assert place in str(caught.value)


# ----------------------------------------------------------------------------------------------- ways to start Python

PROGRAM = """
import treadle as td
from treadle import cuda

@cuda.jit(device=True)
def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps

@cuda.jit
def kernel(out):
    i = cuda.grid(1)
    if i >= out.size:
        return
    out[i] = collatz(i + 1)

out = td.zeros(8, dtype=td.int64)
kernel[2, 5](out)
print(out.tolist())

@cuda.jit
def wrong(out):
    i = cuda.grid(1)
    out[i] = collatz(out) + i

try:
    wrong[1, 1](out)
except TypeError as error:
    print(error)
"""
RESULT = "[0, 1, 7, 2, 5, 8, 16, 3]"


WRONG = '  File "{}", line 8\n        while n != 1:\n              ^^^^^^\n'


def check_output(result, shown):
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(RESULT), result.stdout
    assert shown in result.stdout


def test_command_line(run_python):
    # The text of the command is known; the others are made from bytecode and agree in their lines.
    check_output(run_python(PROGRAM), WRONG.format("<string>"))


def test_standard_input(run_python):
    check_output(run_python(["-"], input=PROGRAM), WRONG.format("<stdin>"))


def test_prompt(run_python):
    # The prompt ends a block at an empty line and takes a program statement by statement.
    typed = PROGRAM.replace("\ntry:", "\n\ntry:").replace("print(error)\n", "print(error)\n\n")
    result = run_python(["-i", "-q"], input=typed)
    assert RESULT in result.stdout, result.stderr
    assert "expected a number, got an array" in result.stdout


def test_exec(run_python, tmp_path):
    path = tmp_path / "executes.py"
    path.write_text(f"exec({PROGRAM!r}, {{}})\n")
    check_output(run_python([path]), WRONG.format("<string>"))


def test_treadle_run(run_python):
    check_output(run_python(["-m", "treadle", "run", "-c", PROGRAM]), WRONG.format("<string>"))


def test_cloudpickle(run_python, tmp_path):
    """A kernel made from a string, sent to a process that has nothing of it."""
    pytest.importorskip("cloudpickle")
    names = {"__name__": "__main__"}
    exec(
        "from treadle import cuda\n@cuda.jit\ndef kernel(x):\n    i = cuda.grid(1)\n    if i < x.size and (x[i] or i):\n        x[i] = 3 * i\n",
        names,
    )
    kernel = names["kernel"]
    exec(
        "from treadle import cuda\nkernel = [cuda.jit(lambda x: put(x, 1)), cuda.jit(lambda x: put(x, 2))][1]\n@cuda.jit(device=True)\ndef put(x, i):\n    x[i] = 5\n",
        names,
    )
    for name, one in (("first", kernel), ("second", names["kernel"])):
        (tmp_path / name).write_bytes(pickle.dumps(one))
    code = "import pickle, treadle as td\nfor name in ('first', 'second'):\n    x = td.zeros(3)\n    pickle.load(open(name, 'rb'))[1, 8](x)\n    print(x.tolist())\n"
    result = run_python(code)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split("\n")[:2] == ["[0.0, 3.0, 6.0]", "[0.0, 0.0, 5.0]"]
