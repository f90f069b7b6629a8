#!/usr/bin/env python3
"""Runs clang-tidy over the project's C++ files, in parallel, and only over those whose text or includes changed.

A file that passed leaves a stamp in STAMPS: a hash of the file, of all project headers it reaches, of its compile
command, of .clang-tidy and of the tool's version. A file whose stamp is still right is not checked again.

    python3 scripts/run_clang_tidy.py --build build/release --tool .venv/bin/clang-tidy [--stamps build/lint]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHECKED = ("src", "python/bindings", "tests/cpp")
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)


class Includes:
    """The project's headers that a file reaches, each file read once."""

    def __init__(self, root: Path) -> None:
        self._bases = [root / "src", root / "include", root / "python/bindings", root / "tests/cpp"]
        self._known: dict[Path, tuple[str, list[Path]]] = {}

    def _read(self, file: Path) -> tuple[str, list[Path]]:
        if file not in self._known:
            text = file.read_bytes()
            headers = []
            for name in INCLUDE.findall(text.decode("utf-8", "replace")):
                found = next((base / name for base in [file.parent, *self._bases] if (base / name).is_file()), None)
                if found:
                    headers.append(found.resolve())
            self._known[file] = (hashlib.sha256(text).hexdigest(), headers)
        return self._known[file]

    def hash_of(self, file: Path) -> str:
        """One hash over the file and everything of the project it includes, directly or not."""
        seen: set[Path] = set()
        waiting = [file]
        while waiting:
            current = waiting.pop()
            if current not in seen:
                seen.add(current)
                waiting.extend(self._read(current)[1])
        lines = sorted(f"{path} {self._read(path)[0]}" for path in seen)
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def check(tool: str, build: Path, file: Path) -> tuple[int, str]:
    # The commands are another compiler's: flags and precompiled headers unknown to clang are no findings.
    extra = ["-Wno-unknown-warning-option", "-Wno-ignored-optimization-argument", "-Wno-unused-command-line-argument"]
    command = [tool, "-p", str(build), "--quiet", *[f"--extra-arg={flag}" for flag in extra], str(file)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    return result.returncode, result.stdout + (result.stderr if result.returncode else "")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--stamps", type=Path, default=ROOT / "build/lint")
    options = parser.parse_args()

    version = subprocess.run([options.tool, "--version"], capture_output=True, text=True, check=True).stdout
    common = version + (ROOT / ".clang-tidy").read_text(encoding="utf-8")
    includes = Includes(ROOT)
    options.stamps.mkdir(parents=True, exist_ok=True)

    work: list[tuple[Path, Path, str]] = []
    entries = json.loads((options.build / "compile_commands.json").read_text(encoding="utf-8"))
    prefixes = tuple(str(ROOT / folder) + os.sep for folder in CHECKED)
    total = 0
    for entry in entries:
        file = Path(entry["directory"], entry["file"]).resolve()
        if not str(file).startswith(prefixes) or not file.exists():
            continue
        total += 1
        command = entry.get("command") or " ".join(entry["arguments"])
        key = hashlib.sha256("\0".join([common, command, includes.hash_of(file)]).encode()).hexdigest()
        stamp = options.stamps / (str(file.relative_to(ROOT)).replace(os.sep, "+") + ".tidy")
        if not stamp.exists() or stamp.read_text(encoding="utf-8") != key:
            work.append((file, stamp, key))

    failed = 0
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = pool.map(lambda item: check(options.tool, options.build, item[0]), work)
        for (file, stamp, key), (status, output) in zip(work, results, strict=True):
            if status == 0:
                stamp.write_text(key, encoding="utf-8")
            else:
                failed += 1
                print(f"{file.relative_to(ROOT)}\n{output.rstrip()}", flush=True)
    print(f"clang-tidy: {len(work)} of {total} files checked, {failed} with errors")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
