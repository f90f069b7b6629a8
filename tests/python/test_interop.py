"""Arrays shared with other libraries."""

import gc

import numpy as np
import pytest

import treadle as td
from treadle import _treadle, cuda

DTYPES = ("bool", "int8", "uint16", "int32", "uint64", "float16", "float32", "float64", "complex64", "complex128")


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + x[i]


def through(array):
    """Through a capsule and back."""
    return td.from_dlpack(array)


@pytest.mark.parametrize("dtype", DTYPES)
def test_capsule_and_back(dtype):
    x = td.array(np.arange(12).reshape(3, 4).astype(dtype))
    for view in (x, x.T, x[1:, ::2], x[::-1], x[0, 0]):
        shared = through(view)
        assert (shared.shape, shared.strides, shared.dtype) == (view.shape, view.strides, view.dtype)
        np.testing.assert_array_equal(shared.get(), view.get())
    through(x)[1, 2] = 1
    assert x.get()[1, 2] == np.ones(1, dtype)[0]


def test_memory_lives_while_it_is_shared():
    gc.collect()
    used = _treadle.memory_use()[0]
    shared = through(td.arange(1000))
    gc.collect()
    other = td.full(1000, 7)
    assert shared.tolist() == list(range(1000))
    del shared, other
    gc.collect()
    assert _treadle.memory_use()[0] == used
    capsule = td.arange(1000).__dlpack__()
    assert _treadle.memory_use()[0] > used
    del capsule
    assert _treadle.memory_use()[0] == used


@pytest.mark.cpu("NumPy reaches the host's memory")
def test_numpy_shares_memory():
    x = td.arange(6, dtype="float32").reshape(2, 3)
    host = np.from_dlpack(x)
    assert host.ctypes.data == x._pointer and host.tolist() == x.tolist()
    y = td.from_dlpack(host)
    assert y._pointer == x._pointer
    out = td.zeros(6, "float32")
    double[1, 32](td.from_dlpack(np.arange(6, dtype="float32")), out)
    assert out.tolist() == [0, 2, 4, 6, 8, 10]


def test_bad_requests():
    x = td.arange(3)
    with pytest.raises(BufferError, match="stream: expected None, -1"):
        x.__dlpack__(stream=0)
    with pytest.raises(BufferError, match="dl_device: expected"):
        x.__dlpack__(dl_device=(4, 0))
    capsule = x.__dlpack__()
    _treadle.from_capsule(capsule)
    with pytest.raises(TypeError, match="nobody used yet"):
        _treadle.from_capsule(capsule)


@pytest.mark.cpu("arrays on a GPU have it")
def test_no_interface_on_the_cpu():
    assert not hasattr(td.arange(3), "__cuda_array_interface__")


@pytest.mark.cuda
def test_cuda_array_interface(on_gpu):
    if not on_gpu:
        pytest.skip("needs a GPU")

    class Foreign:
        def __init__(self, array):
            self.array = array
            self.__cuda_array_interface__ = array.__cuda_array_interface__

    x = td.arange(10, dtype="float32")
    for view in (x, x[::2], x[::-1]):
        shared = cuda.as_cuda_array(Foreign(view))
        assert shared._pointer == view._pointer and shared.tolist() == view.tolist()
        out = td.zeros(view.size, "float32")
        double[1, 32](Foreign(view), out)
        assert out.tolist() == [2 * value for value in view.tolist()]
    assert td.asarray(Foreign(x))._pointer == x._pointer


@pytest.mark.cuda
@pytest.mark.parametrize("library", ("cupy", "torch"))
def test_other_libraries(library, on_gpu):
    if not on_gpu:
        pytest.skip("needs a GPU")
    module = pytest.importorskip(library)
    make = (lambda n: module.arange(n, dtype=module.float32)) if library == "cupy" else None
    if make is None:
        make = lambda n: module.arange(n, dtype=module.float32, device="cuda")  # noqa: E731
    for _ in range(20):
        x, out = make(100_000), make(100_000)
        double[(100_000 + 255) // 256, 256](x, out)
        total = float(out.sum())
        assert total == float((2 * make(100_000)).sum())
    shared = td.from_dlpack(x)
    shared += 1
    assert float(x[0]) == 1
    back = module.from_dlpack(shared)
    assert float(back[1]) == 2
    with pytest.raises(TypeError):
        double[1, 1](x, np.zeros(3))


@pytest.mark.cuda
def test_streams_of_other_libraries(on_gpu):
    if not on_gpu:
        pytest.skip("needs a GPU")
    torch = pytest.importorskip("torch")
    side = torch.cuda.Stream()
    n = 1 << 22
    for _ in range(10):
        with torch.cuda.stream(side):
            x = torch.ones(n, device="cuda")
            for _ in range(20):
                x = x + 1
            out = torch.empty(n, device="cuda")
            double[n // 256, 256](x, out)
            result = out + 1
        side.synchronize()
        assert bool((result == 43).all())


@pytest.mark.cpu("NumPy reaches the host's memory")
def test_read_only_memory():
    host = np.arange(4.0)
    host.flags.writeable = False
    with pytest.raises(BufferError, match="copy=True"):
        td.from_dlpack(host)
    copied = td.from_dlpack(host, copy=True)
    copied[0] = 7
    assert host[0] == 0 and copied[0].item() == 7
    with pytest.raises(TypeError, match="expected an array with __dlpack__, got int"):
        td.from_dlpack(3)
