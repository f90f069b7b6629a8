"""The namespace of ``numba.cuda.cudadrv``, whose modules all have the names of :mod:`treadle.compat.numba_cudadrv_names`."""
