"""The namespace of ``numba.config`` where no numba is installed: settings that CUDA programs read and set. Treadle follows
``CUDA_WARN_ON_IMPLICIT_COPY`` alone."""

from __future__ import annotations

import os


def _number(name: str, default: int) -> int:
    return int(os.environ.get(f"NUMBA_{name}", default))


CUDA_WARN_ON_IMPLICIT_COPY = _number("CUDA_WARN_ON_IMPLICIT_COPY", 1)
CUDA_LOW_OCCUPANCY_WARNINGS = _number("CUDA_LOW_OCCUPANCY_WARNINGS", 1)
CUDA_PER_THREAD_DEFAULT_STREAM = _number("CUDA_PER_THREAD_DEFAULT_STREAM", 0)
CUDA_ARRAY_INTERFACE_SYNC = _number("CUDA_ARRAY_INTERFACE_SYNC", 1)
ENABLE_CUDASIM = 0  # kernels are compiled
DISABLE_CUDA = 0
DISABLE_JIT = 0
