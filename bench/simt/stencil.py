"""Five-point stencil on 4096 x 4096 float32: a two-dimensional grid, neighbours, and a border that is left alone."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from harness import cpp_peer, measure, optional, report

import treadle as td
from treadle import cuda

SIZE = 4096
BLOCK = (32, 8)
CENTRE, SIDE = np.float32(0.5), np.float32(0.125)


@cuda.jit
def stencil(source, out):
    j, i = cuda.grid(2)
    if 0 < i < source.shape[0] - 1 and 0 < j < source.shape[1] - 1:
        sides = source[i - 1, j] + source[i + 1, j] + source[i, j - 1] + source[i, j + 1]
        out[i, j] = CENTRE * source[i, j] + SIDE * sides


def numba_peer(source, out):
    numba = optional("numba")
    if numba is None:
        return None

    @numba.njit(parallel=True, fastmath=True)
    def peer(source, out):
        for i in numba.prange(1, source.shape[0] - 1):
            for j in range(1, source.shape[1] - 1):
                sides = source[i - 1, j] + source[i + 1, j] + source[i, j - 1] + source[i, j + 1]
                out[i, j] = CENTRE * source[i, j] + SIDE * sides

    return lambda: peer(source, out)


def main():
    source = np.random.default_rng(7).random((SIZE, SIZE), dtype=np.float32)
    out = np.zeros_like(source)
    device_source = td.asarray(source)
    device_out = td.zeros_like(device_source)
    grid = (SIZE // BLOCK[0], SIZE // BLOCK[1])

    def ours():
        stencil[grid, BLOCK](device_source, device_out)
        cuda.synchronize()

    ours()
    expected = np.zeros_like(source)
    sides = source[:-2, 1:-1] + source[2:, 1:-1] + source[1:-1, :-2] + source[1:-1, 2:]
    expected[1:-1, 1:-1] = CENTRE * source[1:-1, 1:-1] + SIDE * sides
    np.testing.assert_allclose(td.asnumpy(device_out), expected, rtol=1e-6)
    times = measure(
        {
            "treadle": ours,
            "g++": cpp_peer("stencil", "stencil", source, out, float(CENTRE), float(SIDE), SIZE, fast_math=True),
            "numba": numba_peer(source, out),
        }
    )
    report("simt/stencil", times, bytes=2 * source.nbytes)


if __name__ == "__main__":
    main()
