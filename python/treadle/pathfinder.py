"""Where NVIDIA's components are: in wheels, conda environments, toolkits and the system, found without importing any of them.

>>> from treadle import pathfinder
>>> sorted(pathfinder.COMPONENTS)[:3]
['cublas', 'cudart', 'cufft']
"""

from __future__ import annotations

import os
import re
import site
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Component:
    """A part of CUDA: its shared library, the wheel that brings it for CUDA major version {major}, and what it is for."""

    library: str
    wheel: str
    purpose: str
    needed_for: str


# One row per component that Treadle can use.
COMPONENTS: dict[str, Component] = {
    "nvrtc": Component(
        "nvrtc", "nvidia-cuda-nvrtc", "compiler for CUDA C++", "treadle.core.Program, RawKernel, RawModule"
    ),
    "nvjitlink": Component(
        "nvJitLink", "nvidia-nvjitlink", "linker", "LTO IR, treadle.core.Linker; the driver links everything else"
    ),
    "cudart": Component(
        "cudart", "nvidia-cuda-runtime", "CUDA's headers and runtime", "#include of CUDA's headers in CUDA C++"
    ),
    "cublas": Component("cublas", "nvidia-cublas", "linear algebra", "matrix products on a GPU"),
    "cufft": Component("cufft", "nvidia-cufft", "Fourier transforms", "FFTs on a GPU"),
    "cusolver": Component("cusolver", "nvidia-cusolver", "LAPACK", "solvers on a GPU"),
    "cusparse": Component("cusparse", "nvidia-cusparse", "sparse matrices", "sparse matrices on a GPU"),
    "curand": Component("curand", "nvidia-curand", "random numbers", "code that asks for cuRAND"),
    "nccl": Component("nccl", "nvidia-nccl", "collectives", "several GPUs"),
}


@dataclass(frozen=True)
class Found:
    """A component in a file: where it comes from ("wheel", "conda", "toolkit" or "system") and its major version, 0 if unknown."""

    name: str
    path: str
    source: str
    major: int


def _roots() -> Iterator[tuple[str, Path]]:
    """Folders that may hold lib and include folders of NVIDIA's, the nearest first."""
    packages = [*site.getsitepackages(), site.getusersitepackages(), *sys.path]
    seen: set[Path] = set()
    for package in packages:
        folder = Path(package) / "nvidia"
        if not package or folder in seen or not folder.is_dir():
            continue
        seen.add(folder)
        # CUDA 13 has one folder for all (cu13), CUDA 12 one for each component.
        for part in sorted(folder.iterdir(), key=lambda path: (not path.name.startswith("cu1"), path.name)):
            yield "wheel", part
    if conda := os.environ.get("CONDA_PREFIX"):
        yield "conda", Path(conda)
        yield "conda", Path(conda) / "targets/x86_64-linux"
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if home := os.environ.get(variable):
            yield "toolkit", Path(home)
    yield "toolkit", Path("/usr/local/cuda")
    for folder in sorted(Path("/usr/local").glob("cuda-*"), reverse=True):
        yield "toolkit", folder
    yield "system", Path("/usr")


def _libraries(root: Path, library: str) -> Iterator[Path]:
    for folder in ("lib", "lib64", "lib/x86_64-linux-gnu", "targets/x86_64-linux/lib"):
        yield from sorted((root / folder).glob(f"lib{library}.so*"), key=lambda path: len(path.name), reverse=True)


def _major(path: Path) -> int:
    version = re.search(r"\.so\.(\d+)", path.resolve().name) or re.search(r"\.so\.(\d+)", path.name)
    return int(version[1]) if version else 0


def find_all(name: str) -> list[Found]:
    """Every copy of a component, in the order in which it is looked for. Raises KeyError for a name that COMPONENTS does not have."""
    component = COMPONENTS[name]
    found: dict[Path, Found] = {}
    for source, root in _roots():
        for path in _libraries(root, component.library):
            found.setdefault(path.resolve(), Found(name, str(path), source, _major(path)))
    return list(found.values())


def find(name: str, most_major: int = 0) -> Found | None:
    """The copy of a component to use: the first one found, of a major version up to ``most_major`` (0: any)."""
    copies = find_all(name)
    usable = [one for one in copies if not most_major or one.major <= most_major]
    return usable[0] if usable else None


def find_headers() -> str | None:
    """The folder with CUDA's headers (cuda_fp16.h and the others), if there is one."""
    for _, root in _roots():
        for folder in (root / "include", root / "targets/x86_64-linux/include"):
            if (folder / "cuda_fp16.h").is_file():
                return str(folder)
    return None


def install_hint(name: str, major: int, minor: int | None = None) -> str:
    """What to install for a component, for a driver of CUDA major version ``major``; with ``minor`` of just this version."""
    wheel = COMPONENTS[name].wheel + ("" if major >= 13 else f"-cu{major or 12}")
    return f"pip install {wheel}" if minor is None else f"pip install '{wheel}=={major}.{minor}.*'"
