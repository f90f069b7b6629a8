"""Records in kernels, against NumPy: every field type, layouts, nesting, where records lie, what is done with them."""

import numpy as np
import pytest

import treadle as td
from treadle import cuda

NUMBERS = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128 M8[ns] m8[s]"
).split()
POINT = np.dtype([("x", "f4"), ("y", "f8")])
PARTICLE = np.dtype(
    [("id", "i1"), ("v", "f4", (3,)), ("p", POINT), ("m", "u2", (2, 3)), ("q", POINT, (2,)), ("c", "c8")]
)
ALIGNED = np.dtype([(name, PARTICLE[name]) for name in PARTICLE.names], align=True)
SPREAD = np.dtype({"names": ["b", "a"], "formats": ["f8", "i2"], "offsets": [13, 3], "itemsize": 31})


def values(dtype, n, seed=0):
    """Records with numbers in every field."""
    rng = np.random.default_rng(seed)
    result = np.zeros(n, dtype)
    if dtype.names is None:
        return _numbers(dtype, n, rng)
    for name in dtype.names:
        base, shape = dtype[name].base, dtype[name].shape
        part = values(base, n * int(np.prod(shape)), rng.integers(1 << 30))
        result[name] = part.reshape(n, *shape)
    return result


def _numbers(dtype, n, rng):
    if dtype.kind == "b":
        return rng.random(n) < 0.5
    if dtype.kind == "c":
        return (rng.normal(size=n) + 1j * rng.normal(size=n)).astype(dtype)
    if dtype.kind == "f":
        return rng.normal(size=n).astype(dtype)
    return rng.integers(0, 100, n).astype("i8").astype(dtype)


def same(got, expected):
    assert got.dtype == expected.dtype and got.shape == expected.shape
    for name in expected.dtype.names or ():
        same(got[name], expected[name])
    if expected.dtype.names is None:
        np.testing.assert_array_equal(got, expected)


@cuda.jit
def move_field(a, b, out):
    i = cuda.grid(1)
    j = a.size - 1 - i
    out[i] = a[i].f
    b["f"][i] = a[j]["f"]


@pytest.mark.parametrize("offset", [0, 1, 3, 8])
@pytest.mark.parametrize("number", NUMBERS)
def test_field_types(number, offset):
    dtype = np.dtype(
        {"names": ["f", "z"], "formats": [number, "i1"], "offsets": [offset, 24], "itemsize": 25 + offset % 2}
    )
    a = values(dtype, 77)
    b = values(dtype, 77, seed=1)
    kept = b["z"].copy()
    on_device = cuda.to_device(b)
    out = cuda.device_array(77, "i8" if np.dtype(number).kind in "mM" else number)
    move_field[3, 32](cuda.to_device(a), on_device, out)
    got = on_device.copy_to_host()
    np.testing.assert_array_equal(out.copy_to_host(), a["f"].astype(out.dtype))
    np.testing.assert_array_equal(got["f"], a["f"][::-1])
    np.testing.assert_array_equal(got["z"], kept)


@cuda.jit
def everything(a, total, lengths):
    i = cuda.grid(1)
    if i >= len(a):
        return
    r = a[i]
    r.id = r["id"] + 1
    r.v[0] = a[i].v[1] * 2
    a[i].v[2] += a["v"][i, 0]
    a[i].p.x = a["p"]["x"][i] - r.p.y
    a["p"][i].y = -1
    r.q[1].y = a[i].q[0].x + a["q"][i, 1].x + a["q"]["x"][i, 0]
    q = r.q[0]
    q.x = 3 * q.y
    row = r.m[1]
    row[0] = row[1] + r.m[0, 2]
    r.c = r.c * 1j
    total[i] = row[2] + r.m.shape[1] + a["m"].ndim + r.c.real + r.v.size
    lengths[i] = len(r.v) + len(r.q)


@pytest.mark.parametrize("dtype", [PARTICLE, ALIGNED], ids=["packed", "aligned"])
@pytest.mark.parametrize("bounds", ["guard", "raise", "off"])
def test_access(dtype, bounds):
    a = values(dtype, 150)
    e = a.copy()
    on_device = cuda.to_device(a)
    total, lengths = cuda.device_array(150, "f8"), cuda.device_array(150, "i8")
    kernel = cuda.jit(bounds=bounds)(everything.py_func)
    kernel[3, 64](on_device, total, lengths)
    e["id"] += 1
    e["v"][:, 0] = e["v"][:, 1] * 2
    e["v"][:, 2] += e["v"][:, 0]
    e["p"]["x"] = e["p"]["x"] - e["p"]["y"]
    e["p"]["y"] = -1
    e["q"]["y"][:, 1] = e["q"]["x"][:, 0].astype("f8") + e["q"]["x"][:, 1] + e["q"]["x"][:, 0]
    e["q"]["x"][:, 0] = 3 * e["q"]["y"][:, 0]
    e["m"][:, 1, 0] = e["m"][:, 1, 1] + e["m"][:, 0, 2]
    e["c"] *= 1j
    got = on_device.copy_to_host()
    np.testing.assert_allclose(got["q"]["y"], e["q"]["y"], rtol=1e-6)
    e["q"]["y"] = got["q"]["y"]
    same(got, e)
    np.testing.assert_allclose(total.copy_to_host(), e["m"][:, 1, 2] + 9 + e["c"].real, rtol=1e-6)
    np.testing.assert_array_equal(lengths.copy_to_host(), 5)


@cuda.jit
def slices(a, out):
    i = cuda.grid(1)
    tail = a[3:]
    part = tail["p"][::2]
    ends = a[i].v[1:]
    columns = a["m"][i, :, 1:]
    out[i, 0] = tail[i].id + part[i // 2].y + part["x"].shape[0]
    out[i, 1] = ends[0] + ends[-1] + len(ends) + len(a[i].m[0, ::2])
    out[i, 2] = columns[1, 0] + columns.T[1, 0] + columns.size
    ends[1] = 4
    tail["p"][-1].y = 8


def test_slices():
    a = values(PARTICLE, 40)
    on_device, out = cuda.to_device(a), cuda.device_array((30, 3), "f8")
    slices[1, 30](on_device, out)
    a["p"]["y"][-1] = 8
    got, i = out.copy_to_host(), np.arange(30)
    np.testing.assert_allclose(got[:, 0], a["id"][3:][i] + a["p"]["y"][3::2][i // 2] + 19, rtol=1e-6)
    np.testing.assert_allclose(got[:, 1], a["v"][:30, 1].astype("f8") + a["v"][:30, 2] + 4, rtol=1e-6)
    np.testing.assert_array_equal(got[:, 2], a["m"][:30, 1, 1].astype("i8") + a["m"][:30, 0, 2] + 4)
    a["v"][:30, 2] = 4
    same(on_device.copy_to_host(), a)


@cuda.jit
def plane(a, out):
    x, y = cuda.grid(2)
    if x < a.shape[0] and y < a.shape[1]:
        a[x, y].a = a.T[y, x].a + 1
        row = a[x]
        row["b"][y] = 0.5
        out[x, y] = a["b"][x, y] + a["a"][x][y]


@pytest.mark.parametrize("order", ["C", "F"])
def test_several_dimensions(order):
    a = np.asarray(values(SPREAD, 35).reshape(7, 5), order=order)
    on_device = cuda.to_device(a)
    assert on_device.strides == a.strides and on_device.is_f_contiguous() == (order == "F")
    out = cuda.device_array((7, 5), "f8")
    plane[(1, 1), (8, 8)](on_device, out)
    e = a.copy()
    e["a"] += 1
    e["b"] = 0.5
    same(on_device.copy_to_host(), e)
    np.testing.assert_array_equal(out.copy_to_host(), e["a"] + e["b"])


@cuda.jit
def copy_whole(a, b, shift):
    i = cuda.grid(1)
    if i < a.size:
        b[i] = a[(i + shift) % a.size]


BIG = np.dtype([("t", "f4", (40,)), ("u", PARTICLE, (3,)), ("k", "i2")])


@pytest.mark.parametrize(
    "dtype", [POINT, PARTICLE, ALIGNED, SPREAD, BIG], ids=["point", "packed", "aligned", "spread", "big"]
)
def test_whole_records(dtype):
    a = values(dtype, 50)
    b = cuda.to_device(np.zeros(50, dtype))
    copy_whole[2, 32](cuda.to_device(a), b, 7)
    same(b.copy_to_host(), np.roll(a, -7))


@cuda.jit
def array_copy(a, b):
    i = cuda.grid(1)
    if i < a.size:
        local = cuda.local.array((2, 3), np.float32)
        for k in range(6):
            local[k // 3, k % 3] = k + i
        b[i].m = local
        b[i]["q"] = a[i].q
        b["v"][i, 0] = a[i].v[0]
        b[-1 - i].t = a[i].t


def test_arrays_in_records_are_assigned():
    dtype = np.dtype([("t", "c8", (20,)), *((name, PARTICLE[name]) for name in ("m", "q", "v"))])
    a, b = values(dtype, 33), values(dtype, 33, seed=1)
    on_device = cuda.to_device(b)
    array_copy[2, 32](cuda.to_device(a), on_device)
    b["m"] = (np.arange(6) + np.arange(33)[:, None]).reshape(33, 2, 3)
    b["q"], b["t"] = a["q"], a["t"][::-1]
    b["v"][:, 0] = a["v"][:, 0]
    same(on_device.copy_to_host(), b)


@cuda.jit
def nested_copy(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i].q[1] = a[i].p
        a["p"][i] = a[i]["q"][0]


def test_nested_records_are_assigned():
    a = values(PARTICLE, 40)
    on_device = cuda.to_device(a)
    nested_copy[2, 32](on_device)
    a["q"][:, 1] = a["p"]
    a["p"] = a["q"][:, 0]
    same(on_device.copy_to_host(), a)


@cuda.jit(device=True)
def grow(r, by):
    r.x += by
    return r.x


@cuda.jit(device=True)
def longest(r):
    best = r.v[0]
    for k in range(1, len(r.v)):
        if r.v[k] > best:
            best = r.v[k]
    return best


@cuda.jit(device=True)
def larger(a, b):
    if a.x > b.x:
        return a
    return b


@cuda.jit
def with_functions(a, p, out):
    i = cuda.grid(1)
    if i < a.size:
        out[i, 0] = grow(a[i].p, 0.5)
        out[i, 1] = longest(a[i])
        larger(p[i], a[i].p).y = 9.0
        grow(a["p"][i], 1)


def test_device_functions_write_through():
    a, p = values(PARTICLE, 90), values(POINT, 90, seed=5)
    ad, pd, out = cuda.to_device(a), cuda.to_device(p), cuda.device_array((90, 2), "f8")
    with_functions[3, 32](ad, pd, out)
    a["p"]["x"] += np.float32(0.5)
    np.testing.assert_array_equal(out.copy_to_host(), np.stack([a["p"]["x"], a["v"].max(axis=1)], axis=1))
    first = p["x"] > a["p"]["x"]
    p["y"][first] = 9
    a["p"]["y"][~first] = 9
    a["p"]["x"] += 1
    same(ad.copy_to_host(), a)
    same(pd.copy_to_host(), p)


@cuda.jit
def walk(a, steps):
    i = cuda.grid(1)
    if i >= a.size:
        return
    r = a[i]
    for k in range(i % 4):
        r.y += 1
        r = a[(i + k) % a.size]
        steps[i] += r.x
    other = a[0] if i % 2 == 0 else r
    steps[i] += other.x


def test_records_in_variables():
    a = values(POINT, 64)
    a["y"] = 0
    steps = cuda.to_device(np.zeros(64))
    on_device = cuda.to_device(a)
    walk[1, 64](on_device, steps)
    expected = np.zeros(64)
    for i in range(64):
        at = i
        for k in range(i % 4):
            at = (i + k) % 64
            expected[i] += a["x"][at]
        expected[i] += a["x"][0 if i % 2 == 0 else at]
    np.testing.assert_allclose(steps.copy_to_host(), expected, rtol=1e-12)


@cuda.jit
def reverse_block(a, b):
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile = cuda.shared.array(32, dtype=PARTICLE)
    if i < a.size:
        tile[t] = a[i]
        tile[t].v[1] = t
    cuda.syncthreads()
    if i < a.size:
        b[i] = tile[31 - t]


def test_shared_records():
    a = values(PARTICLE, 96)
    b = cuda.device_array(96, PARTICLE)
    reverse_block[3, 32](cuda.to_device(a), b)
    e = a.reshape(3, 32)
    e["v"][:, :, 1] = np.arange(32)
    same(b.copy_to_host(), e[:, ::-1].reshape(96))


@cuda.jit
def sized_by_launch(a, counts):
    tile = cuda.shared.array(0, ALIGNED)
    t = cuda.threadIdx.x
    counts[t] = len(tile)
    tile[t].p.y = a[t].p.y
    cuda.syncthreads()
    a[t].p.y = tile[cuda.blockDim.x - 1 - t].p.y


def test_shared_records_sized_by_the_launch():
    a = values(ALIGNED, 32)
    on_device, counts = cuda.to_device(a), cuda.device_array(32, "i4")
    sized_by_launch[1, 32, 0, 32 * ALIGNED.itemsize](on_device, counts)
    assert counts.copy_to_host().tolist() == [32] * 32
    np.testing.assert_array_equal(on_device.copy_to_host()["p"]["y"], a["p"]["y"][::-1])


@pytest.mark.parametrize("dtype", [PARTICLE, ALIGNED, SPREAD], ids=["packed", "aligned", "spread"])
@pytest.mark.parametrize("by_index", [False, True])
def test_local_records(dtype, by_index):
    @cuda.jit
    def sort_two(a, b, out):
        i = cuda.grid(1)
        pair = cuda.local.array((2,), dtype)
        if i < a.size:
            pair[0] = a[i]
            pair[1] = b[i]
            first = (i % 2) if by_index else 0
            out[i] = pair[first]

    a, b = values(dtype, 70), values(dtype, 70, seed=1)
    out = cuda.device_array(70, dtype)
    sort_two[3, 32](cuda.to_device(a), cuda.to_device(b), out)
    expected = a.copy()
    if by_index:
        expected[1::2] = b[1::2]
    same(out.copy_to_host(), expected)


@cuda.jit
def local_fields(out):
    i = cuda.grid(1)
    r = cuda.local.array(3, PARTICLE)
    for k in range(3):
        r[k].p.y = i * 10 + k
        for m in range(3):
            r[k].v[m] = k + m
        r[k].id = i
    s = 0.0
    for k in range(3):
        s += r[(k + i) % 3].p.y * r["v"][k, i % 3] + r[k].id
    out[i] = s


def test_fields_of_local_records():
    out = cuda.device_array(50, "f8")
    local_fields[2, 25](out)
    i = np.arange(50)
    expected = sum((i * 10 + (k + i) % 3) * (k + i % 3) + i for k in range(3))
    np.testing.assert_array_equal(out.copy_to_host(), expected)


@cuda.jit
def read_argument(r, pair, out):
    i = cuda.grid(1)
    p, scale = pair
    out[i] = r.v[i % 3] + r.p.y * scale + p["x"] + r.q[1].x


def test_record_arguments():
    a, p = values(PARTICLE, 3), values(POINT, 2)
    out = cuda.device_array(9, "f8")
    for record in (a[1], a.view(np.recarray)[1]):
        read_argument[1, 9](record, (p[1], 2.0), out)
        expected = a["v"][1][np.arange(9) % 3] + a["p"]["y"][1] * 2 + p["x"][1] + a["q"]["x"][1, 1]
        np.testing.assert_allclose(out.copy_to_host(), expected, rtol=1e-6)


def test_elements_of_device_arrays_are_written():
    @cuda.jit
    def touch(r):
        r.x += 1
        r["y"] = 2

    a = values(POINT, 4)
    on_device = cuda.to_device(a)
    touch[1, 1](on_device[2])
    a["x"][2] += 1
    a["y"][2] = 2
    same(on_device.copy_to_host(), a)


COUNTER = np.dtype([("n", "i4"), ("f", "f4"), ("h", "u8", (4,)), ("lock", "i4")], align=True)


@cuda.jit
def count(a, old):
    i = cuda.grid(1)
    cuda.atomic.add(a["n"], i % 3, 1)
    cuda.atomic.add(a["f"], 0, 0.5)
    cuda.atomic.max(a[1].h, i % 4, i)
    cuda.atomic.add(a["h"], (2, i % 4), 2)
    old[i] = cuda.atomic.cas(a["lock"], 2, 0, i + 1)
    tile = cuda.shared.array(1, COUNTER)
    if cuda.threadIdx.x == 0:
        tile[0].n = 0
    cuda.syncthreads()
    cuda.atomic.add(tile["n"], 0, 2)
    cuda.syncthreads()
    if i == 0:
        a[0].lock = tile[0].n


def test_atomics():
    on_device = cuda.to_device(np.zeros(3, COUNTER))
    old = cuda.device_array(192, "i4")
    count[3, 64](on_device, old)
    got = on_device.copy_to_host()
    assert got["n"].tolist() == [64, 64, 64] and got["f"][0] == 96
    assert got["h"][1].tolist() == [188, 189, 190, 191] and got["h"][2].tolist() == [96] * 4
    assert (old.copy_to_host() == 0).sum() == 1 and got["lock"][2] != 0 and got["lock"][0] == 128


TABLE = values(PARTICLE, 5)
ONE = values(PARTICLE, 1, seed=3)[0]


@cuda.jit
def read_constants(out):
    i = cuda.grid(1)
    table = cuda.const.array_like(TABLE)
    out[i] = table[i % 5].v[2] + TABLE["p"]["y"][i % 5] + ONE.q[1].y + TABLE[-1].id


def test_constant_records():
    out = cuda.device_array(15, "f8")
    read_constants[1, 15](out)
    expected = TABLE["v"][:, 2] + TABLE["p"]["y"] + ONE["q"]["y"][1] + TABLE["id"][-1]
    np.testing.assert_allclose(out.copy_to_host(), np.tile(expected, 3), rtol=1e-6)


@cuda.jit
def reach_out(a, v, out):
    i = cuda.grid(1)
    out[i] = a[i + 2].x + a[0].v[i] + v[i].v[1] + a["v"][-1, -i - 1]
    a[i + 2].x = 5
    a[0].v[i] = 7
    r = a[i + 2]
    if i > 100:
        r = a[i]
    out[i] += r.x
    r.x = 6


def test_bounds_guard():
    dtype = np.dtype([("x", "f4"), ("v", "f4", (2,))])
    a = np.zeros(4, dtype)
    a["x"], a["v"] = np.arange(4) + 1, [[1, 2], [3, 4], [5, 6], [7, 8]]
    on_device, empty = cuda.to_device(a), cuda.device_array(0, np.dtype([("pad", "u1", 300), ("v", "f4", (2,))]))
    out = cuda.device_array(5, "f8")
    reach_out[1, 5](on_device, empty, out)
    assert out.copy_to_host().tolist() == [3 + 1 + 8 + 5, 4 + 2 + 7 + 5, 0, 0, 0]
    a["x"][2:] = 6
    a["v"][0] = 7
    same(on_device.copy_to_host(), a)


def test_bounds_raise():
    @cuda.jit(bounds="raise")
    def far(a, k):
        a[0].v[k] = 1

    with pytest.raises(IndexError, match=r"index 3 .* axis 1 .*\(2, 3\)"):
        far[1, 1](cuda.to_device(values(PARTICLE, 2)), 3)
        cuda.synchronize()


@cuda.jit
def guarded(a, n, out):
    i = cuda.grid(1)
    r = a[i]
    out[i] = 1 if i < n and r.x > 0 else 0
    s = r.x if i < n else 0.0
    out[i] += s


def test_fields_are_read_where_the_condition_holds():
    a = np.ones(4, POINT)
    out = cuda.device_array(8, "f8")
    kernel = cuda.jit(bounds="raise")(guarded.py_func)
    kernel[1, 8](cuda.to_device(a), 4, out)
    cuda.synchronize()
    assert out.copy_to_host().tolist() == [2] * 4 + [0] * 4


FIELD = "y"


@cuda.jit
def named_by_values(a, out):
    i = cuda.grid(1)
    total = 0.0
    for name in ("x", FIELD):
        total += a[i][name]
    total += a[FIELD][i]
    pair = (a[i], 3)
    if i > 2:
        pair = (a[0], 4)
    twice = lambda r: 2 * r.x  # noqa: E731
    out[i] = total + pair[0].y * pair[1] + twice(a[i])
    a[i].x, a[i].y = a[i].y, a[i].x


def test_names_from_values_and_records_in_tuples():
    a = values(POINT, 8)
    on_device, out = cuda.to_device(a), cuda.device_array(8, "f8")
    named_by_values[1, 8](on_device, out)
    expected = a["x"].astype("f8") + 2 * a["y"] + 2 * a["x"].astype("f8")
    expected += np.where(np.arange(8) < 3, 3 * a["y"], 4 * a["y"][0])
    np.testing.assert_allclose(out.copy_to_host()[1:3], expected[1:3], rtol=1e-6)
    np.testing.assert_array_equal(on_device.copy_to_host()["x"], a["y"].astype("f4"))


@cuda.jit
def unicode_names(a, out):
    out[0] = a[0].größe + a[0]["été x"] + a["größe"][1]


def test_names():
    a = np.zeros(2, [("größe", "f4"), ("été x", "i2"), ("real", "f4"), ("record", "i1")])
    a["größe"], a["été x"] = [1.5, 2.5], 3
    out = cuda.device_array(1, "f8")
    unicode_names[1, 1](cuda.to_device(a), out)
    assert out.copy_to_host()[0] == 7

    @cuda.jit
    def called_like_methods(a, shape, out):
        record = a[0]
        record.record = 4
        record.real = 2
        shape = shape + record.real
        out[0] = shape + record.record

    called_like_methods[1, 1](cuda.to_device(a), 1, out)
    assert out.copy_to_host()[0] == 7


# ------------------------------------------------------------------------------------------------------------- host side


def test_copies_and_views():
    a = values(ALIGNED, 24).reshape(4, 6)
    on_device = cuda.to_device(a)
    assert on_device.dtype == ALIGNED and on_device.itemsize == ALIGNED.itemsize and on_device.nbytes == a.nbytes
    same(on_device[1:, ::2].copy_to_host(), a[1:, ::2])
    same(on_device.T.copy_to_host(), a.T)
    same(on_device.reshape(24)[5:7].get(), a.reshape(24)[5:7])
    same(td.asnumpy(on_device[::-1].copy()), a[::-1])
    on_device[0, 0] = a[1, 1]
    on_device[2] = on_device[3]
    a[0, 0], a[2] = a[1, 1], a[3]
    same(on_device.get(), a)
    target = np.zeros_like(a)
    on_device.copy_to_host(target)
    same(target, a)
    other = cuda.device_array_like(a)
    other.copy_to_device(on_device)
    same(other.get(), a)
    assert td.zeros(3, POINT).get().tolist() == [(0, 0)] * 3
    same(td.array(on_device).get(), a)
    assert td.array([(1, 2.5)], dtype=POINT).get()["y"][0] == 2.5


def test_fields_of_host_views():
    a = values(ALIGNED, 10)
    on_device = cuda.to_device(a)
    assert on_device["id"].dtype == np.int8 and (on_device["c"] * 2).get().tolist() == (a["c"] * 2).tolist()
    on_device["id"] = 5
    a["id"] = 5
    same(on_device.get(), a)


def test_byte_order_and_titles():
    a = np.array([(1, 2.5), (3, 4.5)], dtype=[("i", ">i4"), (("a title", "f"), ">f8")])
    on_device = cuda.to_device(a)
    assert on_device.dtype == np.dtype([("i", "i4"), ("f", "f8")])
    assert on_device.copy_to_host().tolist() == a.tolist()


def test_dates_keep_their_units():
    a = np.array([("2024-02-29", 5)], dtype=[("t", "M8[D]"), ("d", "m8[ms]")])
    assert cuda.to_device(a).copy_to_host().tolist() == a.tolist()


@pytest.mark.parametrize("dtype", [PARTICLE, ALIGNED], ids=["packed", "aligned"])
def test_kernels_take_views(dtype):
    a = values(dtype, 60).reshape(6, 10)
    b = np.zeros((3, 10), dtype)
    on_device, out = cuda.to_device(a), cuda.to_device(b)

    @cuda.jit
    def copy_rows(a, b):
        i, j = cuda.grid(2)
        if i < b.shape[0] and j < b.shape[1]:
            b[i, j] = a[i, j]
            b[i, j].v[0] = a[i, -j].q[1].x

    copy_rows[(1, 1), (4, 16)](on_device[::-2, ::-1], out)
    e = a[::-2, ::-1].copy()
    e["v"][:, :, 0] = e["q"]["x"][:, (-np.arange(10)) % 10, 1]
    same(out.copy_to_host(), e)


def test_explain_tells_of_unaligned_fields():
    a = cuda.to_device(values(PARTICLE, 4))

    @cuda.jit
    def read(a, b):
        b[0].p.x = a[0].p.y

    read[1, 1](a, cuda.to_device(values(ALIGNED, 4)))
    assert "load, one element for the packet, at multiples of 1; bounds" in read.explain()
    assert "store, one element for the packet; bounds" in read.explain()


def test_strides_and_single_records():
    a = cuda.device_array(4, POINT, strides=36)
    assert a.strides == (36,) and a.itemsize == 12
    a[:] = cuda.to_device(values(POINT, 4))
    same(a.copy_to_host(), values(POINT, 4))
    single = cuda.to_device(values(POINT, 1)[0])
    assert single.shape == () and single.item() == values(POINT, 1)[0].item()


def test_recarrays():
    a = values(POINT, 4).view(np.recarray)
    on_device = cuda.to_device(a)
    same(on_device.copy_to_host(), np.asarray(a).view(POINT))
    back = np.recarray(4, POINT)
    on_device.copy_to_host(back)
    np.testing.assert_array_equal(back.x, a.x)


def test_host_visible_arrays():
    a = cuda.managed_array(8, POINT)
    a["x"], a["y"] = np.arange(8), 0
    copy_whole[1, 8](a, a, 0)
    walk[1, 8](a, cuda.to_device(np.zeros(8)))
    assert a["y"].sum() > 0 and a.dtype == POINT


def test_host_arrays_are_copied():
    a = values(POINT, 20)
    b = np.zeros(20, POINT)
    kernel = cuda.jit(host_arrays="copy")(copy_whole.py_func)
    with pytest.warns(UserWarning, match="host arrays"):
        kernel[1, 32](a, b, 3)
    same(b, np.roll(a, -3))
