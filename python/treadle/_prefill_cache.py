"""Compiles the common array operations into the package, so that their first use never waits for the compiler."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time

from treadle import _treadle
from treadle._types import is_floating

_BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "power")
_COMPARE = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
_UNARY = ("negative", "absolute", "square")
_FLOAT = ("sqrt", "exp", "log", "sin", "cos", "tanh")


def prefill() -> int:
    """Runs the work in a process of its own, whose cache directory is the package's. Returns the exit status."""
    directory = _treadle.package_cache_directory()
    shutil.rmtree(directory, ignore_errors=True)
    begin = time.perf_counter()
    status = subprocess.run(
        [sys.executable, "-m", "treadle._prefill_cache"],
        env={**os.environ, "TREADLE_CACHE_DIR": directory},
        check=False,
    ).returncode
    if status == 0:
        files = sum(len(names) for _, _, names in os.walk(directory))
        print(f"compiled {files} kernels for {_treadle.attributes()['target']} in {time.perf_counter() - begin:.1f} s")
    return status


def _work() -> None:
    import treadle as td

    for name in ("float32", "float64", "int32", "int64"):
        x = td.ones(256, name)
        matrix = td.ones((16, 16), name)
        for operation in (*_BINARY, *_COMPARE):
            function = td.ufuncs[operation]
            function(x, x)
            if operation in ("add", "multiply", "less", "greater"):
                function(x, 2)
        for operation in _UNARY:
            td.ufuncs[operation](x)
        if is_floating(name):
            for operation in _FLOAT:
                td.ufuncs[operation](x)
            td.random.uniform(size=16, dtype=name)
            td.random.normal(size=16, dtype=name)
        for reduction in ("sum", "min", "max", "mean"):
            for axis in (None, 0, 1):
                td.reductions[reduction](td.ones((300, 300), name), axis=axis)
            td.reductions[reduction](x)
        x.fill(1)
        matrix.T._copy()
        td.arange(10, dtype=name)
        td.where(x > 0, x, x)
        for other in ("float32", "float64", "int32", "int64"):
            x.astype(other)
    td.synchronize()


if __name__ == "__main__":
    _work()
