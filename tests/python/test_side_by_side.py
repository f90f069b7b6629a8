"""Other packages that bring an LLVM or a thread pool of their own live in the same process, whichever comes first."""

import importlib.util
import subprocess
import sys
import textwrap

import pytest

TREADLE = """
import numpy as np
import treadle as td
from treadle import cuda

@cuda.jit
def twice(x):
    i = cuda.grid(1)
    x[i] = 2 * x[i]

def use_treadle():
    x = td.arange(1000, dtype=np.float32)
    twice[4, 256](x)
    assert float(x.sum()) == 999000.0
"""
OTHERS = {
    "numba": """
        import numba
        def use_other():
            @numba.njit
            def f(n):
                total = 0.0
                for i in range(n):
                    total += i * 0.5
                return total
            assert f(1000) == 249750.0
    """,
    "torch": """
        import torch
        def use_other():
            assert float((torch.arange(1000.0) @ torch.ones(1000))) == 499500.0
    """,
}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("first", ["treadle", "other"])
def test_both_work(other, first, tmp_path):
    if importlib.util.find_spec(other) is None:
        pytest.skip(f"{other} is not installed")
    program = tmp_path / "both.py"
    parts = [TREADLE, textwrap.dedent(OTHERS[other])]
    calls = ["use_treadle()", "use_other()"]
    if first == "other":
        parts.reverse()
        calls.reverse()
    program.write_text("\n".join([*parts, *calls, *calls, "print('fine')"]))
    result = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "fine"
