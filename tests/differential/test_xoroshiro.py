"""cuda.random against xoroshiro128+ and SplitMix64 by their definitions, in Python's integers."""

import time

import numpy as np
import pytest

import treadle as td
from treadle import cuda
from treadle.cuda import random as cr

MASK = 2**64 - 1


def rotl(x, k):
    return ((x << k) | (x >> (64 - k))) & MASK


class Generator:
    """One generator, number by number."""

    def __init__(self, seed):
        z = (seed + 0x9E3779B97F4A7C15) & MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        z ^= z >> 31
        self.s = [z, z]

    def next(self):
        s0, s1 = self.s
        result = (s0 + s1) & MASK
        s1 ^= s0
        self.s = [rotl(s0, 55) ^ s1 ^ ((s1 << 14) & MASK), rotl(s1, 36)]
        return result

    def jump(self):
        s0 = s1 = 0
        for word in (0xBEAC0467EBA5FACB, 0xD86B048B86AA9922):
            for bit in range(64):
                if word >> bit & 1:
                    s0 ^= self.s[0]
                    s1 ^= self.s[1]
                self.next()
        self.s = [s0, s1]


def states_of(n, seed, start=0):
    generator = Generator(seed & MASK)
    for _ in range(start):
        generator.jump()
    rows = []
    for _ in range(n):
        rows.append(generator.s)
        generator.jump()
    return np.array(rows, np.uint64).reshape(n, 2)


def words_of(states):
    """The two words of every state."""
    assert states.dtype == cr.xoroshiro128p_dtype
    return states.copy_to_host().view(np.uint64).reshape(-1, 2)


@pytest.mark.parametrize("n", (1, 2, 3, 64, 100))
@pytest.mark.parametrize(("seed", "start"), ((0, 0), (1, 0), (2**63 + 5, 3), (-1, 17)))
def test_states(n, seed, start):
    expected = states_of(n, seed, start)
    np.testing.assert_array_equal(words_of(cr.create_xoroshiro128p_states(n, seed, start)), expected)
    host = np.zeros(n, cr.xoroshiro128p_dtype)
    cr.init_xoroshiro128p_states_cpu(host, seed, start)
    np.testing.assert_array_equal(host.view(np.uint64).reshape(n, 2), expected)
    np.testing.assert_array_equal(words_of(cuda.to_device(host)), expected)


def test_no_states():
    assert cr.create_xoroshiro128p_states(0, 1).shape == (0,)
    cr.init_xoroshiro128p_states_cpu(np.zeros(0, cr.xoroshiro128p_dtype), 1, 0)


def test_far_start():
    # 2**40 jumps one by one would take days: the start must be where jumps of jumps lead to.
    a = cr.create_xoroshiro128p_states(3, 9, 2**40).get()
    b = cr.create_xoroshiro128p_states(2, 9, 2**40 + 1).get()
    np.testing.assert_array_equal(a[1:], b)


def test_many_states_are_fast_and_distinct():
    cr.create_xoroshiro128p_states(10, 1)
    begin = time.perf_counter()
    states = cr.create_xoroshiro128p_states(10**6, 1)
    td.synchronize()
    assert time.perf_counter() - begin < 5
    got = words_of(states)
    assert len(np.unique(got[:, 0])) == 10**6
    np.testing.assert_array_equal(got[:50], states_of(50, 1))


def test_stream():
    stream = cuda.stream()
    states = cr.create_xoroshiro128p_states(7, 3, stream=stream)
    stream.synchronize()
    np.testing.assert_array_equal(words_of(states), states_of(7, 3))


def test_refuses_other_arrays():
    with pytest.raises(TypeError, match="expected a one-dimensional array of xoroshiro128p_dtype, got float32"):
        cr.init_xoroshiro128p_states(td.zeros((4, 2), "float32"), 1)
    with pytest.raises(TypeError, match="init_xoroshiro128p_states_cpu"):
        cr.init_xoroshiro128p_states_cpu(np.zeros((2, 2), cr.xoroshiro128p_dtype), 1, 0)


@cuda.jit
def draw(states, words, f32, f64, units):
    i = cuda.grid(1)
    for j in range(words.shape[1]):
        words[i, j] = cr.xoroshiro128p_next(states, i)
    for j in range(f32.shape[1]):
        f32[i, j] = cr.xoroshiro128p_uniform_float32(states, i)
    for j in range(f64.shape[1]):
        f64[i, j] = cr.xoroshiro128p_uniform_float64(states, i)
    units[i] = cr.uint64_to_unit_float32(words[i, 0])


def generators(n, seed):
    made = []
    for s0, s1 in states_of(n, seed):
        generator = Generator(0)
        generator.s = [int(s0), int(s1)]
        made.append(generator)
    return made


def test_uniform_bit_for_bit():
    n, count = 37, 11
    states = cr.create_xoroshiro128p_states(n, 42)
    words, f32, f64 = (td.zeros((n, count), t) for t in ("uint64", "float32", "float64"))
    units = td.zeros(n, "float32")
    draw[2, 19](states, words, f32, f64, units)
    rows = generators(n, 42)
    unit = 2.0**-53
    expected = np.array([[g.next() for _ in range(count)] for g in rows], np.uint64)
    np.testing.assert_array_equal(words.get(), expected)
    expected_f32 = np.array([[(g.next() >> 11) * unit for _ in range(count)] for g in rows]).astype("float32")
    np.testing.assert_array_equal(f32.get(), expected_f32)
    np.testing.assert_array_equal(f64.get(), [[(g.next() >> 11) * unit for _ in range(count)] for g in rows])
    np.testing.assert_array_equal(units.get(), ((expected[:, 0] >> np.uint64(11)) * unit).astype("float32"))
    np.testing.assert_array_equal(words_of(states), np.array([g.s for g in rows], np.uint64))


@cuda.jit
def draw_normal(states, f32, f64):
    i = cuda.grid(1)
    for j in range(f32.shape[1]):
        f32[i, j] = cr.xoroshiro128p_normal_float32(states, i)
    for j in range(f64.shape[1]):
        f64[i, j] = cr.xoroshiro128p_normal_float64(states, i)


def test_normal():
    n, count = 64, 50
    states = cr.create_xoroshiro128p_states(n, 5)
    f32, f64 = td.zeros((n, count), "float32"), td.zeros((n, count), "float64")
    draw_normal[1, n](states, f32, f64)
    rows = generators(n, 5)

    def pairs():
        u = np.array([[(g.next() >> 11) * 2.0**-53 for _ in range(2 * count)] for g in rows]).astype("float32")
        return u[:, ::2].astype("float64"), u[:, 1::2]

    u1, u2 = pairs()
    angle = (np.float32(2 * np.pi) * u2).astype("float64")
    length = np.sqrt(-2 * np.log(u1))
    # Logarithm, root, cosine and product round; the cosine near its zeros counts against the length.
    assert np.max(np.abs(f32.get() - length * np.cos(angle)) / length) < 3 * 2.0**-24
    u1, u2 = pairs()
    length = np.sqrt(-2 * np.log(u1).astype("float32").astype("float64"))
    angle = 2 * np.pi * u2.astype("float64")
    # The logarithm is a float32 one, as in numba.cuda.
    assert np.max(np.abs(f64.get() - length * np.cos(angle)) / length) < 2.0**-23
    assert abs(f32.get().mean()) < 0.1 and abs(f64.get().std() - 1) < 0.1


@cuda.jit
def jump_and_seed(states, out):
    cr.xoroshiro128p_jump(states, 0)
    cr.init_xoroshiro128p_state(states, 1, 77)
    out[0] = cr.uint64_to_unit_float64(states[1].s0)


def test_device_state_functions():
    states = cr.create_xoroshiro128p_states(2, 3)
    out = td.zeros(1, "float64")
    jump_and_seed[1, 1](states, out)
    np.testing.assert_array_equal(words_of(states), np.array([states_of(2, 3)[1], Generator(77).s], np.uint64))
    assert out.get()[0] == (Generator(77).s[0] >> 11) * 2.0**-53


def test_type_in_signatures():
    @cuda.jit((cr.xoroshiro128p_type[:], td.types.float32[:]))
    def kernel(states, out):
        i = cuda.grid(1)
        out[i] = cr.xoroshiro128p_uniform_float32(states, i)

    out = td.zeros(4, "float32")
    kernel[1, 4](cr.create_xoroshiro128p_states(4, 1), out)
    assert np.all(out.get() > 0)


def test_drop_in(run_python):
    code = """
import treadle.dropin
import numpy as np
from numba import cuda
from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32
@cuda.jit(cache=False)
def k(states, out):
    i = cuda.grid(1)
    out[i] = xoroshiro128p_uniform_float32(states, i)
"""
    code += """
out = cuda.device_array(4, np.float32)
print(create_xoroshiro128p_states.__module__, create_xoroshiro128p_states(4, seed=1).shape, cuda.random is not None)
"""
    result = run_python(code)
    assert result.stdout.split("\n")[0] == "treadle.cuda.random (4,) True", result.stderr
