"""The namespace of ``numba.core.errors`` where no numba is installed. ``treadle.dropin`` puts Treadle's classes below these."""

from __future__ import annotations


class NumbaWarning(Warning):
    """Base of warnings."""


class NumbaPerformanceWarning(NumbaWarning):
    """Something is slower than it needs to be."""


class NumbaDeprecationWarning(NumbaWarning, DeprecationWarning):
    """Something will go."""


class NumbaPendingDeprecationWarning(NumbaWarning, PendingDeprecationWarning):
    """Something will go later."""


class NumbaExperimentalFeatureWarning(NumbaWarning):
    """Something may change."""


class NumbaDebugInfoWarning(NumbaWarning):
    """Something about debug information."""


class NumbaTypeSafetyWarning(NumbaWarning):
    """A conversion may lose something."""


class NumbaError(Exception):
    """Base of errors."""


class UnsupportedError(NumbaError):
    """Something that kernels do not have."""


class TypingError(NumbaError):
    """Something without a meaning for the types of its operands."""


class LoweringError(NumbaError):
    """Machine code cannot be made."""


class CompilerError(NumbaError):
    """Something else about compiling."""


class NumbaTypeError(TypingError):
    """A TypeError."""


class NumbaValueError(TypingError):
    """A ValueError."""


class NumbaNotImplementedError(TypingError, NotImplementedError):
    """A NotImplementedError."""


class NumbaRuntimeError(NumbaError):
    """A RuntimeError."""
