"""Shared, local and constant arrays, barriers and their errors."""

import numpy as np
import pytest

import treadle as td
from treadle import cuda
from treadle.errors import CompileError, DeviceError, DivergentBarrierError, TypingError, UnsupportedError

SIZES = (1, 31, 32, 33, 100, 256, 1023, 1024)
BLOCKS = ((7, 1), (16, 16), (32, 8), (5, 13), (64, 3), (9, 9, 3), (8, 4, 4), (1, 40))
DTYPES = (
    "bool",
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
)


@cuda.jit
def reverse(x, out):
    s = cuda.shared.array(1024, "float32")
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i]
    cuda.syncthreads()
    out[i] = s[cuda.blockDim.x - 1 - t]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("blocks", (1, 5))
def test_reverse(n, blocks):
    x = np.arange(n * blocks, dtype="float32")
    out = td.zeros(n * blocks, "float32")
    reverse[blocks, n](td.array(x), out)
    np.testing.assert_array_equal(out.get(), x.reshape(blocks, n)[:, ::-1].ravel())


@pytest.mark.parametrize("block", BLOCKS)
def test_neighbours_in_many_dimensions(block):
    @cuda.jit
    def rotate(out):
        s = cuda.shared.array(1024, np.int32)
        x, y, z = cuda.threadIdx.x, cuda.threadIdx.y, cuda.threadIdx.z
        total = cuda.blockDim.x * cuda.blockDim.y * cuda.blockDim.z
        t = x + cuda.blockDim.x * (y + cuda.blockDim.y * z)
        s[t] = t * t + cuda.blockIdx.x
        cuda.syncthreads()
        out[cuda.blockIdx.x, t] = s[(t + 1) % total]

    total = int(np.prod(block))
    out = td.zeros((3, total), "int32")
    rotate[3, block](out)
    t = (np.arange(total) + 1) % total
    np.testing.assert_array_equal(out.get(), t * t + np.arange(3)[:, None])


@pytest.mark.parametrize("dtype", DTYPES)
def test_shared_and_local_dtypes(dtype):
    @cuda.jit
    def through(x, out):
        s = cuda.shared.array((4, 50), dtype)
        mine = cuda.local.array((2, 3), dtype)
        t = cuda.threadIdx.x
        s[t % 4, t // 4] = x[t]
        cuda.syncthreads()
        for k in range(6):
            mine[k // 3, k % 3] = s[(t + k) % 4, (t + k) // 4]
        out[t, 0] = mine[t % 2, t % 3]
        out[t, 1] = mine[-1, -1]
        out[t, 2] = mine[1][0]

    n = 190
    x = np.random.default_rng(1).integers(0, 2 if dtype == "bool" else 100, n).astype(dtype)
    out = td.zeros((n, 3), dtype)
    through[1, n](td.array(x), out)
    got = out.get()
    for t in range(n - 5):
        assert got[t, 0] == x[t + t % 2 * 3 + t % 3]
        assert got[t, 1] == x[t + 5]
        assert got[t, 2] == x[t + 3]


@cuda.jit
def sums(x, out):
    s = cuda.shared.array(0, np.float64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < x.size else 0.0
    cuda.syncthreads()
    k = cuda.blockDim.x // 2
    while k > 0:
        if t < k:
            s[t] += s[t + k]
        cuda.syncthreads()
        k //= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


@pytest.mark.parametrize("n", (1, 32, 64, 256, 1024))
def test_tree_in_dynamic_memory(n):
    x = np.random.default_rng(n).integers(0, 1000, 3000).astype("float64")
    blocks = -(-3000 // n)
    out = td.zeros(blocks, "float64")
    sums[blocks, n, 0, 8 * n](td.array(x), out)
    padded = np.zeros(blocks * n)
    padded[:3000] = x
    np.testing.assert_array_equal(out.get(), padded.reshape(blocks, n).sum(1))


def test_dynamic_arrays_share_their_beginning():
    @cuda.jit
    def overlay(out):
        fixed = cuda.shared.array(3, np.int32)
        floats = cuda.shared.array(0, np.float32)
        words = cuda.shared.array(0, np.uint32)
        t = cuda.threadIdx.x
        fixed[t % 3] = 7
        floats[t] = np.float32(t)
        cuda.syncthreads()
        out[t, 0] = words[t]
        out[t, 1] = floats.size
        out[t, 2] = words.shape[0]
        out[t, 3] = fixed[0]

    out = td.zeros((16, 4), "uint32")
    overlay[1, 16, 0, 64](out)
    got = out.get()
    np.testing.assert_array_equal(got[:, 0], np.arange(16, dtype="float32").view("uint32"))
    assert (got[:, 1:] == (16, 16, 7)).all()


@cuda.jit
def barrier_forms(out, rounds, cut):
    t = cuda.threadIdx.x
    s = cuda.shared.array(256, np.int64)
    if t >= cut:
        return
    s[t] = t
    cuda.syncthreads()
    for r in range(rounds[0]):
        left = s[(t + 1) % cut]
        if rounds[1] > r:
            cuda.syncthreads()
        else:
            cuda.syncthreads()
            left += 1
        s[t] = left + s[t] * 0
        cuda.syncthreads()
        if rounds[2] == r:
            break
    else_value = s[t]
    cuda.syncthreads()
    out[t] = else_value


@pytest.mark.parametrize("n", (1, 33, 64, 200))
@pytest.mark.parametrize("rounds", ((0, 0, -1), (5, 3, -1), (7, 7, 4), (4, 0, 0)))
def test_barriers_in_uniform_control(n, rounds):
    cut = max(1, n - 7)
    out = td.zeros(n, "int64")
    barrier_forms[1, n](out, td.array(np.array(rounds, "int64")), cut)
    s = np.arange(cut)
    for r in range(rounds[0]):
        s = np.roll(s, -1) + (rounds[1] <= r)
        if rounds[2] == r:
            break
    np.testing.assert_array_equal(out.get()[:cut], s)
    assert (out.get()[cut:] == 0).all()


@cuda.jit
def counted(x, out):
    t = cuda.threadIdx.x
    if t >= x.size:
        return
    n = cuda.syncthreads_count(x[t] > 2)
    every = cuda.syncthreads_and(x[t] >= 0)
    some = cuda.syncthreads_or(x[t] > 4)
    again = cuda.syncthreads_count(x[t] == n)
    out[t, 0], out[t, 1], out[t, 2], out[t, 3] = n, every, some, again


@pytest.mark.parametrize("n", SIZES)
def test_counting_barriers(n):
    for high in (1, 3, 6):
        x = np.random.default_rng(n + high).integers(-1 if high == 6 else 0, high, max(1, n - 3))
        out = td.zeros((n, 4), "int32")
        counted[1, n](td.array(x), out)
        count = (x > 2).sum()
        expected = (count, (x >= 0).all(), (x > 4).any(), (x == count).sum())
        assert (out.get()[: len(x)] == expected).all()


@cuda.jit(device=True)
def block_total(s, t, value):
    s[t] = value
    cuda.syncthreads()
    total = 0
    for k in range(cuda.blockDim.x):
        total += s[k]
    cuda.syncthreads()
    return total


@cuda.jit
def twice(out):
    s = cuda.shared.array(shape=64, dtype=np.int64)
    t = cuda.threadIdx.x
    a = block_total(s, t, t)
    b = block_total(value=a + t, s=s, t=t)
    out[t] = b


def test_barriers_in_device_functions():
    out = td.zeros(50, "int64")
    twice[1, 50](out)
    assert (out.get() == 50 * 1225 + 1225).all()


def test_a_branch_at_the_end_lets_others_go():
    @cuda.jit
    def tail(out, n):
        i = cuda.threadIdx.x
        if i < n:
            s = cuda.shared.array(128, np.int32)
            s[i] = i
            cuda.syncthreads()
            out[i] = s[n - 1 - i]

    for n in (1, 5, 40, 64, 100):
        out = td.full(100, -1, "int32")
        tail[1, 100](out, n)
        expected = np.full(100, -1)
        expected[:n] = np.arange(n)[::-1]
        np.testing.assert_array_equal(out.get(), expected)


TABLE = (np.arange(60).reshape(3, 20) ** 2).astype("int16")
EMPTY = np.zeros((0,), "float32")


def test_constant_arrays():
    weights = np.linspace(0, 1, 8)

    @cuda.jit
    def look_up(out):
        i = cuda.grid(1)
        table = cuda.const.array_like(TABLE)
        out[i, 0] = table[i % 3, i % 20]
        out[i, 1] = TABLE[1, 2] + TABLE.shape[1] + EMPTY.size
        out[i, 2] = weights[i % 8]
        row = table[2]
        out[i, 3] = row[-1] + EMPTY[i]

    out = td.zeros((100, 4), "float64")
    look_up[2, 50](out)
    i = np.arange(100)
    expected = np.stack(
        [TABLE[i % 3, i % 20], 0 * i + int(TABLE[1, 2]) + 20, weights[i % 8], 0 * i + int(TABLE[2, -1])], 1
    )
    np.testing.assert_array_equal(out.get(), expected)


def test_local_views_and_functions():
    @cuda.jit(device=True)
    def fill(row, value):
        for k in range(row.size):
            row[k] = value + k

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        a = cuda.local.array((3, 4), np.float64)
        for r in range(3):
            fill(a[r], i * 10.0 + r)
        part = a[1:, 1:3]
        out[i, 0] = part[1, 1]
        out[i, 1] = part.T[0, i % 2]
        out[i, 2] = a[i % 3, i % 4]
        out[i, 3] = a[5, 0]

    n = 77
    out = td.zeros((n, 4), "float64")
    kernel[1, n](out)
    i = np.arange(n)
    expected = np.stack([i * 10 + 2 + 2, i * 10 + 1 + i % 2 + 1, i * 10 + i % 3 + i % 4, 0.0 * i], 1)
    np.testing.assert_array_equal(out.get(), expected)


def test_out_of_bounds_of_a_block():
    @cuda.jit
    def outside(out):
        s = cuda.shared.array(10, np.int32)
        t = cuda.threadIdx.x
        s[t] = t + 1
        s[t + 100] = 5
        cuda.syncthreads()
        out[t] = s[t] + s[t * 1000 + 20]

    out = td.zeros(40, "int32")
    outside[1, 40](out)
    np.testing.assert_array_equal(out.get(), [*range(1, 11), *[0] * 30])


# --------------------------------------------------------------------------------------------------------------- errors


def line_of(function, text):
    import inspect

    lines, first = inspect.getsourcelines(function.py_func)
    return first + next(i for i, line in enumerate(lines) if text in line)


@pytest.mark.cpu("a GPU lets threads pass a barrier that others miss")
def test_divergent_barrier_names_the_branch():
    @cuda.jit
    def parted(out):
        t = cuda.threadIdx.x
        if t < 5:  # the branch
            cuda.syncthreads()  # the barrier
        out[t] = t

    out = td.zeros(64, "int32")
    parted[1, 64](out)
    with pytest.raises(DivergentBarrierError) as error:
        cuda.synchronize()
    assert "thread (5, 0, 0)" in str(error.value)
    assert f"line {line_of(parted, '# the branch')}" in str(error.value)
    assert f"line {line_of(parted, '# the barrier')}" in str(error.value)
    parted[1, 4](out)
    cuda.synchronize()
    assert (out.get() == np.arange(64)).all()


@pytest.mark.cpu("a GPU lets threads pass a barrier that others miss")
def test_two_barriers_at_once_are_named():
    @cuda.jit
    def apart(out):
        t = cuda.threadIdx.x
        if t < 64:
            cuda.syncthreads()  # one
        else:
            cuda.syncthreads()  # other
        out[t] = t

    out = td.zeros(128, "int32")
    apart[1, 128](out)
    with pytest.raises(DivergentBarrierError) as error:
        cuda.synchronize()
    for text in ("# one", "# other"):
        assert f"line {line_of(apart, text)}" in str(error.value)


@pytest.mark.cpu("a GPU lets threads pass a barrier that others miss")
def test_divergent_loop_with_a_barrier():
    @cuda.jit
    def uneven(out):
        t = cuda.threadIdx.x
        for _ in range(t):
            cuda.syncthreads()
        out[t] = 1

    out = td.zeros(16, "int32")
    uneven[1, 16](out)
    with pytest.raises(DivergentBarrierError):
        cuda.synchronize()


def bad(kernel, error, *words):
    with pytest.raises(error) as caught:
        kernel[1, 32](td.zeros(32, "float32"))
        cuda.synchronize()
    for word in words:
        assert word in str(caught.value)


def test_errors_of_array_makers():
    @cuda.jit
    def runtime_size(out):
        s = cuda.shared.array(cuda.blockDim.x, np.float32)
        out[0] = s[0]

    bad(runtime_size, TypingError, "shape", "constant", "cuda.shared.array(0, dtype)")

    @cuda.jit
    def no_type(out):
        s = cuda.local.array(4, 5)
        out[0] = s[0]

    bad(no_type, TypingError, "dtype")

    @cuda.jit
    def too_large(out):
        s = cuda.shared.array(10000, np.float64)
        out[0] = s[0]

    bad(too_large, CompileError, "49152", "80000")

    @cuda.jit
    def too_large_local(out):
        s = cuda.local.array(100000, np.float64)
        out[0] = s[0]

    bad(too_large_local, CompileError, "524288")

    @cuda.jit
    def negative(out):
        s = cuda.shared.array(-3, np.float64)
        out[0] = s[0]

    bad(negative, TypingError, "-3")

    @cuda.jit
    def missing(out):
        s = cuda.shared.array(4)
        out[0] = s[0]

    bad(missing, TypingError, "2 arguments")

    @cuda.jit
    def unknown(out):
        s = cuda.shared.array(4, np.float32, alignment=16)
        out[0] = s[0]

    bad(unknown, TypingError, "alignment")

    @cuda.jit
    def written(out):
        TABLE[0, 0] = 5

    bad(written, TypingError, "constant arrays cannot be written")

    @cuda.jit
    def mixed(out):
        a = cuda.local.array(4, np.float32)
        if out[0] > 0:
            a = out
        out[1] = a[0]

    bad(mixed, TypingError, "local array")

    @cuda.jit
    def keyword(out):
        out[0] = min(a=1, b=2)

    bad(keyword, UnsupportedError, "positional")


def test_shared_bytes_of_a_launch_are_limited():
    x = td.zeros(10, "float64")
    with pytest.raises(DeviceError, match="shared memory: expected 0 to 232448"):
        sums[1, 10, 0, 300000](x, x)
    with pytest.raises(TypeError, match="shared memory"):
        sums[1, 10, 0, 1.5](x, x)
    sums[1, 10, 0, 232448](x, x)
    cuda.synchronize()


def test_many_launches_of_many_shapes_keep_apart():
    for n in (1, 64, 33, 1024, 2):
        for _ in range(5):
            x = np.random.default_rng(n).normal(size=n).astype("float32")
            out = td.zeros(n, "float32")
            reverse[1, n](td.array(x), out)
            np.testing.assert_array_equal(out.get(), x[::-1])


@pytest.mark.parametrize("count", (100, 5000, 65536))
def test_large_local_arrays(count, on_gpu):
    @cuda.jit
    def alone(out):
        a = cuda.local.array(count, np.float64)
        i = cuda.grid(1)
        a[i] = i
        a[count - 1 - i] = 2 * i
        out[i] = a[i] + a[count - 1 - i]

    @cuda.jit
    def together(out):
        a = cuda.local.array(count, np.float64)
        i = cuda.grid(1)
        a[i] = i
        a[count - 1 - i] = 2 * i
        cuda.syncthreads()
        out[i] = a[i] + a[count - 1 - i]

    for kernel in (alone, together):
        out = td.zeros(48)
        if on_gpu and 8 * count > 511 * 1024:
            with pytest.raises(CompileError, match="local arrays: expected at most 523264 bytes"):
                kernel[1, 48](out)
            continue
        kernel[1, 48](out)
        np.testing.assert_array_equal(out.get(), 3 * np.arange(48.0))

    @cuda.jit
    def warps(out):
        a = cuda.local.array(count, np.float64)
        i = cuda.grid(1)
        a[i] = i
        out[i] = cuda.shfl_xor_sync(0xFFFFFFFF, a[i], 1)

    if count == 65536 and not on_gpu:
        with pytest.raises(CompileError, match="local arrays: expected at most 131072 bytes"):
            warps[1, 32](td.zeros(32))
