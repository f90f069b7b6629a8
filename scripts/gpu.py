#!/usr/bin/env python3
"""Packs a build for a machine with a GPU, and runs tests and benches there. Needs nothing but Python.

    python3 scripts/gpu.py pack [FOLDER]     here: FOLDER (.pack) holds all that the other machine needs, under 50 MiB
    python3 FOLDER/scripts/gpu.py run        there: the suite on the GPU, then the benches beside the peers that are installed
    python3 FOLDER/scripts/gpu.py bench      there: the benches alone
    python3 FOLDER/scripts/gpu.py test       there: the suite alone
    python3 FOLDER/scripts/gpu.py slow       there: its slow tests, thousands of random programs
    python3 FOLDER/scripts/gpu.py memcheck   there: the suite under compute-sanitizer, which watches every access to memory

`run` and `bench` write bench/results/GPU.json below FOLDER.
"""

from __future__ import annotations

import compileall
import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 50 << 20
PARTS = (
    "python/treadle",
    "tests",
    "bench",
    "examples",
    "pyproject.toml",
    "scripts/gpu.py",
    "src/library",
)
# Errors that the driver returns are told by exceptions, and tests provoke them.
MEMCHECK = ["compute-sanitizer", "--tool", "memcheck", "--report-api-errors", "no", "--error-exitcode", "9"]
NOTHING_SELECTED = 5  # pytest's status for a file whose tests are all for other runs
CASES = ("latency", "bandwidth", "simt")


def pack(target: Path) -> None:
    """Copies what is needed, libraries without their symbols."""
    shutil.rmtree(target, ignore_errors=True)
    # Tests of the source tree and its pages stay here.
    skip = shutil.ignore_patterns("__pycache__", "_prefill", "*.pyc", "cpp", "test_scripts.py", "test_guide.py")
    for part in PARTS:
        source = ROOT / part
        (target / part).parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target / part, ignore=skip)
        else:
            shutil.copy(source, target / part)
    for library in (target / "python/treadle").glob("*.so"):
        subprocess.run(["strip", str(library)], check=True)
    # The place where tests keep their state belongs to the build folder, which stays here.
    project = target / "pyproject.toml"
    project.write_text(re.sub(r"^cache_dir.*\n", "", project.read_text(), flags=re.MULTILINE))
    size = sum(file.stat().st_size for file in target.rglob("*") if file.is_file())
    print(f"{target}: {size / (1 << 20):.1f} MiB")
    if size > LIMIT:
        raise SystemExit(f"the pack is larger than {LIMIT >> 20} MiB")


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "python"), "TREADLE_DEVICE": "cuda", "PYTHONUNBUFFERED": "1"}


def pytest(under: list[str], *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """pytest on the GPU; under: a program that runs it, and its options."""
    command = [*under, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )


def side_by_side(tasks: list[tuple[str, list[str | Path]]], under: list[str]) -> int:
    """Runs pytest for each task, a name and arguments, several at a time. The output is shown where a test fails."""

    def one(task: tuple[str, list[str | Path]]) -> int:
        begin = time.monotonic()
        result = pytest(under, *task[1])
        lines = result.stdout.splitlines()
        failed = result.returncode not in (0, NOTHING_SELECTED)
        text = result.stdout if failed or not lines else lines[-1]
        print(f"{task[0]} [{time.monotonic() - begin:.0f} s]: {text}", flush=True)
        return int(failed)

    with ThreadPoolExecutor(max(1, min(14, len(os.sched_getaffinity(0)) * 2 // 3))) as pool:
        return sum(pool.map(one, tasks))


def test(arguments: list[str], under: list[str]) -> int:
    """The suite without its slow tests, one process a file, the longest first."""
    places = [ROOT / argument for argument in arguments or ["tests"]]
    files = [file for place in places for file in (sorted(place.rglob("test_*.py")) if place.is_dir() else [place])]
    files.sort(key=lambda file: -file.stat().st_size)
    return side_by_side([(str(file.relative_to(ROOT)), ["-m", "not slow", file]) for file in files], under)


def slow() -> int:
    """The slow tests, random programs for the most part, a process for each."""
    listed = pytest([], "-m", "slow", "--collect-only", "tests/differential").stdout
    tests = [line for line in listed.splitlines() if "::" in line]
    return side_by_side([(test, ["-m", "slow", test]) for test in tests], [])


def bench(cases: list[str]) -> int:
    """The cases, each in a process of its own; their rows become one file."""
    rows, failed = {}, 0
    for case in cases or CASES:
        script = ROOT / f"bench/gpu/{case}.py"
        result = subprocess.run(
            [sys.executable, script], cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True, check=False
        )
        print(result.stdout, flush=True)
        failed += result.returncode != 0
        for line in result.stdout.splitlines():
            if line.startswith("{"):
                row = json.loads(line)
                rows.setdefault(row.pop("name"), []).append(row)
    facts = subprocess.run(
        [sys.executable, "-c", "import json, _timing; print(json.dumps(_timing.machine()))"],
        cwd=ROOT / "bench/gpu",
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    machine = json.loads(facts.stdout)
    name = re.sub(r"[^a-z0-9]+", "-", machine["gpu"].lower()).strip("-")
    file = ROOT / f"bench/results/{name}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    known = json.loads(file.read_text())["rows"] if file.exists() else {}
    date = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    merged = {**known, **{key: value[0] if len(value) == 1 else value for key, value in rows.items()}}
    file.write_text(json.dumps({**machine, "date": date, "rows": dict(sorted(merged.items()))}, indent=1) + "\n")
    print(f"{len(rows)} rows in {file}")
    return failed


def main(arguments: list[str]) -> int:
    # As an installation does: some machines keep no compiled modules of their own accord.
    if arguments and arguments[0] != "pack":
        compileall.compile_dir(ROOT / "python", quiet=2)
    match arguments:
        case ["pack", *rest]:
            pack(Path(rest[0]) if rest else ROOT / ".pack")
            return 0
        case ["bench", *rest]:
            return bench(rest)
        case ["test", *rest]:
            return test(rest, [])
        case ["slow"]:
            return slow()
        case ["memcheck", *rest]:
            return test(rest, MEMCHECK)
        case ["run"]:
            return test([], []) + bench([])
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
