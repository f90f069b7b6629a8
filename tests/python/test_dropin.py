"""`treadle run` and `import treadle.dropin`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

KERNEL = """
from numba import cuda
import cupy as cp

@cuda.jit
def double(x):
    i = cuda.grid(1)
    x[i] *= 2
"""
MAIN = (
    KERNEL
    + """
import sys
x = cp.arange(5)
double[1, 32](x)
print(x.tolist(), sys.argv[1:], __name__, type(x).__module__.split(".")[0])
"""
)


@pytest.fixture
def treadle_run(run_python):
    def run(*arguments, **options):
        return run_python(["-m", "treadle", "run", *map(str, arguments)], **options)

    return run


EXPECTED = "[0, 2, 4, 6, 8] ['a', '-b', '--c=d'] __main__ treadle"


def test_script(treadle_run, tmp_path):
    (tmp_path / "main.py").write_text(MAIN)
    result = treadle_run(tmp_path / "main.py", "a", "-b", "--c=d")
    assert (result.stdout.strip(), result.stderr, result.returncode) == (EXPECTED, "", 0)


def test_module(treadle_run, tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package/__init__.py").write_text("")
    (tmp_path / "package/tool.py").write_text(MAIN)
    result = treadle_run("-m", "package.tool", "a", "-b", "--c=d")
    assert (result.stdout.strip(), result.stderr) == (EXPECTED, "")


def test_command(treadle_run):
    code = "import sys, cupy; print(sys.argv, float(cupy.ones(3).sum()), __name__)"
    result = treadle_run("-c", code, "x")
    assert result.stdout.strip() == "['-c', 'x'] 3.0 __main__"


def test_first_line(run_python, tmp_path):
    (tmp_path / "main.py").write_text("import treadle.dropin\n" + MAIN)
    result = run_python([str(tmp_path / "main.py"), "a", "-b", "--c=d"])
    assert (result.stdout.strip(), result.stderr) == (EXPECTED, "")


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("raise SystemExit(3)", 3),
        ("raise SystemExit", 0),
        ("raise SystemExit('text')", 1),
        ("1/0", 1),
        ("import os; os._exit(9)", 9),
        ("pass", 0),
    ],
)
def test_status(code, status, treadle_run, tmp_path):
    (tmp_path / "main.py").write_text(code)
    result = treadle_run(tmp_path / "main.py")
    assert result.returncode == status
    if "text" in code:
        assert result.stderr == "text\n"


TRACEBACKS = {
    "plain": "def f():\n    return 1 / 0\n\nf()\n",
    "syntax": "x = 1\ndef f(:\n    pass\n",
    "chained": "try:\n    {}['a']\nexcept KeyError:\n    raise ValueError('b')\n",
    "cause": "try:\n    {}['a']\nexcept KeyError as e:\n    raise ValueError('b') from e\n",
    "import": "import no_such_module\n",
    "group": "raise ExceptionGroup('g', [ValueError(1), TypeError(2)])\n",
    "notes": "e = ValueError('a')\ne.add_note('a note')\nraise e\n",
    "interrupt": "raise KeyboardInterrupt\n",
}


@pytest.mark.parametrize("case", TRACEBACKS)
def test_tracebacks(case, treadle_run, run_python, tmp_path):
    (tmp_path / "main.py").write_text(TRACEBACKS[case])
    ours = treadle_run(tmp_path / "main.py")
    pythons = run_python([str(tmp_path / "main.py")])
    assert ours.stderr == pythons.stderr
    if case != "interrupt":
        assert ours.returncode == pythons.returncode


@pytest.mark.parametrize("case", ["plain", "chained"])
def test_tracebacks_of_commands(case, treadle_run, run_python):
    assert treadle_run("-c", TRACEBACKS[case]).stderr == run_python(TRACEBACKS[case]).stderr


def test_traceback_of_a_module(treadle_run, run_python, tmp_path):
    (tmp_path / "mod.py").write_text(TRACEBACKS["plain"])
    ours, pythons = treadle_run("-m", "mod"), run_python(["-m", "mod"])

    def frames(text):
        return [line for line in text.splitlines() if "frozen runpy" not in line]

    assert frames(ours.stderr) == frames(pythons.stderr)


def test_environment_of_the_program(treadle_run, run_python, tmp_path):
    (tmp_path / "other.py").write_text("value = 5\n")
    (tmp_path / "main.py").write_text(
        "import sys, os, other\n"
        "print(other.value, __file__, sys.path[0], sys.argv, __spec__, __package__, '__cached__' in dir())\n"
        "names = sorted(k for k in globals() if k.startswith('__') and k != '__annotations__')\n"
        "print(sys.modules['__main__'].__dict__ is globals(), names)\n"
    )
    assert treadle_run(tmp_path / "main.py", "x").stdout == run_python([str(tmp_path / "main.py"), "x"]).stdout


def test_relative_path(treadle_run, run_python, tmp_path):
    (tmp_path / "main.py").write_text("print(__file__)\n1 / 0\n")
    ours, pythons = treadle_run("main.py", "x"), run_python(["main.py", "x"])
    assert (ours.stdout, ours.stderr) == (pythons.stdout, pythons.stderr)


def test_standard_input(treadle_run):
    result = treadle_run("-c", "print(input() + '!')", input="text\n")
    assert result.stdout == "text!\n"


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_multiprocessing(method, treadle_run, tmp_path):
    (tmp_path / "main.py").write_text(
        "import multiprocessing as mp\n"
        + KERNEL
        + "def work(n):\n    import cupy\n    x = cupy.arange(n)\n    double[1, 32](x)\n    return x.tolist(), cupy.__name__\n"
        + f"if __name__ == '__main__':\n    with mp.get_context('{method}').Pool(2) as pool:\n        print(pool.map(work, [2, 3]))\n"
    )
    result = treadle_run(tmp_path / "main.py", timeout=60)
    assert result.stdout.strip() == "[([0, 2], 'cupy'), ([0, 2, 4], 'cupy')]", result.stderr


def test_process_of_the_first_line_form(run_python, tmp_path):
    (tmp_path / "main.py").write_text(
        "import treadle.dropin\nimport multiprocessing as mp\n"
        + KERNEL
        + "def work(n):\n    x = cp.arange(n)\n    double[1, 32](x)\n    print(x.tolist(), flush=True)\n"
        + "if __name__ == '__main__':\n"
        "    p = mp.get_context('spawn').Process(target=work, args=(3,))\n    p.start()\n    p.join()\n    print(p.exitcode)\n"
    )
    assert run_python([str(tmp_path / "main.py")], timeout=60).stdout.split("\n")[:2] == ["[0, 2, 4]", "0"]


FAKE_NUMBA = """
__version__ = "fake"
def njit(f): return f
class _Real: pass
real = _Real()
"""


@pytest.fixture
def installed(tmp_path):
    """A folder with stubs of numba and cupy as if they were installed."""
    root = tmp_path / "installed"
    for name, text in {
        "numba/__init__.py": FAKE_NUMBA,
        "numba/types.py": "mark = 'real types'\n",
        "numba/core/__init__.py": "mark = 'real core'\n",
        "numba/core/errors.py": "class NumbaError(Exception): pass\n",
        "numba/cuda/__init__.py": "raise ImportError('the real numba.cuda was imported')\n",
        "cupy/__init__.py": "raise ImportError('the real cupy was imported')\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_installed_numba_keeps_what_is_not_cuda(treadle_run, installed, tmp_path):
    import treadle

    path = f"{installed}:{Path(treadle.__file__).parents[1]}"
    code = """
import numba, numba.types, numba.core, cupy
from numba import njit, cuda
from numba.core import errors
import numba.cuda as again
print(numba.__version__, numba.types.mark, numba.core.mark, njit(3), errors.NumbaError.__module__)
print(cuda is again, numba.cuda is again, hasattr(cuda, "jit"), float(cupy.ones(2).sum()))
"""
    result = subprocess.run(
        [sys.executable, "-m", "treadle", "run", "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert result.stdout.splitlines() == ["fake real types real core 3 numba.core.errors", "True True True 2.0"], (
        result.stderr
    )


def test_names_without_numba(treadle_run):
    code = """
import numba, cupy as cp, numpy as np
from numba import cuda, float32, types, void, int32
from numba.cuda import jit, grid
from numba.core.errors import NumbaPerformanceWarning, TypingError
import cupy.cuda.runtime as rt
from cupy.cuda import Device, Stream
from cupy import random
print(cp.get_array_module(cp.ones(1)).__name__, cp.get_array_module(np.ones(1)).__name__)
print(Device().compute_capability, rt.getDeviceCount(), isinstance(rt.getDeviceProperties(0)["name"], bytes), Stream.null is not None)
print(cp.asnumpy(cp.float32(3) * cp.ones(2, dtype=cp.float32)).tolist(), cp.pi > 3, cp.cuda.get_current_stream() == Stream.null)
cp.get_default_memory_pool().free_all_blocks()
@cuda.jit(void(float32[:], int32))
def k(x, n):
    x[grid(1)] = n
x = cp.zeros(3, cp.float32)
k[1, 3](x, 2)
print(x)
try:
    cp.no_such_function
except AttributeError as e:
    print(e)
"""
    result = treadle_run("-c", code)
    lines = result.stdout.splitlines()
    assert lines[0] == "cupy numpy", result.stderr
    assert lines[1].split()[1:] == ["1", "True", "True"]
    assert lines[2] == "[3.0, 3.0] True True"
    assert "2. 2. 2." in lines[3]
    assert "no_such_function" in lines[4]


def test_host_arrays_are_copied_with_a_warning(treadle_run, tmp_path):
    (tmp_path / "main.py").write_text(
        "import numpy as np, warnings\n"
        + KERNEL
        + "x = np.arange(5)\nwith warnings.catch_warnings(record=True) as w:\n"
        "    warnings.simplefilter('always')\n    double[1, 32](x)\n"
        + "print(x.tolist(), w[0].category.__name__, w[0].filename.endswith('main.py'))\n"
    )
    result = treadle_run(tmp_path / "main.py")
    assert result.stdout.strip() == "[0, 2, 4, 6, 8] HostArrayWarning True", result.stderr


def test_nothing_is_taken_over_without_asking(run_python):
    result = run_python("import treadle\ntry:\n    import cupy\nexcept ImportError:\n    print('none')\n")
    assert result.stdout.strip() in ("none", "")
