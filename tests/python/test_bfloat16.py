"""bfloat16 on the host: the dtype and its numbers, with and without the package that NumPy has it from, and other libraries."""

import io
import pdb
import pickle
import re
import shutil
import subprocess

import numpy as np
import pytest

import treadle as td
from treadle import _treadle, cuda, types
from treadle.errors import UnsupportedError


@pytest.fixture
def ml_dtypes():
    return pytest.importorskip("ml_dtypes")


@pytest.fixture
def no_ml_dtypes(monkeypatch):
    """As if the package were not installed."""
    monkeypatch.setitem(__import__("sys").modules, "ml_dtypes", None)


def test_the_dtype():
    dtype = td.zeros(2, td.bfloat16).dtype
    assert dtype == td.bfloat16 == "bfloat16" and dtype != "float16" and dtype != np.dtype("float16")
    assert (dtype.name, dtype.itemsize, dtype.kind, repr(dtype)) == ("bfloat16", 2, "f", "bfloat16")
    assert pickle.loads(pickle.dumps(dtype)) is dtype and hash(dtype) == hash(td.bfloat16)
    assert td.zeros(2, td.bfloat16).itemsize == 2 and td.zeros(2, td.bfloat16).nbytes == 4
    for same in (td.bfloat16, "bfloat16", types.bfloat16, dtype):
        assert td.empty(1, same).dtype == td.bfloat16


@pytest.mark.parametrize("value", [0.0, -0.0, 1.0, 0.1, 1 / 3, 3.3e38, 1e-40, 1e39, float("inf"), -2.5, 257])
def test_numbers_on_the_host(value):
    number = td.bfloat16(value)
    (expected,) = td.array([value], "float64").astype(td.bfloat16).tolist()
    assert float(number) == expected and isinstance(number, float) and number.dtype == td.bfloat16
    assert td.bfloat16(float(str(number))) == number, "its digits tell it apart"
    assert pickle.loads(pickle.dumps(number)) == number
    assert np.float32(number).view(np.uint32) >> 16 == number.bits


def test_texts():
    assert (str(td.bfloat16(0.1)), repr(td.bfloat16(1)), f"{td.bfloat16(0.1):.3f}") == ("0.1", "bfloat16(1.0)", "0.100")
    assert str(td.bfloat16("nan")) == "nan" and repr(td.bfloat16(-1e39)) == "bfloat16(-inf)"


def test_all_works_without_the_package(no_ml_dtypes):
    x = td.array([1, 0.1, 1 / 3], dtype=td.bfloat16)
    assert repr(x) == "array([1.0, 0.1, 0.334], dtype=bfloat16)" and str(x) == "[1.0 0.1 0.334]"
    assert x.tolist()[0] == 1 and float(x[1]) == float(td.bfloat16(0.1)) and f"{x[0]:.1f}" == "1.0"
    assert td.full(2, td.bfloat16(3)).dtype == td.arange(3, dtype=td.bfloat16).dtype == td.bfloat16
    assert td.linspace(0, 1, 3, dtype=td.bfloat16).tolist() == [0, 0.5, 1]
    assert pickle.loads(pickle.dumps(x)).tolist() == x.tolist()
    assert td.array_equal(x, x.copy()) and td.array(td.bfloat16(2)).dtype == td.bfloat16
    x.set([4, 5, 6])
    assert x.astype("float32").get().tolist() == [4, 5, 6]
    assert td.asnumpy(x.astype("float32")).tolist() == [4, 5, 6]


def test_host_arrays_are_refused_without_the_package(no_ml_dtypes):
    x = td.zeros(2, td.bfloat16)
    for use in (x.get, x.copy_to_host, lambda: td.asnumpy(x), lambda: cuda.pinned_array(2, td.bfloat16)):
        with pytest.raises(UnsupportedError, match=r"install the package ml_dtypes, or .* astype\('float32'\)"):
            use()


def test_host_arrays(ml_dtypes):
    host = np.array([[1, 0.1], [np.inf, -0.0]], ml_dtypes.bfloat16)
    x = td.array(host)
    assert x.dtype == host.dtype == td.bfloat16 and np.dtype(td.bfloat16) == host.dtype
    np.testing.assert_array_equal(x.get().view(np.uint16), host.view(np.uint16))
    assert x.get().dtype == host.dtype and td.array(host.T).tolist() == host.T.tolist()
    out = np.empty((2, 2), "float32")
    assert x.get(out=out)[0, 0] == 1
    assert td.zeros(2, ml_dtypes.bfloat16).dtype == td.zeros(2, host.dtype).dtype == td.bfloat16
    cuda.to_device(host, to=x)
    x.copy_to_device(host)
    assert td.array([1.0], "float32").astype(host.dtype).dtype == td.bfloat16
    assert (x * ml_dtypes.bfloat16(2)).dtype == td.bfloat16
    assert cuda.mapped_array(3, td.bfloat16).dtype == host.dtype


def test_arguments_of_kernels(ml_dtypes):
    @cuda.jit
    def kernel(x, scale):
        i = cuda.grid(1)
        x[i] = ml_dtypes.bfloat16(x[i] * scale) + BIAS

    BIAS = ml_dtypes.bfloat16(0.5)
    host = np.array([1, 2, 3], ml_dtypes.bfloat16)
    for scale in (td.bfloat16(1.5), ml_dtypes.bfloat16(1.5)):
        x = cuda.to_device(host)
        kernel[1, 32](x, scale)
        assert x.copy_to_host().tolist() == [2, 3.5, 5]
    assert "bfloat16" in str(kernel.signatures)


def test_captured_host_arrays(ml_dtypes):
    table = np.array([0.5, 0.25], ml_dtypes.bfloat16)

    @cuda.jit
    def kernel(out):
        out[0] = table[cuda.threadIdx.x]
        out[1] = cuda.const.array_like(table)[1]

    out = td.zeros(2, td.bfloat16)
    kernel[1, 1](out)
    assert out.tolist() == [0.5, 0.25]


def test_records(ml_dtypes):
    dtype = np.dtype([("a", ml_dtypes.bfloat16), ("b", "i4")], align=True)

    @cuda.jit
    def kernel(x):
        x[0].a += x[0].b

    x = cuda.to_device(np.array([(1.5, 2)], dtype))
    kernel[1, 1](x)
    assert x.copy_to_host()["a"].tolist() == [3.5] and x["b"].tolist() == [2]


def test_signatures_and_types():
    @cuda.jit("void(bfloat16[:], bfloat16)")
    def kernel(x, scale):
        x[0] = x[0] * scale

    x = td.array([3], td.bfloat16)
    for scale in (2, 2.0, np.float32(2), td.bfloat16(2)):
        kernel[1, 1](x, scale)
    assert x.tolist() == [48]
    assert (
        repr(types.bfloat16[:, ::1]) == "Array(bfloat16, 2, 'C', False, aligned=True)" and types.bfloat16.bitwidth == 16
    )
    assert types.typeof(td.bfloat16(1)) == types.from_dtype(td.bfloat16) == types.bfloat16
    assert types.typeof(x) == types.bfloat16[::1] and types.bfloat16(0.1) == td.bfloat16(0.1)
    with pytest.raises(TypeError, match=r"expected arguments of .*bfloat16"):
        kernel[1, 1](td.zeros(1, "float16"), 1)


def test_of_several_signatures_the_mildest_conversion_wins():
    @cuda.jit(["void(int64[:], bfloat16)", "void(int64[:], float32)"])
    def kernel(out, value):
        out[0] = value * 1024

    out = td.zeros(1, "int64")
    kernel[1, 1](out, td.bfloat16(0.1))
    exact = out.tolist()
    kernel[1, 1](out, np.float32(0.1))
    assert exact == [102] and out.tolist() == [102]
    kernel[1, 1](out, np.float16(1 + 2.0**-10))  # float32 holds it
    assert out.tolist() == [1025]


def test_vectorize():
    @cuda.vectorize(["bfloat16(bfloat16, bfloat16)"])
    def multiply_add(a, b):
        return a * b + b

    x = td.array([1, 2, 3], td.bfloat16)
    assert multiply_add(x, x).dtype == td.bfloat16 and multiply_add(x, 2).tolist() == [4, 6, 8]
    with pytest.raises(TypeError, match="cast safely"):
        multiply_add(x, td.ones(3, "float16"))


def test_printed_numbers(capsys):
    @cuda.jit
    def kernel(x):
        print(x[0], f"{x[0]:.4f}", x[0] + x[0])

    kernel[1, 1](td.array([0.1], td.bfloat16))
    cuda.synchronize()
    assert capsys.readouterr().out == "0.1 0.1001 0.2\n"


@pytest.mark.cpu("kernels are debugged on the CPU device")
def test_debugged(ml_dtypes):
    @cuda.jit
    def kernel(x, out, scale):
        i = cuda.grid(1)
        shared = cuda.shared.array(4, td.bfloat16)
        shared[i] = x[i] * scale
        cuda.syncthreads()
        out[i] = shared[1 - i] + x[i]

    x, plain, stepped = td.array([0.1, 2], td.bfloat16), td.zeros(2, td.bfloat16), td.zeros(2, td.bfloat16)
    kernel[1, 2](x, plain, td.bfloat16(3))
    debugger = pdb.Pdb(stdin=io.StringIO("continue\n"), stdout=io.StringIO(), readrc=False, nosigint=True)
    kernel.debug(debugger=debugger)[1, 2](x, stepped, td.bfloat16(3))
    assert stepped.tolist() == plain.tolist()


def test_capsules():
    x = td.arange(6, dtype=td.bfloat16).reshape(2, 3)
    for view in (x, x.T, x[:, ::2]):
        shared = td.from_dlpack(view)
        assert (shared.dtype, shared.shape, shared.strides) == (td.bfloat16, view.shape, view.strides)
        assert shared._pointer == view._pointer and shared.tolist() == view.tolist()


def test_torch():
    torch = pytest.importorskip("torch")
    tensor = torch.arange(4, dtype=torch.bfloat16)
    if _treadle.device_kind() == "cuda":
        tensor = tensor.cuda()
    x = td.from_dlpack(tensor)
    assert x.dtype == td.bfloat16 and x.tolist() == [0, 1, 2, 3]
    x += 1
    assert tensor.tolist() == [1, 2, 3, 4] and torch.from_dlpack(x).dtype == torch.bfloat16


def test_messages():
    x = td.ones(2, td.bfloat16)
    with pytest.raises(TypeError, match=r"\[bitwise_and\] not supported for type bfloat16"):
        x & x
    with pytest.raises(TypeError, match=r"random: dtype: expected float32 or float64, got bfloat16"):
        td.random.uniform(size=3, dtype=td.bfloat16)
    with pytest.raises(TypeError, match="dtype: expected a boolean"):
        td.zeros(3, "V2")


@cuda.jit
def every_operation(x, y, out):
    i = cuda.grid(1)
    shared = cuda.shared.array(256, td.bfloat16)
    shared[cuda.threadIdx.x] = x[i]
    cuda.syncthreads()
    value = shared[255 - cuda.threadIdx.x] * y[i] + x[i] / y[i]
    value = cuda.shfl_xor_sync(0xFFFFFFFF, value, 1) ** td.bfloat16(0.5)
    cuda.atomic.add(out, 0, value)
    cuda.atomic.max(out, 1, value)
    cuda.atomic.cas(out, 2, value, x[i])
    out[i] = int(value) + td.bfloat16(i)


@pytest.mark.parametrize("capability", (75, 80, 90))
def test_code_for_gpus(capability, tmp_path):
    array = ("array", "bfloat16", 1, 1)
    text = every_operation._ready().dump([array] * 3, "asm", (256, 1, 1), capability, [], False)
    assert bool(re.search(r"cvt\.rn\.bf16\.f32", text)) == (capability >= 80)
    assembler = shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")
    if assembler is None:
        pytest.skip("ptxas is not installed")
    file = tmp_path / "kernel.ptx"
    file.write_text(text)
    command = [assembler, f"-arch=sm_{capability}", "-o", "/dev/null", str(file)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0 or "is not defined for option 'gpu-name'" in result.stderr, result.stderr
