"""The namespace of ``numba.core`` where no numba is installed: ``treadle.dropin`` finds its modules by their names."""
