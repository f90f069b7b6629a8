"""Indexing, assignment, reshaping, joining and broadcasting against NumPy."""

import itertools

import numpy as np
import pytest

import treadle as td


def pair(shape, dtype="int32"):
    x = np.arange(int(np.prod(shape)), dtype=dtype).reshape(shape)
    return td.asarray(x), x


INDICES = [
    0,
    -1,
    slice(None),
    slice(1, 3),
    slice(None, None, -1),
    slice(-2, None),
    slice(10, 2, -3),
    slice(-100, 100, 2),
    slice(100, -100, -1),
    slice(3, 3),
    slice(2, 1),
    Ellipsis,
    None,
    (),
    (0, 1),
    (Ellipsis, 0),
    (0, Ellipsis),
    (slice(None), None, 1),
    (None, Ellipsis, None),
    (slice(None, None, 2), slice(None, None, -2)),
    (Ellipsis, slice(None, None, -1), 2),
    (1, slice(None), -1),
    np.int32(1),
    np.uint8(2),
    slice(np.int64(1), np.int8(4)),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_indices(index, same):
    a, x = pair((4, 5, 6))
    same(a[index], x[index])
    b, y = a.T[::-1], x.T[::-1]
    same(b[index], y[index])
    a[index] = 7
    x[index] = 7
    same(a, x)
    b[index] = td.asarray(np.broadcast_to(np.arange(6 if y[index].shape[-1:] == (6,) else 1), y[index].shape)[:].copy())
    y[index] = np.broadcast_to(np.arange(6 if y[index].shape[-1:] == (6,) else 1), y[index].shape)
    same(a, x)


def random_index(rng, shape):
    parts = []
    for extent in shape[: int(rng.integers(0, len(shape) + 1))]:
        if extent and rng.random() < 0.3:
            parts.append(int(rng.integers(-extent, extent)))
        else:
            limits = [None if rng.random() < 0.3 else int(rng.integers(-extent - 3, extent + 4)) for _ in range(2)]
            parts.append(slice(*limits, int(rng.choice([1, 1, 2, 3, -1, -1, -2, -3]))))
    if rng.random() < 0.3:
        parts.insert(int(rng.integers(0, len(parts) + 1)), None)
    if rng.random() < 0.3:
        parts.append(Ellipsis)
    return tuple(parts)


@pytest.mark.parametrize("seed", range(30))
def test_random_indices(seed, same):
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(0 if seed % 5 == 0 else 1, 7, rng.integers(1, 6)))
    a, x = pair(shape)
    for _ in range(4):
        index = random_index(rng, x.shape)
        b, y = a[index], x[index]
        same(b, y, str(index))
        if y.ndim and y.size:
            again = random_index(rng, y.shape)
            same(b[again], y[again], f"{index} {again}")
            value = int(rng.integers(100, 1000))
            b[again] = value
            x[index][again] = value
            same(a, x, f"{index} {again}")


def test_assignment(same):
    a, x = pair((4, 6), "float32")
    a[1:3, ::2] = td.asarray(np.arange(3.0))
    x[1:3, ::2] = np.arange(3.0)
    same(a, x)
    a[...] = a[::-1]
    x[...] = x[::-1].copy()
    same(a, x)
    a[0] = a[:, 1][:1] * 2
    x[0] = x[:, 1][:1] * 2
    same(a, x)
    a[:, 0] = True
    x[:, 0] = True
    same(a, x)
    a[2, 3] = np.float64(1.25)
    x[2, 3] = np.float64(1.25)
    same(a, x)
    b, y = pair((5,), "int8")
    b[1:] = td.asarray(np.array([1.7, -1.7, 2.2, 3.9]))
    y[1:] = np.array([1.7, -1.7, 2.2, 3.9])
    same(b, y)
    b[2] = 3.9
    y[2] = 3.9
    same(b, y)


@pytest.mark.parametrize("offset", [1, 3, -1, -2])
def test_overlapping_assignment(offset, same):
    for size in (50, 100_001):
        a, x = pair((size,), "int64")
        to, source = (
            (slice(offset, None), slice(None, -offset)) if offset > 0 else (slice(None, offset), slice(-offset, None))
        )
        a[to] = a[source]
        x[to] = x[source].copy()
        same(a, x)
        a[::-1] = a
        x[::-1] = x.copy()
        same(a, x)


RESHAPES = [
    ((24,), (4, 6)),
    ((4, 6), (24,)),
    ((4, 6), (2, 2, -1)),
    ((2, 3, 4), (4, 3, 2)),
    ((2, 3, 4), (-1, 1, 12)),
    ((0,), (0, 5)),
    ((0, 3), (3, 0)),
    ((1,), ()),
    ((), (1, 1)),
    ((6,), (6, 1, 1)),
    ((0, 4), (-1, 2)),
]


@pytest.mark.parametrize(("shape", "to"), RESHAPES, ids=str)
def test_reshape(shape, to, same):
    a, x = pair(shape)
    same(a.reshape(to), x.reshape(to))
    same(a.reshape(*to) if to else a.reshape(to), x.reshape(to))
    same(td.reshape(a, to), x.reshape(to))
    if x.ndim > 1:
        same(a.T.reshape(to), x.T.reshape(to))
        same(a[::-1].reshape(to), x[::-1].reshape(to))


def test_reshape_makes_views_where_it_can():
    a, _ = pair((4, 6))
    a.reshape(2, 12)[0, 0] = 99
    assert int(a[0, 0]) == 99
    a[:, 2:4].reshape(2, 2, 2)[1, 1, 1] = 98
    assert int(a[3, 3]) == 98
    copy = a.T.reshape(24)
    copy[0] = 5
    assert int(a[0, 0]) == 99
    assert a[::2].reshape(2, 2, 3)._pointer == a._pointer


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (2, 1, 3, 2), (5,), ()], ids=str)
def test_transpose(shape, same):
    a, x = pair(shape)
    same(a.T, x.T)
    same(a.transpose(), x.transpose())
    for axes in itertools.permutations(range(x.ndim)):
        same(a.transpose(axes), x.transpose(axes))
        same(td.transpose(a, axes), x.transpose(axes))
        same(a.transpose(*[axis - x.ndim for axis in axes]), x.transpose(axes))
        same(a.transpose(axes).ravel(), x.transpose(axes).ravel())
        same(a.transpose(axes).flatten(), x.transpose(axes).flatten())
    if x.ndim > 1:
        same(td.swapaxes(a, 0, -1), x.swapaxes(0, -1))


def test_orders(same):
    a, x = pair((3, 4))
    same(a.ravel("F"), x.ravel("F"))
    same(a.flatten("F"), x.flatten("F"))
    assert a.flags.c_contiguous and not a.flags.f_contiguous
    assert a.T.flags["F_CONTIGUOUS"] and not a.T.flags["C_CONTIGUOUS"]
    assert a.strides == x.strides and a.T.strides == x.T.strides and a[:, ::-2].strides == x[:, ::-2].strides


def test_fortran_order(same):
    a, x = pair((3, 4))
    same(a.reshape(4, 3, order="F"), x.reshape(4, 3, order="F"))
    same(td.reshape(a, (4, 3), order="F"), np.reshape(x, (4, 3), order="F"))
    assert a.copy(order="F").flags.f_contiguous
    assert td.zeros((3, 4), order="F").flags.f_contiguous


def test_small_views(same):
    a, x = pair((1, 3, 1, 2))
    same(a.squeeze(), x.squeeze())
    same(a.squeeze(0), x.squeeze(0))
    same(td.squeeze(a, -2), x.squeeze(-2))
    for axis in (0, 2, -1, 4):
        same(td.expand_dims(a, axis), np.expand_dims(x, axis))
    same(td.broadcast_to(a, (4, 3, 5, 2)), np.broadcast_to(x, (4, 3, 5, 2)))
    same(td.broadcast_to(a, (2, 1, 3, 1, 2)).copy(), np.broadcast_to(x, (2, 1, 3, 1, 2)))
    same(a[..., td.newaxis], x[..., np.newaxis])
    same(a.view("float32"), x.view("float32"))
    assert a.view() is a or a.view()._pointer == a._pointer


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_concatenate(axis, same):
    (a, x), (b, y) = pair((3, 4), "int16"), pair((3, 4), "float32")
    same(td.concatenate([a, b], axis=axis), np.concatenate([x, y], axis=axis))
    same(td.concatenate((a.T, a.T[::-1], b.T), axis), np.concatenate((x.T, x.T[::-1], y.T), axis))
    same(td.concatenate([a], axis), np.concatenate([x], axis))
    empty = np.zeros((0, 4), "int16")
    if axis in (0, None):
        same(td.concatenate([a, td.asarray(empty)], axis), np.concatenate([x, empty], axis))


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_stack(axis, same):
    (a, x), (b, y) = pair((3, 4), "int16"), pair((3, 4), "uint16")
    same(td.stack([a, b, a], axis), np.stack([x, y, x], axis))
    same(td.stack([a.T, b.T], axis), np.stack([x.T, y.T], axis))


def test_iteration_and_conversion():
    a, x = pair((3, 2))
    assert len(a) == 3
    assert [row.tolist() for row in a] == x.tolist()
    assert a.tolist() == x.tolist()
    assert a[1, 1].item() == 3 and int(a[1, 1]) == 3 and float(a[1, 1]) == 3.0 and bool(a[1, 1])
    assert [10, 20, 30, 40][a[1, 1]] == 40
    assert f"{a[1, 1]:04d}" == "0003"
    assert str(a) == str(x) and repr(a) == repr(x)
    assert td.asarray(np.array([], "int8")).tolist() == []


def test_views_outlive_their_base(same):
    view = td.arange(100_000)[::-3]
    for _ in range(10):
        td.ones(100_000, "int64")
    same(view, np.arange(100_000)[::-3])


def test_copies(same):
    import copy
    import pickle

    a, x = pair((3, 4))
    for other in (a.copy(), td.copy(a), copy.copy(a), copy.deepcopy(a), pickle.loads(pickle.dumps(a)), td.array(a)):
        same(other, x)
        assert other._pointer != a._pointer
    assert td.asarray(a) is a
    assert td.ascontiguousarray(a) is a
    same(td.ascontiguousarray(a.T), x.T)
    assert td.ascontiguousarray(a.T).flags.c_contiguous
    assert a.astype("int32", copy=False) is a
    assert td.array_equal(a, a.copy()) and not td.array_equal(a, a.T) and not td.array_equal(a, a + 1)


def test_host_copies():
    a, x = pair((3, 4))
    out = np.zeros((3, 4), "int32")
    assert td.asnumpy(a, out=out) is out and (out == x).all()
    assert (a.T.get() == x.T).all()
    a.set(x + 1)
    assert (td.asnumpy(a) == x + 1).all()
    assert td.asnumpy([1, 2]).tolist() == [1, 2]
    big = np.zeros((2, 2), ">i4") + 258
    assert td.asarray(big).tolist() == big.tolist()
    f = np.asfortranarray(np.arange(6).reshape(2, 3))
    assert td.asarray(f).tolist() == f.tolist()
    assert td.asarray(np.arange(10)[::-2]).tolist() == [9, 7, 5, 3, 1]
