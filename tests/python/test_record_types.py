"""The types of records: the texts and the behaviour of numba's, whose outputs (0.68.1) these are."""

import pickle

import numpy as np
import pytest

from treadle import cuda, types
from treadle.compat import numba_np

FULL = np.dtype(
    [
        ("x", "f4"),
        ("y", "i4"),
        ("v", "f4", (3,)),
        ("p", [("a", "i1"), ("b", "f8")]),
        ("m", "u1", (2, 3)),
        ("t", "M8[ns]"),
        ("td", "m8[s]"),
        ("b", "?"),
        ("c", "c8"),
        ("h", "f2"),
    ]
)
PAIR = np.dtype([("a", "i1"), ("b", "f8")], align=True)
NUMBA = {
    FULL: "Record(x[type=float32;offset=0],y[type=int32;offset=4],v[type=nestedarray(float32, (3,));offset=8],"
    "p[type=Record(a[type=int8;offset=0],b[type=float64;offset=1];9;False);offset=20],"
    "m[type=nestedarray(uint8, (2, 3));offset=29],t[type=datetime64[ns];offset=35],td[type=timedelta64[s];offset=43],"
    "b[type=bool;offset=51],c[type=complex64;offset=52],h[type=float16;offset=60];62;False)",
    PAIR: "Record(a[type=int8;offset=0],b[type=float64;offset=8];16;True)",
    np.dtype({"names": ["b", "a"], "formats": ["f8", "i2"], "offsets": [13, 3], "itemsize": 31}): (
        "Record(a[type=int16;offset=3],b[type=float64;offset=13];31;False)"
    ),
}


@pytest.mark.parametrize("dtype", NUMBA, ids=["full", "pair", "spread"])
def test_texts(dtype):
    record = types.from_dtype(dtype)
    assert str(record) == NUMBA[dtype] and numba_np.as_dtype(record) == record.dtype
    assert dict(record.dtype.fields) == dict(dtype.fields) and record.dtype.itemsize == dtype.itemsize
    assert record == types.from_dtype(dtype) and hash(record) == hash(types.from_dtype(dtype))
    assert pickle.loads(pickle.dumps(record)) == record and record.bitwidth == 8 * dtype.itemsize


def test_numba_itself():
    numba = pytest.importorskip("numba")
    if not hasattr(numba, "core"):
        pytest.skip("a stand-in")
    for dtype in NUMBA:
        theirs = numba.from_dtype(dtype)
        assert str(types.from_dtype(dtype)) == str(theirs) and repr(types.from_dtype(dtype)) == repr(theirs)
        assert types.as_type(theirs) == types.from_dtype(dtype) and types.as_type(
            theirs[:, ::1]
        ).dtype == types.as_type(theirs)


def test_members():
    record = types.from_dtype(PAIR)
    assert repr(record).startswith("Record([('a', {'type': int8, 'offset': 0, 'alignment': None, 'title': None, }), ")
    assert repr(record.fields["b"]) == "_RecordField(type=float64, offset=8, alignment=None, title=None)"
    assert (record.size, record.aligned, len(record)) == (16, True, 2)
    assert record.typeof("a") == types.int8 and record.offset("b") == 8 and record.alignof("a") is None
    assert record.members == [("a", types.int8), ("b", types.float64)]
    assert record != types.from_dtype(np.dtype([("a", "i1"), ("b", "f8")]))
    full = types.from_dtype(FULL)
    assert repr(full.typeof("m")) == "NestedArray(uint8, (2, 3))" and full.typeof("m").shape == (2, 3)
    assert types.from_dtype(np.dtype(("f4", (2,)))) == types.NestedArray(types.float32, (2,))
    made = types.Record.make_c_struct(
        [("a", types.int8), ("b", types.float64), ("v", types.NestedArray(types.int16, (3,)))]
    )
    assert str(made) == (
        "Record(a[type=int8;offset=0;alignment=1],b[type=float64;offset=8;alignment=8],"
        "v[type=nestedarray(int16, (3,));offset=16;alignment=2];24;True)"
    )


def test_arrays_and_arguments():
    record = types.from_dtype(PAIR)
    assert str(record[:]) == "array(Record(a[type=int8;offset=0],b[type=float64;offset=8];16;True), 1d, A)"
    a = np.zeros((2, 3), PAIR)
    assert types.typeof(a) == record[:, ::1] and types.typeof(a[0, 0]) == record
    assert types.typeof(cuda.to_device(a)) == record[:, ::1] and types.typeof((1, a[0, 0])).types[1] == record
    with pytest.raises(ValueError, match="typeof"):
        types.typeof(np.void(b"abcd"))


def test_signatures():
    record = types.from_dtype(PAIR)

    @cuda.jit(types.void(record[:], record, types.float64))
    def scale(a, r, by):
        i = cuda.grid(1)
        a[i].b = r.b * by

    assert scale.signatures == [(record[:], record, types.float64)]
    a = cuda.to_device(np.zeros(4, PAIR))
    scale[1, 4](a, np.array((1, 2.5), PAIR)[()], 2)
    assert a.copy_to_host()["b"].tolist() == [5.0] * 4

    @cuda.jit((record[:], types.Tuple((record, types.float64))))
    def from_tuple(a, pair):
        a[cuda.grid(1)].b = pair[0].b * pair[1]

    from_tuple[1, 4](a, (np.array((1, 1.5), PAIR)[()], 3.0))
    assert a.copy_to_host()["b"].tolist() == [4.5] * 4

    @cuda.jit
    def local(a):
        r = cuda.local.array(1, record)
        s = cuda.shared.array(shape=1, dtype=record)
        r[0].b = a[0].b
        s[0].b = r[0].b + 1
        a[0].b = s[0].b

    local[1, 1](a)
    assert a.copy_to_host()["b"][0] == 5.5
    assert local.signatures == [(record[::1],)]
    assert "Record(" in local.explain()
