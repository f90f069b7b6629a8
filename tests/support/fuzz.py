"""Random kernels with nested control flow, their comparison with an interpretation, and the shrinking of those that differ.

Every thread writes its own rows of the output arrays only, so that results do not depend on the order of the threads. Loops end
after a few rounds: while loops count themselves in a variable named w... that nothing else touches.
"""

from __future__ import annotations

import ast
import importlib.util
import itertools
import random
import sys
from typing import NamedTuple

import numpy as np

HEAD = "import math\n\nimport numpy as np\n\nfrom treadle import cuda\n\n"
SIGNATURE = "(out_i, out_f, out_g, a_i, a_s, a_u, a_f, a_g, n, x)"
COLUMNS = 3

SHAPES_1D = ((1, 1), (2, 7), (1, 31), (2, 32), (1, 33), (1, 64), (1, 100), (3, 16), (1, 256))
SHAPES_2D = (
    ((1, 1), (8, 8)),
    ((2, 1), (5, 3)),
    ((1, 1), (32, 4)),
    ((1, 2), (64, 2)),
    ((1, 1), (16, 16)),
    ((2, 2), (3, 7)),
    ((1, 1), (1, 40)),
    ((1, 2), (33, 2)),
)


class Generator:
    """Writes one program."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.two = self.random.random() < 0.3
        self.loops = 0
        self.names = itertools.count()
        self.in_device = None
        self.functions = []

    def pick(self, *options):
        return self.random.choice(options)

    def chance(self, p):
        return self.random.random() < p

    # ------------------------------------------------------------------------------------------------ expressions

    def more_ints(self):
        """Other places that integers come from, for programs that have some."""
        return []

    def more_floats(self):
        return []

    def int_(self, depth=3):
        r = self.random
        if depth <= 0 or self.chance(0.15):
            options = [str(r.choice((0, 1, 2, 3, 5, 7, -1, -4, 100, 255, 2**31, -(2**40), 2**63 - 1)))]
            options += [r.choice(self.ints)] * 4
            options += self.more_ints()
            if not self.in_device:
                options += ["n", "t"]
            return r.choice(options)
        d = depth - 1
        kind = r.randrange(17)
        if kind <= 4:
            return f"({self.int_(d)} {r.choice('+-*+-*&|^')} {self.int_(d)})"
        if kind == 5:
            return f"({self.int_(d)} {r.choice(('//', '%'))} {self.int_(d)})"
        if kind == 6:
            shift = f"({self.int_(d)} & 63)" if self.chance(0.7) else self.pick("0", "1", "31", "63", "64", "70")
            return f"({self.int_(d)} {r.choice(('<<', '>>'))} {shift})"
        if kind == 7:
            return f"({self.pick('-', '~')}{self.int_(d)})"
        if kind == 8:
            return f"{self.pick('min', 'max')}({self.int_(d)}, {self.int_(d)})"
        if kind == 9:
            return f"abs({self.int_(d)})"
        if kind == 10:
            return f"({self.int_(d)} if {self.bool_(d)} else {self.int_(d)})"
        if kind == 11:
            return f"int({self.float_(d)})"
        if kind == 12:
            return f"({self.bool_(d)} + {self.int_(d)})"
        if kind == 13 and not self.in_device:
            array = self.pick("a_i", "a_s", "a_u")
            index = f"{self.int_(d)} % n" if self.chance(0.6) else self.int_(d)
            return f"int({array}[{index}])" if array == "a_u" else f"{array}[{index}]"
        if kind == 14:
            name = self.pick("int8", "int16", "int32", "uint8", "uint16", "uint32")
            return f"int(np.{name}({self.int_(d)}))"
        if kind == 15:
            return f"({self.int_(d)} {self.pick('and', 'or')} {self.int_(d)})"
        return self.call("i", d) or f"({self.int_(d)} - {self.int_(d)})"

    def float_(self, depth=3):
        r = self.random
        if depth <= 0 or self.chance(0.15):
            options = [r.choice(("0.0", "1.0", "-1.5", "0.1", "3.25", "1e10", "-0.0", "1e-3"))]
            options += [r.choice(self.floats)] * 4
            options += self.more_floats()
            if not self.in_device:
                options += ["x"]
            return r.choice(options)
        d = depth - 1
        kind = r.randrange(13)
        if kind <= 3:
            return f"({self.float_(d)} {r.choice('+-*/')} {self.float_(d)})"
        if kind == 4:
            return f"({self.float_(d)} {r.choice('+-*')} {self.int_(d)})"
        if kind == 5:
            return f"(-{self.float_(d)})"
        if kind == 6:
            return f"({self.float_(d)} if {self.bool_(d)} else {self.float_(d)})"
        if kind == 7:
            return f"math.sqrt(abs({self.float_(d)}))"
        if kind == 8:
            return f"math.{self.pick('floor', 'ceil', 'trunc')}({self.float_(d)})".replace("math.trunc", "math.fabs")
        if kind == 9 and not self.in_device:
            return f"a_f[{self.int_(d)} % n]"
        if kind == 10:
            return f"float({self.int_(d)})" if self.chance(0.5) else f"({self.int_(d)} / {self.int_(d)})"
        if kind == 11:
            return f"({self.float_(d)} + {self.single(d)})"
        return self.call("f", d) or f"({self.float_(d)} + {self.float_(d)})"

    def single(self, depth=2):
        """float32"""
        if depth <= 0:
            return self.random.choice(self.singles)
        d = depth - 1
        kind = self.random.randrange(6)
        if kind <= 2:
            return f"({self.single(d)} {self.random.choice('+-*/')} {self.single(d)})"
        if kind == 3:
            return f"np.float32({self.float_(d)})"
        if kind == 4 and not self.in_device:
            return f"a_g[{self.int_(d)} % n]"
        return f"(-{self.single(d)})"

    def bool_(self, depth=2):
        r = self.random
        if depth <= 0:
            return f"({r.choice(self.ints)} {self.compare()} {r.choice(self.ints)})"
        d = depth - 1
        kind = r.randrange(9)
        if kind <= 2:
            return f"({self.int_(d)} {self.compare()} {self.int_(d)})"
        if kind == 3:
            return f"({self.float_(d)} {self.compare()} {self.float_(d)})"
        if kind == 4:
            return f"({self.int_(d)} {self.compare()} {self.int_(d)} {self.compare()} {self.int_(d)})"
        if kind == 5:
            return f"(not {self.bool_(d)})"
        if kind == 6:
            return f"({self.bool_(d)} {self.pick('and', 'or')} {self.bool_(d)})"
        if kind == 7 and self.bools:
            return r.choice(self.bools)
        return f"({self.int_(d)} % {self.pick('2', '3', '4')} {self.pick('==', '!=')} {self.pick('0', '1')})"

    def compare(self):
        return self.pick("<", "<=", ">", ">=", "==", "!=")

    def call(self, kind, depth):
        if self.in_device is not None or not self.functions:
            return None
        chosen = [f for f in self.functions if f[1] == kind]
        if not chosen:
            return None
        return f"{self.random.choice(chosen)[0]}({self.int_(depth)}, {self.float_(depth)})"

    # ------------------------------------------------------------------------------------------------- statements

    def block(self, depth, indent, in_loop):
        lines = []
        for _ in range(self.random.randint(1, 4 if depth > 0 else 2)):
            lines += self.statement(depth, indent, in_loop)
        return lines

    def statement(self, depth, indent, in_loop):
        r, pad = self.random, "    " * indent
        kind = r.randrange(20)
        if depth > 0 and kind in (0, 1, 2, 3):
            lines = [f"{pad}if {self.bool_()}:", *self.block(depth - 1, indent + 1, in_loop)]
            if self.chance(0.3):
                lines += [f"{pad}elif {self.bool_()}:", *self.block(depth - 1, indent + 1, in_loop)]
            if self.chance(0.5):
                lines += [f"{pad}else:", *self.block(depth - 1, indent + 1, in_loop)]
            return lines
        if depth > 0 and kind in (4, 5, 6) and self.loops < 3:
            return self.loop(depth, indent)
        if in_loop and kind in (7, 8):
            return [f"{pad}if {self.bool_()}:", f"{pad}    {self.pick('break', 'continue')}"]
        if kind == 9 and self.chance(0.4):
            value = "" if not self.in_device else " " + (self.int_() if self.in_device == "i" else self.float_())
            return [f"{pad}if {self.bool_()}:", f"{pad}    return{value}"]
        if kind == 10:
            a, b = r.sample(self.ints, 2)
            return [f"{pad}{a}, {b} = {b}, {self.int_()}"]
        if kind == 11:
            name = f"b{next(self.names)}" if not self.bools or self.chance(0.5) else r.choice(self.bools)
            if indent == 1 and name not in self.bools:
                line = f"{pad}{name} = {self.bool_()}"
                self.bools.append(name)
                return [line]
            return [f"{pad}{r.choice(self.ints)} = {self.int_()}"]
        if kind == 12 and not self.in_device:
            return [f"{pad}out_i[t, {self.index()}] = {self.int_()}"]
        if kind == 13 and not self.in_device:
            return [f"{pad}out_f[t, {self.index()}] {self.pick('=', '+=', '-=')} {self.float_()}"]
        if kind == 14 and not self.in_device:
            return [f"{pad}out_i[t, {self.index()}] {self.pick('+=', '^=', '*=')} {self.int_()}"]
        if kind == 15:
            if self.chance(0.5) and not self.in_device:
                return [f"{pad}out_g[t, {self.index()}] = {self.single()}"]
            return [f"{pad}{r.choice(self.singles)} = {self.single()}"]
        if kind in (16, 17):
            return [f"{pad}{r.choice(self.floats)} {self.pick('=', '=', '+=', '*=', '-=')} {self.float_()}"]
        operator = self.pick("=", "=", "=", "+=", "-=", "*=", "^=", "&=", "|=")
        return [f"{pad}{r.choice(self.ints)} {operator} {self.int_()}"]

    def index(self):
        return self.pick("0", "1", "2", "-1", f"{self.int_(1)} % 3", f"{self.int_(1)} & 3")

    def loop(self, depth, indent):
        pad = "    " * indent
        self.loops += 1
        if self.chance(0.5):
            counter = f"w{next(self.names)}"
            limit = self.pick("1", "2", "3", f"({self.int_(1)} & 3)")
            condition = self.pick(f"{counter} < {limit}", f"{counter} < {limit} and {self.bool_()}", "True")
            lines = [f"{pad}{counter} = 0", f"{pad}while {condition}:", f"{pad}    {counter} += 1"]
            if condition == "True":
                lines += [f"{pad}    if {counter} > {limit}:", f"{pad}        break"]
            return lines + self.block(depth - 1, indent + 1, True)
        name = f"k{next(self.names)}" if self.chance(0.7) else self.random.choice(self.ints)
        size = f"({self.int_(1)} & 3)"
        limits = self.pick(
            "4",
            "n % 5" if not self.in_device else "2",
            size,
            f"{size} - 2",
            f"1, {size}",
            f"{size}, -1, -1",
            f"{size}, {size}, 2",
            f"5, {size}, -3",
            f"{size}, {size}, ({self.int_(1)} % 3) * 2 - 3",
            "0, 4, (t & 1) + 1" if not self.in_device else "3",
        )
        if name[0] == "k":
            self.ints.append(name)
        body = self.block(depth - 1, indent + 1, True)
        if name[0] == "k":
            self.ints.remove(name)
        return [f"{pad}for {name} in range({limits}):", *body]

    # -------------------------------------------------------------------------------------------------- functions

    def device_function(self):
        kind = self.pick("i", "f")
        name = f"d{len(self.functions)}"
        self.ints, self.floats, self.singles, self.bools = ["p", "i0", "i1"], ["q", "f0"], ["g0"], []
        self.in_device, self.loops = kind, 2
        lines = ["@cuda.jit(device=True)", f"def {name}(p, q):", "    i0 = 3", "    i1 = p", "    f0 = 0.5"]
        lines += ["    g0 = np.float32(q)", *self.block(3, 1, False)]
        lines += [f"    return {self.int_() if kind == 'i' else self.float_()}", "", ""]
        self.in_device = None
        self.functions.append((name, kind))
        return lines

    def program(self, options):
        lines = []
        for _ in range(self.pick(0, 0, 1, 2)):
            lines += self.device_function()
        self.ints, self.floats, self.singles, self.bools = ["i0", "i1", "i2", "i3"], ["f0", "f1"], ["g0", "g1"], []
        self.loops = 0
        lines += [f"@cuda.jit({options})", f"def kernel{SIGNATURE}:"]
        if self.two:
            lines += ["    tx, ty = cuda.grid(2)", "    t = tx + ty * cuda.gridsize(2)[0]"]
        else:
            lines += ["    t = cuda.grid(1)"]
        lines += ["    i0 = t", "    i1 = a_i[t % n]", "    i2 = 1", f"    i3 = int({self.pick('a_u', 'a_s')}[t % n])"]
        lines += ["    f0 = x", "    f1 = a_f[t % n]", "    g0 = a_g[t % n]", "    g1 = np.float32(0.5)"]
        lines += self.block(4, 1, False)
        lines += self.block(3, 1, False)
        lines += ["    out_i[t, 0] = i0 ^ i1", "    out_i[t, 1] += i2 + i3", "    out_f[t, 0] = f0"]
        lines += ["    out_f[t, 1] += f1", "    out_g[t, 0] = g0", "    out_g[t, 1] = g1"]
        return HEAD + "\n".join(lines) + "\n"


def generate(seed, options="fmad=False"):
    """(source, launch shapes) of one random program."""
    generator = Generator(seed)
    source = generator.program(options)
    shapes = generator.random.sample(SHAPES_2D if generator.two else SHAPES_1D, 2)
    return source, shapes


def inputs(seed, shape):
    """The kernel's arguments for a launch shape."""
    rng = np.random.default_rng(seed)
    grid, block = (part if isinstance(part, tuple) else (part,) for part in shape[:2])
    threads = int(np.prod(grid) * np.prod(block))
    n = 13

    def whole(dtype):
        info = np.iinfo(dtype)
        values = rng.integers(-20, 20, n)
        values[::4] = rng.integers(max(info.min, -(2**63)), min(info.max, 2**63 - 1), len(values[::4]), dtype="int64")
        return values.astype(dtype)

    floats = rng.normal(size=n) * 10.0 ** rng.integers(-3, 6, n)
    floats[3], floats[7] = np.inf, -0.0
    return (
        np.zeros((threads, COLUMNS), "int64"),
        np.zeros((threads, COLUMNS), "float64"),
        np.zeros((threads, COLUMNS), "float32"),
        whole("int64"),
        whole(rng.choice(["int8", "int16", "int32"])),
        whole(rng.choice(["uint8", "uint16", "uint32"])),
        floats,
        rng.normal(size=n).astype("float32"),
        n,
        float(rng.normal()),
    )


_numbers = itertools.count()


def compile_source(source, folder):
    """The module of a source text, written to a file so that its text can be found again."""
    name = f"fuzz_{next(_numbers)}"
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Family(NamedTuple):
    """A kind of programs; ``outputs`` names the first of their inputs, which are compared."""

    generate: object
    inputs: object
    outputs: tuple


FAMILY = Family(generate, inputs, ("out_i", "out_f", "out_g"))


def differences(source, shapes, seed, folder, interpreter, family=FAMILY, launched=lambda kernel: kernel):
    """The first difference between the kernel and its interpretation, as text, or None. ``launched``: of a kernel, what launches it."""
    import treadle as td

    module = compile_source(source, folder)
    for shape in shapes:
        args = family.inputs(seed, shape)
        shared_bytes = shape[3] if len(shape) > 3 else 0
        expected = interpreter.interpret(module.kernel, *shape[:2], *args, shared_bytes=shared_bytes)
        on_device = [td.asarray(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
        try:
            launched(module.kernel)[tuple(shape)](*on_device)
            td.synchronize()
        except Exception as error:
            return f"{type(error).__name__} {error}"
        for name, host, device in zip(family.outputs, expected, on_device, strict=False):
            got = device.get()
            same = (got == host) | ((got != got) & (host != host))
            if host.dtype.kind == "f":
                same &= (np.signbit(got) == np.signbit(host)) | (got != got)
            if not same.all():
                row, column = np.argwhere(~same)[0]
                values = f"is {got[row, column]!r}, expected {host[row, column]!r}"
                return f"shape {shape}: {name}[{row}, {column}] {values}, {np.sum(~same)} differ"
    return None


# ------------------------------------------------------------------------------------------------------------ shrinking


def _keeps(node):
    """Whether a statement counts the rounds of a while loop or says which thread this is."""
    target = getattr(node, "target", None) or (getattr(node, "targets", None) or [None])[0]
    if isinstance(target, ast.Tuple):
        target = target.elts[0]
    return isinstance(target, ast.Name) and target.id[0] in "wt"


def _edits(tree):
    """Functions that each make the tree smaller; yields (undoable) edits one at a time."""
    for node in ast.walk(tree):
        for field in ("body", "orelse"):
            block = getattr(node, field, None)
            if not isinstance(block, list):
                continue
            for i, statement in enumerate(block):
                if _keeps(statement) or isinstance(statement, (ast.Import, ast.ImportFrom)):
                    continue
                if isinstance(statement, ast.FunctionDef) and statement.name == "kernel":
                    continue
                if isinstance(statement, ast.If) and any(_counts(s) for s in [statement]):
                    continue
                if len(block) > 1 or field == "orelse":
                    yield node, field, block[:i] + block[i + 1 :]
                if isinstance(statement, (ast.If, ast.For, ast.While)):
                    inner = list(statement.body)
                    yield node, field, block[:i] + inner + block[i + 1 :]
                    if statement.orelse:
                        yield node, field, block[:i] + statement.orelse + block[i + 1 :]
    fixed = {
        id(child)
        for node in ast.walk(tree)
        if _keeps(node) or _counts(node)
        for child in ast.walk(node)
        if not _counts(child)
    }
    fixed |= {id(child) for node in ast.walk(tree) if _counts(node) for child in ast.walk(node.test)}
    for node in ast.walk(tree):
        if id(node) in fixed or _counts(node):
            continue
        for field, value in ast.iter_fields(node):
            values = value if isinstance(value, list) else [value]
            for i, expr in enumerate(values):
                if not isinstance(expr, ast.expr) or isinstance(expr, (ast.Constant, ast.Name)):
                    continue
                if isinstance(node, ast.While) and field == "test" and isinstance(expr, (ast.Compare, ast.Constant)):
                    continue
                smaller = []
                for child in ast.iter_child_nodes(expr):
                    # Types stay: a truth value must not take the place of a number.
                    if isinstance(child, ast.expr) and (_is_truth(expr) or not _is_truth(child)):
                        smaller.append(child)
                if not isinstance(node, (ast.While, ast.Assign, ast.AugAssign)) or field == "value":
                    smaller += [ast.Constant(1), ast.Constant(0), ast.Constant(1.5)]
                if isinstance(node, ast.While):
                    smaller = smaller[:1]
                for replacement in smaller:
                    new = values[:i] + [replacement] + values[i + 1 :]
                    yield node, field, new if isinstance(value, list) else replacement


def _is_truth(node):
    return isinstance(node, (ast.Compare, ast.BoolOp)) or isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _counts(node):
    """Whether this is the test that ends a ``while True``."""
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Compare)
        and isinstance(node.test.left, ast.Name)
        and node.test.left.id.startswith("w")
    )


def shrink(source, fails, limit=3000):
    """A smaller source for which ``fails`` still holds."""
    tree = ast.parse(source)
    tried = 0
    progress = True
    while progress and tried < limit:
        progress = False
        for node, field, value in list(_edits(tree)):
            if tried >= limit:
                break
            old = getattr(node, field)
            setattr(node, field, value)
            tried += 1
            try:
                text = ast.unparse(ast.fix_missing_locations(tree))
                good = len(text) < len(ast.unparse(tree)) + 1 and fails(text)
            except Exception:
                good = False
            if good:
                progress = True
                break
            setattr(node, field, old)
    return ast.unparse(ast.fix_missing_locations(tree))


def main(arguments, family=FAMILY):
    """python fuzz.py FIRST COUNT [OPTIONS]: compares that many programs; prints failures shrunk. The status is their number."""
    import tempfile
    from pathlib import Path

    folder = Path(__file__).resolve().parent
    spec = importlib.util.spec_from_file_location("treadle_tests_interpreter", folder / "interpreter.py")
    interpreter = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(interpreter)
    first, count = int(arguments[0]), int(arguments[1])
    options = arguments[2] if len(arguments) > 2 else "fmad=False"
    shrinking = "--no-shrink" not in arguments
    failures = 0
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        for seed in range(first, first + count):
            source, shapes = family.generate(seed, options)
            problem = differences(source, shapes, seed, scratch, interpreter, family)
            if problem is None:
                continue
            failures += 1
            print(f"--- seed {seed}: {problem}", flush=True)
            if shrinking:
                kind = problem.split(" ", 1)[0]

                def fails(text, kind=kind, shapes=shapes, seed=seed):
                    found = differences(text, shapes, seed, scratch, interpreter, family)
                    return found is not None and found.split(" ", 1)[0] == kind

                small = shrink(source, fails)
                print(differences(small, shapes, seed, scratch, interpreter, family))
                print(small, flush=True)
            else:
                print(source, flush=True)
    print(f"{count} programs, {failures} failures")
    return failures


if __name__ == "__main__":
    sys.exit(min(100, main(sys.argv[1:])))
