"""The namespace of ``numba.cuda``: kernels take host arrays as numba.cuda does, with a warning."""

from __future__ import annotations

import functools
from typing import Any

from treadle import cuda as _cuda
from treadle import types
from treadle.cuda import *  # noqa: F403

__all__ = [*_cuda.__all__, "types"]


@functools.wraps(_cuda.jit)  # type: ignore[no-redef]
def jit(func_or_sig: Any = None, **options: Any) -> Any:
    options.setdefault("host_arrays", "copy")
    return _cuda.jit(func_or_sig, **options)
