"""The namespace of ``numba.np.numpy_support`` where no numba is installed."""

from __future__ import annotations

import numpy as np

from treadle._record_types import numpy_dtype_of
from treadle.types import Type, from_dtype


def as_dtype(nbtype: Type) -> np.dtype:
    """The NumPy dtype of a type. Raises TypeError for types that are no elements of arrays."""
    return numpy_dtype_of(nbtype)


__all__ = ["as_dtype", "from_dtype"]
