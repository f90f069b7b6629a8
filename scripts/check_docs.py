#!/usr/bin/env python3
"""Checks the Markdown files: every relative link leads to a file, and every Python example is valid Python.

python3 scripts/check_docs.py [ROOT]
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
SKIPPED = {".pack", "build", ".venv", ".git", "node_modules"}


def check_file(file: Path, root: Path) -> list[str]:
    """The errors of one Markdown file, as `file:line: text`."""
    text = file.read_text(encoding="utf-8")
    path = file.relative_to(root)
    errors = []
    prose = FENCE.sub(lambda block: "\n" * block[0].count("\n"), text)
    for match in LINK.finditer(prose):
        target = match[1].partition("#")[0]
        if target and ":" not in target and not (file.parent / target).exists():
            errors.append(f"{path}:{prose.count(chr(10), 0, match.start()) + 1}: link to {target}, which is not there")
    for match in CODE.finditer(text):
        first_line = text.count("\n", 0, match.start(1)) + 1
        try:
            compile(match[1], str(path), "exec")
        except SyntaxError as error:
            errors.append(f"{path}:{first_line + (error.lineno or 1) - 1}: example is not valid Python: {error.msg}")
    return errors


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    files = [file for file in sorted(root.rglob("*.md")) if not SKIPPED & set(file.relative_to(root).parts)]
    errors = [error for file in files for error in check_file(file, root)]
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
