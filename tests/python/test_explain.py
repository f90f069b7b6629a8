"""kernel.explain and the figures of compiled kernels."""

import numpy as np
import pytest

import treadle as td
from treadle import cuda


@cuda.jit
def mixed(x, index, out):
    s = cuda.shared.array((16, 16), np.float32)
    i, j = cuda.threadIdx.y, cuda.threadIdx.x
    s[i, j] = x[i, j]
    cuda.syncthreads()
    if x[i, j] > 0:
        cuda.atomic.add(out, index[j], s[j, i])
    mine = cuda.local.array(4, np.int32)
    mine[0] = 1
    out[j + i] = x[0, 0] + mine[0] + x[j, 2]


@pytest.mark.cpu("a GPU has no packets")
def test_explain():
    with pytest.raises(ValueError, match=r"mixed.explain: expected argument types"):
        cuda.jit(mixed.py_func).explain()
    text = mixed.explain("float32[:, ::1]", "int64[::1]", "float32[::1]", block=(16, 16))
    assert text.startswith("kernel mixed(array(float32, 2d, C)")
    assert "packets of 16 along x, row by row, all full" in text
    assert "blocks: loops over all packets, from barrier to barrier" in text
    assert "shared memory: 1024 bytes a block" in text
    assert "store, one contiguous access; bounds known" in text
    assert "load, one contiguous access; bounds tested" in text
    assert "threads may part" in text
    assert "atomic, locked instructions; bounds tested" in text
    assert "load, one element for the packet; bounds tested" in text
    assert "elements at a fixed distance; bounds tested" in text
    assert "all lanes side by side" in text
    x = td.ones((16, 16), "float32")
    mixed[1, (16, 16)](x, td.zeros(16, "int64"), td.zeros(32, "float32"))
    assert "latest of 1 variants: " in mixed.explain(block=(16, 16))
    assert mixed.get_shared_mem_per_block() and list(mixed.get_shared_mem_per_block().values()) == [1024]


def test_explain_for_a_gpu():
    types = [("array", "float32", 2, 1), ("array", "int64", 1, 1), ("array", "float32", 1, 1)]
    text = mixed._ready().dump(types, "explain", (16, 16), 90)
    for part in (
        "threads: the GPU's own, in blocks of at most ",
        "blocks: threads meet at barriers",
        "shared memory: 1024 bytes a block",
        "load, neighbouring elements for neighbouring threads; bounds tested",
        "threads of a warp may part",
        "atomic, in global memory; bounds tested",
        "one element for neighbouring threads; bounds tested",
        "elements at a fixed distance for neighbouring threads; bounds tested",
        "the thread's own memory",
    ):
        assert part in text, (part, text)
    assert "packet" not in text and "lane" not in text


@pytest.mark.cpu("a GPU runs no thread in step")
def test_explain_waiting():
    @cuda.jit
    def wait(flag):
        while flag[0] == 0:
            pass

    text = wait.explain("int32[::1]")
    assert "waits for another thread" in text and "none runs in step" in text

    @cuda.jit
    def dependent(x):
        if x[0] > 0:
            cuda.syncthreads()
        for k in range(x[cuda.threadIdx.x]):
            x[k] = 1

    text = dependent.explain("int32[::1]")
    assert "packets have stacks of their own" in text
    assert "threads leave the loop one by one" in text
