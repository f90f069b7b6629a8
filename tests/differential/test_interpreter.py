"""What the interpretation of kernels refuses: programs whose result depends on the order of the threads."""

import numpy as np
import pytest

from treadle import cuda


def interpret(interpreter, kernel, threads):
    return interpreter.interpret(kernel, 1, threads, np.zeros(threads, "int64"))[0]


def test_threads_wait_for_each_other(interpreter):
    @cuda.jit
    def turned(out):
        s = cuda.shared.array(64, np.int32)
        t = cuda.threadIdx.x
        s[t] = t
        cuda.syncthreads()
        out[t] = s[cuda.blockDim.x - 1 - t] + 100 * cuda.syncthreads_count(t > 2)

    np.testing.assert_array_equal(interpret(interpreter, turned, 40), 3700 + np.arange(40)[::-1])


def test_warps_exchange(interpreter):
    @cuda.jit
    def exchanged(out):
        t = cuda.threadIdx.x
        out[t] = cuda.shfl_xor_sync(0xFFFFFFFF, t, 1) + 100 * cuda.ballot_sync(0xFFFFFFFF, t % 32 < 2)

    np.testing.assert_array_equal(interpret(interpreter, exchanged, 64), 300 + (np.arange(64) ^ 1))


def test_results_that_depend_on_the_order(interpreter):
    @cuda.jit
    def unguarded(out):
        s = cuda.shared.array(64, np.int32)
        t = cuda.threadIdx.x
        s[t] = t
        out[t] = s[t ^ 1] if t % 2 else 0

    @cuda.jit
    def all_write(out):
        s = cuda.shared.array(1, np.int32)
        s[0] = cuda.threadIdx.x

    @cuda.jit
    def two_operations(out):
        s = cuda.shared.array(1, np.int64)
        if cuda.threadIdx.x == 0:
            s[0] = 0
        cuda.syncthreads()
        if cuda.threadIdx.x % 2:
            cuda.atomic.add(s, 0, 1)
        else:
            cuda.atomic.max(s, 0, 1)

    @cuda.jit
    def overwritten(out):
        s = cuda.shared.array(64, np.int32)
        t = cuda.threadIdx.x
        s[t] = t
        cuda.syncthreads()
        out[t] = s[t ^ 1]
        s[t] = 0

    for kernel in (unguarded, all_write, two_operations, overwritten):
        with pytest.raises(interpreter.OrderError, match="thread"):
            interpret(interpreter, kernel, 64)


def test_memory_that_nobody_has_written(interpreter):
    @cuda.jit
    def unwritten(out):
        mine = cuda.local.array(2, np.int32)
        mine[0] = 1
        out[0] = mine[1]

    with pytest.raises(interpreter.OrderError, match="nobody"):
        interpret(interpreter, unwritten, 1)


def test_barriers_that_threads_miss(interpreter):
    @cuda.jit
    def parted(out):
        if cuda.threadIdx.x < 5:
            cuda.syncthreads()
        cuda.syncthreads()

    with pytest.raises(interpreter.OrderError, match="different places"):
        interpret(interpreter, parted, 32)
