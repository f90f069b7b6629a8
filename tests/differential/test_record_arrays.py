"""Device arrays of records on the host: copies, views, layouts, and what kernels take."""

import numpy as np
import pytest

import treadle as td
from treadle import cuda

POINT = np.dtype([("x", "f4"), ("y", "f8")])
PARTICLE = np.dtype(
    [("id", "i1"), ("v", "f4", (3,)), ("p", POINT), ("m", "u2", (2, 3)), ("q", POINT, (2,)), ("c", "c8")]
)
ALIGNED = np.dtype([(name, PARTICLE[name]) for name in PARTICLE.names], align=True)
SPREAD = np.dtype({"names": ["b", "a"], "formats": ["f8", "i2"], "offsets": [13, 3], "itemsize": 31})


@cuda.jit
def copy_whole(a, b, shift):
    i = cuda.grid(1)
    if i < a.size:
        b[i] = a[(i + shift) % a.size]


def test_copies_and_views(records):
    a = records.values(ALIGNED, 24).reshape(4, 6)
    on_device = cuda.to_device(a)
    assert on_device.dtype == ALIGNED and on_device.itemsize == ALIGNED.itemsize and on_device.nbytes == a.nbytes
    records.same(on_device[1:, ::2].copy_to_host(), a[1:, ::2])
    records.same(on_device.T.copy_to_host(), a.T)
    records.same(on_device.reshape(24)[5:7].get(), a.reshape(24)[5:7])
    records.same(td.asnumpy(on_device[::-1].copy()), a[::-1])
    on_device[0, 0] = a[1, 1]
    on_device[2] = on_device[3]
    a[0, 0], a[2] = a[1, 1], a[3]
    records.same(on_device.get(), a)
    target = np.zeros_like(a)
    on_device.copy_to_host(target)
    records.same(target, a)
    other = cuda.device_array_like(a)
    other.copy_to_device(on_device)
    records.same(other.get(), a)
    assert td.zeros(3, POINT).get().tolist() == [(0, 0)] * 3
    records.same(td.array(on_device).get(), a)
    assert td.array([(1, 2.5)], dtype=POINT).get()["y"][0] == 2.5


def test_fields_of_host_views(records):
    a = records.values(ALIGNED, 10)
    on_device = cuda.to_device(a)
    assert on_device["id"].dtype == np.int8 and (on_device["c"] * 2).get().tolist() == (a["c"] * 2).tolist()
    on_device["id"] = 5
    a["id"] = 5
    records.same(on_device.get(), a)


def test_byte_order_and_titles():
    a = np.array([(1, 2.5), (3, 4.5)], dtype=[("i", ">i4"), (("a title", "f"), ">f8")])
    on_device = cuda.to_device(a)
    assert on_device.dtype == np.dtype([("i", "i4"), ("f", "f8")])
    assert on_device.copy_to_host().tolist() == a.tolist()


def test_dates_keep_their_units():
    a = np.array([("2024-02-29", 5)], dtype=[("t", "M8[D]"), ("d", "m8[ms]")])
    assert cuda.to_device(a).copy_to_host().tolist() == a.tolist()


@pytest.mark.parametrize("dtype", [PARTICLE, ALIGNED], ids=["packed", "aligned"])
def test_kernels_take_views(dtype, records):
    a = records.values(dtype, 60).reshape(6, 10)
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
    records.same(out.copy_to_host(), e)


def test_explain_tells_of_unaligned_fields(records, on_gpu):
    a = cuda.to_device(records.values(PARTICLE, 4))

    @cuda.jit
    def read(a, b):
        b[0].p.x = a[0].p.y

    read[1, 1](a, cuda.to_device(records.values(ALIGNED, 4)))
    many = "neighbouring threads" if on_gpu else "the packet"
    assert f"load, one element for {many}, at multiples of 1; bounds" in read.explain()
    assert f"store, one element for {many}; bounds" in read.explain()


def test_strides_and_single_records(records):
    a = cuda.device_array(4, POINT, strides=36)
    assert a.strides == (36,) and a.itemsize == 12
    a[:] = cuda.to_device(records.values(POINT, 4))
    records.same(a.copy_to_host(), records.values(POINT, 4))
    single = cuda.to_device(records.values(POINT, 1)[0])
    assert single.shape == () and single.item() == records.values(POINT, 1)[0].item()


def test_recarrays(records):
    a = records.values(POINT, 4).view(np.recarray)
    on_device = cuda.to_device(a)
    records.same(on_device.copy_to_host(), np.asarray(a).view(POINT))
    back = np.recarray(4, POINT)
    on_device.copy_to_host(back)
    np.testing.assert_array_equal(back.x, a.x)


def test_host_visible_arrays():
    a = cuda.managed_array(8, POINT)
    a["x"], a["y"] = np.arange(8), 0
    copy_whole[1, 8](a, a, 0)

    @cuda.jit
    def double(a):
        a[cuda.grid(1)].y += 2 * a[cuda.grid(1)].x

    double[1, 8](a)
    assert a["y"].tolist() == [2.0 * i for i in range(8)] and a.dtype == POINT


def test_host_arrays_are_copied(records):
    a = records.values(POINT, 20)
    b = np.zeros(20, POINT)
    kernel = cuda.jit(host_arrays="copy")(copy_whole.py_func)
    with pytest.warns(UserWarning, match="host arrays"):
        kernel[1, 32](a, b, 3)
    records.same(b, np.roll(a, -3))
