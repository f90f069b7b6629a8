"""Records in kernels, against NumPy: every field type, layouts, nesting, what is done with them."""

import numpy as np
import pytest

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


@cuda.jit
def move_field(a, b, out):
    i = cuda.grid(1)
    j = a.size - 1 - i
    out[i] = a[i].f
    b["f"][i] = a[j]["f"]


@pytest.mark.parametrize("offset", [0, 1, 3, 8])
@pytest.mark.parametrize("number", NUMBERS)
def test_field_types(number, offset, records):
    dtype = np.dtype(
        {"names": ["f", "z"], "formats": [number, "i1"], "offsets": [offset, 24], "itemsize": 25 + offset % 2}
    )
    a = records.values(dtype, 77)
    b = records.values(dtype, 77, seed=1)
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
def test_access(dtype, bounds, records):
    a = records.values(dtype, 150)
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
    records.same(got, e)
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


def test_slices(records):
    a = records.values(PARTICLE, 40)
    on_device, out = cuda.to_device(a), cuda.device_array((30, 3), "f8")
    slices[1, 30](on_device, out)
    a["p"]["y"][-1] = 8
    got, i = out.copy_to_host(), np.arange(30)
    np.testing.assert_allclose(got[:, 0], a["id"][3:][i] + a["p"]["y"][3::2][i // 2] + 19, rtol=1e-6)
    np.testing.assert_allclose(got[:, 1], a["v"][:30, 1].astype("f8") + a["v"][:30, 2] + 4, rtol=1e-6)
    np.testing.assert_array_equal(got[:, 2], a["m"][:30, 1, 1].astype("i8") + a["m"][:30, 0, 2] + 4)
    a["v"][:30, 2] = 4
    records.same(on_device.copy_to_host(), a)


@cuda.jit
def plane(a, out):
    x, y = cuda.grid(2)
    if x < a.shape[0] and y < a.shape[1]:
        a[x, y].a = a.T[y, x].a + 1
        row = a[x]
        row["b"][y] = 0.5
        out[x, y] = a["b"][x, y] + a["a"][x][y]


@pytest.mark.parametrize("order", ["C", "F"])
def test_several_dimensions(order, records):
    a = np.asarray(records.values(SPREAD, 35).reshape(7, 5), order=order)
    on_device = cuda.to_device(a)
    assert on_device.strides == a.strides and on_device.is_f_contiguous() == (order == "F")
    out = cuda.device_array((7, 5), "f8")
    plane[(1, 1), (8, 8)](on_device, out)
    e = a.copy()
    e["a"] += 1
    e["b"] = 0.5
    records.same(on_device.copy_to_host(), e)
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
def test_whole_records(dtype, records):
    a = records.values(dtype, 50)
    b = cuda.to_device(np.zeros(50, dtype))
    copy_whole[2, 32](cuda.to_device(a), b, 7)
    records.same(b.copy_to_host(), np.roll(a, -7))


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


def test_arrays_in_records_are_assigned(records):
    dtype = np.dtype([("t", "c8", (20,)), *((name, PARTICLE[name]) for name in ("m", "q", "v"))])
    a, b = records.values(dtype, 33), records.values(dtype, 33, seed=1)
    on_device = cuda.to_device(b)
    array_copy[2, 32](cuda.to_device(a), on_device)
    b["m"] = (np.arange(6) + np.arange(33)[:, None]).reshape(33, 2, 3)
    b["q"], b["t"] = a["q"], a["t"][::-1]
    b["v"][:, 0] = a["v"][:, 0]
    records.same(on_device.copy_to_host(), b)


@cuda.jit
def nested_copy(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i].q[1] = a[i].p
        a["p"][i] = a[i]["q"][0]


def test_nested_records_are_assigned(records):
    a = records.values(PARTICLE, 40)
    on_device = cuda.to_device(a)
    nested_copy[2, 32](on_device)
    a["q"][:, 1] = a["p"]
    a["p"] = a["q"][:, 0]
    records.same(on_device.copy_to_host(), a)


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


def test_device_functions_write_through(records):
    a, p = records.values(PARTICLE, 90), records.values(POINT, 90, seed=5)
    ad, pd, out = cuda.to_device(a), cuda.to_device(p), cuda.device_array((90, 2), "f8")
    with_functions[3, 32](ad, pd, out)
    a["p"]["x"] += np.float32(0.5)
    np.testing.assert_array_equal(out.copy_to_host(), np.stack([a["p"]["x"], a["v"].max(axis=1)], axis=1))
    first = p["x"] > a["p"]["x"]
    p["y"][first] = 9
    a["p"]["y"][~first] = 9
    a["p"]["x"] += 1
    records.same(ad.copy_to_host(), a)
    records.same(pd.copy_to_host(), p)


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


def test_records_in_variables(records):
    a = records.values(POINT, 64)
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


def test_bounds_guard(records):
    dtype = np.dtype([("x", "f4"), ("v", "f4", (2,))])
    a = np.zeros(4, dtype)
    a["x"], a["v"] = np.arange(4) + 1, [[1, 2], [3, 4], [5, 6], [7, 8]]
    on_device, empty = cuda.to_device(a), cuda.device_array(0, np.dtype([("pad", "u1", 300), ("v", "f4", (2,))]))
    out = cuda.device_array(5, "f8")
    reach_out[1, 5](on_device, empty, out)
    assert out.copy_to_host().tolist() == [3 + 1 + 8 + 5, 4 + 2 + 7 + 5, 0, 0, 0]
    a["x"][2:] = 6
    a["v"][0] = 7
    records.same(on_device.copy_to_host(), a)


def test_bounds_raise(records):
    @cuda.jit(bounds="raise")
    def far(a, k):
        a[0].v[k] = 1

    with pytest.raises(IndexError, match=r"index 3 .* axis 1 .*\(2, 3\)"):
        far[1, 1](cuda.to_device(records.values(PARTICLE, 2)), 3)
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


def test_names_from_values_and_records_in_tuples(records):
    a = records.values(POINT, 8)
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
