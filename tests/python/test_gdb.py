"""Compiled kernels under gdb: jit(debug=True, opt=False) and lineinfo."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import treadle as td
from treadle import cuda

pytestmark = pytest.mark.cpu("kernels are debugged on the CPU device")

PROGRAM = """\
import numpy as np
import treadle as td
from treadle import cuda


@cuda.jit(device=True)
def scaled(a, factor):
    product = a * factor
    return product + 1


@cuda.jit(debug=True, opt=False)
def kernel(x, out, n):
    s = cuda.shared.array(8, np.float32)
    i = cuda.grid(1)
    total = 0.0
    for j in range(3):
        total += x[i] * j
    s[cuda.threadIdx.x] = x[i]
    cuda.syncthreads()
    n += 1
    if i < n:
        y = scaled(x[i], np.float32(2))
        out[i] = total + y


x = td.arange(8, dtype="float32")
out = td.zeros(8, "float64")
kernel[2, 4](x, out, 6)
print(out.get().tolist())
"""


def line_of(text):
    (number,) = (number for number, line in enumerate(PROGRAM.splitlines(), 1) if text in line)
    return number


@pytest.fixture
def gdb(tmp_path):
    """gdb(commands): what gdb says to them, of the program above."""
    if shutil.which("gdb") is None:
        pytest.skip("gdb is not installed")
    (tmp_path / "prog.py").write_text(PROGRAM)

    def run(*commands, program=None):
        if program is not None:
            (tmp_path / "prog.py").write_text(program)
        script = ["set breakpoint pending on", "set pagination off", "set confirm off", *commands]
        (tmp_path / "commands").write_text("\n".join(script) + "\n")
        env = {
            **os.environ,
            "PYTHONPATH": str(Path(td.__file__).parents[1]),
            "TREADLE_CACHE_DIR": str(tmp_path / "cache"),
        }
        command = [
            "gdb",
            "-q",
            "-nx",
            "-batch",
            "-x",
            tmp_path / "commands",
            "--args",
            sys.executable,
            tmp_path / "prog.py",
        ]
        result = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
        if "ptrace: Operation not permitted" in result.stderr:
            pytest.skip("gdb may not trace processes here")
        return result.stdout

    return run


def test_breaks_at_lines_and_shows_variables(gdb):
    line = line_of("y = scaled")
    text = gdb(
        f"break prog.py:{line} if i == 5",
        "run",
        'printf "i %d, total %g, j %d, n %d\\n", i, total, j, n',
        "p x.data[5]",
        "p x.shape",
        "p s[1]",
        "p threadIdx",
        "p blockIdx.x",
        "info args",
        "ptype total",
        "delete",
        "continue",
    )
    assert f"prog.py:{line}" in text
    assert f"{line}\t        y = scaled(x[i], np.float32(2))" in text
    assert "i 5, total 15, j 2, n 7" in text
    assert "= 5\n" in text and "= {8}" in text
    assert "= {x = 1, y = 0, z = 0}" in text and "= 1\n" in text
    assert "n = 7" in text and "type = float64" in text
    assert "[1.0, 6.0, 11.0, 16.0, 21.0, 26.0, 31.0, 0.0]" in text


def test_steps_lines(gdb):
    first = line_of("total = 0.0")
    text = gdb(f"break prog.py:{first} if i == 2", "run", "set scheduler-locking step", *["next"] * 3)
    lines = [int(line.split("\t")[0]) for line in text.splitlines() if line.split("\t")[0].isdigit()]
    assert lines[:4] == [first, first + 1, first + 2, first + 1]


def test_device_functions_are_frames(gdb):
    text = gdb("break scaled if a == 3", "run", "info locals", "next", "p a * factor", "p product", "up", "p i", "bt 2")
    assert "scaled (" in text and f"{line_of('product = ')}\t" in text
    assert "= 6" in text and "= 3" in text
    assert "kernel (x=..., out=..., n=7) at" in text


def test_lines_of_optimised_kernels(gdb):
    line = line_of("out[i] = total")
    program = PROGRAM.replace("debug=True, opt=False", "lineinfo=True")
    text = gdb("break kernel", "run", "info locals", f"info line prog.py:{line}", program=program)
    assert "kernel () at" in text and f"prog.py:{line_of('def kernel')}" in text
    assert "No locals." in text
    assert f'Line {line} of "prog.py" starts at address' in text


@cuda.jit(device=True)
def halved(a):
    half = a / 2
    return half


def several(x, out):
    i = cuda.grid(1)
    v = x[i]
    total = 0.0
    while v > 1:
        v = halved(v)
        total += v
    if i % 2:
        total = -total
    out[i] = total


def test_debug_information_in_the_code():
    types = ("float32[::1]", "float64[::1]")
    full = cuda.jit(debug=True, opt=False)(several).dump("llvm", *types)
    for name in ("i", "v", "total", "half"):
        assert f'DILocalVariable(name: "{name}"' in full
    assert 'DILocalVariable(name: "x", arg: 1' in full and 'name: "data"' in full
    assert 'DISubprogram(name: "halved"' in full and "inlinedAt:" in full
    assert full.count("alloca") > 5 and "isOptimized: false" in full
    lines = cuda.jit(lineinfo=True)(several).dump("llvm", *types)
    assert "DILocation(" in lines and "DILocalVariable" not in lines and "isOptimized: true" in lines
    assert "!DI" not in cuda.jit(several).dump("llvm", *types)


@pytest.mark.parametrize(
    "options",
    [{"debug": True, "opt": False}, {"debug": True}, {"lineinfo": True}, {"opt": False}, {"opt": 0, "lineinfo": True}],
)
@pytest.mark.parametrize(("grid", "block"), [(2, 33), (1, (7, 5)), ((2, 3), (4, 4, 2))])
def test_results_do_not_change(options, grid, block):
    x = np.random.default_rng(3).random(200).astype("float32") * 50
    outs = []
    for kernel in (cuda.jit(several), cuda.jit(**options)(several)):
        out = td.zeros(200, "float64")
        kernel[grid, block](td.asarray(x), out)
        outs.append(out.get())
    np.testing.assert_array_equal(*outs)
    assert outs[0].any()


@cuda.jit(debug=True, opt=False)
def together(x, out):
    s = cuda.shared.array(64, np.float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    v = s[63 - t]
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_xor_sync(0xFFFFFFFF, v, step)
    if t % 32 == 0:
        cuda.atomic.add(out, 0, v)
    out[1 + t] = cuda.ballot_sync(0xFFFFFFFF, t % 3 == 0)


def test_blocks_and_warps_unoptimised():
    x = td.arange(64, dtype="float32")
    outs = []
    for kernel in (together, cuda.jit(together.py_func)):
        out = td.zeros(65, "float64")
        kernel[1, 64](x, out)
        outs.append(out.get())
    np.testing.assert_array_equal(*outs)
    assert outs[0][0] == 64 * 63 / 2


def test_packets_of_one_thread():
    x, out = td.ones(8, "float32"), td.zeros(8, "float64")
    kernel = cuda.jit(debug=True, opt=False)(several)
    kernel[1, 8](x, out)
    assert kernel.last_compile.packet == 1
    usual = cuda.jit(several)
    usual[1, 8](x, out)
    assert usual.last_compile.packet > 1


def test_bounds_are_reported_under_debug(monkeypatch):
    monkeypatch.delenv("TREADLE_BOUNDS", raising=False)

    def outside(x):
        i = cuda.grid(1)
        x[i + 1] = i

    for options in ({"debug": True, "opt": False}, {"debug": True}, {"debug": True, "opt": False, "bounds": "raise"}):
        cuda.jit(**options)(outside)[1, 4](td.zeros(4))
        with pytest.raises(IndexError, match=r"index 4 is out of bounds(.|\n)*thread \(3, 0, 0\)(.|\n)*line \d+"):
            td.synchronize()
    cuda.jit(debug=True, bounds="guard")(outside)[1, 4](td.zeros(4))
    cuda.jit(debug=True, boundscheck=False)(outside)[1, 4](td.zeros(4))
    td.synchronize()


def test_cache_keys_differ(tmp_path, run_python):
    code = """
import numpy as np, treadle as td
from treadle import cuda
{blank}
def f(x):
    i = cuda.grid(1)
    x[i] = i
for options in ({{}}, {{"debug": True, "bounds": "guard"}}, {{"lineinfo": True}}, {{"opt": False}}, {{"debug": True, "opt": False, "bounds": "guard"}}):
    kernel = cuda.jit(**options)(f)
    kernel[1, 4](td.zeros(4))
    td.synchronize()
    print(kernel.last_compile.from_cache, end=" ")
"""
    (tmp_path / "a.py").write_text(code.format(blank=""))
    (tmp_path / "b.py").write_text(code.format(blank=""))
    run = lambda name: run_python([tmp_path / name], TREADLE_CACHE_DIR=tmp_path / "cache").stdout.split()  # noqa: E731
    assert run("a.py") == ["False"] * 5
    assert run("a.py") == ["True"] * 5
    # What debuggers are told names the file and its lines; nothing else does.
    assert run("b.py") == ["True", "False", "False", "True", "False"]
    (tmp_path / "b.py").write_text(code.format(blank="\n"))
    assert run("b.py") == ["True", "False", "False", "True", "False"]
