"""Memory-bound work of 2**28 elements on a GPU, one element a thread in the source, beside a copy from device to device."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import kernels
import numpy as np
from _timing import measure, report
from simt import numba_cuda

import treadle as td
from treadle import cuda

N = 1 << 28


def rows() -> Any:
    """(name, contenders, bytes moved)."""
    x, y, out = (td.ones(N, "float32") for _ in range(3))
    guarded, off = kernels.define(cuda, math), kernels.define(cuda, math, bounds="off")
    copy = lambda: out.__setitem__(..., x)  # noqa: E731
    yield "copy", {"treadle": copy}, 8 * N
    numba = numba_cuda()
    theirs = kernels.define(numba, math) if numba is not None else None
    for name, arguments, moved in (
        ("vecadd", (x, y, out), 12 * N),
        ("saxpy", (np.float32(2), x, y, out), 12 * N),
        ("fused", (x, y, out), 12 * N),
    ):
        for block in (128, 256, 512, 1024):
            launchers = {"treadle": getattr(guarded, name), "bounds off": getattr(off, name)}
            contenders = {
                who: (lambda launcher=kernel[N // block, block], arguments=arguments: launcher(*arguments))
                for who, kernel in launchers.items()
            }
            contenders["copy"] = copy
            if theirs is not None and block == 256:
                passed = [numba.as_cuda_array(a) if isinstance(a, td.ndarray) else a for a in arguments]
                their = getattr(theirs, name)[N // block, block]
                contenders["numba-cuda"] = lambda their=their, passed=passed: their(*passed)
            yield f"{name}, blocks of {block}", contenders, moved
    total = {"treadle": lambda: x.sum(), "copy": copy}
    arrays = {"treadle": lambda: td.add(x, y, out=out), "copy": copy}
    try:
        import cupy
    except ImportError:
        cupy = None
    if cupy is not None:
        shared = [cupy.from_dlpack(a) for a in (x, y, out)]
        total["cupy"] = lambda: shared[0].sum()
        arrays["cupy"] = lambda: cupy.add(shared[0], shared[1], out=shared[2])
    yield "sum", total, 4 * N
    yield "add", arrays, 12 * N
    for dtype in ("float16", "int16"):
        a, b, c = (td.ones(N, dtype) for _ in range(3))
        whole = lambda a=a, c=c: c.__setitem__(..., a)  # noqa: E731
        contenders = {"treadle": lambda a=a, b=b, c=c: guarded.vecadd[N // 256, 256](a, b, c), "copy": whole}
        yield f"vecadd {dtype}", contenders, 6 * N


def main() -> None:
    for name, contenders, moved in rows():
        times = measure(contenders)
        own = sorted(times["treadle"])[len(times["treadle"]) // 2]
        more: dict[str, Any] = {"gigabytes_per_s": moved / own / 1e6}
        if "copy" in times:
            copied = 4 * N if "16" in name.split(" ")[-1] else 8 * N
            ceiling = copied / sorted(times["copy"])[len(times["copy"]) // 2] / 1e6
            more["of_copy"] = round(more["gigabytes_per_s"] / ceiling, 3)
        report(f"gpu/bandwidth/{name}", times, **more)


if __name__ == "__main__":
    main()
