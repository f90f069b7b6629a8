"""Caches of compiled CUDA C++, with cuda.core's names."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import tempfile
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

from treadle import _treadle
from treadle.core._module import ObjectCode
from treadle.core._options import ProgramOptions

__all__ = ["FileStreamProgramCache", "InMemoryProgramCache", "make_program_cache_key"]


def key_of(code: str, code_type: str, flags: list[str], target: str, names: tuple[str, ...], name: str | None) -> bytes:
    """A key of everything that decides what the compiler makes: source, options, names, target, the compiler's version, and the
    headers that it would read from folders that are named."""
    digest = hashlib.sha256()
    version = _treadle.nvrtc_version() if _treadle.has_nvrtc() else (0, 0)
    for part in (code, code_type, *flags, target, *names, name or "", repr(version)):
        digest.update(part.encode() + b"\0")
    for flag in flags:
        if flag.startswith(("--include-path=", "--pre-include=")):
            digest.update(_state_of(Path(flag.split("=", 1)[1]), code))
    return digest.digest()


def _state_of(place: Path, code: str) -> bytes:
    """What the headers in a folder that a source names say; all it can reach for folders of the user."""
    if place.is_file():
        return hashlib.sha256(place.read_bytes()).digest()
    digest = hashlib.sha256()
    if "#include" not in code or not place.is_dir():
        return b""
    if (place / "cuda_runtime_api.h").is_file():  # CUDA's own headers: their version stands for them
        return (place / "cuda.h").read_bytes()[-4096:] if (place / "cuda.h").is_file() else str(place).encode()
    for file in sorted(path for path in place.rglob("*") if path.is_file())[:10_000]:
        digest.update(str(file.relative_to(place)).encode() + b"\0" + file.read_bytes())
    return digest.digest()


def make_program_cache_key(
    *,
    code: str | bytes,
    code_type: str,
    options: ProgramOptions,
    target_type: str,
    name_expressions: Any = (),
    extra_digest: bytes | None = None,
    extra_sources: Any = None,
) -> bytes:
    """A key of everything that decides what a compilation makes. extra_digest: whatever else counts. Raises ValueError for an unknown
    code_type or target_type."""
    if code_type not in ("c++", "ptx", "nvvm"):
        raise ValueError(f"make_program_cache_key: code_type: expected 'c++', 'ptx' or 'nvvm', got {code_type!r}")
    if target_type not in ("cubin", "ptx", "ltoir"):
        raise ValueError(
            f"make_program_cache_key: target_type: expected 'cubin', 'ptx' or 'ltoir', got {target_type!r}"
        )
    text = code.decode() if isinstance(code, bytes) else code
    flags = options.flags(options.arch or "")
    key = key_of(text, code_type, flags, target_type, tuple(name_expressions), options.name)
    return hashlib.sha256(key + repr(extra_sources).encode() + b"\0" + (extra_digest or b"")).digest()


class _Cache(MutableMapping[Any, bytes]):
    """A mapping from keys to code: bytes, or an ObjectCode on the way in."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing has to be given back by hand."""


def _content(value: Any) -> bytes:
    return value.code if isinstance(value, ObjectCode) else bytes(value)


class InMemoryProgramCache(_Cache):
    """A cache of this process."""

    def __init__(self) -> None:
        self._items: dict[bytes, bytes] = {}

    def __getitem__(self, key: Any) -> bytes:
        return self._items[bytes(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._items[bytes(key)] = _content(value)

    def __delitem__(self, key: Any) -> None:
        del self._items[bytes(key)]

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)


class FileStreamProgramCache(_Cache):
    """A cache in a folder (the user's by default): a file for each key, written aside and renamed, so that processes can share it; a
    file that is damaged counts as missing. max_size_bytes: what it is trimmed to, the oldest first."""

    def __init__(self, path: Any = None, *, max_size_bytes: int | None = None) -> None:
        self._folder = Path(path) if path is not None else Path(_treadle.cache_directory()) / "programs"
        self._limit = max_size_bytes

    def _file(self, key: Any) -> Path:
        return self._folder / f"{hashlib.sha256(bytes(key)).hexdigest()}.bin"

    def __getitem__(self, key: Any) -> bytes:
        try:
            data = self._file(key).read_bytes()
        except OSError:
            raise KeyError(key) from None
        content = data[32:]
        if hashlib.sha256(content).digest() != data[:32]:
            raise KeyError(key)
        return content

    def __setitem__(self, key: Any, value: Any) -> None:
        content = _content(value)
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=self._folder, suffix=".part")
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(content).digest() + content)
        os.replace(name, self._file(key))
        if self._limit is not None:
            self._trim(self._limit)

    def _trim(self, limit: int) -> None:
        files = sorted(self._files(), key=lambda file: file.stat().st_mtime)
        total = sum(file.stat().st_size for file in files)
        while files and total > limit:
            total -= files[0].stat().st_size
            files.pop(0).unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        return list(self._folder.glob("*.bin"))

    def __delitem__(self, key: Any) -> None:
        try:
            self._file(key).unlink()
        except FileNotFoundError:
            raise KeyError(key) from None

    def __iter__(self) -> Iterator[bytes]:
        """The hashes of the keys, which are all that the folder knows of them."""
        return (bytes.fromhex(file.stem) for file in self._files())

    def __len__(self) -> int:
        return len(self._files())

    def clear(self) -> None:
        """Empties the folder."""
        for file in self._files():
            file.unlink(missing_ok=True)


class _Quiet(_Cache):
    """A cache on the disk that is skipped where the disk cannot be written."""

    def __init__(self, inner: FileStreamProgramCache) -> None:
        self._inner = inner

    def __getitem__(self, key: Any) -> bytes:
        return self._inner[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        with contextlib.suppress(OSError):
            self._inner[key] = value

    def __delitem__(self, key: Any) -> None:
        del self._inner[key]

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._inner)

    def __len__(self) -> int:
        return len(self._inner)


@functools.cache
def own_cache() -> Any:
    """Treadle's own; None where TREADLE_CACHE=0 turns caches off."""
    if os.environ.get("TREADLE_CACHE") == "0":
        return None
    return _Quiet(FileStreamProgramCache(max_size_bytes=256 << 20))
