"""What the cases share: timing beside the peers, C++ peers, and the JSON row.

times = measure({"treadle": ours, "g++": cpp_peer("stream", "vecadd", a, b, c, size), "numba": None})
report("stream/vecadd", times, targets={"g++": 1.0}, bytes=3 * 4 * size)
"""

from __future__ import annotations

import ctypes
import gc
import hashlib
import importlib
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

CORES = len(os.sched_getaffinity(0))
os.environ["OMP_NUM_THREADS"] = str(CORES)  # before anything loads an OpenMP library

import numpy as np  # noqa: E402

BENCH = Path(__file__).resolve().parent
BUILD = BENCH.parent / "build/bench"
PAUSE_S = 0.02  # the idle threads of the one before may spin for milliseconds
CPP_FLAGS = ["-O3", "-march=native", "-fopenmp"]

Contender = Callable[[], object]


# --------------------------------------------------------------------------------------------------------------- timing


def measure(contenders: dict[str, Contender | None], repeats: int = 15, calls: int = 1) -> dict[str, list[float]]:
    """Seconds of each contender in each of `repeats` rounds, in which all have their turn after one another.

    A turn is a pause, an untimed call and a timed one. What a call takes is divided by `calls`, the
    number of operations it holds; one that returns a float has timed itself. A contender that is None is left out.
    """
    here = {name: call for name, call in contenders.items() if call is not None}
    times: dict[str, list[float]] = {name: [] for name in here}
    names = list(here)
    for turn in range(repeats + 1):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            gc.collect()
            gc.disable()
            time.sleep(PAUSE_S)
            here[name]()
            start = time.perf_counter()
            result = here[name]()
            seconds = time.perf_counter() - start
            gc.enable()
            if turn:  # the first round warms up
                times[name].append((result if isinstance(result, float) else seconds) / calls)
    return times


def in_threads(operation: Callable[..., object], *arrays: np.ndarray) -> Contender:
    """A call of a NumPy operation on equal parts of the arrays, a thread for each core."""
    parts = list(zip(*(np.array_split(array, CORES) for array in arrays), strict=True))
    pool = ThreadPoolExecutor(CORES)

    def call() -> None:
        for _ in pool.map(lambda part: operation(*part), parts):
            pass

    return call


# ---------------------------------------------------------------------------------------------------------------- peers


def optional(name: str) -> ModuleType | None:
    """A package that may be missing; then the reader is told."""
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"{name} is not installed: left out")
        return None


def command_output(*command: str) -> str | None:
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"{command[0]} failed: left out ({getattr(error, 'stderr', None) or error})")
        return None


def cpp_peer(source: str, function: str, *arguments: object, fast_math: bool = False) -> Contender | None:
    """A call of a function of bench/peers/SOURCE.cpp, or None without a compiler.

    Arrays are passed as pointers, integers as int64_t, floats as float. The function returns float or nothing.
    """
    version = command_output("g++", "-dumpfullversion")
    if version is None:
        return None
    file = BENCH / f"peers/{source}.cpp"
    flags = [*CPP_FLAGS, *(["-ffast-math"] if fast_math else [])]
    key = hashlib.sha256(repr((file.read_text(), flags, version, cpu())).encode()).hexdigest()[:16]
    library = BUILD / f"{source}-{key}.so"
    if not library.exists():
        BUILD.mkdir(parents=True, exist_ok=True)
        part = library.with_suffix(f".{os.getpid()}")
        built = command_output("g++", *flags, "-shared", "-fPIC", str(file), "-o", str(part), "-lm")
        if built is None:
            return None
        part.rename(library)
    call = ctypes.CDLL(str(library))[function]
    call.restype = ctypes.c_float

    def passed(value: object) -> object:
        if isinstance(value, np.ndarray):
            return ctypes.c_void_p(value.ctypes.data)
        return ctypes.c_int64(value) if isinstance(value, int) else ctypes.c_float(value)

    converted = [passed(value) for value in arguments]

    def run(kept: tuple[object, ...] = arguments) -> None:  # the arrays live as long as the call
        call(*converted)

    return run


# ----------------------------------------------------------------------------------------------------------- the result


def cpu() -> str:
    """The processor's name and its widest vectors: names alone do not tell the generations of some apart."""
    text = Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*:\s*(.*)$", text, re.MULTILINE)
    flags = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    known = (flags[1] if flags else "").split()
    vectors = next((name for flag, name in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in known), "SSE")
    return f"{model[1] if model else 'unknown'}, {vectors}"


def versions() -> dict[str, str]:
    found = {"python": sys.version.split()[0]}
    for name in ("treadle", "numpy", "numba", "torch"):
        if name in sys.modules:
            found[name] = getattr(sys.modules[name], "__version__", "unknown")
    if Path(f"/proc/{os.getpid()}/maps").read_text().find(str(BUILD)) >= 0:
        found["g++"] = command_output("g++", "-dumpfullversion") or "unknown"
    return found


def ulp_error(actual: np.ndarray, exact: np.ndarray) -> float:
    """The largest error of float32 values, in units of the last place of the exact result."""
    spacing = np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64)
    return float(np.max(np.abs(actual.astype(np.float64) - exact) / spacing))


def report(
    name: str,
    times: dict[str, list[float]],
    *,
    targets: dict[str, float] | None = None,
    limit: float | None = None,
    bytes: int | None = None,
    flops: int | None = None,
    **more: object,
) -> None:
    """Prints the row. `targets` holds, for a peer, the least ratio of its time to Treadle's; `limit` the most seconds.

    `bytes` and `flops` are what one operation moves and computes; `more` goes into the row as it is.
    """
    medians = {key: statistics.median(values) for key, values in times.items()}
    own = medians.pop("treadle")
    ratios = {peer: seconds / own for peer, seconds in medians.items()}
    known = [ratios[peer] >= least for peer, least in (targets or {}).items() if peer in ratios]
    known += [] if limit is None else [own <= limit]
    row: dict[str, object] = {
        "name": name,
        "seconds": own,
        "fastest": min(times["treadle"]),
        "peers": {peer: {"seconds": medians[peer], "fastest": min(times[peer])} for peer in medians},
        "ratio": {peer: round(ratio, 3) for peer, ratio in ratios.items()},
        "target": {**(targets or {}), **({} if limit is None else {"seconds": limit})},
        "met": all(known) if known else None,
        **({"gigabytes_per_s": bytes / own / 1e9} if bytes else {}),
        **({"gigaflops": flops / own / 1e9} if flops else {}),
        **more,
        "rounds": len(times["treadle"]),
        "versions": versions(),
        "cpu": cpu(),
        "cores": CORES,
        "load": round(os.getloadavg()[0], 2),
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    print(json.dumps(row), flush=True)
