"""Threads and blocks that wait for each other: locks, flags, the whole grid; and what happens when they wait in vain."""

import subprocess
import sys

import numpy as np
import pytest

import treadle as td
from treadle import cuda
from treadle.errors import DeviceError, TypingError


@cuda.jit
def locked(lock, counter):
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass
    cuda.threadfence()
    counter[0] += 1
    cuda.threadfence()
    cuda.atomic.exch(lock, 0, 0)


@cuda.jit
def locked_inside(lock, counter):
    done = False
    while not done:
        if cuda.atomic.cas(lock, 0, 0, 1) == 0:
            counter[0] += 1
            cuda.threadfence()
            cuda.atomic.exch(lock, 0, 0)
            done = True


@pytest.mark.parametrize("kernel", (locked, locked_inside))
@pytest.mark.parametrize(("grid", "block"), ((1, 1), (1, 32), (1, 100), (7, 64), (40, 33)))
def test_locks(kernel, grid, block):
    lock, counter = td.zeros(1, "int32"), td.zeros(1, "int64")
    kernel[grid, block](lock, counter)
    assert counter.get()[0] == grid * block
    assert lock.get()[0] == 0


@cuda.jit
def chain(flags, out):
    # Every thread waits for the one above: of its warp, its block, the next block.
    i = cuda.grid(1)
    if i + 1 < flags.size:
        while flags[i + 1] == 0:
            pass
    out[i] = flags.size - i
    cuda.threadfence()
    flags[i] = 1


@pytest.mark.parametrize(("grid", "block"), ((1, 2), (1, 64), (3, 50), (16, 32)))
def test_threads_wait_for_threads(grid, block):
    flags, out = td.zeros(grid * block, "int32"), td.zeros(grid * block, "int32")
    chain[grid, block](flags, out)
    np.testing.assert_array_equal(out.get(), np.arange(grid * block)[::-1] + 1)


@cuda.jit
def look_back(x, sums, ready, out):
    s = cuda.shared.array(64, np.int64)
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    i = cuda.grid(1)
    s[t] = x[i]
    cuda.syncthreads()
    step = 1
    while step < 64:
        other = s[t - step] if t >= step else 0
        cuda.syncthreads()
        s[t] += other
        cuda.syncthreads()
        step *= 2
    if t == 63:
        before = 0
        if b > 0:
            while cuda.atomic.add(ready, b - 1, 0) == 0:
                pass
            before = sums[b - 1]
        sums[b] = before + s[63]
        cuda.threadfence()
        cuda.atomic.exch(ready, b, 1)
    cuda.syncthreads()
    out[i] = s[t] + (sums[b] - s[63])


@pytest.mark.parametrize("blocks", (1, 2, 50, 300))
def test_scan_in_one_pass(blocks):
    x = np.random.default_rng(blocks).integers(0, 10, 64 * blocks)
    sums, ready, out = td.zeros(blocks, "int64"), td.zeros(blocks, "int32"), td.zeros(64 * blocks, "int64")
    look_back[blocks, 64](td.array(x), sums, ready, out)
    np.testing.assert_array_equal(out.get(), np.cumsum(x))


@cuda.jit
def diffuse(a, b, rounds):
    grid = cuda.cg.this_grid()
    i = grid.thread_rank()
    n = a.size
    for _ in range(rounds):
        b[i] = a[(i + 1) % n] + a[i - 1]
        grid.sync()
        a[i] = b[i] % 1000
        grid.sync()


@pytest.mark.parametrize(("grid", "block"), ((1, 7), (4, 32), (13, 64), ((2, 3), (8, 4))))
def test_grid_sync(grid, block):
    n = int(np.prod(grid) * np.prod(block))
    x = np.arange(n)
    a, b = td.array(x), td.zeros(n, "int64")
    diffuse[grid, block](a, b, 9)
    for _ in range(9):
        x = (np.roll(x, -1) + np.roll(x, 1)) % 1000
    np.testing.assert_array_equal(a.get(), x)


def test_grids_that_are_too_large():
    with pytest.raises(DeviceError, match="CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"):
        diffuse[100000, 1024](td.zeros(5, "int64"), td.zeros(5, "int64"), 1)


@cuda.jit
def groups(out):
    block = cuda.cg.this_thread_block()
    tile = cuda.cg.tiled_partition(block, 8)
    i = block.thread_rank()
    out[0, i] = i
    out[1, i] = block.size()
    out[2, i] = tile.thread_rank()
    out[3, i] = tile.meta_group_rank()
    out[4, i] = tile.shfl(i, 2)
    out[5, i] = tile.shfl_down(i, 3)
    out[6, i] = tile.shfl_up(i, 1)
    out[7, i] = tile.shfl_xor(i, 5)
    out[8, i] = tile.ballot(i % 3 == 0)
    out[9, i] = tile.any(i == 17)
    out[10, i] = tile.all(i < 20)
    out[11, i] = tile.size()
    tile.sync()
    block.sync()


@pytest.mark.parametrize("block", (64, 96, (16, 6)))
def test_groups(block):
    n = int(np.prod(block))
    out = td.zeros((12, n), "int32")
    groups[1, block](out)
    got = out.get()
    i = np.arange(n)
    first, rank = i // 8 * 8, i % 8
    expected = [
        i,
        0 * i + n,
        rank,
        i // 8,
        first + 2,
        np.where(rank + 3 < 8, i + 3, i),
        np.where(rank > 0, i - 1, i),
        first + (rank ^ 5),
        [sum(1 << k for k in range(8) if (f + k) % 3 == 0) for f in first],
        first == 16,
        first + 8 <= 20,
        0 * i + 8,
    ]
    np.testing.assert_array_equal(got, np.array(expected, dtype="int32"))


def test_errors_of_groups():
    @cuda.jit
    def odd(out):
        out[0] = cuda.cg.tiled_partition(cuda.cg.this_thread_block(), 12).size()

    with pytest.raises(TypingError, match="1, 2, 4, 8, 16 or 32"):
        odd[1, 32](td.zeros(1, "int32"))

    @cuda.jit
    def unknown(out):
        cuda.cg.this_grid().shfl(1, 2)

    with pytest.raises(TypingError, match="no method 'shfl'"):
        unknown[1, 32](td.zeros(1, "int32"))


def test_watchdog(tmp_path):
    script = tmp_path / "vain.py"
    script.write_text(
        """
import treadle as td
from treadle import cuda

@cuda.jit
def vain(flag, out):
    while flag[0] == 0:  # here
        pass
    out[0] = 1

flag, out = td.zeros(1, "int32"), td.zeros(1, "int32")
vain[2, 40](flag, out)
try:
    cuda.synchronize()
except RuntimeError as error:
    print(error)
flag[0] = 1
vain[2, 40](flag, out)
print(out.get())
"""
    )
    result = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        timeout=60,
        env={**__import__("os").environ, "TREADLE_WATCHDOG": "0.3"},
    )
    assert "waited for" in result.stdout, result
    assert "line 7" in result.stdout
    assert result.stdout.strip().endswith("[1]")
