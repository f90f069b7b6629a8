"""4096 x 4096 float32 transposed through tiles of 32 x 32 in shared memory, with blocks of 32 x 8."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from harness import cpp_peer, measure, optional, report

import treadle as td
from treadle import cuda

SIZE = 4096
TILE, ROWS = 32, 8


@cuda.jit
def transpose(source, out):
    tile = cuda.shared.array((TILE, TILE + 1), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    left, top = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    for y in range(ty, TILE, ROWS):
        tile[y, tx] = source[top + y, left + tx]
    cuda.syncthreads()
    for y in range(ty, TILE, ROWS):
        out[left + y, top + tx] = tile[tx, y]


def numba_peer(source, out):
    numba = optional("numba")
    if numba is None:
        return None

    @numba.njit(parallel=True, fastmath=True)
    def peer(source, out):
        for strip in numba.prange(source.shape[0] // TILE):
            top = strip * TILE
            for left in range(0, source.shape[1], TILE):
                for j in range(left, left + TILE):
                    for i in range(top, top + TILE):
                        out[j, i] = source[i, j]

    return lambda: peer(source, out)


def main():
    source = np.random.default_rng(7).random((SIZE, SIZE), dtype=np.float32)
    out = np.zeros_like(source)
    device_source = td.asarray(source)
    device_out = td.zeros_like(device_source)
    grid = (SIZE // TILE, SIZE // TILE)

    def ours():
        transpose[grid, (TILE, ROWS)](device_source, device_out)
        cuda.synchronize()

    ours()
    np.testing.assert_array_equal(td.asnumpy(device_out), source.T)
    peers = {"g++": cpp_peer("transpose", "transpose", source, out, SIZE), "numba": numba_peer(source, out)}
    for peer in filter(None, peers.values()):
        out[...] = 0
        peer()
        np.testing.assert_array_equal(out, source.T)
    report("simt/transpose", measure({"treadle": ours, **peers}, repeats=9), bytes=2 * source.nbytes)


if __name__ == "__main__":
    main()
