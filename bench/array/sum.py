"""sum of 2**24 float32, beside a sum in C++ that does nothing but read."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from harness import cpp_peer, measure, optional, report

import treadle as td
from treadle import cuda

SIZE = 2**24


def torch_peer(values):
    torch = optional("torch")
    return None if torch is None else torch.from_numpy(values).sum


def main():
    values = np.random.default_rng(9).random(SIZE, dtype=np.float32)
    device_values = td.asarray(values)

    def ours():
        td.sum(device_values)
        cuda.synchronize()

    np.testing.assert_allclose(float(td.sum(device_values)), values.sum(dtype=np.float64), rtol=1e-5)
    times = measure(
        {
            "treadle": ours,
            "g++": cpp_peer("sum", "sum", values, SIZE),
            "numpy": lambda: values.sum(),
            "torch": torch_peer(values),
        }
    )
    report("array/sum", times, targets={"g++": 0.9}, bytes=values.nbytes)


if __name__ == "__main__":
    main()
