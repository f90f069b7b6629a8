#!/usr/bin/env python3
"""Checks that every `#include` follows the layers of CONTRIBUTING.md.

Includes of the project are written relative to `src/`: `#include "base/dtype.h"`. ALLOWED says which folders a
folder may include (itself always); HOMES says which folders may see the headers of another library.

    python3 scripts/check_layers.py [ROOT]
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ANY = None
ALLOWED: dict[str, set[str] | None] = {
    "base": set(),
    "ir": {"base"},
    "library": {"base"},
    "frontend": {"base", "ir", "library", "service"},
    "passes": {"base", "ir"},
    "codegen": {"base", "ir"},
    "service": {"base"},
    "compiler": {"base", "ir", "library", "frontend", "passes", "codegen", "service"},
    "device": {"base"},
    "runtime": {"base", "device", "service"},
    "array": {"base", "device", "runtime", "service"},
    "algorithms": {"base", "device", "runtime", "array"},
    "libraries": {"base", "device", "runtime", "array"},
    "interop": {"base", "device", "runtime", "array"},
    "bindings": {
        "base",
        "service",
        "compiler",
        "device",
        "runtime",
        "array",
        "algorithms",
        "libraries",
        "interop",
    },
    "tests": ANY,
}

# Headers of other libraries: pattern of the header's name -> (what it is, folders that may include it).
HOMES: list[tuple[re.Pattern[str], str, tuple[str, ...]]] = [
    (re.compile(r"^llvm(-c)?/"), "LLVM", ("src/codegen/", "tests/cpp/")),
    (
        re.compile(r"^(cuda|cu(blas|fft|solver|sparse|rand|pti)|nvrtc|nvJitLink|nvml|nvPTXCompiler|nccl)\w*\.h$"),
        "CUDA",
        ("src/device/cuda/",),
    ),
    (re.compile(r"^(Python\.h$|nanobind/)"), "Python", ("python/bindings/",)),
    (re.compile(r"^(gtest|gmock)/"), "GoogleTest", ("tests/cpp/",)),
]

SUFFIXES = {".h", ".cpp", ".def", ".inc", ".cu"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def layer_of(path: Path) -> str | None:
    """The layer a file belongs to: `src/ir/x.h` and `include/treadle/ir/x.h` are both of `ir`."""
    parts = path.parts
    if parts[:2] == ("python", "bindings"):
        return "bindings"
    if parts[:2] == ("tests", "cpp"):
        return "tests"
    if parts[0] == "src" and len(parts) > 2:
        return parts[1]
    if parts[:2] == ("include", "treadle") and len(parts) > 3:
        return parts[2]
    return None


def back_end_of(path: Path) -> str | None:
    """`cuda` for `src/device/cuda/stream.cpp` and `device/cuda/stream.h`; none for the files beside the back ends."""
    parts = path.parts[1:] if path.parts[0] == "src" else path.parts
    return parts[1] if len(parts) > 2 and parts[0] == "device" else None


def check_include(path: Path, layer: str, quote: str, header: str) -> str | None:
    """The error that this include is, if it is one."""
    for pattern, what, homes in HOMES:
        if pattern.match(header) and not path.as_posix().startswith(homes):
            return f"{what} headers belong to {', '.join(homes)} only"
    if header.startswith("treadle/"):
        header = header.removeprefix("treadle/")
    elif quote == "<":
        return None
    folder, _, rest = header.partition("/")
    if not rest:
        return None if layer in ("bindings", "tests") else 'write it relative to src/: "folder/file.h"'
    if layer in ("bindings", "tests") and folder not in ALLOWED:
        return None
    if folder not in ALLOWED:
        return f'there is no layer "{folder}" (write includes relative to src/)'
    allowed = ALLOWED[layer]
    if allowed is not ANY and folder != layer and folder not in allowed:
        return f"{layer} may include {', '.join(sorted(allowed)) or 'nothing of ours'}; not {folder}"
    own, other = back_end_of(path), back_end_of(Path(header))
    if layer == "device" and other and own != other and path.name != "registry.cpp":
        return f"only device/registry.cpp may include the back end {other}"
    return None


def check_tree(root: Path) -> list[str]:
    """Every error in the tree below `root`, as `file:line: text`."""
    errors = []
    for top in ("src", "include", "python/bindings", "tests/cpp"):
        for file in sorted((root / top).rglob("*")):
            path = file.relative_to(root)
            if file.suffix not in SUFFIXES or not file.is_file():
                continue
            layer = layer_of(path)
            if layer is not None and layer not in ALLOWED:
                errors.append(f"{path}:1: folder {layer} has no row in scripts/check_layers.py")
                continue
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                match = INCLUDE.match(line)
                error = match and layer and check_include(path, layer, match[1], match[2])
                if error:
                    errors.append(f"{path}:{number}: includes {match[2]}: {error}")
    return errors


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    errors = check_tree(root)
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
