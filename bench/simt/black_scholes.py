"""Prices of 2**22 European calls and puts, float32: a device function with a branch, and three of `math`."""

import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from harness import cpp_peer, measure, optional, report

import treadle as td
from treadle import cuda

SIZE = 2**22
BLOCK = 256
RATE, VOLATILITY = np.float32(0.02), np.float32(0.3)
ZERO, HALF, ONE = np.float32(0.0), np.float32(0.5), np.float32(1.0)
SCALE, DENSITY = np.float32(0.2316419), np.float32(0.39894228)
C1, C2, C3 = np.float32(0.31938153), np.float32(-0.356563782), np.float32(1.781477937)
C4, C5 = np.float32(-1.821255978), np.float32(1.330274429)


def normal(d):
    k = ONE / (ONE + SCALE * abs(d))
    tail = DENSITY * math.exp(-HALF * d * d) * (k * (C1 + k * (C2 + k * (C3 + k * (C4 + k * C5)))))
    if d > ZERO:
        return ONE - tail
    return tail


device_normal = cuda.jit(device=True)(normal)


@cuda.jit
def black_scholes(price, strike, years, call, put, rate, volatility):
    i = cuda.grid(1)
    root = math.sqrt(years[i])
    d1 = (math.log(price[i] / strike[i]) + (rate + HALF * volatility * volatility) * years[i]) / (volatility * root)
    n1 = device_normal(d1)
    n2 = device_normal(d1 - volatility * root)
    discounted = strike[i] * math.exp(-rate * years[i])
    call[i] = price[i] * n1 - discounted * n2
    put[i] = discounted * (ONE - n2) - price[i] * (ONE - n1)


def numba_peer(inputs, outputs):
    numba = optional("numba")
    if numba is None:
        return None
    numba_normal = numba.njit(fastmath=True, error_model="numpy")(normal)

    @numba.njit(parallel=True, fastmath=True, error_model="numpy")
    def peer(price, strike, years, call, put, rate, volatility):
        for i in numba.prange(price.size):
            root = math.sqrt(years[i])
            d1 = math.log(price[i] / strike[i]) + (rate + HALF * volatility * volatility) * years[i]
            d1 = d1 / (volatility * root)
            n1 = numba_normal(d1)
            n2 = numba_normal(d1 - volatility * root)
            discounted = strike[i] * math.exp(-rate * years[i])
            call[i] = price[i] * n1 - discounted * n2
            put[i] = discounted * (ONE - n2) - price[i] * (ONE - n1)

    return lambda: peer(*inputs, *outputs, RATE, VOLATILITY)


def expected(price, strike, years):
    """Calls and puts in float64, with the error function in place of the polynomial."""
    price, strike, years = (array.astype(np.float64) for array in (price, strike, years))
    rate, volatility = float(RATE), float(VOLATILITY)
    cumulative = np.vectorize(lambda d: 0.5 * math.erfc(-d / math.sqrt(2)))
    root = volatility * np.sqrt(years)
    d1 = (np.log(price / strike) + (rate + volatility**2 / 2) * years) / root
    discounted = strike * np.exp(-rate * years)
    call = price * cumulative(d1) - discounted * cumulative(d1 - root)
    return call, call + discounted - price


def main():
    rng = np.random.default_rng(6)
    limits = ((5, 30), (1, 100), (0.25, 10))
    inputs = [rng.uniform(low, high, SIZE).astype(np.float32) for low, high in limits]
    outputs = [np.zeros(SIZE, np.float32) for _ in range(2)]
    device_inputs = [td.asarray(array) for array in inputs]
    device_outputs = [td.asarray(array) for array in outputs]

    def ours():
        black_scholes[SIZE // BLOCK, BLOCK](*device_inputs, *device_outputs, RATE, VOLATILITY)
        cuda.synchronize()

    ours()
    for actual, exact in zip(device_outputs, expected(*(array[::64] for array in inputs)), strict=True):
        np.testing.assert_allclose(td.asnumpy(actual)[::64], exact, rtol=1e-4, atol=1e-4)
    scalars = (float(RATE), float(VOLATILITY), SIZE)
    times = measure(
        {
            "treadle": ours,
            "g++": cpp_peer("black_scholes", "black_scholes", *inputs, *outputs, *scalars, fast_math=True),
            "numba": numba_peer(inputs, outputs),
        }
    )
    report("simt/black_scholes", times, bytes=5 * inputs[0].nbytes)


if __name__ == "__main__":
    main()
