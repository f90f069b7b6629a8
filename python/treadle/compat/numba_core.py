"""The namespace of ``numba.core`` where no numba is installed."""

from treadle import types
from treadle.compat import numba_errors as errors

__all__ = ["errors", "types"]
