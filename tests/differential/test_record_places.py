"""Where records lie: in memory of blocks and threads, in constants and arguments; atomic operations on their fields."""

import numpy as np
import pytest

from treadle import cuda

POINT = np.dtype([("x", "f4"), ("y", "f8")])
PARTICLE = np.dtype(
    [("id", "i1"), ("v", "f4", (3,)), ("p", POINT), ("m", "u2", (2, 3)), ("q", POINT, (2,)), ("c", "c8")]
)
ALIGNED = np.dtype([(name, PARTICLE[name]) for name in PARTICLE.names], align=True)
SPREAD = np.dtype({"names": ["b", "a"], "formats": ["f8", "i2"], "offsets": [13, 3], "itemsize": 31})


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


def test_shared_records(records):
    a = records.values(PARTICLE, 96)
    b = cuda.device_array(96, PARTICLE)
    reverse_block[3, 32](cuda.to_device(a), b)
    e = a.reshape(3, 32)
    e["v"][:, :, 1] = np.arange(32)
    records.same(b.copy_to_host(), e[:, ::-1].reshape(96))


@cuda.jit
def sized_by_launch(a, counts):
    tile = cuda.shared.array(0, ALIGNED)
    t = cuda.threadIdx.x
    counts[t] = len(tile)
    tile[t].p.y = a[t].p.y
    cuda.syncthreads()
    a[t].p.y = tile[cuda.blockDim.x - 1 - t].p.y


def test_shared_records_sized_by_the_launch(records):
    a = records.values(ALIGNED, 32)
    on_device, counts = cuda.to_device(a), cuda.device_array(32, "i4")
    sized_by_launch[1, 32, 0, 32 * ALIGNED.itemsize](on_device, counts)
    assert counts.copy_to_host().tolist() == [32] * 32
    np.testing.assert_array_equal(on_device.copy_to_host()["p"]["y"], a["p"]["y"][::-1])


@pytest.mark.parametrize("dtype", [PARTICLE, ALIGNED, SPREAD], ids=["packed", "aligned", "spread"])
@pytest.mark.parametrize("by_index", [False, True])
def test_local_records(dtype, by_index, records):
    @cuda.jit
    def sort_two(a, b, out):
        i = cuda.grid(1)
        pair = cuda.local.array((2,), dtype)
        if i < a.size:
            pair[0] = a[i]
            pair[1] = b[i]
            first = (i % 2) if by_index else 0
            out[i] = pair[first]

    a, b = records.values(dtype, 70), records.values(dtype, 70, seed=1)
    out = cuda.device_array(70, dtype)
    sort_two[3, 32](cuda.to_device(a), cuda.to_device(b), out)
    expected = a.copy()
    if by_index:
        expected[1::2] = b[1::2]
    records.same(out.copy_to_host(), expected)


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


def test_record_arguments(records):
    a, p = records.values(PARTICLE, 3), records.values(POINT, 2)
    out = cuda.device_array(9, "f8")
    for record in (a[1], a.view(np.recarray)[1]):
        read_argument[1, 9](record, (p[1], 2.0), out)
        expected = a["v"][1][np.arange(9) % 3] + a["p"]["y"][1] * 2 + p["x"][1] + a["q"]["x"][1, 1]
        np.testing.assert_allclose(out.copy_to_host(), expected, rtol=1e-6)


def test_elements_of_device_arrays_are_written(records):
    @cuda.jit
    def touch(r):
        r.x += 1
        r["y"] = 2

    a = records.values(POINT, 4)
    on_device = cuda.to_device(a)
    touch[1, 1](on_device[2])
    a["x"][2] += 1
    a["y"][2] = 2
    records.same(on_device.copy_to_host(), a)


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


TABLE = np.zeros(5, PARTICLE)
TABLE["v"], TABLE["id"], TABLE["p"]["y"] = np.arange(15).reshape(5, 3), np.arange(5) - 2, np.arange(5) / 4
ONE = TABLE[2].copy()
ONE["q"]["y"] = 0.5


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
