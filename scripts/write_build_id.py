"""Writes build_id.h: a hash over the sources of the compiler and the version of LLVM, part of every cache key.

usage: write_build_id.py OUTPUT.h LLVM_VERSION SOURCE ...
"""

from __future__ import annotations

import hashlib
import pathlib
import sys


def main(output: str, llvm_version: str, *sources: str) -> None:
    digest = hashlib.sha256(llvm_version.encode())
    files = {pathlib.Path(source) for source in sources}
    for folder in {file.parent for file in files}:
        files |= {*folder.glob("*.h"), *folder.glob("*.def")}
    for file in sorted(files):
        digest.update(file.read_bytes())
    build = f'#define TREADLE_BUILD_ID "{digest.hexdigest()[:32]}"'
    text = "\n".join(["#pragma once", "", build, f'#define TREADLE_LLVM_VERSION "{llvm_version}"', ""])
    target = pathlib.Path(output)
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
