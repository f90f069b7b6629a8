"""The SIMT set on a GPU: the same Python source by Treadle and by numba-cuda, and the same kernels in CUDA C++ by nvcc."""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import kernels
import numpy as np
from _timing import measure, report

import treadle as td
from treadle import _treadle, cuda
from treadle.core import LEGACY_DEFAULT_STREAM, LaunchConfig, ObjectCode, launch


def nvcc() -> ObjectCode | None:
    """kernels.cu as nvcc compiles it; None without nvcc."""
    source = Path(__file__).with_name("kernels.cu")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "kernels.cubin"
        command = ["nvcc", "-O3", f"-arch={_treadle.attributes()['target']}", "-cubin", "-o", str(target), str(source)]
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"nvcc failed: left out ({getattr(error, 'stderr', error)})")
            return None
        return ObjectCode.from_cubin(target.read_bytes())


def numba_cuda() -> Any:
    """numba-cuda; None where it is missing."""
    if not hasattr(np, "row_stack"):
        np.row_stack = np.vstack  # numba-cuda asks for a name that NumPy dropped
    try:
        from numba import cuda as module
    except ImportError as error:
        print(f"numba-cuda is not there: left out ({error})")
        return None
    return module


def cases() -> Any:
    """(name, grid, block, arguments of the Python kernel, arguments of the C++ kernel, what a result is checked with)."""
    rng = np.random.default_rng(1)
    f32 = lambda *shape: rng.random(shape, dtype=np.float32)  # noqa: E731
    n, side, block = 1 << 26, 4096, 256
    blocks = n // block
    x, y = td.array(f32(n)), td.array(f32(n))
    out = td.zeros(n, "float32")
    plane, result = td.array(f32(side, side)), td.zeros((side, side), "float32")
    tiles = (side // 16, side // 16)
    yield "vecadd", blocks, block, (x, y, out), (x, y, out, n)
    yield "saxpy", blocks, block, (np.float32(2), x, y, out), (np.float32(2), x, y, out, n)
    yield "fused", blocks, block, (x, y, out), (x, y, out, n)
    image = td.zeros((2048, 2048), "int32")
    yield "mandelbrot", (128, 128), (16, 16), (image, 256), (image, 256, 2048, 2048)
    m = 1 << 15
    bodies = [td.array(f32(m)) for _ in range(4)]
    ax = td.zeros(m, "float32")
    yield "nbody", m // block, block, (*bodies, ax), (*bodies, ax, m)
    prices = [td.array(f32(n) * 50 + 50), td.array(f32(n) * 50 + 50), td.array(f32(n) + np.float32(0.1))]
    yield "black_scholes", blocks, block, (*prices, out), (*prices, out, n)
    a, b, c = td.array(f32(1024, 1024)), td.array(f32(1024, 1024)), td.zeros((1024, 1024), "float32")
    yield "matmul_naive", (64, 64), (16, 16), (a, b, c), (a, b, c, 1024)
    yield "matmul_tiled", (64, 64), (16, 16), (a, b, c), (a, b, c, 1024)
    yield "stencil", (side // 32, side // 8), (32, 8), (plane, result), (plane, result, side, side)
    weights = td.array(f32(7, 7))
    yield "convolution", tiles, (16, 16), (plane, weights, result), (plane, weights, result, side, side)
    yield "transpose", (side // 32, side // 32), (32, 8), (plane, result), (plane, result, side)
    parts = td.zeros(blocks, "float32")
    yield "reduce_tree", blocks, block, (x, parts), (x, parts, n)
    total = td.zeros(1, "float32")
    yield "reduce_shuffle", 1056, block, (x, total), (x, total, n)
    yield "block_scan", blocks, block, (x, out), (x, out)
    digits, bins = td.array(rng.integers(0, 256, n).astype(np.int32)), td.zeros(256, "int32")
    yield "histogram", 1056, block, (digits, bins), (digits, bins, n)
    keys = td.array(rng.integers(-(2**31), 2**31, 1 << 24).astype(np.int32))
    yield "bitonic", (1 << 24) // 1024, 512, (keys,), (keys,)
    rows, each = 1 << 20, 32
    starts = td.array(np.arange(rows + 1, dtype=np.int32) * each)
    columns = td.array(rng.integers(0, rows, rows * each).astype(np.int32))
    values, vector, product = td.array(f32(rows * each)), td.array(f32(rows)), td.zeros(rows, "float32")
    matrix = (starts, columns, values, vector, product)
    yield "csr", rows // block, block, matrix, (*matrix, rows)
    seeds, hits = td.array(rng.integers(0, 2**32, 1 << 20, dtype=np.uint32)), td.zeros(1 << 20, "int32")
    yield "monte_carlo", (1 << 20) // block, block, (seeds, np.int32(256), hits), (seeds, 256, hits, 1 << 20)


def main() -> None:
    ours, cpp, numba = kernels.define(cuda, math), nvcc(), numba_cuda()
    theirs = kernels.define(numba, math) if numba is not None else None
    for name, grid, block, arguments, values in cases():
        written = next(array for array in reversed(arguments) if isinstance(array, td.ndarray))
        contenders: dict[str, Any] = {}
        results = {}
        launcher = getattr(ours, name)[grid, block]
        contenders["treadle"] = lambda launcher=launcher, arguments=arguments: launcher(*arguments)
        if cpp is not None:
            kernel, config = cpp.get_kernel(name), LaunchConfig(grid=grid, block=block)
            contenders["nvcc"] = lambda kernel=kernel, config=config, values=values: launch(
                LEGACY_DEFAULT_STREAM, config, kernel, *values
            )
        if theirs is not None:
            passed = [numba.as_cuda_array(a) if isinstance(a, td.ndarray) else a for a in arguments]
            their = getattr(theirs, name)[grid, block]
            contenders["numba-cuda"] = lambda their=their, passed=passed: their(*passed)
        before = written.copy()
        for who, call in contenders.items():
            written[...] = before
            call()
            results[who] = written.get().astype(np.float64)
        errors = {
            who: float(np.max(np.abs(value - results["treadle"])) / max(1e-30, np.max(np.abs(results["treadle"]))))
            for who, value in results.items()
            if who != "treadle"
        }
        report(f"gpu/simt/{name}", measure(contenders), largest_difference=errors)


if __name__ == "__main__":
    main()
