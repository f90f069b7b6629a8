"""The namespace of ``numba.core.errors`` where no numba is installed."""

from treadle.errors import CompileError, HostArrayWarning, TypingError, UnsupportedError

NumbaError = CompileError
LoweringError = CompileError
NumbaPerformanceWarning = HostArrayWarning

__all__ = ["CompileError", "LoweringError", "NumbaError", "NumbaPerformanceWarning", "TypingError", "UnsupportedError"]
