"""Warp operations against plain definitions, at block sizes that are and are not multiples of a warp, in one and two dimensions."""

import numpy as np
import pytest

import treadle as td
from treadle import cuda

FULL = 0xFFFFFFFF
SIZES = (1, 31, 32, 33, 96, 1000, 1024)
DTYPES = (
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "bool",
)


@cuda.jit
def shuffles(x, lane, out):
    i = cuda.grid(1)
    v = x[i]
    by = lane[0]
    out[0, i] = cuda.shfl_sync(FULL, v, by)
    out[1, i] = cuda.shfl_up_sync(FULL, v, by)
    out[2, i] = cuda.shfl_down_sync(FULL, v, by)
    out[3, i] = cuda.shfl_xor_sync(FULL, v, by)
    out[4, i] = cuda.shfl_sync(FULL, v, lane[i])
    out[5, i] = cuda.shfl_down_sync(FULL, v, 3)
    out[6, i] = cuda.shfl_xor_sync(FULL, v, 16)
    out[7, i] = cuda.shfl_up_sync(FULL, v, 1)


def shuffled(x, lane):
    n = len(x)
    i = np.arange(n)
    own, warp = i % 32, i // 32 * 32

    def at(source):
        inside = (source >= 0) & (source < 32)
        return warp + np.where(inside, source, own)

    by = lane[0]
    sources = [
        at(by % 32 + 0 * i),
        at(own - by),
        at(own + by),
        at(own ^ by),
        at(lane[:n] % 32),
        at(own + 3),
        at(own ^ 16),
        at(own - 1),
    ]
    return sources


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", (32, 40, 256))
def test_shuffles(dtype, n):
    rng = np.random.default_rng(n)
    x = rng.integers(0, 100, n).astype(dtype)
    for by in (0, 1, 5, 16, 31):
        lane = rng.integers(0, 32, n).astype("int32")
        lane[0] = by
        out = td.zeros((8, n), dtype)
        shuffles[1, n](td.array(x), td.array(lane), out)
        got = out.get()
        for row, source in enumerate(shuffled(x, lane)):
            valid = source < n  # a lane without a thread has any value
            np.testing.assert_array_equal(got[row][valid], x[source[valid]], err_msg=f"row {row}")


@cuda.jit
def votes(x, out, seen):
    i = cuda.threadIdx.x
    p = x[i] > 0
    out[0, i] = cuda.all_sync(FULL, p)
    out[1, i] = cuda.any_sync(FULL, p)
    out[2, i] = cuda.eq_sync(FULL, p)
    out[3, i] = cuda.ballot_sync(FULL, p)
    out[4, i] = cuda.match_any_sync(FULL, x[i])
    mask, same = cuda.match_all_sync(FULL, x[i])
    out[5, i] = mask
    out[6, i] = same
    out[7, i] = cuda.laneid + 100 * cuda.warpsize
    seen[0, i] = cuda.activemask()
    seen[1, i] = cuda.lanemask_lt()
    if x[i] == 1:
        out[8, i] = cuda.ballot_sync(FULL, i % 2 == 0)
        seen[2, i] = cuda.activemask()


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("most", (0, 1, 2))
def test_votes(n, most):
    rng = np.random.default_rng(n)
    x = rng.integers(min(most, 1), most + 1, n).astype("int32")
    out = td.zeros((9, n), "int32")
    seen = td.zeros((3, n), "uint32")
    votes[1, n](td.array(x), out, seen)
    got, masks = out.get(), seen.get()
    for warp in range(0, n, 32):
        threads = np.arange(warp, min(warp + 32, n))
        bits = 1 << np.arange(len(threads), dtype=np.int64)
        p = x[threads] > 0
        active = int(bits.sum())
        for i in threads:
            assert got[0, i] == p.all()
            assert got[1, i] == p.any()
            assert got[2, i] == (p.all() or not p.any())
            assert got[3, i] == np.int64(bits[p].sum()).astype("int32")
            assert got[4, i] == np.int64(bits[x[threads] == x[i]].sum()).astype("int32")
            same = (x[threads] == x[i]).all()
            assert got[5, i] == np.int64(active if same else 0).astype("int32")
            assert got[6, i] == same
            assert got[7, i] == i % 32 + 3200
            assert masks[0, i] == active
            assert masks[1, i] == (1 << (i % 32)) - 1
            ones = int(bits[x[threads] == 1].sum())
            if x[i] == 1:
                even = int(bits[(x[threads] == 1) & (threads % 2 == 0)].sum())
                assert got[8, i] == np.int64(even).astype("int32")
                assert masks[2, i] == ones


@cuda.jit
def warp_sums(x, out):
    i = cuda.grid(1)
    v = x[i] if i < x.size else 0.0
    step = 16
    while step > 0:
        v += cuda.shfl_down_sync(FULL, v, step)
        step //= 2
    if cuda.laneid == 0:
        cuda.atomic.add(out, 0, v)


@pytest.mark.parametrize("n", SIZES)
def test_sum_by_shuffles(n):
    x = np.random.default_rng(n).integers(0, 1000, 5000).astype("float64")
    out = td.zeros(1, "float64")
    block = (n + 31) // 32 * 32
    warp_sums[(5000 + block - 1) // block, block](td.array(x), out)
    assert out.get()[0] == x.sum()


@cuda.jit
def lanes_2d(out):
    y, x = cuda.threadIdx.y, cuda.threadIdx.x
    out[y, x] = cuda.laneid + 1000 * cuda.shfl_sync(FULL, x, 0) + 100000 * cuda.shfl_sync(FULL, y, 31)


@pytest.mark.parametrize("block", ((8, 8), (5, 13), (16, 16), (32, 4), (100, 3)))
def test_lanes_follow_the_linear_index(block):
    out = td.zeros(block[::-1], "int64")
    lanes_2d[1, block](out)
    index = np.arange(block[0] * block[1]).reshape(block[::-1])
    first = index // 32 * 32
    last = first + 31
    known = last < index.size
    expected = index % 32 + 1000 * (first % block[0])
    got = out.get()
    np.testing.assert_array_equal((got % 100000), expected)
    np.testing.assert_array_equal((got // 100000)[known], (last // block[0])[known])


@cuda.jit
def grouped(x, out):
    i = cuda.threadIdx.x
    group = cuda.match_any_sync(FULL, x[i])
    leader = cuda.ffs(group) - 1
    out[0, i] = cuda.shfl_sync(group, i, leader)
    out[1, i] = cuda.ballot_sync(group, i % 3 == 0)
    out[2, i] = cuda.any_sync(group, i % 7 == 0)
    out[3, i] = cuda.popc(group)


def test_groups_within_a_warp():
    x = np.random.default_rng(4).integers(0, 5, 64).astype("int32")
    out = td.zeros((4, 64), "int32")
    grouped[1, 64](td.array(x), out)
    got = out.get()
    for i in range(64):
        warp = np.arange(i // 32 * 32, i // 32 * 32 + 32)
        members = warp[x[warp] == x[i]]
        assert got[0, i] == members[0]
        assert got[1, i] == np.int64(sum(1 << (m % 32) for m in members if m % 3 == 0)).astype("int32")
        assert got[2, i] == any(m % 7 == 0 for m in members)
        assert got[3, i] == len(members)


@cuda.jit
def crossed(x, out):
    s = cuda.shared.array(1024, np.int64)
    t = cuda.threadIdx.x
    s[t] = t + 1
    cuda.syncwarp()
    total = s[t // 32 * 32 + 31 - t % 32]
    # Enough values at once that packets would be narrower than a warp.
    a, b, c, d = x[t], x[t + 1], x[t + 2], x[t + 3]
    e, f, g, h = x[t + 4], x[t + 5], x[t + 6], x[t + 7]
    for _ in range(3):
        a, b, c, d, e, f, g, h = b * c, c + d, d * e, e + f, f * g, g + h, h * a, a + b
    cuda.syncwarp()
    s[t] = 1000 * (t + 1)
    cuda.cg.tiled_partition(cuda.cg.this_thread_block(), 32).sync()
    out[t] = total + s[t // 32 * 32 + 31 - t % 32] + (a + b + c + d + e + f + g + h) * 0


@pytest.mark.parametrize("n", (32, 64, 256))
def test_syncwarp(n):
    out = td.zeros(n, "float64")
    crossed[1, n](td.ones(n + 8, "float64"), out)
    t = np.arange(n)
    np.testing.assert_array_equal(out.get(), 1001.0 * (t // 32 * 32 + 32 - t % 32))
