"""Random kernels whose threads work together: shared and local arrays, barriers, atomic and warp operations.

No result depends on the order of the threads. Each shared array is at any place of a program in one of three states: every thread reads
and writes its own elements ("own"), all read everything ("any"), or all change everything by one commutative atomic operation (its
name); a barrier lies between two states. What decides about barriers is the same for all threads that have not ended: numbers made
of the variables u..., which are set from such numbers only. Atomic operations on arrays of the grid are integer and commutative.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

import fuzz

SIGNATURE = "(out_i, out_f, out_g, acc, acc_u, a_i, a_s, a_u, a_f, a_g, n, x)"
SHAPES = {
    1: ((1, 1), (5, 7), (2, 31), (2, 32), (1, 33), (3, 64), (1, 100), (3, 16), (1, 1024)),
    2: (
        ((1, 1), (8, 8)),
        ((2, 1), (5, 3)),
        ((1, 1), (31, 2)),
        ((1, 2), (16, 8)),
        ((2, 2), (3, 7)),
        ((1, 1), (1, 33)),
        ((1, 1), (32, 32)),
    ),
    3: (
        ((1, 1, 1), (3, 4, 5)),
        ((2, 1, 1), (4, 4, 4)),
        ((1, 1, 2), (8, 4, 2)),
        ((1, 1, 1), (1, 1, 31)),
        ((1, 2, 1), (7, 1, 5)),
        ((1, 1, 1), (8, 16, 8)),
    ),
}
WARP_SHAPES = {
    1: ((4, 32), (1, 64), (3, 32), (2, 96), (1, 1024)),
    2: (((2, 1), (8, 4)), ((1, 1), (16, 8)), ((1, 2), (1, 32)), ((1, 1), (32, 3)), ((1, 1), (16, 16))),
    3: (((1, 1, 2), (4, 4, 4)), ((1, 1, 1), (8, 2, 6)), ((2, 1, 1), (2, 4, 4)), ((1, 1, 1), (4, 8, 32))),
}
FULL = "0xFFFFFFFF"
DYNAMIC_BYTES = 8 * 1024
ATOMICS = ("add", "xor", "max", "min", "or_", "and_")
# Shape, one's own elements, any element; {j} is 0 or 1, {p} any number of the thread.
LAYOUTS = (
    ("1024", "tr", "({p}) % tm"),
    ("1024", "tr", "({p}) % tm"),
    ("1030", "tm - 1 - tr", "({p}) % tm"),
    ("2048", "tr * 2 + {j}", "({p}) % (2 * tm)"),
    ("2048", "tr + {j} * tm", "({p}) % (2 * tm)"),
    ("(1024, 2)", "tr, {j}", "({p}) % tm, {j}"),
    ("(2, 1025)", "{j}, tr", "{j}, ({p}) % tm"),
)
XY = ("(33, 34)", "ty, tx", "({p}) % cuda.blockDim.y, ({q}) % cuda.blockDim.x")
SHARED_INTS = ("int64", "int32", "uint32", "int16", "uint8", "uint64", "int8")
SHARED_FLOATS = ("float64", "float32")


class Shared:
    def __init__(self, name, dtype, layout):
        self.name, self.dtype = name, dtype
        self.shape, self.own, self.any = layout
        self.state = "own"

    def bytes(self):
        return int(np.prod(ast.literal_eval(self.shape))) * np.dtype(self.dtype).itemsize

    def is_float(self):
        return self.dtype[0] == "f"


class BlockGenerator(fuzz.Generator):
    """Writes one program."""

    def __init__(self, seed):
        super().__init__(seed)
        self.axes = self.pick(1, 1, 1, 2, 3)
        self.two = False
        self.warps = self.chance(0.4)
        self.complex = self.chance(0.2)
        # Whether what is uniform follows from arguments and the place of the block alone, not from memory.
        self.proven = self.chance(0.6)
        self.shared = []
        self.room = 48 * 1024  # bytes of shared memory that are left
        self.locals = []
        self.narrow = []
        self.uniforms = []
        self.expanding = False  # inside an index

    # ------------------------------------------------------------------------------------------------ expressions

    def place(self, template):
        """An index into a shared array; no arrays are read inside it, so that texts stay short."""
        self.expanding, before = True, self.expanding
        part = {letter: self.pick("tr + 1", "tr + 7", "tm - tr", self.int_(1)) for letter in "pq"}
        self.expanding = before
        return template.format(j=self.pick("0", "1", "(tr & 1)"), **part)

    def readable(self, array):
        if self.chance(0.04):
            return f"{array.name}[{'0, ' if ',' in array.shape else ''}tr + 9000]"  # outside: zero
        if array.state == "own":
            return f"{array.name}[{self.place(array.own)}]"
        return f"{array.name}[{self.place(array.any)}]" if array.state == "any" else None

    def read(self, floats):
        options = [self.readable(array) for array in self.shared if array.is_float() == floats]
        options += [
            f"{name}[{self.local_place(shape)}]" for name, shape, dtype in self.locals if (dtype[0] == "f") == floats
        ]
        options = [option for option in options if option]
        if not options:
            return []
        return [f"{'float' if floats else 'int'}({self.random.choice(options)})"]

    def local_place(self, shape):
        self.expanding, before = True, self.expanding
        parts = [self.pick("0", f"({self.int_(1)}) % {size}", f"({self.int_(1)}) % {size}", "-1") for size in shape]
        self.expanding = before
        return ", ".join(parts)

    def more_ints(self):
        if self.in_device:
            return [*self.uniforms, "tr", "tm"] if self.in_device == "block" else []
        options = ["tr", "tm", "tx", "ty", "cuda.laneid", *self.uniforms, *self.narrow]
        return options + ([] if self.expanding else self.read(False) * 2)

    def more_floats(self):
        if self.in_device or self.expanding:
            return []
        return self.read(True) * 3 + (["z0.real", "z0.imag", "z1.real"] if self.complex else [])

    def complex_(self, depth=2):
        d = depth - 1
        options = ["z0", "z1", f"complex({self.float_(1)}, {self.float_(1)})"]
        options += [f"z2[{self.place(self.pick('tr', 'tr + 9000'))}]"]
        if depth > 0:
            options += [f"({self.complex_(d)} {self.pick('+', '-', '*')} {self.complex_(d)})"]
            options += [f"({self.complex_(d)} {self.pick('+', '-', '*')} {self.float_(1)})", f"(-{self.complex_(d)})"]
            options += [f"({self.complex_(d)} if {self.bool_(1)} else {self.complex_(d)})"]
        return self.random.choice(options)

    def complex_statement(self):
        target = self.pick("z0", "z1", "z2[tr]")
        kind = self.random.randrange(5)
        if kind == 0:
            return f"i2 += int({self.complex_()} {self.pick('==', '!=')} {self.complex_()})"
        if kind == 1:
            return f"{target} = {self.pick('z0', 'z1')}.conjugate()"
        return f"{target} {self.pick('=', '+=', '*=')} {self.complex_()}"

    def uniform(self, depth=2):
        """An integer that is the same in all threads of the block."""
        if depth <= 0 or self.chance(0.3):
            options = [*self.uniforms, *self.uniforms, self.pick("0", "1", "2", "3", "5", "-1")]
            if not self.in_device:
                options += ["n", "int(cuda.blockIdx.x)", "int(cuda.gridDim.x)"]
            if not self.in_device and not self.proven:
                options += [f"a_i[{self.pick('0', '4', 'cuda.blockIdx.x')}]"]
                options += [
                    f"int({array.name}[{array.any.format(p=self.pick('0', '3'), q='2', j='0')}])"
                    for array in self.shared
                    if array.state == "any"
                ]
            return self.random.choice(options)
        if self.chance(0.2):
            return f"({self.uniform(depth - 1)} {self.pick('//', '%')} {self.pick('2', '3', '5')})"
        return f"({self.uniform(depth - 1)} {self.pick('+', '-', '*', '^', '&')} {self.uniform(depth - 1)})"

    def uniform_bool(self):
        if self.chance(0.2):
            vote = f"cuda.syncthreads_{self.pick('and', 'or')}({self.bool_(1)})"
            vote = self.pick(vote, f"cuda.syncthreads_count({self.bool_(1)}) {self.compare()} {self.uniform(1)}")
            return self.pick(
                vote, f"({self.uniform(1)} {self.compare()} {self.uniform(1)} {self.pick('and', 'or')} {vote})"
            )
        if self.chance(0.2):
            return (
                f"({self.uniform()} {self.compare()} {self.uniform()} {self.pick('and', 'or')} n > {self.uniform(1)})"
            )
        return f"({self.uniform()} {self.compare()} {self.uniform()})"

    # -------------------------------------------------------------------------------- statements of single threads

    def statement(self, depth, indent, in_loop):
        """A statement of one thread, with its own control flow: no other thread is waited for."""
        pad = "    " * indent
        if not self.in_device and self.chance(0.3):
            return [pad + self.memory_statement()]
        lines = super().statement(depth, indent, in_loop)
        if self.warps and not self.in_device:  # all lanes stay
            lines = [line.replace("return", "i2 += 1") if line.strip() == "return" else line for line in lines]
        return lines

    def value_for(self, dtype):
        return self.float_(2) if dtype[0] == "f" else self.int_(2)

    def memory_statement(self):
        options = [self.global_atomic]
        if self.complex:
            options += [self.complex_statement] * 3
        if self.locals:
            options += [self.local_write] * 3
        own = [array for array in self.shared if array.state == "own"]
        if own:
            options += [lambda: self.own_write(self.random.choice(own))] * 3
        atomic = [array for array in self.shared if array.state in ATOMICS]
        if atomic:
            options += [lambda: self.shared_atomic(self.random.choice(atomic))] * 4
        return self.random.choice(options)()

    def local_write(self):
        name, shape, dtype = self.random.choice(self.locals)
        place = self.local_place(shape)
        if dtype[0] == "i" and self.chance(0.2):
            return f"i2 = int(cuda.atomic.{self.pick('add', 'sub', 'xor', 'max')}({name}, ({place}), {self.int_(2)}))"
        return f"{name}[{place}] {self.pick('=', '+=', '=')} {self.value_for(dtype)}"

    def own_write(self, array):
        place = self.place(array.own)
        if not array.is_float() and self.chance(0.15):
            operation = self.pick("add", "sub", "exch", "min", "or_")
            return f"i1 = int(cuda.atomic.{operation}({array.name}, ({place}), {self.int_(2)}))"
        return f"{array.name}[{place}] {self.pick('=', '=', '+=')} {self.value_for(array.dtype)}"

    def shared_atomic(self, array):
        return f"cuda.atomic.{array.state}({array.name}, ({self.place(array.any)}), {self.int_(2)})"

    def global_atomic(self):
        row = self.random.randrange(len(ATOMICS))
        name = self.pick("acc", "acc", "acc_u")
        if self.chance(0.2):
            return f"i3 = int(cuda.atomic.{self.pick('add', 'xor', 'max')}(out_i, (t, 2), {self.int_(2)}))"
        return f"cuda.atomic.{ATOMICS[row]}({name}, ({row}, ({self.int_(2)}) % 8), {self.int_(2)})"

    # ------------------------------------------------------------------------------------- statements of the block

    def barrier(self, pad):
        kind = self.random.randrange(6)
        if kind == 0:
            name = self.random.choice(self.uniforms)
            return f"{pad}{name} = int(cuda.syncthreads_count({self.bool_(1)}))"
        if kind == 1:
            name = self.random.choice(self.uniforms)
            return f"{pad}{name} {self.pick('=', '+=')} int(cuda.syncthreads_{self.pick('and', 'or')}({self.bool_(1)}))"
        return f"{pad}cuda.syncthreads()"

    def to_states(self, pad, states):
        """A barrier, if one is needed, before which the arrays have their present states and behind which these."""
        if [array.state for array in self.shared] == states:
            return []
        line = self.barrier(pad)
        for array, state in zip(self.shared, states, strict=True):
            array.state = state
        return [line]

    def next_state(self, array):
        if array.is_float():
            return self.pick("own", "any", "any")
        return self.pick("own", "any", "any", self.random.choice(ATOMICS))

    def together(self, depth, indent, in_loop, states):
        """Statements that all threads of the block reach; ``states`` are those that a loop around them starts with."""
        lines = []
        for _ in range(self.random.randint(2, 5 if depth > 1 else 3)):
            lines += self.together_statement(depth, indent, in_loop, states)
        return lines

    def branch(self, depth, indent, in_loop, states, end):
        pad = "    " * indent
        lines = self.together(depth, indent, in_loop, states)
        return lines + self.to_states(pad, end) or [f"{pad}pass"]

    def together_statement(self, depth, indent, in_loop, states):
        pad = "    " * indent
        now = [array.state for array in self.shared]
        kind = self.random.randrange(16)
        if kind <= 3:
            return self.to_states(pad, [self.next_state(array) for array in self.shared]) or [self.barrier(pad)]
        if kind == 4:
            name = self.random.choice(self.uniforms)
            return [f"{pad}{name} {self.pick('=', '+=', '^=')} {self.uniform()}"]
        if kind in (5, 6) and depth > 0:
            lines = [f"{pad}if {self.uniform_bool()}:", *self.branch(depth - 1, indent + 1, in_loop, states, now)]
            if self.chance(0.5):
                lines += [f"{pad}else:", *self.branch(depth - 1, indent + 1, in_loop, states, now)]
            return lines
        if kind in (7, 8) and depth > 0 and self.together_loops < 3:
            return self.together_loop(depth, indent, now)
        if kind == 9 and in_loop:
            lines = [f"{pad}if {self.uniform_bool()}:", *self.to_states(pad + "    ", states)]
            for array, state in zip(self.shared, now, strict=True):
                array.state = state
            return [*lines, f"{pad}    {self.pick('break', 'continue')}"]
        if kind == 10 and self.block_functions:
            return self.call_block_function(pad)
        if kind in (11, 12):
            return self.warp_statement(indent) if self.warps else self.vote_statement(pad)
        if kind == 13:
            return [self.more_variables(pad, indent)]
        if kind == 14 and self.chance(0.3):
            test = self.uniform_bool() if self.warps or self.chance(0.3) else self.bool_(2)
            return [f"{pad}if {test}:", f"{pad}    return"]
        return self.threads_block(indent)

    def more_variables(self, pad, indent):
        """Values of other kinds that live across barriers: narrow integers and rows of arrays."""
        wide = [array for array in self.shared if array.own.startswith("{j}") and array.state == "any"]
        if wide and self.chance(0.5):
            array = self.random.choice(wide)
            return f"{pad}{'f1' if array.is_float() else 'i2'} += {'float' if array.is_float() else 'int'}({array.name}[i1 & 1][tr])"
        if indent == 1 and len(self.narrow) < 3:
            name, kind = f"h{len(self.narrow)}", self.pick("int8", "uint8", "int16", "uint16", "int32", "uint32")
            line = f"{pad}{name} = np.{kind}({self.int_(2)})"
            self.narrow.append(f"int({name})")
            return line
        return f"{pad}i0, f0 = {self.int_(1)}, {self.float_(1)}"

    def vote_statement(self, pad):
        """Threads that have ended do not vote."""
        kind = self.random.randrange(4)
        if kind == 0:
            return [f"{pad}i2 = int(cuda.match_any_sync({FULL}, ({self.int_(1)}) % 3))"]
        if kind == 1:
            return [f"{pad}i2 += int(cuda.{self.pick('all', 'any', 'eq')}_sync({FULL}, {self.bool_(1)}))"]
        return [f"{pad}i1 ^= cuda.ballot_sync({FULL}, {self.bool_(1)})"]

    def threads_block(self, indent):
        lines = []
        for _ in range(self.random.randint(1, 2)):
            lines += self.statement(self.pick(0, 1, 1, 2), indent, False)
        return lines

    def together_loop(self, depth, indent, now):
        pad = "    " * indent
        self.together_loops += 1
        if self.chance(0.4):
            counter = f"w{next(self.names)}"
            limit = self.pick("2", "3", f"({self.uniform(1)} & 3)")
            condition = self.pick(f"{counter} < {limit}", f"{counter} < {limit} and {self.uniform_bool()}", "True")
            lines = [f"{pad}{counter} = 0", f"{pad}while {condition}:", f"{pad}    {counter} += 1"]
            if condition == "True":
                lines += [f"{pad}    if {counter} > {limit}:", f"{pad}        break"]
            return lines + self.branch(depth - 1, indent + 1, True, now, now) + self.loop_end(depth, indent, now)
        name = f"k{next(self.names)}"
        size = f"({self.uniform(1)} & 3)"
        limits = self.pick("3", "n % 4", size, f"1, {size}", f"{size}, -1, -1", f"{size}, 4, 2")
        self.uniforms.append(name)
        lines = [f"{pad}for {name} in range({limits}):", *self.branch(depth - 1, indent + 1, True, now, now)]
        self.uniforms.remove(name)
        return lines + self.loop_end(depth, indent, now)

    def loop_end(self, depth, indent, now):
        if not self.chance(0.15):
            return []
        return [f"{'    ' * indent}else:", *self.branch(min(depth - 1, 1), indent + 1, False, None, now)]

    # ------------------------------------------------------------------------------------------------------- warps

    def warp_value(self):
        """An exchange between all lanes: (text, whether it is a float)."""
        by = self.pick("1", "2", "5", "16", "31")
        if self.chance(0.35):
            value = self.pick(*self.floats, *self.singles)
            return f"float(cuda.shfl_{self.pick('xor', 'up', 'down')}_sync({FULL}, {value}, {by}))", True
        kind = self.random.randrange(8)
        value = self.int_(1)
        if kind == 0:
            return f"cuda.shfl_sync({FULL}, {value}, {self.pick('0', '7', f'({self.int_(1)}) & 31')})", False
        if kind <= 3:
            by = f"(({self.int_(1)}) & 31)" if self.chance(0.3) else by
            return f"cuda.shfl_{self.pick('xor', 'up', 'down')}_sync({FULL}, {value}, {by})", False
        if kind == 4:
            return f"int(cuda.{self.pick('all', 'any', 'eq')}_sync({FULL}, {self.bool_(1)}))", False
        if kind == 5:
            return f"int(cuda.match_any_sync({FULL}, ({value}) % {self.pick('2', '5')}))", False
        if kind == 6:
            return f"int(cuda.shfl_xor_sync({FULL}, np.{self.pick('int32', 'uint8', 'uint32')}({value}), {by}))", False
        return f"int(cuda.ballot_sync({FULL}, {self.bool_(1)}))", False

    def warp_statement(self, indent):
        pad = "    " * indent
        kind = self.random.randrange(7)
        if kind == 0:
            name = f"b{next(self.names)}"
            value = self.random.choice(self.ints[:4])
            return [
                f"{pad}{name} = {self.bool_(1)}",
                f"{pad}i3 = int(cuda.ballot_sync({FULL}, {name}))",
                f"{pad}if {name}:",
                f"{pad}    i1 = cuda.shfl_sync(i3, {value}, cuda.ffs(i3) - 1)",
                f"{pad}    i2 = int(cuda.ballot_sync(i3, {self.bool_(1)}))",
            ]
        if kind == 1:
            text, floating = self.warp_value()
            test = self.pick("tr // 32 % 2 == 0", "tr // 32 == 0", "t // 32 > 1")
            lines = [f"{pad}if {test}:", *self.threads_block(indent + 1)]
            return [*lines, f"{pad}    {'f0' if floating else 'i0'} = {text}"]
        if kind == 2:
            name = f"k{next(self.names)}"
            return [
                f"{pad}for {name} in range({self.pick('5', f'({self.uniform(1)} & 3)')}):",
                f"{pad}    i1 += cuda.shfl_{self.pick('xor', 'down', 'up')}_sync({FULL}, i1, 1 << {name})",
            ]
        own = [array for array in self.shared if array.state == "own" and array.own == "tr"]
        if kind == 3 and own:
            array = self.random.choice(own)
            target, kind = ("f1", "float") if array.is_float() else ("i0", "int")
            return [
                f"{pad}{array.name}[tr] = {self.value_for(array.dtype)}",
                f"{pad}cuda.syncwarp()",
                f"{pad}{target} = {kind}({array.name}[tr // 32 * 32 + (({self.int_(1)}) & 31)])",
                f"{pad}cuda.syncwarp()",
            ]
        text, floating = self.warp_value()
        target = self.random.choice(self.floats) if floating else self.random.choice(self.ints[:4])
        return [f"{pad}{target} {self.pick('=', '+=')} {text}"]

    # --------------------------------------------------------------------------------------------------- functions

    def block_function(self):
        """A device function with barriers; it is given an array in the state "own" of which threads have element tr."""
        name = f"e{len(self.block_functions)}"
        dtype = self.pick(*SHARED_INTS[:3], *SHARED_FLOATS)
        own_array = self.warps and self.chance(0.5)  # threads that have ended leave no values in it
        self.ints, self.floats, self.singles, self.bools = ["p", "i0", "i1"], ["q", "f0"], ["g0"], []
        self.in_device, self.loops, self.uniforms = "block", 2, ["u0"]
        lines = ["@cuda.jit(device=True)", f"def {name}(s, tr, tm, u0, p, q):", "    i0 = 3", "    i1 = p"]
        lines += ["    f0 = 0.5", "    g0 = np.float32(q)"]
        if own_array:
            lines += [f"    s = cuda.shared.array(1024, {dtype!r})"]
        lines += [f"    s[tr] = {self.value_for(dtype)}", "    cuda.syncthreads()"]
        target, start, kind = ("f0", "0.0", "float") if dtype[0] == "f" else ("i0", "0", "int")
        how = self.random.randrange(3)
        if how == 0:
            step = self.pick("1", "(tr & 1) + 1", "max(tm // 4, 1)")
            lines += [
                f"    {target} = {start}",
                f"    for k in range(0, tm, {step}):",
                f"        {target} += {kind}(s[k])",
            ]
        elif how == 1:
            lines += ["    w0 = tm // 2", "    while w0 > 0:", "        if tr < w0:", "            s[tr] += s[tr + w0]"]
            lines += ["        cuda.syncthreads()", "        w0 //= 2", f"    {target} = {kind}(s[0])"]
        else:
            lines += [
                "    for k in range(u0 & 3):",
                f"        {target} += {kind}(s[(tr + k) % tm])",
                "        cuda.syncthreads()",
            ]
            lines += [f"        s[tr] = {target}", "        cuda.syncthreads()"]
        lines.append("    cuda.syncthreads()")
        inner = [other for other, kind, has_own in self.block_functions if kind == dtype and not has_own]
        if inner and not own_array and self.chance(0.7):
            lines.append(f"    {target} {self.pick('=', '+=')} {self.random.choice(inner)}(s, tr, tm, u0, p, q)")
        lines += [f"    if {self.bool_(1)}:", f"        return {self.value_for(dtype)}"]
        lines += [f"    return {self.value_for(dtype)}", "", ""]
        self.in_device, self.uniforms = None, []
        self.block_functions.append((name, dtype, own_array))
        self.room -= 1024 * np.dtype(dtype).itemsize if own_array else 0
        return lines

    def call_block_function(self, pad):
        name, dtype, own_array = self.random.choice(self.block_functions)
        fitting = [a for a in self.shared if a.own == "tr" and a.dtype == dtype]
        if not fitting:
            return [self.barrier(pad)]
        array = self.random.choice(fitting)
        lines = self.to_states(pad, ["own" if a is array else a.state for a in self.shared])
        target = self.pick("f0", "f1") if dtype[0] == "f" else self.pick("i0", "i3")
        call = self.block_call(name, array)
        if not own_array:  # calls in expressions; every call waits at barriers of its own
            other = self.block_call(name, array)
            choice = f"({self.random.choice(self.ints)} if {call} > {other} else {self.random.choice(self.ints)})"
            call = self.pick(call, call, f"({call} - {other})", f"abs({call})" if target[0] == "f" else choice)
        return [*lines, f"{pad}{target} {self.pick('=', '+=')} {call}"]

    def block_call(self, name, array):
        return f"{name}({array.name}, tr, tm, {self.uniform()}, {self.int_(1)}, {self.float_(1)})"

    # ----------------------------------------------------------------------------------------------------- programs

    def head(self):
        lines = ["    tx = cuda.threadIdx.x", "    ty = cuda.threadIdx.y"]
        if self.axes == 1:
            lines += [
                "    tm = cuda.blockDim.x",
                "    tr = tx",
                f"    t = {self.pick('cuda.grid(1)', 'cuda.blockIdx.x * tm + tr')}",
            ]
            return lines
        lines += ["    tm = cuda.blockDim.x * cuda.blockDim.y * cuda.blockDim.z"]
        lines += ["    tr = tx + cuda.blockDim.x * (ty + cuda.blockDim.y * cuda.threadIdx.z)"]
        lines += ["    tb = cuda.blockIdx.x + cuda.gridDim.x * (cuda.blockIdx.y + cuda.gridDim.y * cuda.blockIdx.z)"]
        return [*lines, "    t = tb * tm + tr"]

    def arrays(self):
        lines = []
        for i in range(self.random.randint(1, 3)):
            layout = XY if self.axes == 2 and self.chance(0.4) else self.random.choice(LAYOUTS)
            dtype = self.pick(*SHARED_INTS, *SHARED_INTS[:3], *SHARED_FLOATS, *SHARED_FLOATS)
            if i == 0 and self.chance(0.2):
                layout = ("0", *LAYOUTS[0][1:])
            array = Shared(f"s{i}", dtype, layout)
            if array.bytes() <= self.room - 16384:
                self.room -= array.bytes()
                self.shared.append(array)
        for name, dtype, _ in self.block_functions:
            self.shared.append(Shared(f"s{name[1:]}{name[1:]}", dtype, LAYOUTS[0]))
            self.room -= self.shared[-1].bytes()
        for array in self.shared:
            lines.append(f"    {array.name} = cuda.shared.array({array.shape}, {array.dtype!r})")
        for i in range(self.pick(0, 1, 1, 2)):
            shape = self.pick((1,), (3,), (6,), (2, 3))
            name, dtype = f"m{i}", self.pick("int64", "int32", "uint8", "float64", "float32")
            lines.append(
                f"    {name} = cuda.local.array({', '.join(map(str, shape)) if len(shape) == 1 else shape}, {dtype!r})"
            )
            places = ["k0", "k1"][: len(shape)]
            for depth, (place, size) in enumerate(zip(places, shape, strict=True)):
                lines.append(f"{'    ' * (depth + 1)}for {place} in range({size}):")
            lines.append(
                f"{'    ' * (len(shape) + 1)}{name}[{', '.join(places)}] = {self.pick('0', '1', 'tr', places[-1])}"
            )
            self.locals.append((name, shape, dtype))
        for array in self.shared:
            for j in "01" if "{j}" in array.own else "0":
                value = self.pick("0", "1", "tr", "n")
                lines.append(f"    {array.name}[{array.own.format(j=j)}] = {value}")
        return lines

    def program(self, options):
        self.block_functions, self.together_loops = [], 0
        lines = []
        for _ in range(self.pick(0, 0, 1)):
            lines += self.device_function()
        for _ in range(self.pick(0, 0, 1, 1, 2)):
            lines += self.block_function()
        self.ints, self.floats, self.singles, self.bools = ["i0", "i1", "i2", "i3"], ["f0", "f1"], ["g0", "g1"], []
        self.loops = 0
        lines += [f"@cuda.jit({options})", f"def kernel{SIGNATURE}:", *self.head()]
        lines += [
            f"    u0 = {self.pick('n', '2')}",
            f"    u1 = {self.pick('int(cuda.blockIdx.x)', *(['3'] if self.proven else ['a_i[0]', 'a_s[1]']))}",
        ]
        self.uniforms = ["u0", "u1"]
        lines += ["    i0 = t", "    i1 = a_i[t % n]", "    i2 = 1", f"    i3 = int({self.pick('a_u', 'a_s')}[t % n])"]
        lines += ["    f0 = x", "    f1 = a_f[t % n]", "    g0 = a_g[t % n]", "    g1 = np.float32(0.5)"]
        if self.complex:
            lines += [
                "    z0 = complex(f0, 1.0)",
                "    z1 = complex(x, f1)",
                "    z2 = cuda.shared.array(1024, 'complex128')",
            ]
            lines += ["    z2[tr] = z0"]
            self.room -= 16 * 1024
        lines += self.arrays()
        indent = 1
        if not self.warps and self.chance(0.3):
            test = self.pick(f"tr >= {self.uniform(1)}", f"tr + 3 > tm - {self.pick('1', 'n')}", self.bool_(1))
            lines += ["    cuda.syncthreads()", f"    if {test}:", "        return"]
        elif not self.warps and self.chance(0.2):
            indent = 2
            lines += ["    cuda.syncthreads()", f"    if {self.bool_(1)}:"]
        lines += self.together(3, indent, False, None)
        pad = "    " * indent
        lines += self.to_states(pad, ["any"] * len(self.shared)) or (
            [f"{pad}cuda.syncthreads()"] if self.complex else []
        )
        lines += [f"{pad}out_i[t, 0] = i0 ^ i1", f"{pad}out_i[t, 1] += i2 + i3 + u0 * 3 + u1", f"{pad}out_f[t, 0] = f0"]
        lines += [f"{pad}out_f[t, 1] += f1", f"{pad}out_g[t, 0] = g0", f"{pad}out_g[t, 1] = g1"]
        if self.complex:
            lines += [f"{pad}z1 = z2[(tr + 1) % tm]", f"{pad}out_g[t, 2] = np.float32(z0.real + z0.imag)"]
            lines += [f"{pad}out_f[t, 2] = z1.real", f"{pad}out_f[t, 1] += z1.imag"]
        for array in self.shared:
            place = array.any.format(p="tr + 1", q="tx + 1", j="(tr & 1)")
            out = "out_f" if array.is_float() else "out_i"
            lines.append(f"{pad}{out}[t, 2] {'=' if array.is_float() else '+='} {array.name}[{place}]")
        return fuzz.HEAD + "\n".join(lines) + "\n"


def generate(seed, options="fmad=False"):
    """(source, launch shapes) of one random program."""
    generator = BlockGenerator(seed)
    source = generator.program(options)
    shapes = (WARP_SHAPES if generator.warps else SHAPES)[generator.axes]
    chosen = generator.random.sample(shapes[:-1], 2) if generator.chance(0.9) else shapes[-1:]
    return source, [(*shape, 0, DYNAMIC_BYTES) for shape in chosen]


def inputs(seed, shape):
    """The kernel's arguments for a launch shape."""
    values = fuzz.inputs(seed, shape)
    rng = np.random.default_rng(seed)
    totals = rng.integers(-(2**40), 2**40, (len(ATOMICS), 8)), rng.integers(0, 2**32, (len(ATOMICS), 8), "uint32")
    return (*values[:3], *totals, *values[3:])


FAMILY = fuzz.Family(generate, inputs, ("out_i", "out_f", "out_g", "acc", "acc_u"))

if __name__ == "__main__":
    sys.exit(min(100, fuzz.main(sys.argv[1:], FAMILY)))
