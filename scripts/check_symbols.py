#!/usr/bin/env python3
"""Checks for calls that library code must not make, open ends without a reference, and files that grew too long.

Comments and string literals are left out before the calls are looked for. EXCEPTIONS lists the files that may.

    python3 scripts/check_symbols.py [ROOT]
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

# What library code in src/ must not say -> why.
BANNED: dict[str, tuple[re.Pattern[str], str]] = {
    "std::cout": (re.compile(r"\bstd\s*::\s*cout\b"), "standard output belongs to the user's program"),
    "std::cerr": (re.compile(r"\bstd\s*::\s*cerr\b"), "write through base/log.h"),
    "printf": (re.compile(r"(?<![\w.>])v?f?printf\s*\("), "write through base/log.h; format with snprintf or strings"),
    "abort": (re.compile(r"(?<![\w.>])abort\s*\("), "throw an Error: the process is the user's"),
    "exit": (re.compile(r"(?<![\w.>])(_|quick_)?exit\s*\("), "throw an Error: the process is the user's"),
    "using namespace std": (re.compile(r"\busing\s+namespace\s+std\b"), "name what is used"),
    "#pragma omp": (re.compile(r"^\s*#\s*pragma\s+omp\b"), "use base/thread_pool.h"),
}

# (file, banned name or "open end") -> the reason.
EXCEPTIONS: dict[tuple[str, str], str] = {
    ("src/base/log.cpp", "printf"): "the sink of the log",
    ("tests/python/test_scripts.py", "open end"): "the tests of this check",
}

OPEN_END = re.compile(r"\b(TODO|FIXME|XXX)\b(?!\(#\d+\))")
ERROR_LINES, WARNING_LINES = 1000, 500
CODE_SUFFIXES = {".h", ".cpp", ".cu", ".def", ".inc"}
TEXT_SUFFIXES = CODE_SUFFIXES | {".py"}

TOKEN = re.compile(
    r"""
    //[^\n]* | /\*.*?\*/                                # comments
    | R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)"      # raw strings
    | "(?:\\.|[^"\\\n])*"                               # strings
    | (?<![\w'])'(?:\\.|[^'\\\n])+'                     # characters, not the marks between digits
    """,
    re.VERBOSE | re.DOTALL,
)


def code_only(text: str) -> str:
    """The text with comments and literals blanked; line numbers stay."""
    return TOKEN.sub(lambda token: "\n" * token[0].count("\n") or " ", text)


def files_below(root: Path, tops: tuple[str, ...], suffixes: set[str]) -> list[Path]:
    found = [file for top in tops for file in sorted((root / top).rglob("*")) if file.suffix in suffixes]
    return [file for file in found if file.is_file() and "__pycache__" not in file.parts]


def check_tree(root: Path) -> tuple[list[str], list[str]]:
    """(errors, warnings) of the tree below `root`, each as `file:line: text`."""
    errors: list[str] = []
    warnings: list[str] = []
    for file in files_below(root, ("src", "include"), CODE_SUFFIXES):
        path = file.relative_to(root).as_posix()
        for number, line in enumerate(code_only(file.read_text(encoding="utf-8")).splitlines(), 1):
            for name, (pattern, why) in BANNED.items():
                if pattern.search(line) and (path, name) not in EXCEPTIONS:
                    errors.append(f"{path}:{number}: {name}: {why}")
    for file in files_below(root, ("src", "include", "python", "tests"), TEXT_SUFFIXES):
        path = file.relative_to(root).as_posix()
        lines = file.read_text(encoding="utf-8").splitlines()
        if len(lines) > ERROR_LINES:
            errors.append(f"{path}:{len(lines)}: {len(lines)} lines; no file has more than {ERROR_LINES}")
        elif len(lines) > WARNING_LINES:
            warnings.append(f"{path}:{len(lines)}: {len(lines)} lines; is there a seam to cut along?")
        for number, line in enumerate(lines, 1):
            mark = OPEN_END.search(line)
            if mark and (path, "open end") not in EXCEPTIONS:
                errors.append(f"{path}:{number}: {mark[1]} without a reference; write {mark[1]}(#NUMBER)")
    return errors, warnings


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    errors, warnings = check_tree(root)
    for warning in warnings:
        print(f"warning: {warning}")
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
