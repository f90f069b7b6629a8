"""The namespace of ``import cuda.bindings.nvrtc``."""

from __future__ import annotations

import enum

from treadle import _treadle
from treadle.core._program import find_compiler
from treadle.errors import UnsupportedError


class nvrtcResult(enum.IntEnum):  # noqa: N801
    """NVRTC's results."""

    NVRTC_SUCCESS = 0
    NVRTC_ERROR_INTERNAL_ERROR = 11


def nvrtcVersion() -> tuple[nvrtcResult, int, int]:  # noqa: N802
    """(result, major, minor) of the NVRTC that is used; version 0.0 where there is none."""
    try:
        find_compiler()
    except UnsupportedError:
        return nvrtcResult.NVRTC_SUCCESS, 0, 0
    return (nvrtcResult.NVRTC_SUCCESS, *_treadle.nvrtc_version())
