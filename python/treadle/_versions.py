"""Versions of CUDA's parts, and in words what does not fit together."""

from __future__ import annotations

import contextlib
import ctypes
import re
from collections.abc import Iterator
from pathlib import Path

from treadle import _treadle, pathfinder
from treadle.errors import CompileError, DeviceError

Version = tuple[int, int]

# The function of a component that tells its version, as two integers.
_QUESTIONS = {"nvrtc": "nvrtcVersion", "nvjitlink": "nvJitLinkVersion"}

# The version of CUDA that brought a version of PTX.
_CUDA_OF_PTX: dict[Version, Version] = {
    (8, 0): (12, 0),
    (8, 1): (12, 1),
    (8, 2): (12, 2),
    (8, 3): (12, 3),
    (8, 4): (12, 4),
    (8, 5): (12, 5),
    (8, 6): (12, 7),
    (8, 7): (12, 8),
    (8, 8): (12, 9),
    (9, 0): (13, 0),
    (9, 1): (13, 1),
}

# How drivers refuse code that a newer CUDA made.
_REFUSALS = (
    "CUDA_ERROR_INVALID_IMAGE",
    "CUDA_ERROR_NO_BINARY_FOR_GPU",
    "CUDA_ERROR_INVALID_PTX",
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
)


def driver() -> Version:
    """CUDA's version that the driver has; (0, 0) without one."""
    major, rest = divmod(_treadle.driver_version(), 1000)
    return major, rest // 10


def of_file(name: str, path: str) -> Version | None:
    """The version that a component's library tells; None for components that tell none. Raises OSError where it cannot be opened."""
    if name not in _QUESTIONS:
        return None
    ask = getattr(ctypes.CDLL(path), _QUESTIONS[name], None)
    if ask is None:
        return None
    major, minor = ctypes.c_int(), ctypes.c_int()
    ask(ctypes.byref(major), ctypes.byref(minor))
    return major.value, minor.value


def in_use(name: str) -> tuple[str, Version | None] | None:
    """Path and version of the copy of a component that Treadle takes, if there is one. Raises OSError as ``of_file``."""
    found = pathfinder.find(name, driver()[0])
    return None if found is None else (found.path, of_file(name, found.path))


def text(version: Version) -> str:
    """Such as "13.0"."""
    return f"{version[0]}.{version[1]}"


def clashes() -> list[str]:
    """What does not fit together among the components that Treadle takes, a sentence each, with what to install."""
    found: list[str] = []
    versions: dict[str, Version] = {}
    for name in _QUESTIONS:
        try:
            known = in_use(name)
        except OSError as error:
            found.append(f"{name} cannot be opened ({error}): {pathfinder.install_hint(name, driver()[0])}")
            continue
        if known is None or known[1] is None:
            continue
        path, versions[name] = known[0], known[1]
        if name == "nvrtc":
            found += _builtins_clash(path, versions[name])
    if "nvrtc" in versions:
        found += _newer_than_driver(versions["nvrtc"])
        if "nvjitlink" in versions:
            found += _linker_older(versions["nvjitlink"], versions["nvrtc"])
    return found


def _builtins_clash(path: str, version: Version) -> list[str]:
    """NVRTC opens a second library of just its version."""
    files = {
        file
        for folder in {Path(path).parent, Path(path).resolve().parent}
        for file in folder.glob("libnvrtc-builtins.so*")
    }
    matches = [re.search(r"\.so\.(\d+)\.(\d+)", name) for file in files for name in (file.name, file.resolve().name)]
    there = {(int(match[1]), int(match[2])) for match in matches if match}
    if version in there:
        return []
    others = f"only that of {', '.join(map(text, sorted(there)))}" if there else "none"
    return [
        f"NVRTC ({path}) is of CUDA {text(version)} and needs libnvrtc-builtins.so.{text(version)} beside it, "
        f"where there is {others}: "
        f"{pathfinder.install_hint('nvrtc', *version)} --force-reinstall"
    ]


def _newer_than_driver(version: Version) -> list[str]:
    if version <= driver() or driver() == (0, 0):
        return []
    return [
        f"NVRTC is of CUDA {text(version)}, newer than the driver's {text(driver())}, which refuses PTX of newer versions: "
        f"{pathfinder.install_hint('nvrtc', *driver())}, or a newer driver"
    ]


def _linker_older(linker: Version, compiler: Version) -> list[str]:
    if linker >= compiler:
        return []
    return [
        f"nvJitLink is of CUDA {text(linker)}, older than NVRTC's {text(compiler)}, whose code it refuses: "
        f"{pathfinder.install_hint('nvjitlink', *compiler)}"
    ]


def _reasons(message: str, code: bytes) -> list[str]:
    """What versions have to do with an error, if anything."""
    if any(name in message for name in _REFUSALS):
        ptx = re.search(rb"^\s*\.version\s+(\d+)\.(\d+)", code, re.MULTILINE)
        version = ptx and (int(ptx[1]), int(ptx[2]))
        since = version and _CUDA_OF_PTX.get(version)
        if version and since and since > driver():
            return [
                f"the code is PTX {text(version)}, which came with CUDA {text(since)}, and the driver is of CUDA "
                f"{text(driver())}: make it with "
                f"an older CUDA ({pathfinder.install_hint('nvrtc', *driver())}), or install a newer driver"
            ]
        return [reason for reason in clashes() if "newer than the driver" in reason]
    if "nvrtc-builtins" in message:
        return [reason for reason in clashes() if "builtins" in reason]
    if "[link] nvJitLink" in message:
        return [reason for reason in clashes() if reason.startswith("nvJitLink")]
    return []


@contextlib.contextmanager
def explained(code: bytes = b"") -> Iterator[None]:
    """A context in which errors of the driver and of compilers say what they have to do with versions. code: what is loaded."""
    try:
        yield
    except (CompileError, DeviceError) as error:
        reasons = _reasons(str(error), code)
        if not reasons:
            raise
        raise type(error)("\n".join([str(error), *reasons])) from None
