"""A launch under kernel.debug does what the compiled one does."""

import io
import math
import pdb
from typing import NamedTuple

import numpy as np
import pytest

import treadle as td
from treadle import cuda

pytestmark = pytest.mark.cpu("kernels are debugged on the CPU device")


def debugged(kernel, blocks, threads, *args, shared=0, **where):
    """Runs a launch under pdb, whose user continues at once; what pdb writes."""
    out = io.StringIO()
    debugger = pdb.Pdb(stdin=io.StringIO("continue\n"), stdout=out, readrc=False, nosigint=True)
    kernel.debug(debugger=debugger, **where)[blocks, threads, 0, shared](*args)
    return out.getvalue()


class Pair(NamedTuple):
    a: int
    b: float


def whole_numbers(out):
    i = cuda.grid(1)
    out[i, 0] = (i + 2) ** 41 + (1 << 62) * i
    out[i, 1] = np.int8(i * 40) - np.uint8(i * 90) * np.int32(7)
    out[i, 2] = np.uint64(3) - i
    out[i, 3] = (i - 3) // (i - 2) + (i - 3) % (i - 2)
    out[i, 4] = -np.int8(-128) + ~np.uint16(i)
    out[i, 5] = (i - 4) >> 1 ^ i << 3 & 0x55


def floats(x, out):
    i = cuda.grid(1)
    a = x[i] * np.float32(1.1)
    out[i, 0] = a / 3 + np.float32(0.1)
    out[i, 1] = a * a + x[i] - a * np.float32(0.3)
    out[i, 2] = math.sin(a) * math.exp(-a) + math.pow(a, np.float32(1.5))
    out[i, 3] = a // np.float32(0.7) + a % np.float32(-0.7)
    out[i, 4] = np.float16(a) * np.float16(3)
    out[i, 5] = int(a * 1e30) + round(a) + math.lgamma(a + 1)


def variables(x, out):
    i = cuda.grid(1)
    s = 0
    for j in range(i):
        s += x[j] if j % 2 else j
        if s > 9:
            break
    else:
        s -= 1
    best = i and s
    n = 10
    while n > i:
        n -= 3
        if (m := n * i) == 4:
            continue
        s += m
    u, v = (s, i) if i % 3 else (i, s)
    out[i] = s / 3 + best - n + (not i) + u * 2 - v


def returns(x, out):
    def inner(a):
        if a > 2:
            return a * 2
        return x[0] / 3

    i = cuda.grid(1)
    if i >= out.shape[0]:
        return
    out[i] = inner(i) + clamped(x[i], low=-1)


@cuda.jit(device=True)
def clamped(a, high=2.5, low=0):
    if a > high:
        return high
    if a < low:
        return low
    return a


def shared_sums(x, out):
    s = cuda.shared.array((2, 32), np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    s[0, t] = x[i]
    cuda.syncthreads()
    step = 16
    while step > 0:
        if t < step:
            s[0, t] += s[0, t + step]
        cuda.syncthreads()
        step //= 2
    mine = cuda.local.array(4, np.int16)
    for j in range(4):
        mine[j] = t * j
    out[i] = s[0, 0] + cuda.syncthreads_count(t % 3 == 0) + mine[1:][2] + len(mine)


def warps(x, out):
    t, i = cuda.threadIdx.x, cuda.grid(1)
    v = x[i]
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
    mask = cuda.ballot_sync(0xFFFFFFFF, t % 3 == 1)
    same = cuda.match_any_sync(0xFFFFFFFF, t // 5)
    out[i] = v + cuda.popc(mask) + cuda.laneid + same % 1000 + cuda.any_sync(0xFFFFFFFF, t == 40)


def counted(x, out):
    i = cuda.grid(1)
    cuda.atomic.add(out, i % 3, x[i])
    cuda.atomic.max(out, 3, x[i])
    old = cuda.atomic.cas(out, 4, 0, x[i] + 100)
    if old == 0:
        out[5] = i
    cuda.atomic.add(out, (6,), 1.5)


def groups(x, out):
    block = cuda.cg.this_thread_block()
    tile = cuda.cg.tiled_partition(block, 8)
    i = cuda.grid(1)
    v = x[i]
    step = 4
    while step:
        v += tile.shfl_down(v, step)
        step //= 2
    block.sync()
    out[i] = v + tile.thread_rank() * 100 + tile.ballot(i % 2 == 0) + block.size() + tile.meta_group_rank()


def dynamic(x, out):
    floats_ = cuda.shared.array(0, np.float32)
    words = cuda.shared.array(0, np.int32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    floats_[t] = x[i]
    cuda.syncthreads()
    out[i] = words[cuda.blockDim.x - 1 - t] + floats_.size


def complexes(x, out):
    i = cuda.grid(1)
    z = complex(x[i], 1.5)
    z = z * z + 2j
    out[i] = abs(z) + z.real / (z.conjugate() * z).real - z.imag


TABLE = np.array([[1, 2], [3, 4]], "int16")
PAIR = Pair(3, 0.25)


def structures(x, out, pair, numbers):
    i = cuda.grid(1)
    v = cuda.float32x3(x[i], i, 2)
    made = Pair(i, pair.b)
    out[i] = v.x * v.z + TABLE[i % 2, 1] + PAIR.b + made.a + numbers[1][0] + numbers[0] // 2 + pair.a


def two_dimensions(x, out):
    i, j = cuda.grid(2)
    row = out[i]
    if i < x.shape[0] and j < x.shape[1]:
        row[j] = x.T[j, i] * cuda.gridDim.x + x[i, ::2][j // 2]


def vector(dtype="float32", size=64):
    return (np.arange(size) * 0.37 - 3).astype(dtype)


FAMILY = [
    (whole_numbers, 1, 7, [np.zeros((7, 6), "int64")]),
    (whole_numbers, 1, 7, [np.zeros((7, 6), "uint32")]),
    (floats, 1, 40, [np.abs(vector()), np.zeros((40, 6), "float32")]),
    (floats, 1, 40, [np.abs(vector()), np.zeros((40, 6), "float64")]),
    (variables, 1, 16, [vector("int32"), np.zeros(16, "float64")]),
    (variables, 1, 16, [vector("float32"), np.zeros(16, "float32")]),
    (returns, 2, 16, [vector(), np.zeros(20, "float64")]),
    (shared_sums, 2, 32, [vector(), np.zeros(64, "float32")]),
    (warps, 1, 64, [vector(), np.zeros(64, "float32")]),
    (counted, 2, 16, [vector("int32"), np.zeros(8, "int64")]),
    (counted, 2, 16, [vector("float64"), np.zeros(8, "float64")]),
    (groups, 2, 32, [vector("int32"), np.zeros(64, "int64")]),
    (complexes, 1, 32, [vector(), np.zeros(32, "float64")]),
    (structures, 1, 16, [vector(), np.zeros(16, "float64"), Pair(7, 1.25), (5, (np.pi, True))]),
    (two_dimensions, (2, 3), (4, 2), [vector(size=40).reshape(8, 5), np.zeros((8, 6), "float64")]),
]


def on_device(arg):
    return td.asarray(arg) if isinstance(arg, np.ndarray) else arg


@pytest.mark.parametrize("fmad", [True, False])
@pytest.mark.parametrize(("function", "grid", "block", "args"), FAMILY)
def test_same_results(function, grid, block, args, fmad):
    kernel = cuda.jit(fmad=fmad)(function)
    compiled, stepped = (list(map(on_device, args)) for _ in range(2))
    kernel[grid, block](*compiled)
    text = debugged(kernel, grid, block, *stepped, block=0, thread=1)
    assert text.startswith(f"> {__file__}(") and f"){function.__name__}()" in text
    td.synchronize()
    for one, other in zip(compiled, stepped, strict=True):
        if isinstance(one, td.ndarray):
            # Which sums with products are rounded once depends on what stands around them.
            rtol = 1e-6 if fmad and function is floats else 0
            np.testing.assert_allclose(other.get(), one.get(), rtol=rtol)
    assert compiled[-1] is not None and any(array.get().any() for array in stepped if isinstance(array, td.ndarray))


def test_shared_memory_of_the_launch():
    kernel = cuda.jit(dynamic)
    x, one, other = td.asarray(vector()), td.zeros(64, "int64"), td.zeros(64, "int64")
    kernel[2, 32, 0, 160](x, one)
    debugged(kernel, 2, 32, x, other, shared=160)
    np.testing.assert_array_equal(other.get(), one.get())
    assert other.get().any()


def test_locks_and_flags_of_other_threads():
    @cuda.jit
    def locked(lock, counter, ready, out):
        i = cuda.grid(1)
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        counter[0] += 1
        cuda.threadfence()
        cuda.atomic.exch(lock, 0, 0)
        # The first block waits for the last one.
        if cuda.blockIdx.x == 2 and cuda.threadIdx.x == 0:
            cuda.atomic.exch(ready, 0, 1)
        if cuda.blockIdx.x == 0:
            while cuda.atomic.add(ready, 0, 0) == 0:
                pass
        out[i] = counter[0] > 0

    arrays = [td.zeros(1, "int32") for _ in range(3)]
    out = td.zeros(12, "int64")
    debugged(locked, 3, 4, *arrays, out, block=0, thread=2)
    assert arrays[1].get()[0] == 12 and out.get().all()


def test_the_whole_grid_meets():
    @cuda.jit
    def met(x, out):
        grid = cuda.cg.this_grid()
        i = cuda.grid(1)
        x[i] = i + 1
        grid.sync()
        out[i] = x[x.size - 1 - i] + grid.size() - grid.thread_rank()

    one, other = td.zeros(24, "int64"), td.zeros(24, "int64")
    met[4, 6](td.zeros(24, "int64"), one)
    debugged(met, 4, 6, td.zeros(24, "int64"), other, block=2)
    np.testing.assert_array_equal(other.get(), one.get())


def test_signatures_and_host_arrays():
    @cuda.jit("void(float32[:], float32)", host_arrays="copy")
    def scaled(x, by):
        i = cuda.grid(1)
        x[i] *= by

    x = np.arange(4, dtype="float32")
    with pytest.warns(UserWarning, match="host arrays"):
        scaled.debug(commands=[])[1, 4](x, 2)
    np.testing.assert_array_equal(x, [0, 2, 4, 6])
    with pytest.raises(TypeError, match="scaled: expected arguments of"):
        scaled.debug(commands=[])[1, 4](x.astype("int32"), 2)


@pytest.fixture
def fuzz_blocks(support, monkeypatch):
    monkeypatch.syspath_prepend(support)
    import fuzz_blocks

    return fuzz_blocks


def threads_of(shape):
    return math.prod(np.ravel(shape[0])) * math.prod(np.ravel(shape[1]))


@pytest.mark.parametrize("seed", range(6))
def test_random_kernels(seed, fuzz, fuzz_blocks, interpreter, tmp_path):
    """Against the interpretation of tests/support, which shares no code with the debugger."""
    for family in (fuzz.FAMILY, fuzz_blocks.FAMILY):
        source, shapes = family.generate(seed, "fmad=False")
        small = [shape for shape in shapes if threads_of(shape) <= 200] or [min(shapes, key=threads_of)]
        problem = fuzz.differences(
            source, small, seed, tmp_path, interpreter, family, lambda kernel: kernel.debug(thread=None)
        )
        assert problem is None, problem + source
