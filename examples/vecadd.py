"""Vector addition, as written for numba.cuda and CuPy. Run it with `treadle run examples/vecadd.py`.

The length is no multiple of the block and the kernel has no bounds test: threads behind the end do nothing.
"""

import statistics
import time

import cupy as cp
import numpy as np
from numba import cuda


@cuda.jit
def vecadd(a, b, c):
    i = cuda.grid(1)
    c[i] = a[i] + b[i]


def seconds_per_launch(grid, block, arguments, launches=20):
    """Median time of one launch from call to completion."""
    times = []
    for _ in range(launches):
        start = time.perf_counter()
        vecadd[grid, block](*arguments)
        cuda.synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main():
    elements = 2**24 + 11
    block = 256
    grid = (elements + block - 1) // block

    cp.random.seed(7)
    a = cp.random.uniform(-1, 1, elements).astype(cp.float32)
    b = cp.random.uniform(-1, 1, elements).astype(cp.float32)
    c = cp.zeros_like(a)

    vecadd[grid, block](a, b, c)
    cuda.synchronize()
    np.testing.assert_array_equal(cp.asnumpy(c), cp.asnumpy(a) + cp.asnumpy(b))
    print("Test succeeded")

    name = cp.cuda.runtime.getDeviceProperties(0)["name"]
    bytes_moved = a.nbytes + b.nbytes + c.nbytes
    print(f"device    {name.decode() if isinstance(name, bytes) else name}")
    print(f"elements  {elements}")
    print(f"speed     {bytes_moved / seconds_per_launch(grid, block, (a, b, c)) / 1e9:.1f} GB/s")

    compiled = getattr(vecadd, "last_compile", None)  # Treadle's own; numba has no such attribute
    if compiled is not None:
        source = "loaded from the cache" if compiled.from_cache else "compiled"
        print(f"compile   {compiled.milliseconds:.2f} ms ({source})")
        print(f"artifact  {compiled.path}")


if __name__ == "__main__":
    main()
