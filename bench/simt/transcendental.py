"""sqrt(sin(x) * cos(y) + exp(-z * z) + log(x + 1)) over 2**22 float32 in one kernel, and how exact it is."""

import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from harness import CORES, cpp_peer, measure, optional, report, ulp_error

import treadle as td
from treadle import cuda

SIZE = 2**22
BLOCK = 256
ONE = np.float32(1.0)
# Of x, y and z. In the second, arguments need reducing; x starts at 2 so that log(x + 1) outweighs the product.
RANGES = {"unit": ((0, 1), (0, 1), (0, 1)), "wide": ((2, 100), (-100, 100), (-3, 3))}
MOST_ULP = 8.0  # each function may be off by two, and the sum adds them up


@cuda.jit
def kernel(x, y, z, out):
    i = cuda.grid(1)
    out[i] = math.sqrt(math.sin(x[i]) * math.cos(y[i]) + math.exp(-z[i] * z[i]) + math.log(x[i] + ONE))


def numba_peer(x, y, z, out):
    numba = optional("numba")
    if numba is None:
        return None

    @numba.njit(parallel=True, fastmath=True)
    def peer(x, y, z, out):
        for i in numba.prange(out.size):
            out[i] = math.sqrt(math.sin(x[i]) * math.cos(y[i]) + math.exp(-z[i] * z[i]) + math.log(x[i] + ONE))

    return lambda: peer(x, y, z, out)


def torch_peer(x, y, z, out):
    torch = optional("torch")
    if torch is None:
        return None
    torch.set_num_threads(CORES)

    @torch.compile
    def peer(x, y, z, out):
        torch.sqrt(torch.sin(x) * torch.cos(y) + torch.exp(-z * z) + torch.log(x + 1), out=out)

    tensors = [torch.from_numpy(array) for array in (x, y, z, out)]
    return lambda: peer(*tensors)


def main():
    for name, limits in RANGES.items():
        rng = np.random.default_rng(4)
        x, y, z = (rng.uniform(low, high, SIZE).astype(np.float32) for low, high in limits)
        device = [td.asarray(array) for array in (x, y, z)]
        device_out = td.zeros_like(device[0])

        def ours(device=device, device_out=device_out):
            kernel[SIZE // BLOCK, BLOCK](*device, device_out)
            cuda.synchronize()

        ours()
        wide = [array.astype(np.float64) for array in (x, y, z)]
        exact = np.sqrt(np.sin(wide[0]) * np.cos(wide[1]) + np.exp(-(wide[2] ** 2)) + np.log(wide[0] + 1))
        errors = {"treadle": ulp_error(td.asnumpy(device_out), exact)}
        assert errors["treadle"] <= MOST_ULP, f"{errors['treadle']:.1f} units of the last place off"
        outs = {peer: np.zeros_like(x) for peer in ("g++", "numba", "torch.compile")}
        peers = {
            "g++": cpp_peer("transcendental", "transcendental", x, y, z, outs["g++"], SIZE, fast_math=True),
            "numba": numba_peer(x, y, z, outs["numba"]),
            "torch.compile": torch_peer(x, y, z, outs["torch.compile"]),
        }
        times = measure({"treadle": ours, **peers})
        errors |= {peer: ulp_error(out, exact) for peer, out in outs.items() if peer in times}
        report(
            f"simt/transcendental {name}",
            times,
            targets={"numba": 4.0, "torch.compile": 1.0},
            bytes=4 * x.nbytes,
            error_ulp={peer: round(error, 2) for peer, error in errors.items()},
        )


if __name__ == "__main__":
    main()
