"""Compilation of a vector add in fresh processes: the first kernel of a process, the second, and one that is cached."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness import optional, report

HELPER = Path(__file__).with_name("_first_launch.py")
ROUNDS = 9


def in_fresh_process(package, cache, *kernels):
    env = {**os.environ, "TREADLE_CACHE_DIR": cache, "NUMBA_CACHE_DIR": cache}
    command = [sys.executable, str(HELPER), package, *kernels]
    return json.loads(subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True).stdout)


def main():
    packages = [name for name in ("treadle", "numba") if optional(name)]
    key = {"treadle": "compile", "numba": "launch"}  # numba does not tell the two apart
    times = {stage: {package: [] for package in packages} for stage in ("first", "second", "cached")}
    launches = {stage: [] for stage in times}
    for turn in range(ROUNDS + 1):
        for package in packages:
            with tempfile.TemporaryDirectory() as cache:
                cold = in_fresh_process(package, cache, "scale", "vecadd")
                warm = in_fresh_process(package, cache, "vecadd")
            facts = {"first": cold["scale"], "second": cold["vecadd"], "cached": warm["vecadd"]}
            for stage, fact in facts.items():
                assert fact["from_cache"] == (stage == "cached"), f"{package}, {stage}: {fact}"
                if turn:
                    times[stage][package].append(fact[key[package]])
                    if package == "treadle":
                        launches[stage].append(fact["launch"])
    limits = {"first": None, "second": 15e-3, "cached": 1e-3}
    for stage, limit in limits.items():
        whole = statistics.median(launches[stage])
        report(f"latency/compile {stage}", times[stage], limit=limit, launch_seconds=whole)


if __name__ == "__main__":
    main()
