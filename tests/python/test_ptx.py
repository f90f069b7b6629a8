"""Code for GPUs, on machines without one: what it looks like, and that NVIDIA's assembler takes it where it is installed."""

import importlib.util
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from treadle import cuda
from treadle.errors import UnsupportedError

CHIPS = (75, 80, 86, 89, 90)
BENCH = Path(__file__).resolve().parents[2] / "bench/gpu/kernels.py"


def assembler():
    """ptxas of a toolkit or a wheel; None where there is none."""
    found = [shutil.which("ptxas"), "/usr/local/cuda/bin/ptxas"]
    found += [str(file) for folder in sys.path for file in Path(folder or ".").glob("nvidia/*/bin/ptxas")]
    return next((path for path in found if path and Path(path).is_file()), None)


@pytest.fixture(scope="module")
def kernels():
    spec = importlib.util.spec_from_file_location("treadle_bench_kernels", BENCH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.define(cuda, math)


def array(rank, dtype="float32"):
    return ("array", dtype, rank, 1)


LINE, PLANE = array(1), array(2)
WHOLE = array(1, "int32")
REAL, COUNT = ("scalar", "float32"), ("scalar", "int32")
SIGNATURES = {
    "vecadd": (LINE, LINE, LINE),
    "saxpy": (REAL, LINE, LINE, LINE),
    "fused": (LINE, LINE, LINE),
    "mandelbrot": (array(2, "int32"), COUNT),
    "nbody": (LINE,) * 5,
    "black_scholes": (LINE,) * 4,
    "matmul_naive": (PLANE,) * 3,
    "matmul_tiled": (PLANE,) * 3,
    "stencil": (PLANE, PLANE),
    "convolution": (PLANE,) * 3,
    "transpose": (PLANE, PLANE),
    "reduce_tree": (LINE, LINE),
    "reduce_shuffle": (LINE, LINE),
    "block_scan": (LINE, LINE),
    "histogram": (WHOLE, WHOLE),
    "bitonic": (WHOLE,),
    "csr": (WHOLE, WHOLE, LINE, LINE, LINE),
    "monte_carlo": (array(1, "uint32"), COUNT, WHOLE),
}


def ptx(kernel, types, capability=90, block=(256, 1, 1), equal=(), coarse=False):
    return kernel._ready().dump(list(types), "asm", block, capability, list(equal), coarse)


def count(text, pattern):
    return len(re.findall(pattern, text))


@pytest.mark.skipif(assembler() is None, reason="ptxas is not installed")
@pytest.mark.parametrize("name", SIGNATURES)
def test_the_assembler_takes_it(kernels, name, tmp_path):
    for capability in CHIPS:
        for coarse in (False, True):
            file = tmp_path / "kernel.ptx"
            file.write_text(ptx(getattr(kernels, name), SIGNATURES[name], capability, coarse=coarse))
            command = [assembler(), f"-arch=sm_{capability}", "-o", "/dev/null", str(file)]
            result = subprocess.run(command, capture_output=True, text=True, check=False)
            # A newer assembler may have given up the oldest chips.
            if result.returncode and "is not defined for option 'gpu-name'" in result.stderr:
                continue
            assert result.returncode == 0, result.stderr


@pytest.mark.skipif(assembler() is None, reason="ptxas is not installed")
def test_the_assembler_takes_checked_divisions(tmp_path):
    @cuda.jit(debug=True)
    def divide(a, b, out):
        i = cuda.grid(1)
        out[i] = a[i] / b[i] + a[i] // b[i] + a[i] % b[i]

    for dtype in ("int32", "float32"):
        text = ptx(divide, (array(1, dtype), array(1, dtype), LINE))
        assert count(text, "ret;") > 1, "a zero ends the thread"
        file = tmp_path / "kernel.ptx"
        file.write_text(text)
        subprocess.run([assembler(), "-arch=sm_90", "-o", "/dev/null", str(file)], check=True)


@cuda.jit(device=True)
def pair(x, n):
    if n == 0:
        raise ValueError("zero")
    if n == 1:
        return x[0], True
    a, b = pair(x, n - 1)
    return a * n, not b


@cuda.jit("bfloat16(bfloat16, int8)", device=True)
def narrow(x, n):
    return x if n < 0 else narrow(x + x, n - 1)


@cuda.jit
def recursive(x, out):
    i = cuda.grid(1)
    shared = cuda.shared.array(32, "float32")
    shared[cuda.threadIdx.x % 32] = x[i]
    cuda.syncthreads()
    value, flag = pair(shared, i)
    out[i] = value if flag else narrow(value, 3)


@pytest.mark.skipif(assembler() is None, reason="ptxas is not installed")
@pytest.mark.parametrize("capability", CHIPS)
def test_functions_that_call_themselves(capability, tmp_path):
    file = tmp_path / "kernel.ptx"
    file.write_text(ptx(recursive, (LINE, LINE), capability, coarse=True))
    command = [assembler(), "-v", f"-arch=sm_{capability}", "-o", "/dev/null", str(file)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if not (result.returncode and "is not defined for option 'gpu-name'" in result.stderr):
        assert result.returncode == 0 and "Function properties for pair" in result.stderr, result.stderr


@pytest.mark.parametrize("capability", CHIPS)
def test_targets(kernels, capability):
    assert f".target sm_{capability}" in ptx(kernels.vecadd, SIGNATURES["vecadd"], capability)


def test_newer_chips_run_the_code_of_the_newest_known_one(kernels):
    assert ".target sm_90" in ptx(kernels.vecadd, SIGNATURES["vecadd"], 120)
    with pytest.raises(UnsupportedError, match=r"capability 7\.5 or newer, got 7\.0"):
        ptx(kernels.vecadd, SIGNATURES["vecadd"], 70)


def test_guards_of_unequal_arrays_stay(kernels):
    text = ptx(kernels.vecadd, SIGNATURES["vecadd"])
    assert count(text, r"ld\.global\.f32") == 2 and count(text, r"setp") >= 3


@pytest.mark.parametrize(
    ("name", "equal", "tests", "loads"),
    [("vecadd", (0, 0, 0), 1, 2), ("fused", (0, 0, 0), 1, 2), ("stencil", (0, 1, 0, 1), 4, 5)],
)
def test_equal_extents_leave_the_tests_of_the_program(kernels, name, equal, tests, loads):
    text = ptx(getattr(kernels, name), SIGNATURES[name], equal=equal)
    assert (count(text, r"setp"), count(text, r"ld\.global\.f32")) == (tests, loads), text


def test_loops_have_no_guards_left(kernels):
    text = ptx(kernels.matmul_naive, SIGNATURES["matmul_naive"], equal=(0,) * 6)
    # Four rounds at once and the rest of the rounds, two loads each.
    assert count(text, r"ld\.global\.f32") == 10 and count(text, r"fma\.rn\.f32") == 5
    text = ptx(kernels.matmul_tiled, SIGNATURES["matmul_tiled"], block=(16, 16, 1), equal=(0,) * 6)
    assert count(text, r"bar\.sync") == 2 and count(text, r"fma\.rn\.f32") == 16
    assert count(text, r"ld\.shared\.v4\.f32") == 4, "a row of sixteen is four loads"


def test_coarse_kernels_load_before_they_store(kernels):
    text = ptx(kernels.vecadd, SIGNATURES["vecadd"], equal=(0, 0, 0), coarse=True)
    order = re.findall(r"\b(ld|st)\.global", text)
    runs = re.sub(r"(.)\1*", lambda run: f"{run[0][0]}{len(run[0])} ", "".join(kind[0] for kind in order))
    assert "l8 s4" in runs, runs
    # Kernels whose threads depend on each other stay as they are.
    for name in ("matmul_tiled", "histogram", "reduce_shuffle", "nbody"):
        types = SIGNATURES[name]
        assert ptx(getattr(kernels, name), types, coarse=True) == ptx(getattr(kernels, name), types)


def test_sums_of_products_contract_as_asked():
    def dot(x, y, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = x[i] * y[i] + out[i]

    types = [LINE] * 3
    assert count(ptx(cuda.jit(dot), types, equal=(0, 0, 0)), r"fma\.rn\.f32") == 1
    text = ptx(cuda.jit(fmad=False)(dot), types, equal=(0, 0, 0))
    assert count(text, r"fma") == 0 and count(text, r"mul\.rn\.f32") == 1 and count(text, r"add\.rn\.f32") == 1


@pytest.mark.parametrize("cc", ((7, 5), (9, 0)))
def test_compile_ptx(cc, tmp_path):
    def scale(x, factor):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= factor

    text, result = cuda.compile_ptx(scale, "void(float32[::1], float32)", cc=cc, fastmath=True)
    assert str(result) == "none" and f".target sm_{cc[0]}{cc[1]}" in text
    assert ".entry treadle_kernel" in text and text.count(".param .u64") == 4 + 5
    assert cuda.compile(cuda.jit(scale), "void(float32[::1], float32)", cc=cc, fastmath=True)[0] == text
    if assembler() is not None:
        (tmp_path / "kernel.ptx").write_text(text)
        command = [assembler(), f"-arch=sm_{cc[0]}{cc[1]}", "-o", "/dev/null", str(tmp_path / "kernel.ptx")]
        subprocess.run(command, check=True)


@pytest.mark.cpu("without a GPU there is no current one")
def test_compile_for_no_gpu():
    for function in (cuda.compile_for_current_device, cuda.compile_ptx_for_current_device):
        with pytest.raises(ValueError, match="expected a GPU as the current device"):
            function(lambda x: None, "void(int32)")


def test_limits_of_a_kernel(tmp_path):
    def busy(x, out):
        i = cuda.grid(1)
        total = x[i]
        for k in range(8):
            total += x[i + k] * x[i - k] + x[i + 2 * k]
        out[i] = total

    def text_of(**options):
        return ptx(cuda.jit(**options)(busy), (LINE, LINE))

    assert ".maxnreg" not in text_of() and ".maxnreg 24" in text_of(max_registers=24)
    assert ".minnctapersm 3" in text_of(launch_bounds=(128, 3)) and ".minnctapersm" not in text_of(launch_bounds=128)
    if assembler() is not None:
        file = tmp_path / "kernel.ptx"
        file.write_text(text_of(max_registers=24))
        command = [assembler(), "-v", "-arch=sm_90", "-o", "/dev/null", str(file)]
        result = subprocess.run(command, capture_output=True, text=True, check=True)
        assert int(re.search(r"Used (\d+) registers", result.stderr)[1]) <= 24
    with pytest.raises(ValueError, match="max_registers: expected a positive number, got -1"):
        cuda.jit(max_registers=-1)


@pytest.mark.cuda
def test_registers_on_a_gpu(on_gpu):
    if not on_gpu:
        pytest.skip("needs a GPU")

    @cuda.jit("void(float32[::1], float32[::1], int64)", max_registers=20)
    def heavy(x, out, rounds):
        i = cuda.grid(1)
        a, b, c, d = x[i], x[i + 1], x[i + 2], x[i + 3]
        for _ in range(rounds):
            a, b, c, d = a * b + c, b * c + d, c * d + a, d * a + b
        out[i] = a + b + c + d

    assert list(heavy.get_regs_per_thread().values())[0] <= 20
