"""Programs written for numba.cuda under `treadle run`: exceptions, warnings, modules and decorators, with numba and without it."""

import importlib.util

import numpy as np
import pytest

import treadle as td

WITHOUT = """
import importlib.util
original = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name.split(".")[0] == "numba" else original(name, *rest)
"""


@pytest.fixture(params=["with numba", "without numba", "numba first"])
def program(request, run_python, tmp_path):
    """Runs a program with numba.cuda taken over, and checks that it printed "done"."""
    if request.param != "without numba" and importlib.util.find_spec("numba") is None:
        pytest.skip("numba is not installed")
    first = {
        "with numba": "",
        "without numba": WITHOUT,
        "numba first": "import numba.core.errors\n",
    }[request.param]

    def run(text, **environment):
        (tmp_path / "main.py").write_text(f"{first}\nimport treadle.dropin\n{text}\nprint('done')\n")
        result = run_python([str(tmp_path / "main.py")], **environment)
        assert result.stdout.splitlines()[-1:] == ["done"], result.stdout + result.stderr
        return result

    return run


def test_exceptions(program):
    program("""
import numpy as np
from numba import cuda
from numba.core.errors import LoweringError, NumbaError, TypingError, UnsupportedError
from numba.core import errors

@cuda.jit
def mistyped(x):
    x[0] = x & 1

@cuda.jit
def unsupported(x):
    x[0] = [1]

x = cuda.to_device(np.ones(2))
for kernel, kind in ((mistyped, TypingError), (unsupported, UnsupportedError), (mistyped, errors.NumbaError)):
    try:
        kernel[1, 1](x)
    except kind as error:
        assert isinstance(error, NumbaError) and "main.py" in str(error)
    else:
        raise AssertionError(kind)
try:
    mistyped[1, 1](x)
except UnsupportedError:
    raise AssertionError
except TypeError:
    pass
""")


def test_driver_errors(program):
    program("""
from numba import cuda
from numba.cuda.cudadrv.driver import CudaAPIError, CudaDriverError, LinkerError
from numba.cuda.cudadrv.error import CudaSupportError, NvvmError
from numba.cuda.cudadrv import driver, devicearray, devices, error, nvvm
from numba.cuda.errors import KernelRuntimeError
import numba.cuda.cudadrv.devicearray

@cuda.jit
def kernel(x):
    x[0] = 1

x = cuda.device_array(3)
try:
    kernel[1, 5000](x)
except CudaAPIError as error:
    assert error.code == 1 and error.msg.startswith("CUDA_ERROR_INVALID_VALUE")
else:
    raise AssertionError
try:
    kernel[0, 1](x)
except CudaDriverError:
    pass
assert isinstance(x, devicearray.DeviceNDArray) and devicearray.is_cuda_ndarray(x)
assert isinstance(cuda.managed_array(3), devicearray.ManagedNDArray)
assert devicearray.auto_device(x) == (x, False) and devices.get_context().device.id == 0
assert cuda.cudadrv.driver.CudaAPIError is CudaAPIError and cuda.CudaSupportError is CudaSupportError
assert issubclass(CudaSupportError, ImportError)
devices.reset()
try:
    devicearray.require_cuda_ndarray(3)
except ValueError as error:
    assert "obj: expected a device array, got int" in str(error)
else:
    raise AssertionError
devicearray.require_cuda_ndarray(x)
""")


def test_warnings_of_copies(program):
    text = """
import warnings
import numpy as np
from numba import config, cuda
from numba.core.errors import NumbaPerformanceWarning, NumbaWarning, NumbaDeprecationWarning

@cuda.jit
def add_one(x):
    x[cuda.grid(1)] += 1

@cuda.jit("void(float64[:])")
def add_two(x):
    x[cuda.grid(1)] += 2

x = np.zeros(4)
for kernel in (add_one, add_two):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kernel[1, 4](x)
    assert issubclass(caught[0].category, NumbaPerformanceWarning) and issubclass(caught[0].category, NumbaWarning)
    assert len(caught) == 1 and caught[0].filename == __file__
warnings.simplefilter("error")
warnings.filterwarnings("ignore", category=NumbaPerformanceWarning)
add_one[1, 4](x)
warnings.simplefilter("error")
config.CUDA_WARN_ON_IMPLICIT_COPY = 0
add_one[1, 4](x)
config.CUDA_WARN_ON_IMPLICIT_COPY = 1
try:
    add_one[1, 4](x)
except NumbaPerformanceWarning:
    pass
else:
    raise AssertionError
add_one[1, 4](cuda.InOut(x))
assert x.tolist() == [6] * 4, x
"""
    program(text)


def test_warnings_are_switched_off_by_the_environment(program):
    program(
        """
import warnings
import numpy as np
from numba import cuda
warnings.simplefilter("error")
x = np.zeros(2)
cuda.jit(lambda x: None)[1, 1](x)
""",
        NUMBA_CUDA_WARN_ON_IMPLICIT_COPY="0",
    )


def test_decorators_of_numba(program):
    program("""
import numpy as np
import numba
from numba import cuda, float32, float64, guvectorize, vectorize

@vectorize([float32(float32, float32), "float64(float64, float64)"], target="cuda")
def add(a, b):
    return a + b

@guvectorize([(float64[:], float64[:])], "(n)->()", target="cuda")
def total(x, out):
    out[0] = 0
    for i in range(x.shape[0]):
        out[0] += x[i]

@numba.vectorize(["float64(float64)"], nopython=True)
def on_host(v):
    return v + 1

@guvectorize(["void(float64[:], float64[:])"], "(n)->(n)", target="cpu")
def copied(x, out):
    for i in range(x.shape[0]):
        out[i] = x[i]

@cuda.reduce
def summed(a, b):
    return a + b

x = np.arange(4.0)
assert isinstance(add, type(cuda.vectorize(["f4(f4)"])(lambda v: v)))
assert add(x, cuda.to_device(x)).copy_to_host().tolist() == [0, 2, 4, 6] and add(x, 1).tolist() == [1, 2, 3, 4]
assert total(x) == 6 and on_host(x).tolist() == [1, 2, 3, 4] and copied(x).tolist() == x.tolist() and summed(x) == 6
from numba.cuda.kernels.reduction import Reduce
assert Reduce is cuda.Reduce
""")


def test_arrays_meet_numpy_as_numbas_do(program):
    program("""
import numpy as np
from numba import cuda

x = cuda.to_device(np.arange(6.0).reshape(2, 3))
x[0] = np.full(3, 7)
x[1, :2] = [8, 9]
np.testing.assert_array_equal(x, [[7, 7, 7], [8, 9, 5]])
assert np.asarray(x, dtype=np.int32).dtype == np.int32 and np.sum(np.asarray(x)) == 43
try:
    np.asarray(x, copy=False)
except ValueError as error:
    assert "copy: expected True or None, got False" in str(error)
else:
    raise AssertionError
""")


def test_types_and_other_modules(program):
    program("""
import numpy as np
import numba
from numba import b1, boolean, c8, complex128, cuda, f4, float32, from_dtype, int32, intp, typeof, types, uint8, void
from numba.core import types as core_types
from numba.np.numpy_support import as_dtype, from_dtype as again
from numba.cuda.compiler import compile_ptx
from numba.cuda.dispatcher import CUDADispatcher
from numba.cuda.api import to_device
from numba.cuda.args import In
from numba.cuda.decorators import jit

@cuda.jit(void(float32[::1], int32))
def fill(x, n):
    x[cuda.grid(1)] = types.float32(n) + np.float32(1)

x = cuda.to_device(np.zeros(3, "f4"))
fill[1, 3](x, 2)
assert x.copy_to_host().tolist() == [3, 3, 3] and isinstance(fill, CUDADispatcher)
assert str(typeof(np.zeros((2, 2), "f4"))) == "array(float32, 2d, C)" and str(from_dtype(np.dtype("i2"))) == "int16"
assert as_dtype(types.float32) == np.float32 and str(core_types.Tuple((int32, float32))) == "Tuple(int32, float32)"
assert numba.config.ENABLE_CUDASIM == 0 and isinstance(numba.__version__, str)
assert str(list(fill.overloads)[0]) == str((types.float32[::1], types.int32))
""")


def test_whole_host_program(program):
    program("""
import math
import numpy as np
from numba import cuda

@cuda.jit
def saxpy(out, a, x, y):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = a * x[i] + y[i]

with cuda.gpus[0]:
    device = cuda.get_current_device()
    n, threads = 10_000, min(256, device.MAX_THREADS_PER_BLOCK)
    stream = cuda.stream()
    x, y = cuda.pinned_array(n, np.float32), np.ones(n, np.float32)
    x[:] = np.arange(n)
    begin, end = cuda.event(), cuda.event()
    with cuda.pinned(y), stream.auto_synchronize():
        begin.record(stream)
        d_x, d_y = cuda.to_device(x, stream=stream), cuda.to_device(y, stream)
        d_out = cuda.device_array_like(d_x, stream=stream)
        saxpy[math.ceil(n / threads), threads, stream](d_out, np.float32(2), d_x, d_y)
        out = d_out.copy_to_host(stream=stream)
        end.record(stream)
    end.synchronize()
    assert cuda.event_elapsed_time(begin, end) > 0
    np.testing.assert_array_equal(out, 2 * x + 1)
    with cuda.defer_cleanup():
        shared = cuda.managed_array(n, np.float32)
        saxpy.forall(n)(shared, 3.0, d_x, d_y)
        cuda.synchronize()
        np.testing.assert_array_equal(shared, 3 * x + 1)
    assert isinstance(device.name, bytes) and cuda.current_context().get_memory_info().free > 0
    cuda.detect()
cuda.close()
""")


def test_what_is_refused():
    from treadle.compat import numba_cuda

    for call, words in (
        (lambda: numba_cuda.set_memory_manager(None), "set_memory_manager: the CPU device has one allocator"),
        (lambda: numba_cuda.open_ipc_array(None, 3, "f4"), "open_ipc_array: memory of the CPU device"),
    ):
        with pytest.raises(td.errors.UnsupportedError, match=words):
            call()
    from treadle.compat.numba_np import as_dtype

    assert as_dtype(td.types.float32) == np.float32
    with pytest.raises(TypeError, match="nbtype: expected the type of a number or a record, got none"):
        as_dtype(td.types.void)


def test_codes_of_errors():
    assert td.errors.DeviceError("CUDA_ERROR_NOT_READY: x").code == 600
    assert td.errors.DeviceError("something").code == 999
