"""a + b with few float32: what an operation on arrays costs, to the end of its work."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from harness import measure, report

import treadle as td
from treadle import cuda

CALLS = 2000


def additions(a, b, finish):
    def run():
        for _ in range(CALLS):
            a + b
        finish()

    return run


def additions_into(add, a, b, out, finish):
    def run():
        for _ in range(CALLS):
            add(a, b, out=out)
        finish()

    return run


def main():
    for size, targets in ((1000, {"numpy": 0.5}), (10, None)):
        rng = np.random.default_rng(8)
        a, b = (rng.random(size, dtype=np.float32) for _ in range(2))
        device_a, device_b = td.asarray(a), td.asarray(b)
        np.testing.assert_array_equal(td.asnumpy(device_a + device_b), a + b)
        ours, peer = additions(device_a, device_b, cuda.synchronize), additions(a, b, lambda: None)
        report(f"array/small_add {size}", measure({"treadle": ours, "numpy": peer}, calls=CALLS), targets=targets)

        out, device_out = np.empty_like(a), td.empty_like(device_a)
        td.add(device_a, device_b, out=device_out)
        np.testing.assert_array_equal(td.asnumpy(device_out), a + b)
        ours = additions_into(td.add, device_a, device_b, device_out, cuda.synchronize)
        peer = additions_into(np.add, a, b, out, lambda: None)
        report(f"array/small_add {size} out=", measure({"treadle": ours, "numpy": peer}, calls=CALLS))


if __name__ == "__main__":
    main()
