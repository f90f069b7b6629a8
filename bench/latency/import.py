"""What `import treadle` takes beyond `import numpy`, in fresh processes, and that it does not load the compiler."""

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness import optional, report

ROUNDS = 9
CHILD = """
import sys, time
import numpy
start = time.perf_counter()
import {package}
seconds = time.perf_counter() - start
compiler = "libtreadle_compiler" in open("/proc/self/maps").read()
print(seconds, int(compiler))
"""


def seconds_of(package):
    child = [sys.executable, "-c", CHILD.format(package=package)]
    seconds, compiler = subprocess.run(child, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    assert compiler == "0", f"import {package} loads libtreadle_compiler.so"
    return float(seconds)


def main():
    packages = [name for name in ("treadle", "numba", "torch") if optional(name)]
    times = {package: [] for package in packages}
    for turn in range(ROUNDS + 1):
        for package in packages:
            seconds = seconds_of(package)
            if turn:  # the first round fills the page cache
                times[package].append(seconds)
    report("latency/import", times, limit=60e-3)


if __name__ == "__main__":
    main()
