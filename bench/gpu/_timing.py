"""Timing on a GPU: all contenders in one process, by the GPU's own clock, in turns."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from typing import Any

from treadle import _treadle, cuda


def milliseconds(call: Callable[[], object], calls: int = 1) -> float:
    """Of one call, on the default stream."""
    start, end = cuda.event(), cuda.event()
    start.record()
    for _ in range(calls):
        call()
    end.record()
    end.synchronize()
    return cuda.event_elapsed_time(start, end) / calls


def measure(contenders: dict[str, Callable[[], object] | None], rounds: int = 9) -> dict[str, list[float]]:
    """Milliseconds of each contender in each round. A round is long enough for the clock: about half a millisecond."""
    here = {name: call for name, call in contenders.items() if call is not None}
    calls, times = {}, {name: [] for name in here}
    for name, call in here.items():
        call()
        cuda.synchronize()
        once = milliseconds(call)
        calls[name] = max(1, min(200, int(0.5 / max(once, 1e-3))))
    for turn in range(rounds):
        names = list(here)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            times[name].append(milliseconds(here[name], calls[name]))
    return times


def report(name: str, times: dict[str, list[float]], **more: Any) -> None:
    """Prints the row: medians in milliseconds, and each peer's over Treadle's."""
    medians = {key: statistics.median(values) for key, values in times.items()}
    own = medians["treadle"]
    ratios = {key: round(value / own, 3) for key, value in medians.items() if key != "treadle"}
    print(json.dumps({"name": name, "ms": medians, "ratio": ratios, **more}), flush=True)


def host_microseconds(call: Callable[[], object], count: int = 400, rounds: int = 15) -> float:
    """Host time of one call, the least disturbed of several rounds between which the GPU is waited for."""
    best = []
    for _ in range(rounds):
        cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(count):
            call()
        best.append((time.perf_counter() - begin) / count * 1e6)
    cuda.synchronize()
    return statistics.median(best)


def machine() -> dict[str, Any]:
    """The GPU and the versions of everything."""
    import importlib
    import importlib.metadata

    facts = _treadle.attributes()
    versions = {}
    for name in ("treadle", "numpy", "cupy", "numba", "numba-cuda", "cuda-core", "torch", "triton"):
        for package in (name, f"{name}-cuda13x"):
            try:
                versions[name] = importlib.metadata.version(package)
                break
            except importlib.metadata.PackageNotFoundError:
                continue
    return {"gpu": facts["name"], "target": facts["target"], "driver": _treadle.driver_version(), "versions": versions}
