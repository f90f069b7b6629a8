"""What kernels print, formatted as Python would."""

from __future__ import annotations

import functools
import json
import struct
import sys
from typing import Any

from treadle._types import DTYPES, is_floating


@functools.lru_cache(maxsize=1000)
def _pieces(text: str) -> list[Any]:
    return [piece if isinstance(piece, str) else tuple(piece) for piece in json.loads(text)]


def _value(dtype: str, word: int) -> Any:
    """The Python number in a word; a float32 keeps its type, so that it shows its own digits."""
    if is_floating(dtype):
        number = struct.unpack("d", struct.pack("Q", word))[0]
        return number if dtype == "float64" else DTYPES[dtype].type(number)
    if dtype == "bool":
        return bool(word)
    return word - (1 << 64) if dtype.startswith("int") and word >> 63 else word


def show(records: list[tuple[str, list[int]]]) -> None:
    """Writes the lines of (text, words) to standard output."""
    lines = []
    for text, words in records:
        left = iter(words)
        parts = []
        for piece in _pieces(text):
            if isinstance(piece, str):
                parts.append(piece)
            else:
                value = _value(piece[0], next(left))
                parts.append(format(value, piece[1]) if piece[1] else str(value))
        lines.append("".join(parts))
    sys.stdout.write("".join(lines))
