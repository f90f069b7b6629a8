"""The namespace of ``import cuda.bindings``: what programs written for ``cuda.core`` ask of it."""

from treadle.compat import cuda_nvrtc as nvrtc

__all__ = ["nvrtc"]
