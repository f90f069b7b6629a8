"""numba.cuda's host side: copies, device, pinned, mapped and managed arrays, streams, events, devices, contexts."""

import asyncio
import copy
import pickle
import threading

import numpy as np
import pytest

import treadle as td
from treadle import cuda
from treadle.errors import DeviceError, UnsupportedError


@cuda.jit
def scale(x, factor):
    i = cuda.grid(1)
    x[i] *= factor


@cuda.jit
def scale_2d(x, factor):
    i, j = cuda.grid(2)
    x[i, j] *= factor


@cuda.jit
def busy(x, rounds):
    i = cuda.grid(1)
    v = x[i]
    for j in range(rounds):
        v = v * 1.0000001 + 0.5
    x[i] = v


@pytest.mark.parametrize("order", "CF")
def test_to_device(order):
    host = np.asarray(np.arange(12, dtype=np.float32).reshape(3, 4), order=order)
    array = cuda.to_device(host, stream=cuda.stream())
    host[0, 0] = 100
    assert array.strides == host.strides and array.dtype == np.float32
    assert array.get()[0, 0] == 0 and (array.get().ravel()[1:] == np.arange(1, 12)).all()
    assert cuda.to_device(array) is array
    assert cuda.to_device(host, copy=False).shape == (3, 4)
    target = td.zeros((3, 4), "float32")
    assert cuda.to_device(host, to=target) is target and (target.get() == host).all()
    part = td.zeros((3, 8), "float32")
    cuda.to_device(host, to=part[:, ::2])
    assert (part.get()[:, ::2] == host).all() and (part.get()[:, 1::2] == 0).all()


def test_to_device_of_other_things():
    assert cuda.to_device([1, 2]).dtype == np.int64
    assert cuda.to_device(np.float32(3)).shape == ()
    every_other = cuda.to_device(np.arange(10)[::-2])
    assert every_other.tolist() == [9, 7, 5, 3, 1] and every_other.is_c_contiguous()
    assert cuda.to_device(np.arange(3, dtype=">i4")).dtype == np.int32
    assert cuda.to_device(np.zeros((0, 3))).shape == (0, 3)


def test_device_array():
    assert cuda.device_array(3).dtype == np.float64
    fortran = cuda.device_array((3, 4), np.int16, order="F")
    assert fortran.strides == (2, 6) and fortran.is_f_contiguous() and not fortran.is_c_contiguous()
    assert cuda.device_array_like(fortran).strides == (2, 6)
    assert cuda.device_array_like(np.zeros((2, 2), "u1")).dtype == np.uint8
    assert fortran.alloc_size == 24


@pytest.mark.parametrize(
    ("shape", "strides"),
    [((3, 4), (32, 8)), ((3, 4), (8, 32)), ((4,), (12,)), ((2, 3, 4), (4, 64, 16)), ((2, 1), (4, 4)), ((5, 2), (8, 4))],
)
def test_device_array_with_strides(shape, strides):
    array = cuda.device_array(shape, np.float32, strides=strides)
    assert (array.shape, array.strides) == (shape, strides)
    host = np.arange(array.size, dtype=np.float32).reshape(shape)
    array.copy_to_device(host)
    assert (array.copy_to_host() == host).all()


def test_copies():
    host = np.arange(6, dtype=np.float64).reshape(2, 3)
    array, stream = cuda.to_device(host), cuda.stream()
    out = np.zeros((2, 3))
    assert array.copy_to_host(out, stream=stream) is out and (out == host).all()
    strided = np.zeros((2, 6))
    array.copy_to_host(ary=strided[:, ::2])
    assert (strided[:, ::2] == host).all() and (strided[:, 1::2] == 0).all()
    other = cuda.device_array_like(array)
    other.copy_to_device(array, stream=stream)
    stream.synchronize()
    assert (other.get() == host).all()
    array.T.copy_to_device(np.ones((3, 2)))
    assert (array.get() == 1).all()
    assert array.T.copy_to_host().flags.f_contiguous


def test_copies_follow_the_stream():
    stream = cuda.stream()
    x = td.zeros(1024)
    busy[1, 1024, stream](x, 500_000)
    first = x.copy_to_host(stream=stream)
    assert (first > 0).all()


def test_items_and_splits():
    array = cuda.to_device(np.arange(7))
    assert [part.tolist() for part in array.split(3)] == [[0, 1, 2], [3, 4, 5], [6]]
    stream = cuda.stream()
    array.setitem(slice(0, 2), np.array([8, 9]), stream)
    assert array.getitem(1, stream).item() == 9


def test_pinned():
    array = cuda.pinned_array((2, 3), np.float32, order="F")
    assert type(array) is np.ndarray and array.flags.f_contiguous and array.dtype == np.float32
    assert cuda.pinned_array_like(array).strides == array.strides
    assert cuda.pinned_array(2, np.int32, strides=(8,)).strides == (8,)
    array[:] = 3
    with cuda.pinned(array, np.ones(2)):
        assert (cuda.to_device(array, stream=cuda.stream()).get() == 3).all()


def test_mapped_context():
    a, b = np.ones(4), np.full(4, 2.0)
    with cuda.mapped(a, b) as (x, y):
        scale[1, 4](x, 5.0)
        scale[1, 4](y, 6.0)
    assert a.tolist() == [5] * 4 and b.tolist() == [12] * 4
    with cuda.mapped(a, stream=cuda.stream()) as x:
        assert isinstance(x, td.ndarray)


@pytest.mark.parametrize("make", [cuda.mapped_array, cuda.managed_array])
def test_shared_arrays(make):
    array = make((3, 4), np.float32)
    assert isinstance(array, np.ndarray) and array.dtype == np.float32 and array.shape == (3, 4)
    array[:] = np.arange(12).reshape(3, 4)
    scale_2d[1, (4, 4)](array, np.float32(2))
    # Each access waits for the kernel.
    assert array[1, 1] == 10
    scale_2d[1, (4, 4)](array[1:, ::2], np.float32(10))
    assert array.tolist() == [[0, 2, 4, 6], [80, 10, 120, 14], [160, 18, 200, 22]]
    scale_2d[1, (4, 4)](array.T, np.float32(0.5))
    assert array.sum() == 318 and float(array.max()) == 100
    for view in (
        array.reshape(4, 3),
        array.ravel(),
        array[None],
        array[..., 0],
        array.squeeze(),
        array.transpose(1, 0),
    ):
        assert (view.device_array.get() == np.asarray(view)).all()
    assert type(array + 1) is np.ndarray and type(array.copy()) is np.ndarray
    assert type(array[array > 3]) is np.ndarray and type(np.sort(array)) is np.ndarray
    assert type(pickle.loads(pickle.dumps(array))) is np.ndarray
    assert (copy.deepcopy(array) == array).all()
    array += 1
    assert array[0, 0] == 1
    assert make(3, order="C").dtype == np.float64


def test_shared_arrays_wait_for_kernels():
    array = cuda.managed_array(1024)
    for read in (
        lambda: array[5],
        lambda: array + 1,
        lambda: np.sum(array),
        lambda: array.tolist(),
        lambda: repr(array),
        lambda: np.concatenate([array, array]),
        lambda: array.copy(),
        lambda: array.copy_to_host(),
    ):
        array[:] = 0
        busy[1, 1024](array, 300_000)
        read()
        assert (np.asarray(array) > 0).all()


def test_shared_arrays_among_device_arrays():
    array = cuda.mapped_array_like(np.zeros(3, "int32"))
    array[:] = [1, 2, 3]
    assert (td.ones(3, "int32") + array).tolist() == [2, 3, 4]
    assert td.asarray(array).tolist() == [1, 2, 3]
    assert cuda.is_cuda_array(array) and cuda.as_cuda_array(array)._pointer == array.ctypes.data
    array.copy_to_device(np.array([4, 5, 6], "int32"))
    assert array.tolist() == [4, 5, 6]


def test_shared_arrays_keep_their_memory():
    views = []
    for n in range(20):
        views.append(cuda.mapped_array(1000)[10:20])
        views[-1][:] = n
    td.synchronize()
    assert [view[0] for view in views] == list(range(20))


def test_cuda_arrays():
    array = td.ones(3)
    assert cuda.is_cuda_array(array) and cuda.as_cuda_array(array) is array
    assert not cuda.is_cuda_array(np.ones(3))


def test_streams():
    assert cuda.legacy_default_stream() == cuda.default_stream()
    mine = cuda.per_thread_default_stream()
    assert mine == cuda.per_thread_default_stream() != cuda.default_stream()
    stream = cuda.stream()
    assert cuda.external_stream(stream.handle) == stream and int(stream) == stream.handle
    assert cuda.external_stream(0) == cuda.default_stream()
    with stream.auto_synchronize() as same:
        x = td.ones(8)
        scale[1, 8, same](x, 2.0)
    assert stream.done and x.tolist() == [2] * 8


def test_callbacks():
    stream, seen, called = cuda.stream(), [], threading.Event()

    def callback(of, status, arg):
        seen.append((of, status, arg, of.done))
        called.set()

    busy[1, 256, stream](td.ones(256), 200_000)
    stream.add_callback(callback, "arg")
    assert called.wait(30) and seen == [(stream, 0, "arg", True)]

    async def run():
        x = td.ones(256)
        busy[1, 256, stream](x, 200_000)
        return await stream.async_done(), stream.done

    assert asyncio.run(run()) == (stream, True)


def test_event_times():
    stream = cuda.stream()
    start, end = cuda.event(timing=True), cuda.event()
    start.record(stream=stream)
    busy[1, 256, stream](td.ones(256), 100_000)
    end.record(stream)
    end.wait(stream=cuda.stream())
    end.synchronize()
    assert end.query() and cuda.event_elapsed_time(start, end) == start.elapsed_time(end) > 0


def test_devices(capsys):
    device = cuda.get_current_device()
    assert isinstance(device.name, bytes) and device.compute_capability[0] >= 7 and device.id == 0
    assert device.MAX_THREADS_PER_BLOCK == 1024 and device.WARP_SIZE == 32 and device.MAX_GRID_DIM_X == 2**31 - 1
    assert device.MULTIPROCESSOR_COUNT >= 1 and device.supports_float16 and device.uuid == cuda.Device(0).uuid
    assert len(cuda.gpus) == len(cuda.list_devices()) == 1 and cuda.gpus.lst == list(cuda.gpus) == [device]
    with cuda.gpus[0] as current:
        assert current == cuda.gpus.current == device
    assert cuda.detect() is True
    printed = capsys.readouterr().out
    assert "Found 1 CUDA devices" in printed and "1/1 devices are supported" in printed and "[SUPPORTED]" in printed


def test_contexts():
    context = cuda.current_context()
    info = context.get_memory_info()
    assert 0 < info.free <= info.total == cuda.current_context(0).get_memory_info()[1]
    assert context == cuda.get_current_device().get_primary_context() and context.device == cuda.gpus[0]
    x = td.ones(4)
    td.ones(100_000).sum().item()
    assert len(context.deallocations) > 0
    with context, context.deallocations.disable():
        context.deallocations.clear()
        assert len(context.deallocations) == 0
        context.reset()
    cuda.close()
    assert x.tolist() == [1] * 4 and cuda.select_device(0) == cuda.gpus[0]


def test_small_things():
    with cuda.defer_cleanup(), cuda.profiling():
        cuda.profile_start()
        cuda.profile_stop()
    assert len(cuda.runtime.get_version()) == 2 and cuda.runtime.is_supported_version()
    assert cuda.is_float16_supported() and cuda.is_bfloat16_supported() and cuda.is_supported_version()
    assert cuda.is_available()


class OfAGpu:
    __cuda_array_interface__ = {}


def read_only():
    array = np.ones(2)
    array.flags.writeable = False
    td.ones(2).copy_to_host(array)


def no_device_view():
    scale[1, 1](cuda.mapped_array(4, "f4").view("i4"), 1)


ERRORS = {
    "to shape": (
        lambda: cuda.to_device(np.ones(3), to=td.ones(4)),
        ValueError,
        r"ary: expected shape \(4,\), got \(3,\)",
    ),
    "to dtype": (
        lambda: cuda.to_device(np.ones(3, "f4"), to=td.ones(3)),
        TypeError,
        "ary: expected dtype float64, got",
    ),
    "to host": (
        lambda: cuda.to_device(np.ones(3), to=np.ones(3)),
        TypeError,
        "obj: expected a device array, got ndarray",
    ),
    "record": (
        lambda: cuda.to_device(np.zeros(2, "i4,S4")),
        TypeError,
        "field 'f1': expected a boolean, integer, floating, complex or datetime dtype, .* got",
    ),
    "order": (lambda: cuda.device_array(3, order="K"), ValueError, "order: expected 'C' or 'F', got 'K'"),
    "pinned order": (lambda: cuda.pinned_array(3, order="A"), ValueError, "order: expected 'C' or 'F', got 'A'"),
    "strides": (lambda: cuda.device_array((2, 2), strides=(8,)), ValueError, "strides: expected 2 numbers, got"),
    "negative": (lambda: cuda.device_array(2, strides=-8), ValueError, "strides: expected positive numbers of bytes"),
    "overlap": (lambda: cuda.device_array((4, 4), strides=(16, 8)), UnsupportedError, "strides: expected each to be a"),
    "host shape": (lambda: td.ones(2).copy_to_host(np.ones(3)), ValueError, r"ary: expected shape \(2,\), got \(3,\)"),
    "host dtype": (
        lambda: td.ones(2).copy_to_host(np.ones(2, "i4")),
        TypeError,
        "ary: expected dtype float64, got int32",
    ),
    "read-only": (read_only, ValueError, "read-only"),
    "split": (lambda: td.ones((2, 2)).split(2), ValueError, "one-dimensional array, got 2 dimensions"),
    "section": (lambda: td.ones(2).split(0), ValueError, "section: expected a positive number"),
    "pinned": (lambda: cuda.pinned([1]).__enter__(), TypeError, "array 0: expected a NumPy array, got list"),
    "mapped": (lambda: cuda.mapped(td.ones(1)).__enter__(), TypeError, "array 0: expected a NumPy array, got ndarray"),
    "gpu": (lambda: cuda.as_cuda_array(OfAGpu()), UnsupportedError, "copy it to the host"),
    "description": (lambda: cuda.from_cuda_array_interface({}), UnsupportedError, "copy it to the host"),
    "no array": (lambda: cuda.as_cuda_array(3), TypeError, "obj: expected a device array, got int"),
    "view": (no_device_view, TypeError, "make views with indexing"),
    "callback": (lambda: cuda.stream().add_callback(3), TypeError, "callback: expected a function, got int"),
    "event loop": (lambda: cuda.stream().async_done(), RuntimeError, "no running event loop"),
    "handle": (lambda: cuda.external_stream(10**9), ValueError, "handle of a stream that is alive"),
    "handle type": (lambda: cuda.external_stream("x"), TypeError, "ptr: expected an integer, got str"),
    "stream": (
        lambda: cuda.to_device(np.ones(1), stream="x"),
        TypeError,
        "stream: expected a stream, None or 0, got str",
    ),
    "gpus": (lambda: cuda.gpus[1], IndexError, "gpus: expected a number from 0 to 0, got 1"),
    "context": (lambda: cuda.current_context(3), ValueError, "device: expected a number from 0 to 0, got 3"),
    "attribute": (lambda: cuda.Device().NO_SUCH, AttributeError, "got 'NO_SUCH'"),
}


# What a GPU says instead; None: it has no error there.
ON_A_GPU = {
    "gpu": (TypeError, "expected the key 'typestr'"),
    "description": (TypeError, "expected the key 'typestr'"),
    "handle": None,
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case, on_gpu):
    call, kind, message = ERRORS[case]
    if on_gpu and case in ON_A_GPU:
        if ON_A_GPU[case] is None:
            pytest.skip("the driver cannot tell whose handle it is")
        kind, message = ON_A_GPU[case]
    with pytest.raises(kind, match=message):
        call()


def test_times_of_events_without_timing():
    events = [cuda.event(timing=False).record() for _ in range(2)]
    td.synchronize()
    with pytest.raises(DeviceError, match="CUDA_ERROR_INVALID_HANDLE"):
        events[0].elapsed_time(events[1])
