"""kernel.debug: what pdb shows of a kernel, and that a debugged launch does what the compiled one does."""

import bdb
import inspect
import io
import pdb
import threading

import numpy as np
import pytest

import treadle as td
from treadle import cuda
from treadle.errors import DeviceError, DivergentBarrierError, UnsupportedError

pytestmark = pytest.mark.cpu("kernels are debugged on the CPU device")


def line_of(kernel, text):
    """The number of the one line of a kernel that holds a text."""
    lines, first = inspect.getsourcelines(getattr(kernel, "py_func", kernel))
    (number,) = (number for number, line in enumerate(lines) if text in line)
    return first + number


def scripted(*commands):
    """pdb with commands to read, and what it writes."""
    out = io.StringIO()
    return pdb.Pdb(stdin=io.StringIO("\n".join(commands) + "\n"), stdout=out, readrc=False, nosigint=True), out


def debugged(kernel, blocks, threads, *args, commands=("continue",), shared=0, **where):
    """What pdb writes."""
    debugger, out = scripted(*commands)
    kernel.debug(debugger=debugger, **where)[blocks, threads, 0, shared](*args)
    return out.getvalue()


# ------------------------------------------------------------------------------------------------------------- pdb


@cuda.jit(device=True)
def blended(a, b):
    mean = (a + b) / 2
    return mean


@cuda.jit
def tiled(x, out):
    s = cuda.shared.array(8, np.float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    s[t] = x[i] * np.float32(0.1)
    cuda.syncthreads()
    total = 0
    for j in range(3):
        total += s[(t + j) % 8]
    out[i] = blended(total, s[7 - t])


def arrays():
    return td.arange(16, dtype="float32"), td.zeros(16, "float64")


def test_stops_at_the_first_line_and_steps():
    text = debugged(tiled, 2, 8, *arrays(), commands=["next", "next", "next", "p i, t", "where", "list", "continue"])
    first = line_of(tiled, "cuda.shared.array")
    assert f"{__file__}({first})tiled()\n-> s = cuda.shared.array(8, np.float32)" in text
    assert f"({first + 3})tiled()\n-> s[t] = x[i]" in text
    assert "(int64(0), int32(0))" in text
    assert f"{first + 4}  \t    cuda.syncthreads()" in text
    assert "treadle/_debug" not in text  # the stack holds the kernel only


def test_a_chosen_thread_with_exact_types_and_real_shared_memory():
    breakpoint_line = line_of(tiled, "for j in")
    commands = [f"break {breakpoint_line}", "continue", "p s", "p s[7], total", "p cuda.blockIdx.x", "p s[3] * 2 + 1"]
    text = debugged(tiled, 2, 8, *arrays(), commands=[*commands, "clear 1", "continue"], block=1, thread=(3, 0, 0))
    shared = np.arange(8, 16, dtype="float32") * np.float32(0.1)
    assert f"shared {shared!r}" in text  # all threads of the block have come to the barrier
    assert f"(float32({shared[7]}), float64(0.0))" in text  # total is float64 from its first assignment on
    assert "int32(1)" in text
    assert f"float64({np.float64(shared[3]) * 2 + 1})" in text


def test_steps_into_device_functions():
    last = line_of(tiled, "blended(")
    text = debugged(
        tiled, 1, 8, *arrays(), commands=[f"tbreak {last}", "c", "step", "step", "args", "where", "up", "c"], thread=2
    )
    assert f"({line_of(blended, 'def blended')})blended()" in text
    assert "a = float64(" in text and "b = float32(" in text
    assert f"> {__file__}({last})tiled()" in text


def test_breakpoints_by_function():
    text = debugged(tiled, 1, 8, *arrays(), commands=["b blended", "c", "return", "p mean", "c"], thread=7)
    assert "blended()" in text and "->float64(" in text


def test_prompt_computes_as_kernels_do():
    @cuda.jit
    def numbers(out):
        a = np.int8(127)
        b = np.uint32(3)
        out[0] = a

    commands = ["n", "n", "p -a - 1, a + 1, b - 5, 7 // a, 1 / 3, a << 60", "p math.sqrt(b), min(a, b)", "c"]
    text = debugged(numbers, 1, 1, td.zeros(1, "int64"), commands=commands)
    assert "(int64(-128), int64(128), int64(-2), int64(0), 0.3333333333333333, int64(-1152921504606846976))" in text


def test_variables_can_be_changed():
    @cuda.jit
    def changed(out):
        x = 1
        out[0] = x

    out = td.zeros(1, "int64")
    debugged(changed, 1, 1, out, commands=["n", "!x = 41 + x", "c"])
    assert out.get()[0] == 42


def test_breakpoint_in_a_kernel():
    @cuda.jit
    def stops(out):
        i = cuda.grid(1)
        if i == 5:
            breakpoint()
        out[i] = i

    out = td.zeros(8, "int64")
    text = debugged(stops, 2, 4, out, commands=["p i, cuda.threadIdx.x", "c"], thread=None)
    assert text.count("-> out[i] = i") == 1 and "(int64(5), int32(1))" in text
    np.testing.assert_array_equal(out.get(), np.arange(8))
    # With a chosen thread the others run without stopping.
    assert "out[i] = i" not in debugged(stops, 2, 4, td.zeros(8, "int64"), thread=1)
    assert "out[i] = i" in debugged(stops, 2, 4, td.zeros(8, "int64"), commands=["c", "c"], block=1, thread=1)
    with pytest.raises(
        UnsupportedError, match=r"breakpoint\(\) stops only where a kernel runs under its debugger(.|\n)*hint"
    ):
        stops[2, 4](out)


def test_commands(capsys):
    tiled.debug(commands=["next", "p cuda.grid(1)"])[1, 8](*arrays())
    assert "int64(0)" in capsys.readouterr().out
    x, out = arrays()
    tiled.debug(commands=[])[2, 8](x, out)  # runs through
    again = td.zeros(16, "float64")
    tiled[2, 8](x, again)
    np.testing.assert_array_equal(out.get(), again.get())


def test_leaving_the_debugger():
    x, out = arrays()
    with pytest.raises(bdb.BdbQuit):
        debugged(tiled, 2, 8, x, out, commands=["quit"], block=1)
    assert out.get()[:8].any() and not out.get()[8:].any()  # the block before has run
    assert not any(thread.name == "treadle debug" and thread.is_alive() for thread in threading.enumerate())


def test_interrupts_end_the_launch(run_python):
    code = """
import os, signal, threading
import treadle as td
from treadle import cuda

@cuda.jit
def endless(x):
    while x[0] == 0:
        cuda.syncthreads()

threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    endless.debug(thread=None)[1, 4](td.zeros(4))
except KeyboardInterrupt:
    print("interrupted", sum(thread.name == "treadle debug" for thread in threading.enumerate()))
"""
    result = run_python(code)
    assert result.stdout == "interrupted 0\n", result.stderr


def test_only_one_block():
    x, out = arrays()
    tiled.debug(block=1, thread=0, commands=[], only_block=True)[2, 8](x, out)
    assert not out.get()[:8].any() and out.get()[8:].all()


def test_output_is_shown_at_once(capsys):
    @cuda.jit
    def prints(x):
        i = cuda.grid(1)
        print("x", i, x[i], f"{x[i]:.2f}", (x[i], i > 0), None, sep="|")

    prints.debug(commands=[])[1, 2](td.asarray(np.array([0.1, 1e10], "float32")))
    debugging = capsys.readouterr().out.replace("\n> ", "\n")
    prints[1, 2](td.asarray(np.array([0.1, 1e10], "float32")))
    td.synchronize()
    compiled = capsys.readouterr().out
    assert compiled.splitlines() == [line for line in debugging.splitlines() if line.startswith("x|")]


# ------------------------------------------------------------------------------------------------------------ errors


def test_exceptions_name_the_thread():
    @cuda.jit
    def fails(x):
        i = cuda.grid(1)
        if i == 6:
            raise ValueError("six")
        assert i != 9, "nine"

    with pytest.raises(ValueError, match="six") as caught:
        fails.debug(commands=[])[4, 4](td.zeros(4))
    assert caught.value.__notes__ == ["kernel 'fails', block (1, 0, 0), thread (2, 0, 0)"]
    assert any(entry.lineno == line_of(fails, "raise Value") - 1 for entry in caught.traceback)
    with pytest.raises(AssertionError, match="nine"):
        fails.debug(block=2, thread=1, commands=[], only_block=True)[4, 4](td.zeros(4))


def test_indices_outside():
    def outside(x, out):
        i = cuda.grid(1)
        out[i] = x[i + 1]

    x, out = td.arange(4, dtype="int64"), td.zeros(4, "int64")
    guarded = cuda.jit(outside)
    guarded.debug(commands=[])[1, 8](x, out)
    np.testing.assert_array_equal(out.get(), [1, 2, 3, 0])
    for bounds in ("raise", "off"):
        with pytest.raises(
            IndexError, match=r"index 4 is out of bounds for axis 0 of an array of shape \(4,\)"
        ) as caught:
            guarded.debug(commands=[], bounds=bounds)[1, 8](x, out)
        assert "thread (3, 0, 0)" in caught.value.__notes__[0]


def test_post_mortem():
    @cuda.jit
    def fails(x):
        i = cuda.grid(1)
        wanted = 7 * i
        if i == 2:
            raise ValueError("two")
        x[i] = wanted

    debugger, out = scripted("c", "p i, wanted", "where", "q")
    with pytest.raises(ValueError, match="two"):
        fails.debug(debugger=debugger, post_mortem=True)[1, 4](td.zeros(4))
    assert "(int64(2), int64(14))" in out.getvalue()


def test_a_barrier_that_some_threads_miss():
    @cuda.jit
    def parted(x):
        if cuda.threadIdx.x < 2:
            cuda.syncthreads()
        else:
            cuda.syncthreads()
        x[0] = 1

    with pytest.raises(
        DivergentBarrierError, match=r"some threads of block \(0, 0, 0\) only(.|\n)*the others waited at"
    ):
        parted.debug(commands=[])[1, 4](td.zeros(4))


def test_what_is_refused():
    x, out = arrays()
    with pytest.raises(
        ValueError, match=r"debug: thread: expected an index in the block of \(8, 1, 1\), got \(8, 0, 0\)"
    ):
        tiled.debug(thread=8)[2, 8](x, out)
    with pytest.raises(
        ValueError, match=r"debug: block: expected an index in the grid of \(2, 1, 1\), got \(0, 1, 0\)"
    ):
        tiled.debug(block=(0, 1))[2, 8](x, out)
    with pytest.raises(TypeError, match="debug: thread: expected an integer or a tuple of 1 to 3 integers, got 1.5"):
        tiled.debug(thread=1.5)
    with pytest.raises(TypeError, match=r"debug: debugger: expected a pdb.Pdb, got int"):
        tiled.debug(debugger=1)
    with pytest.raises(TypeError, match="debug: commands: expected none beside a debugger"):
        tiled.debug(debugger=scripted()[0], commands=[])
    with pytest.raises(ValueError, match="expected 'guard', 'raise' or 'off', got 'none'"):
        tiled.debug(bounds="none")
    with pytest.raises(ValueError, match="debug: only_block: expected a block beside it"):
        tiled.debug(block=None, only_block=True)
    with pytest.raises(
        DeviceError, match="CUDA_ERROR_INVALID_VALUE: launch of tiled: expected a block of 1 to 1024 threads"
    ):
        tiled.debug()[2, 4096](x, out)
    with pytest.raises(TypeError, match=r"tiled: expected 2 arguments \(x, out\), got 1"):
        tiled.debug()[2, 8](x)
    with pytest.raises(TypeError, match="blended is a device function"):
        blended.debug()[1, 1](x)
    with pytest.raises(TypeError, match="tiled: argument 'out': expected a device array"):
        tiled.debug()[2, 8](x, np.zeros(16))


def test_records_are_refused():
    @cuda.jit
    def number(x):
        i = cuda.grid(1)
        x[i].a = i

    records = cuda.to_device(np.zeros(4, [("a", "i4"), ("b", "f8")]))
    with pytest.raises(UnsupportedError, match="argument 'x': expected no records"):
        number.debug(thread=None)[1, 4](records)
    number[1, 4](records)
    assert records.copy_to_host()["a"].tolist() == [0, 1, 2, 3]
