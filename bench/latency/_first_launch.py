"""Helper of compile.py: launches the named kernels in a fresh process and prints what that cost, as JSON.

python _first_launch.py treadle|numba KERNEL...
"""

import json
import sys
import time

import numpy as np

SIZE = 1024


def launch_treadle():
    import treadle as td
    from treadle import cuda

    @cuda.jit
    def scale(a, b, c):
        i = cuda.grid(1)
        c[i] = a[i] * b[0]

    @cuda.jit
    def vecadd(a, b, c):
        i = cuda.grid(1)
        c[i] = a[i] + b[i]

    kernels = {"scale": scale, "vecadd": vecadd}
    arrays = [td.asarray(np.ones(SIZE, np.float32)) for _ in range(3)]
    cuda.synchronize()

    def launch(name):
        start = time.perf_counter()
        kernels[name][SIZE // 256, 256](*arrays)
        cuda.synchronize()
        seconds = time.perf_counter() - start
        facts = kernels[name].last_compile
        compiled = {"compile": facts.milliseconds / 1e3, "from_cache": bool(facts.from_cache), "path": str(facts.path)}
        return {"launch": seconds, **compiled}

    return launch


def launch_numba():
    import numba

    @numba.njit(cache=True)
    def scale(a, b, c):
        for i in range(a.size):
            c[i] = a[i] * b[0]

    @numba.njit(cache=True)
    def vecadd(a, b, c):
        for i in range(a.size):
            c[i] = a[i] + b[i]

    kernels = {"scale": scale, "vecadd": vecadd}
    arrays = [np.ones(SIZE, np.float32) for _ in range(3)]

    def launch(name):
        start = time.perf_counter()
        kernels[name](*arrays)
        return {"launch": time.perf_counter() - start, "from_cache": bool(kernels[name].stats.cache_hits)}

    return launch


if __name__ == "__main__":
    launch = {"treadle": launch_treadle, "numba": launch_numba}[sys.argv[1]]()
    print(json.dumps({name: launch(name) for name in sys.argv[2:]}))
