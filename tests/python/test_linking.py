"""Functions of other languages in kernels, and the linker."""

import pickle
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import treadle as td
from treadle import cuda, pathfinder, types
from treadle.core import Linker, LinkerOptions, ObjectCode, Program, ProgramOptions
from treadle.core._linker import find_linker
from treadle.errors import CompileError, TypingError, UnsupportedError

SOURCE = """
#include "scale.h"
template <class T> __device__ T twice(T x) { return 2 * x; }
extern "C" {
__device__ float scaled(float x, int by) { return SCALE * twice(x) * by; }
__device__ int halved(double* result, signed char a, unsigned short b, bool c) { *result = c ? (a + b) / 2.0 : 0; return 0; }
__device__ bool is_odd(long long x) { return x & 1; }
__device__ signed char negated(signed char x) { return -x; }
__device__ void put(float* to, int at, float value) { to[at] = value; }
__device__ float total(const float* x, int n) { float s = 0; for (int i = 0; i < n; ++i) s += x[i]; return s; }
__device__ void meet() { __syncthreads(); }
}
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("source")
    (folder / "scale.h").write_text("#define SCALE 3\n")
    (folder / "functions.cu").write_text(SOURCE)
    return folder / "functions.cu"


def functions(link):
    names = {
        "scaled": "float32(float32, int32)",
        "is_odd": "bool(int64)",
        "negated": "int8(int8)",
        "put": "void(CPointer(float32), int32, float32)",
        "total": types.float32(types.CPointer(types.float32), types.int32),
        "meet": "void()",
    }
    made = {name: cuda.declare_device(name, sig, link=link, abi="c") for name, sig in names.items()}
    made["halved"] = cuda.declare_device("halved", "float64(int8, uint16, bool)", link=link)
    return made


def kernel_of(link):
    f = functions(link)
    scaled, is_odd, negated, put, total, meet, halved = (
        f[name] for name in ("scaled", "is_odd", "negated", "put", "total", "meet", "halved")
    )

    @cuda.jit
    def kernel(x, out):
        shared = cuda.shared.array(32, np.float32)
        own = cuda.local.array(4, np.float32)
        i = cuda.grid(1)
        t = cuda.threadIdx.x
        put(shared, 31 - t, x[i])
        for k in range(4):
            put(own, k, np.float32(k))
        meet()
        out[i, 0] = scaled(shared[t], i)
        out[i, 1] = halved(np.int8(-t), np.uint16(7), i % 2 == 0)
        out[i, 2] = is_odd(i)
        out[i, 3] = negated(np.int8(t))
        out[i, 4] = total(own, 4)
        out[i, 5] = total(x, x.size)
        out[i, 6] = total(shared, 32)
        if i % 3 == 0:
            put(x, i, -1)

    return kernel


def expected_of(x):
    blocks = x.reshape(-1, 32)
    i, t = np.arange(x.size), np.arange(x.size) % 32
    return np.stack(
        [
            6 * blocks[:, ::-1].reshape(-1) * i,
            np.where(i % 2 == 0, (7 - t) / 2, 0),
            i % 2,
            -t,
            np.full(x.size, 6),
            np.full(x.size, x.sum()),
            np.repeat(blocks.sum(1), 32),
        ],
        axis=1,
    )


def checked(link):
    host = (np.arange(64) % 7).astype("float32")
    x, out = td.array(host), td.zeros((64, 7), "float64")
    kernel = kernel_of(link)
    # Every thread sums x, which some of them change at last: what it sees, column 5, is not defined.
    kernel[2, 32](x, out)
    result, expected = out.get(), expected_of(host)
    np.testing.assert_array_equal(np.delete(result, 5, axis=1), np.delete(expected, 5, axis=1))
    assert x.tolist() == [-1 if i % 3 == 0 else value for i, value in enumerate(host.tolist())]


@pytest.fixture
def gpu(on_gpu):
    if not on_gpu:
        pytest.skip("needs a GPU")


@pytest.mark.cuda
@pytest.mark.parametrize("form", ("file", "text", "ptx", "cubin", "object", "archive", "fatbin", "ltoir", "option"))
def test_forms(gpu, form, source, tmp_path):
    options = ProgramOptions(relocatable_device_code=True, include_path=str(source.parent))
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if form == "file":
        return checked(str(source))
    if form == "text":
        return checked(cuda.CUSource(SOURCE.replace('#include "scale.h"', "#define SCALE 3")))
    if form in ("ptx", "cubin", "ltoir"):
        code = Program(SOURCE, "c++", options).compile(form).code
        return checked({"ptx": cuda.PTXSource, "cubin": cuda.Cubin, "ltoir": cuda.LTOIR}[form](code))
    if form == "option":
        return checked([source, cuda.CUSource("__device__ int nobody_calls() { return 0; }")])
    if not Path(nvcc).is_file():
        pytest.skip("needs nvcc")
    target = tmp_path / {"object": "f.o", "archive": "f.a", "fatbin": "f.fatbin"}[form]
    how = {"object": "-c", "archive": "-lib", "fatbin": "-fatbin"}[form]
    subprocess.run([nvcc, "-rdc=true", "-arch=native", how, "-o", target, source], check=True)
    return checked(target)


@pytest.mark.cuda
def test_link_of_the_kernel(gpu, source):
    scaled = cuda.declare_device("scaled", "float32(float32, int32)", abi="c")

    @cuda.jit(link=[str(source)])
    def kernel(x):
        x[cuda.grid(1)] = scaled(x[cuda.grid(1)], 2)

    x = td.ones(4, "float32")
    kernel[1, 4](x)
    assert x.tolist() == [12, 12, 12, 12]
    copy = pickle.loads(pickle.dumps(kernel.options))
    assert copy.link == kernel.options.link

    @cuda.jit
    def alone(x):
        x[0] = scaled(x[0], 2)

    with pytest.raises(CompileError, match="scaled"):
        alone[1, 1](x)
    kernel[1, 4](x)
    assert x.tolist() == [144] * 4


@pytest.mark.cuda
def test_source_errors(gpu):
    broken = cuda.declare_device("f", "int32()", abi="c", link=cuda.CUSource("int f( {", "mine.cu"))

    @cuda.jit
    def kernel(x):
        x[0] = f()

    f = broken
    with pytest.raises(CompileError, match=r"mine\.cu"):
        kernel[1, 1](td.zeros(1, "int32"))


@pytest.mark.cpu("what the CPU device says")
def test_cpu_device(source):
    f = functions(str(source))["scaled"]

    @cuda.jit
    def kernel(x):
        x[0] = f(x[0], 2)

    x = td.ones(1, "float32")
    with pytest.raises(UnsupportedError, match=r"(?s)'scaled' is code for GPUs.*x\[0\] = f\(x\[0\], 2\)"):
        kernel[1, 1](x)
    with pytest.raises(TypeError, match="scaled is a function for GPUs"):
        f(1, 2)


WRONG_CALLS = {
    "too few": ("scaled(x[0])", "scaled: expected 2 arguments, got 1"),
    "array for number": ("scaled(x, 1)", "scaled: expected a number"),
    "number for array": ("total(x[0], 1)", "total: argument 1: expected an array of float32, got float32"),
    "every other": ("total(x[::2], 1)", "total: argument 1: expected a contiguous array"),
    "through cffi": ("total(ffi.from_buffer(x[::2]), 1)", "total: argument 1: expected a contiguous array"),
    "other elements": ("total(y, 1)", "total: argument 1: expected an array of float32, got .*float64"),
}


class FFI:
    """As cffi's."""

    def from_buffer(self, array):
        raise NotImplementedError


def test_from_buffer(source):
    ffi, total = FFI(), functions(str(source))["total"]

    @cuda.jit
    def kernel(x):
        x[0] = total(ffi.from_buffer(x), x.size)

    assert "call" in kernel._ready().dump([("array", "float32", 1, 1)], "asm", (32,), 75)


@pytest.mark.parametrize("case", WRONG_CALLS)
def test_wrong_calls(case, source):
    call, message = WRONG_CALLS[case]
    scope = {"cuda": cuda, "ffi": FFI(), **functions(str(source))}
    exec(f"@cuda.jit\ndef kernel(x, y):\n    x[0] = {call}\n", scope)
    types = [("array", "float32", 1, 1), ("array", "float64", 1, 1)]
    with pytest.raises(TypingError, match=message):
        scope["kernel"]._ready().dump(types, "asm", (32,), 75)


@pytest.mark.parametrize("chip", (75, 90))
def test_calls_in_ptx(chip, source):
    """Parameters are passed as NVIDIA's compiler takes them: what is smaller than 32 bits as 32, results of numba's by address."""
    kernel = kernel_of(str(source))
    text = kernel._ready().dump([("array", "float32", 1, 1), ("array", "float64", 2, 1)], "asm", (32,), chip)
    declared = dict(re.findall(r"\.extern \.func +(?:\(.*?\) +)?(\w+)\s*(\([^;]*?\))\s*;", text, re.DOTALL))
    assert {name: re.findall(r"\.param \.b(\d+)", params) for name, params in declared.items()} == {
        "scaled": ["32", "32"],
        "halved": ["64", "32", "32", "32"],
        "is_odd": ["64"],
        "negated": ["32"],
        "put": ["64", "32", "32"],
        "total": ["64", "32"],
    } | {name: [] for name in declared if name == "meet"}
    if find_linker() and pathfinder.find("nvrtc") is not None:
        options = ProgramOptions(relocatable_device_code=True, include_path=str(source.parent), arch=f"sm_{chip}")
        code = Program(SOURCE, "c++", options).compile("ptx")
        linker = Linker(ObjectCode.from_ptx(text.encode()), code, options=LinkerOptions(arch=f"sm_{chip}"))
        assert b"treadle_kernel" in linker.link("cubin").code


DECLARATIONS = {
    "name": (("a b", "int32()"), {}, ValueError, "name: expected a symbol, got 'a b'"),
    "no result": (("f", "(int32,)"), {}, TypeError, "sig: expected a result and parameters"),
    "abi": (("f", "int32()"), {"abi": "d"}, ValueError, "abi: expected 'numba' or 'c', got 'd'"),
    "array": (("f", "int32(float32[:])"), {}, UnsupportedError, "parameter 1: expected a number or a pointer"),
    "complex": (("f", "int32(complex64)"), {}, UnsupportedError, "parameter 1: expected a number or a pointer"),
    "result": (("f", types.CPointer(types.int32)()), {}, UnsupportedError, "result: expected a number, got a pointer"),
    "link": (("f", "int32()"), {"link": 3}, TypeError, "link: expected a file, or code such as CUSource"),
}


@pytest.mark.parametrize("case", DECLARATIONS)
def test_wrong_declarations(case):
    args, options, error, message = DECLARATIONS[case]
    with pytest.raises(error, match=message):
        cuda.declare_device(*args, **options)


OPTIONS = {
    "dictionary": (
        lambda: Linker(CODE, options={"arch": "sm_90"}),
        TypeError,
        "Linker: options: expected LinkerOptions, got dict",
    ),
    "arch": (
        lambda: Linker(CODE, options=LinkerOptions(arch=90)),
        TypeError,
        "arch: expected a text such as 'sm_90', got int",
    ),
    "negative": (
        lambda: Linker(CODE, options=LinkerOptions(max_register_count=-5)),
        ValueError,
        "max_register_count: expected 0",
    ),
    "text": (
        lambda: Linker(CODE, options=LinkerOptions(max_register_count="a")),
        TypeError,
        "max_register_count: expected an",
    ),
    "kernels": (
        lambda: Linker(CODE, options=LinkerOptions(kernels_used=3)),
        TypeError,
        "kernels_used: expected a text or a list",
    ),
    "code": (
        lambda: ObjectCode.from_ptx(3),
        TypeError,
        "module: expected bytes, a text or the path of a file, got int",
    ),
}
CODE = ObjectCode.from_ptx(".version 7.8\n.target sm_75\n.address_size 64\n")


@pytest.mark.parametrize("case", OPTIONS)
def test_wrong_options(case):
    make, error, message = OPTIONS[case]
    with pytest.raises(error, match=message):
        make()


def test_linkable_code():
    assert cuda.CUSource("x") == cuda.CUSource(b"x") and cuda.CUSource("x") != cuda.PTXSource("x")
    with pytest.raises(TypeError, match="Cubin: data: expected bytes or a text, got int"):
        cuda.Cubin(3)
    assert pickle.loads(pickle.dumps(types.CPointer(types.int8))) == types.CPointer(types.int8)


@pytest.mark.skipif(pathfinder.find("nvjitlink") is None, reason="needs nvJitLink")
class TestNvJitLink:
    ONE = ".version 7.8\n.target sm_75\n.address_size 64\n"
    CALLS = ONE + ".extern .func f;\n.visible .entry k() { call f; ret; }\n"
    HAS = ONE + ".visible .func f { ret; }\n"

    @pytest.fixture(autouse=True)
    def loaded(self):
        if not find_linker():
            pytest.skip("nvJitLink is newer than the driver")

    @pytest.mark.parametrize("chip", ("sm_75", "sm_80", "sm_90", "sm_90a"))
    def test_links_without_a_gpu(self, chip):
        linker = Linker(
            ObjectCode.from_ptx(self.CALLS),
            ObjectCode.from_ptx(self.HAS),
            options=LinkerOptions(arch=chip, name="both"),
        )
        linked = linker.link("cubin")
        assert linker.backend == "nvJitLink" and linked.code[:4] == b"\x7fELF" and linked.name == "both"

    def test_log(self):
        with pytest.raises(CompileError, match="f"):
            Linker(ObjectCode.from_ptx(self.CALLS), options=LinkerOptions(arch="sm_80")).link("cubin")
        with pytest.raises(CompileError, match="refuses the options -arch=sm_33"):
            Linker(ObjectCode.from_ptx(self.HAS), options=LinkerOptions(arch="sm_33")).link("cubin")
        with pytest.raises(ValueError, match="arch: expected one such as 'sm_90', got 'sm_3'"):
            Linker(ObjectCode.from_ptx(self.HAS), options=LinkerOptions(arch="sm_3"))
        linker = Linker(
            ObjectCode.from_ptx(self.HAS), options=LinkerOptions(arch="sm_80", max_register_count=32, fma=False)
        )
        assert linker.link("cubin").code and linker.get_error_log() == ""

    def test_lto(self):
        if pathfinder.find("nvrtc") is None:
            pytest.skip("needs NVRTC")
        options = ProgramOptions(arch="sm_90", link_time_optimization=True, relocatable_device_code=True)
        code = 'extern "C" __device__ int f(); extern "C" __global__ void k(int* x) { x[0] = f(); }'
        calls = Program(code, "c++", options).compile("ltoir")
        has = Program('extern "C" __device__ int f() { return 41; }', "c++", options).compile("ltoir")
        text = Linker(calls, has, options=LinkerOptions(arch="sm_90")).link("ptx").code.decode()
        assert ".entry k" in text and "41" in text and "call" not in text
        with pytest.raises(UnsupportedError, match="link it first"):
            calls.get_kernel("k")
