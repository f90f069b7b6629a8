"""The namespace of ``numba.np.numpy_support`` where no numba is installed."""

from __future__ import annotations

import numpy as np

from treadle.types import Number, Type, from_dtype


def as_dtype(nbtype: Type) -> np.dtype:
    """The NumPy dtype of a type. Raises TypeError for types that are no numbers."""
    if not isinstance(nbtype, Number):
        raise TypeError(f"as_dtype: nbtype: expected the type of a number, got {nbtype}")
    return nbtype.dtype


__all__ = ["as_dtype", "from_dtype"]
