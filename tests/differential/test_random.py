"""Random numbers: Philox's published vectors, distributions, sequences."""

import threading

import numpy as np
import pytest

import treadle as td

# Random123's known answers for philox4x32, 10 rounds: (counter, key, result).
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


def philox(counter, key):
    """Philox 4x32-10 by its definition."""
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return tuple(c)


@pytest.mark.parametrize(("counter", "key", "result"), KNOWN)
def test_definition(counter, key, result):
    assert philox(counter, key) == result


def words(seed, counter):
    return philox((counter & 0xFFFFFFFF, counter >> 32, 0, 0), (seed & 0xFFFFFFFF, seed >> 32))


def drawn(seed, first, size, dtype):
    """The words that a generator draws: integers over the whole range show the first two of a block."""
    generator = td._treadle.Generator()
    generator.seed, generator.drawn = seed, first
    return generator.random_integers((size,), dtype, 0, 0).get()


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1, 2**32, 0x299F31D0A4093822, 2**64 - 1])
@pytest.mark.parametrize("first", [0, 5, 2**32 - 3, 2**63])
def test_words(seed, first):
    got = drawn(seed, first, 9, "uint64")
    expected = [(w[0] << 32) | w[1] for w in (words(seed, first + i) for i in range(9))]
    assert got.tolist() == expected


def test_known_answer():
    assert int(drawn(0, 0, 1, "uint64")[0]) == 0x6627E8D5E169C58D


def test_uniform_from_words():
    td.random.seed(42)
    x = td.random.uniform(size=100, dtype="float64").get()
    blocks = [words(42, i) for i in range(100)]
    assert x.tolist() == [((a >> 5) * 67108864.0 + (b >> 6)) / 2**53 for a, b, _, _ in blocks]
    td.random.seed(42)
    y = td.random.uniform(size=100, dtype="float32").get()
    assert y.tolist() == [float(np.float32((a >> 8) / 2**24)) for a, _, _, _ in blocks]


def test_same_seed_same_numbers():
    def numbers():
        td.random.seed(7)
        parts = [
            td.random.random(1000),
            td.random.normal(size=(10, 100)),
            td.random.randint(5, size=77),
            td.random.rand(3, 4),
        ]
        return [part.get() for part in parts]

    for one, other in zip(numbers(), numbers(), strict=True):
        np.testing.assert_array_equal(one, other)
    td.random.seed(8)
    assert (td.random.random(1000).get() != numbers()[0]).any()
    td.random.seed()
    first = td.random.random(8).get()
    td.random.seed()
    assert (td.random.random(8).get() != first).any()


def test_numbers_do_not_depend_on_the_pieces():
    td.random.seed(9)
    whole = td.random.random(1000).get()
    td.random.seed(9)
    pieces = [td.random.random(n).get() for n in (1, 99, 0, 400, 500)]
    np.testing.assert_array_equal(np.concatenate(pieces), whole)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_uniform(dtype):
    td.random.seed(10)
    x = td.random.uniform(-2.0, 6.0, 400_000, dtype=dtype)
    assert x.dtype == np.dtype(dtype)
    host = x.get().astype("float64")
    assert -2 <= host.min() and host.max() < 6
    assert host.mean() == pytest.approx(2, abs=0.02)
    assert host.std() == pytest.approx(8 / 12**0.5, abs=0.02)
    counts, _ = np.histogram(host, 64, (-2, 6))
    chi2 = ((counts - 6250) ** 2 / 6250).sum()
    assert 25 < chi2 < 125
    assert abs(np.corrcoef(host[:-1], host[1:])[0, 1]) < 0.01


def test_uniform_float32_stays_below_its_limit():
    td.random.seed(11)
    for low, high in ((0.0, 1.0), (1.0, 2.0), (1e6, 1e6 + 1)):
        x = td.random.uniform(low, high, 3_000_000, dtype="float32").get()
        assert x.min() >= np.float32(low)
        if (low, high) == (0.0, 1.0):
            assert x.max() < 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normal(dtype):
    td.random.seed(12)
    x = td.random.normal(3.0, 2.0, (1000, 400), dtype=dtype)
    assert x.shape == (1000, 400) and x.dtype == np.dtype(dtype)
    z = (x.get().astype("float64").ravel() - 3) / 2
    assert np.isfinite(z).all()
    assert z.mean() == pytest.approx(0, abs=0.01)
    assert z.std() == pytest.approx(1, abs=0.01)
    assert (z**3).mean() == pytest.approx(0, abs=0.03)
    assert (z**4).mean() == pytest.approx(3, abs=0.06)
    z.sort()
    from math import erf

    grid = np.linspace(-3, 3, 61)
    exact = np.array([(1 + erf(v / 2**0.5)) / 2 for v in grid])
    assert np.abs(np.searchsorted(z, grid) / len(z) - exact).max() < 0.004
    assert td.random.standard_normal(5).shape == (5,) and td.random.randn(2, 3).shape == (2, 3)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_randint(dtype):
    td.random.seed(13)
    info = np.iinfo(dtype)
    x = td.random.randint(3, 13, 100_000, dtype=dtype)
    assert x.dtype == np.dtype(dtype)
    counts = np.bincount(x.get().astype("int64"), minlength=13)
    assert counts[:3].sum() == 0 and len(counts) == 13
    assert np.abs(counts[3:] - 10_000).max() < 500
    y = td.random.randint(info.min, info.max, 10_000, dtype=dtype).get()
    assert y.min() >= info.min and y.max() < info.max
    assert abs(float(y.astype("float64").mean()) - (info.max / 2 + info.min / 2)) < (float(info.max) - info.min) * 0.02
    assert td.random.randint(1, size=10).tolist() == [0] * 10
    if info.min < 0:
        assert set(td.random.randint(-2, 0, 100, dtype=dtype).tolist()) == {-2, -1}


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_randint_over_the_whole_type(dtype):
    info = np.iinfo(dtype)
    x = td.random.randint(info.min, info.max + 1, 1000, dtype=dtype).get()
    assert len(set(x.tolist())) == 1000


def test_shapes():
    assert td.random.random().shape == ()
    assert td.random.random(3).shape == (3,)
    assert td.random.random((2, 0, 3)).shape == (2, 0, 3)
    assert td.random.rand().shape == ()
    assert td.random.randint(10, size=(2, 2)).shape == (2, 2)
    assert td.random.normal(size=()).shape == ()


def test_threads_share_one_sequence():
    td.random.seed(14)
    expected = set(td.random.random(8000).tolist())
    td.random.seed(14)
    parts = []

    def draw():
        for _ in range(10):
            parts.append(td.random.random(100).get())

    threads = [threading.Thread(target=draw) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert set(np.concatenate(parts).tolist()) == expected
