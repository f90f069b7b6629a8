"""Random numbers in kernels, one generator per thread: xoroshiro128+ with the names of numba.cuda.random.

The generator is that of Blackman and Vigna (https://prng.di.unimi.it, "Scrambled linear pseudorandom number generators", 2021),
its first state made from the seed by SplitMix64. Generators of one array stand 2**64 numbers apart in one sequence. Integers and
uniform numbers are those of numba.cuda bit for bit, normal ones up to the rounding of the logarithm and the cosine.

States are records of ``xoroshiro128p_dtype``, as numba's: pass the array and the generator's index.

>>> from treadle import cuda
>>> from treadle.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32
>>> @cuda.jit
... def dice(states, out):
...     i = cuda.grid(1)
...     out[i] = 1 + int(6 * xoroshiro128p_uniform_float32(states, i))
>>> out = cuda.device_array(64, "int32")
>>> dice[1, 64](create_xoroshiro128p_states(64, seed=1), out)
>>> out.get().min() >= 1 and out.get().max() <= 6
np.True_
"""

# mypy: check-untyped-defs=False

from __future__ import annotations

import math
from typing import Any

import numpy as np

from treadle.cuda import _intrinsics
from treadle.cuda._arrays import device_array
from treadle.cuda._kernel import jit
from treadle.cuda._streams import on_stream
from treadle.types import from_dtype

# Types by their names in kernels.
float32, float64, int64, uint64 = np.float32, np.float64, np.int64, np.uint64

xoroshiro128p_dtype = np.dtype([("s0", np.uint64), ("s1", np.uint64)], align=True)

_TWO_PI_FLOAT32 = np.float32(2 * math.pi)
_TWO_PI_FLOAT64 = np.float64(2 * math.pi)
_BLOCK = 256
# The step is linear over the bits of the state. Its characteristic polynomial, found by Berlekamp and Massey's algorithm from
# 256 bits of output; bit k is the coefficient of x**k. The jump is x**(2**64) modulo it.
_CHARACTERISTIC = 0x1_0065_3CED_7F29_F88A_5FD6_6762_F0E1_C001
_JUMP_LOW = np.uint64(0xBEAC0467EBA5FACB)
_JUMP_HIGH = np.uint64(0xD86B048B86AA9922)


xoroshiro128p_type = from_dtype(xoroshiro128p_dtype)


# ------------------------------------------------------------------------------------------------------ in kernels


def init_xoroshiro128p_state(states: Any, index: Any, seed: Any) -> None:
    """In a kernel: sets a generator to the first state that the seed gives (SplitMix64)."""
    z = uint64(seed) + uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> 30)) * uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> 27)) * uint64(0x94D049BB133111EB)
    z = z ^ (z >> 31)
    states[index]["s0"] = z
    states[index]["s1"] = z


def _step(s0, s1):  # type: ignore[no-untyped-def]
    s1 = s1 ^ s0
    return ((s0 << 55) | (s0 >> 9)) ^ s1 ^ (s1 << 14), (s1 << 36) | (s1 >> 28)


def _advance(s0, s1, low, high):  # type: ignore[no-untyped-def]
    """The state after as many steps as the polynomial of 128 coefficients stands for."""
    t0 = uint64(0)
    t1 = uint64(0)
    for bit in range(128):
        word = high if bit >= 64 else low
        if (word >> (bit & 63)) & 1 != 0:
            t0 = t0 ^ s0
            t1 = t1 ^ s1
        s0, s1 = _step(s0, s1)
    return t0, t1


def xoroshiro128p_next(states: Any, index: Any) -> Any:
    """In a kernel: the next uint64 of a generator."""
    s0 = states[index]["s0"]
    s1 = states[index]["s1"]
    states[index]["s0"], states[index]["s1"] = _step(s0, s1)
    return s0 + s1


def xoroshiro128p_jump(states: Any, index: Any) -> None:
    """In a kernel: advances a generator by 2**64 numbers."""
    s0, s1 = _advance(states[index]["s0"], states[index]["s1"], _JUMP_LOW, _JUMP_HIGH)
    states[index]["s0"] = s0
    states[index]["s1"] = s1


def uint64_to_unit_float64(x: Any) -> Any:
    """In a kernel: the upper 53 bits as a float64 in [0, 1)."""
    return float64(uint64(x) >> 11) * 1.1102230246251565e-16


def uint64_to_unit_float32(x: Any) -> Any:
    """In a kernel: the same rounded to float32, which may give 1."""
    return float32(uint64_to_unit_float64(x))


def xoroshiro128p_uniform_float32(states: Any, index: Any) -> Any:
    """In a kernel: a float32 in [0, 1]."""
    return uint64_to_unit_float32(xoroshiro128p_next(states, index))


def xoroshiro128p_uniform_float64(states: Any, index: Any) -> Any:
    """In a kernel: a float64 in [0, 1)."""
    return uint64_to_unit_float64(xoroshiro128p_next(states, index))


def xoroshiro128p_normal_float32(states: Any, index: Any) -> Any:
    """In a kernel: a float32 with mean 0 and deviation 1 (Box and Muller), from two numbers of the generator."""
    u1 = xoroshiro128p_uniform_float32(states, index)
    u2 = xoroshiro128p_uniform_float32(states, index)
    return math.sqrt(float32(-2.0) * math.log(u1)) * math.cos(_TWO_PI_FLOAT32 * u2)


def xoroshiro128p_normal_float64(states: Any, index: Any) -> Any:
    """In a kernel: a float64 with mean 0 and deviation 1. As in numba.cuda its two uniform numbers are float32."""
    u1 = xoroshiro128p_uniform_float32(states, index)
    u2 = xoroshiro128p_uniform_float32(states, index)
    return math.sqrt(-2.0 * float64(math.log(u1))) * math.cos(_TWO_PI_FLOAT64 * u2)


# ------------------------------------------------------------------------------------------------------ on the host


def _product(a: int, b: int) -> int:
    """Product of polynomials over two elements, modulo the characteristic polynomial."""
    result = 0
    while b:
        if b & 1:
            result ^= a
        b >>= 1
        a <<= 1
        if a >> 128:
            a ^= _CHARACTERISTIC
    return result


def _jumps(count: int) -> int:
    """The polynomial of ``count`` jumps."""
    result, square = 1, (int(_JUMP_HIGH) << 64) | int(_JUMP_LOW)
    while count:
        if count & 1:
            result = _product(result, square)
        square = _product(square, square)
        count >>= 1
    return result


def _advanced(states: Any, polynomial: int) -> Any:
    """States, a uint64 array of shape (n, 2), after a polynomial's number of steps."""
    s0, s1 = states[:, 0].copy(), states[:, 1].copy()
    result = np.zeros_like(states)
    for bit in range(128):
        if polynomial >> bit & 1:
            result[:, 0] ^= s0
            result[:, 1] ^= s1
        s0, s1 = _step(s0, s1)
    return result


def _first(seed: int, subsequence_start: int) -> Any:
    """The state at the start of a subsequence, as an array of shape (1, 2)."""
    mask = 2**64 - 1
    z = (int(seed) + 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    z ^= z >> 31
    return _advanced(np.array([[z, z]], np.uint64), _jumps(int(subsequence_start) & mask))


def init_xoroshiro128p_states_cpu(states: Any, seed: int, subsequence_start: int = 0) -> None:
    """Sets host states: state i is ``subsequence_start + i`` jumps of 2**64 numbers behind the seed's first.

    states: a NumPy array of n ``xoroshiro128p_dtype``. seed, subsequence_start: integers, taken modulo 2**64. Raises TypeError for
    other arrays.
    """
    _check_states("init_xoroshiro128p_states_cpu", states)
    words = states.view(np.uint64).reshape(-1, 2)
    if len(words) == 0:
        return
    words[:1] = _first(seed, subsequence_start)
    have, polynomial = 1, _jumps(1)
    while have < len(words):
        more = min(have, len(words) - have)
        words[have : have + more] = _advanced(words[:more], polynomial)
        have, polynomial = 2 * have, _product(polynomial, polynomial)


def _check_states(what: str, states: Any) -> None:
    if states.dtype != xoroshiro128p_dtype or len(states.shape) != 1:
        raise TypeError(
            f"{what}: states: expected a one-dimensional array of xoroshiro128p_dtype, got {states.dtype} of {tuple(states.shape)}"
        )


@jit
def _double_states(states, have, low, high):  # type: ignore[no-untyped-def]
    """Sets as many states more as there are, from each of those by the same number of steps."""
    i = _intrinsics.grid(1)
    if i < have and have + i < states.shape[0]:
        s0, s1 = _advance(states[i].s0, states[i].s1, low, high)
        states[have + i].s0 = s0
        states[have + i].s1 = s1


@jit
def _set_first(states, s0, s1):  # type: ignore[no-untyped-def]
    states[0].s0 = s0
    states[0].s1 = s1


def init_xoroshiro128p_states(states: Any, seed: int, subsequence_start: int = 0, stream: Any = 0) -> None:
    """Sets device states as ``init_xoroshiro128p_states_cpu`` does; asynchronous on ``stream``.

    states: a one-dimensional device array of ``xoroshiro128p_dtype``. Takes log2(n) launches, 128 steps of the generator per state.
    Raises TypeError for other arrays.
    """
    _check_states("init_xoroshiro128p_states", states)
    n = states.shape[0]
    if n == 0:
        return
    first = _first(seed, subsequence_start)[0]
    with on_stream(stream):
        _set_first[1, 1](states, first[0], first[1])
        have, polynomial = 1, _jumps(1)
        while have < n:
            more = min(have, n - have)
            low, high = np.uint64(polynomial & (2**64 - 1)), np.uint64(polynomial >> 64)
            _double_states[(more + _BLOCK - 1) // _BLOCK, _BLOCK](states, have, low, high)
            have, polynomial = 2 * have, _product(polynomial, polynomial)


def create_xoroshiro128p_states(n: int, seed: int, subsequence_start: int = 0, stream: Any = 0) -> Any:
    """n generators 2**64 numbers apart: a new device array of n ``xoroshiro128p_dtype``, filled asynchronously on ``stream``.

    seed, subsequence_start: integers, taken modulo 2**64; the first generator stands ``subsequence_start`` times 2**64 numbers
    behind the seed's first state.
    """
    states = device_array(n, dtype=xoroshiro128p_dtype, stream=stream)
    init_xoroshiro128p_states(states, seed, subsequence_start, stream)
    return states


__all__ = [
    "create_xoroshiro128p_states",
    "init_xoroshiro128p_state",
    "init_xoroshiro128p_states",
    "init_xoroshiro128p_states_cpu",
    "uint64_to_unit_float32",
    "uint64_to_unit_float64",
    "xoroshiro128p_dtype",
    "xoroshiro128p_jump",
    "xoroshiro128p_next",
    "xoroshiro128p_normal_float32",
    "xoroshiro128p_normal_float64",
    "xoroshiro128p_type",
    "xoroshiro128p_uniform_float32",
    "xoroshiro128p_uniform_float64",
]
