"""Host time of launches, small array operations and allocation on a GPU, beside a bare loop of cuLaunchKernel; and compiling."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
from _timing import host_microseconds
from simt import numba_cuda

import treadle as td
from treadle import _treadle, cuda
from treadle.core import LEGACY_DEFAULT_STREAM, LaunchConfig, Program, launch

NAMES = [f"a{i}" for i in range(16)]
COLD = """
import time, numpy as np, treadle as td
from treadle import cuda
@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]
x = td.array(np.ones(1000, "float32"))
cuda.synchronize()
begin = time.perf_counter()
add[4, 256](x, x, x)
first = (time.perf_counter() - begin) * 1e3
@cuda.jit
def other(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] - b[i]
begin = time.perf_counter()
other[4, 256](x, x, x)
second = (time.perf_counter() - begin) * 1e3
cuda.synchronize()
from treadle import _treadle
print(first, second, _treadle.compiler_load_ms(), add.last_compile.milliseconds, other.last_compile.milliseconds)
"""


def kernel_of(module: Any, count: int) -> Any:
    """A kernel of `count` arrays that does next to nothing."""
    names = ", ".join(NAMES[:count])
    scope: dict[str, Any] = {"cuda": module}
    exec(
        f"@cuda.jit\ndef kernel({names}):\n    i = cuda.grid(1)\n    if i < 0:\n        a0[0] = {NAMES[count - 1]}[1]\n",
        scope,
    )
    return scope["kernel"]


def cpp_kernel(count: int) -> str:
    parameters = ", ".join(f"float* {name}" for name in NAMES[:count])
    return f'extern "C" __global__ void k{count}({parameters}) {{ if (threadIdx.x > 64) a0[0] = {NAMES[count - 1]}[1]; }}\n'


def bare() -> dict[int, float]:
    """Microseconds of a bare launch with 1, 4 and 16 pointers: the median of rounds, as for the others."""
    code = Program("".join(map(cpp_kernel, (1, 4, 16))), "c++").compile("cubin")
    with tempfile.TemporaryDirectory() as folder:
        cubin, library = Path(folder) / "k.cubin", Path(folder) / "bare.so"
        cubin.write_bytes(code.code)
        source = Path(__file__).with_name("bare_launch.cpp")
        subprocess.run(["g++", "-O2", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)
        call = ctypes.CDLL(str(library)).bare_launch_us
        call.restype = ctypes.c_double
        return {count: call(str(cubin).encode(), f"k{count}".encode(), count, 400) for count in (1, 4, 16)}


def row(name: str, microseconds: float, floor: float, **more: Any) -> None:
    print(
        json.dumps(
            {
                "name": f"gpu/latency/{name}",
                "us": round(microseconds, 2),
                "of_bare": round(microseconds / floor, 3),
                **more,
            }
        ),
        flush=True,
    )


def launches(floor: dict[int, float]) -> None:
    arrays = [td.zeros(1000, "float32") for _ in range(16)]
    for count in (1, 4, 16):
        launcher = kernel_of(cuda, count)[1, 32]
        passed = arrays[:count]
        row(
            f"launch, {count} arrays",
            host_microseconds(lambda launcher=launcher, passed=passed: launcher(*passed)),
            floor[count],
        )
    config = LaunchConfig(grid=1, block=32)
    code = Program("".join(map(cpp_kernel, (1, 4, 16))), "c++").compile("cubin")
    kernel = code.get_kernel("k4")
    row(
        "core.launch, 4 arrays",
        host_microseconds(lambda: launch(LEGACY_DEFAULT_STREAM, config, kernel, *arrays[:4])),
        floor[4],
    )
    launcher = kernel_of(cuda, 4)[1, 32]
    for library in ("cupy", "torch"):
        try:
            module = __import__(library)
        except ImportError:
            continue
        theirs = [
            module.zeros(1000, dtype=module.float32, **({"device": "cuda"} if library == "torch" else {}))
            for _ in range(4)
        ]
        row(f"launch, 4 arrays of {library}", host_microseconds(lambda theirs=theirs: launcher(*theirs)), floor[4])
        if library == "cupy":
            raw = module.RawKernel(cpp_kernel(4), "k4")
            row(
                "peer: cupy.RawKernel",
                host_microseconds(lambda raw=raw, theirs=theirs: raw((1,), (32,), tuple(theirs))),
                floor[4],
            )
            row("peer: cupy a + b", host_microseconds(lambda theirs=theirs: theirs[0] + theirs[1]), floor[4])
        else:
            row("peer: torch a + b", host_microseconds(lambda theirs=theirs: theirs[0] + theirs[1]), floor[4])
    numba = numba_cuda()
    if numba is not None:
        passed = [numba.device_array(1000, np.float32) for _ in range(4)]
        their = kernel_of(numba, 4)[1, 32]
        row("peer: numba-cuda", host_microseconds(lambda: their(*passed)), floor[4])
    try:
        from cuda.core import Device as PeerDevice
        from cuda.core import LaunchConfig as PeerConfig
        from cuda.core import ObjectCode as PeerCode
        from cuda.core import launch as peer_launch
    except ImportError as error:
        print(f"cuda.core is not there: left out ({error})")
    else:
        device = PeerDevice()
        device.set_current()
        stream, config2 = device.default_stream, PeerConfig(grid=1, block=32)
        peer = PeerCode.from_cubin(code.code).get_kernel("k4")
        pointers = [array._pointer for array in arrays[:4]]
        row(
            "peer: cuda.core launch", host_microseconds(lambda: peer_launch(stream, config2, peer, *pointers)), floor[4]
        )


def fresh_process(environment: dict[str, str], folder: str) -> dict[str, float]:
    """What a new process takes for its first two kernels."""
    script = Path(folder) / "cold.py"
    script.write_text(COLD)
    command = [sys.executable, str(script)]
    output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    names = ("first_ms", "second_ms", "load_ms", "first_compile_ms", "second_compile_ms")
    return dict(zip(names, map(float, output.split()), strict=True))


def main() -> None:
    floor = bare()
    for count, value in floor.items():
        row(f"bare launch, {count} arguments", value, value)
    launches(floor)
    x, y = td.ones(1000, "float32"), td.ones(1000, "float32")
    row("a + b, 1000 elements", host_microseconds(lambda: x + y), floor[4])
    row("sum of 1000 elements", host_microseconds(lambda: x.sum()), floor[4])
    row("pool allocation of 4000 bytes", host_microseconds(lambda: _treadle.empty((1000,), "float32")), floor[4])
    row("empty(1000)", host_microseconds(lambda: td.empty(1000, "float32")), floor[4])
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as scripts:
        environment = {**os.environ, "TREADLE_CACHE_DIR": folder, "CUDA_CACHE_DISABLE": "1"}
        for state in ("cold", "cached"):
            for _ in range(3):
                found = fresh_process(environment, scripts)
                print(json.dumps({"name": f"gpu/latency/kernels of a fresh process, {state}", **found}), flush=True)
                if state == "cold":
                    shutil.rmtree(folder, ignore_errors=True)
            fresh_process(environment, scripts)


if __name__ == "__main__":
    main()
