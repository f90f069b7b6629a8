"""The CUDA device over a driver that only notes its calls: what it asks of a driver, and what it says of its troubles."""

import re

import pytest

pytestmark = pytest.mark.cpu("these run on a driver without a GPU")


def test_launches_pass_words(fake):
    output, calls = fake("""
x, y, z = (td.empty(1000, "float32") for _ in range(3))
add[4, 256](x, y, z)
print(x._pointer, y._pointer, z._pointer)
""")
    grid, block, shared, _, *words = fake.named(calls, "cuLaunchKernel")[-1]
    x, y, z = output.split()
    assert (grid, block, shared) == ("4,1,1", "256,1,1", "0")
    assert words[:9] == [x, "1000", "4", y, "1000", "4", z, "1000", "4"]
    assert words[9:] == ["0", "0", "4", "0", "0"], "report, launch, the grid's x, scratch, patience"


def test_large_grids_run_several_blocks_in_one(fake):
    _, calls = fake("""
n = 1 << 22
x = td.empty(n, "float32")
add[n // 256, 256](x, x, x)
add[4, 256](x, x, x)
""")
    assert [call[0] for call in fake.named(calls, "cuLaunchKernel")] == [f"{(1 << 22) // 256 // 4},1,1", "4,1,1"]
    assert len(fake.named(calls, "cuModuleLoadData")) == 2, "small grids have a kernel of their own"


def test_kernels_know_equal_extents(fake):
    output, _ = fake("""
x, y = td.empty(100, "float32"), td.empty(50, "float32")
for arrays in ((x, x, x), (y, y, y), (x, y, x), (y, x, y), (x, y, y)):
    add[1, 32](*arrays)
print(add._function.variants)
for n in range(1, 40):
    add[1, 32](td.empty(n, "float32"), td.empty(2 * n, "float32"), td.empty(3 * n, "float32"))
print(add._function.variants)
""")
    assert output.split() == ["3", "4"]


def test_the_context_before_is_restored(fake):
    _, calls = fake("""
import ctypes, os
driver = ctypes.CDLL(os.environ["TREADLE_CUDA_DRIVER"])
driver.cuCtxSetCurrent(ctypes.c_void_p(0xabc))
x = td.empty(10, "float32")
add[1, 32](x, x, x)
cuda.synchronize()
current = ctypes.c_void_p()
driver.cuCtxGetCurrent(ctypes.byref(current))
assert current.value == 0xabc, current
""")
    assert len(fake.named(calls, "cuCtxPushCurrent")) == len(fake.named(calls, "cuCtxPopCurrent")) > 0


def test_memory_is_used_again_in_the_order_of_streams(fake):
    output, calls = fake("""
s, t = cuda.stream(), cuda.stream()
x = td.empty(1000, "float32")
add[4, 256, s](x, x, x)
first = x._pointer
del x
y = td.empty(1000, "float32")
assert y._pointer == first
add[4, 256, s](y, y, y)  # the same stream: nothing to wait for
print("--", flush=True)
del y
y = td.empty(1000, "float32")
assert y._pointer == first
add[4, 256, t](y, y, y)
add[4, 256, t](y, y, y)
print(s.handle, t.handle)
""")
    s, t = (hex(int(text)) for text in output.split()[1:])
    waits = fake.named(calls, "cuStreamWaitEvent")
    assert len(waits) == 1 and waits[0][0] == t, calls
    assert [waits[0][1], s] in fake.named(calls, "cuEventRecord")
    assert len(fake.named(calls, "cuMemAlloc_v2")) == 1


def test_several_devices(fake):
    output, calls = fake("""
assert len(cuda.gpus) == 2
x = td.empty(10, "float32")
with cuda.gpus[1]:
    y = td.empty(10, "float32")
    add[1, 32](y, y, y)
    try:
        add[1, 32](x, y, y)
    except Exception as error:
        print(type(error).__name__, error)
add[1, 32](x, x, x)
cuda.select_device(1)
print(cuda.get_current_device().id)
try:
    cuda.select_device(7)
except ValueError as error:
    print(error)
""")
    lines = output.splitlines()
    assert "expected memory of the stream's GPU" in lines[0]
    assert lines[1:] == ["1", "device: expected a number from 0 to 1, got 7"]
    assert fake.named(calls, "cuDevicePrimaryCtxRetain") == [["0"], ["1"]]


def test_arrays_of_another_gpu_are_copied(fake):
    output, calls = fake("""
x = td.asarray(np.arange(10, dtype="float32"))
with cuda.gpus[1]:
    y = td.empty(10, "float32")
    y[...] = x
    print(y.get().tolist() == list(range(10)), x.device.id, y.device.id)
""")
    assert output.splitlines()[-1] == "True 0 1"
    ((target, source, size, stream),) = fake.named(calls, "cuMemcpyPeerAsync")
    assert (target, source, size) == ("0xc1", "0xc0", "40")
    # In the order of streams, without the host: what the first GPU's stream has comes before the copy.
    ends = [event for event, _ in fake.named(calls, "cuEventRecord")]
    assert [stream, ends[0]] in fake.named(calls, "cuStreamWaitEvent")


def test_core_objects_of_another_gpu(fake):
    output, calls = fake("""
from treadle import core
first, second = core.Device(0), core.Device(1)
a, b = first.create_stream(), second.create_stream()
event = b.record()
a.wait(b)
b.wait(a)
event.sync()
print(second.default_stream.device.device_id, first.default_stream == second.default_stream)
second.default_stream.sync()
""")
    assert output.splitlines() == ["1 False"]
    assert len(fake.named(calls, "cuEventRecord")) == 3


def test_bad_cuda_array_interfaces(fake):
    output, _ = fake("""
class Facts:
    pass
for changed in (
    {"data": (0, False)}, {"data": (4096, True)}, {"stream": 0}, {"mask": 1}, {"shape": (-1,)}, {"strides": (4, 4)}, {"shape": None},
):
    foreign = Facts()
    good = {"typestr": "<f4", "shape": (4,), "data": (4096, False), "version": 3}
    foreign.__cuda_array_interface__ = {**good, **changed}
    try:
        td.asarray(foreign)
    except (TypeError, ValueError) as error:
        print(str(error).partition("__cuda_array_interface__: ")[2])
foreign.__cuda_array_interface__ = {**good, "shape": (0,), "data": (0, False)}
print(td.asarray(foreign).shape)
""")
    heads = [
        "data: expected an address",
        "expected memory that may",
        "stream: ",
        "mask: ",
        "shape: ",
        "strides: ",
        "expected the key 'shape'",
    ]
    lines = output.splitlines()
    assert len(lines) == 8 and lines[-1] == "(0,)", lines
    assert all(line.startswith(head) for line, head in zip(lines, heads)), lines


def test_grids_that_are_too_large(fake):
    output, _ = fake("""
try:
    add[(1, 70000), 32](*[td.empty(4, "float32")] * 3)
except Exception as error:
    print(type(error).__name__, error)
""")
    assert "70000" in output and "65535" in output


def test_out_of_memory_gives_back_what_is_kept(fake):
    output, calls = fake("""
for size in (300 << 20, 500 << 20, 700 << 20):
    x = td.empty(size, "int8")
    del x
y = td.empty(600 << 20, "int8")
try:
    td.empty(600 << 20, "int8")
except MemoryError as error:
    print(error)
del y
print(td.empty(600 << 20, "int8").size)
""")
    assert re.search(r"CUDA_ERROR_OUT_OF_MEMORY: cannot allocate 629145600 bytes of .*; \d+ bytes are in use", output)
    assert output.splitlines()[-1] == str(600 << 20)
    assert fake.named(calls, "cuMemFree") or any(call.startswith("cuMemFree") for call in calls)


def test_errors_have_the_drivers_names(fake):
    output, _ = fake(
        """
x = td.empty(10, "float32")
for _ in range(3):
    try:
        add[1, 32](x, x, x)
        print("fine")
    except td.errors.DeviceError as error:
        print(error)
""",
        FAKE_CUDA_FAIL="cuLaunchKernel:1:2",
    )
    assert output.splitlines() == ["fine", *["CUDA_ERROR_INVALID_VALUE: [cuLaunchKernel] as the test asked"] * 2]
    output, _ = fake(
        """
try:
    cuda.synchronize()
except td.errors.DeviceError as error:
    print(error)
""",
        FAKE_CUDA_FAIL="cuCtxSynchronize:700:1",
    )
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in output and "its arrays are lost" in output


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"FAKE_CUDA_VERSION": "11020"}, "the NVIDIA driver is too old: expected CUDA 11.8 or newer, got 11.2"),
        ({"FAKE_CUDA_DEVICES": "0"}, "the NVIDIA driver finds no GPU"),
        ({"FAKE_CUDA_FAIL": "cuInit:100:1"}, "the NVIDIA driver does not start: CUDA_ERROR_NO_DEVICE"),
        ({"TREADLE_CUDA_DRIVER": "/nowhere.so"}, "there is no NVIDIA driver"),
        ({"TREADLE_DEVICE": "cuda:5"}, "expected cuda:0 to cuda:1, got 'cuda:5'"),
        ({"TREADLE_DEVICE": "gpu"}, "expected cpu, cuda or cuda:N, got 'gpu'"),
    ],
)
def test_drivers_that_cannot_be_used(fake, environment, message):
    error, _ = fake("td.empty(3)", fails=True, **environment)
    assert message in error
    if "TREADLE_DEVICE" not in environment:
        # Without being asked for a GPU the CPU is used, and `info` says why.
        output, _ = fake(
            "from treadle.cli import main\nadd[1, 32](*[td.ones(4)] * 3)\nmain(['info'])",
            **{**environment, "TREADLE_DEVICE": ""},
        )
        assert message in output and "device 0          CPU" in output


def test_info_and_doctor(fake):
    output, _ = fake("from treadle.cli import main\nmain(['info'])\nmain(['doctor'])")
    assert "device 0          GPU: Fake GPU 0, 4 multiprocessors, sm_90, 4096 MiB" in output
    assert "driver     CUDA 13.0" in output and "2 that can be used" in output


def test_importing_starts_nothing(fake):
    _, calls = fake("")
    assert calls == []


def test_streams_are_the_drivers(fake):
    output, calls = fake("""
blocking, apart = cuda.stream(), td.cuda.Stream(non_blocking=True)
event = cuda.event()
event.record(blocking)
event.wait(apart)
event.synchronize()
other = cuda.event().record(blocking)
print(event.elapsed_time(other))
borrowed = cuda.external_stream(0x5550)
add[1, 32, borrowed](*[td.empty(4, "float32")] * 3)
del blocking, apart, borrowed
many = [cuda.stream() for _ in range(100)]
x = td.empty(4, "float32")
add[1, 32, many[98]](x, x, x)
del x
y = td.empty(4, "float32")
add[1, 32, many[99]](y, y, y)
""")
    assert [call[1] for call in fake.named(calls, "cuStreamCreate")[:2]] == ["0", "1"]
    launched_on = [call[3] for call in fake.named(calls, "cuLaunchKernel")]
    assert "1.5" in output and launched_on[0] == "0x5550"
    waits = [call for call in fake.named(calls, "cuStreamWaitEvent") if call[0] == launched_on[2]]
    assert launched_on[1] != launched_on[2] and waits, (
        "memory that another stream used is waited for, however many there are"
    )
    assert "0x5550" not in {call[0] for call in fake.named(calls, "cuStreamDestroy")}


def test_a_fork_is_told(fake):
    output, _ = fake("""
import os
x = td.empty(3)
child = os.fork()
if child == 0:
    try:
        td.empty(3)
    except td.errors.DeviceError as error:
        print(error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
""")
    assert "was used before this process was forked" in output


def test_threads_launch_at_once(fake):
    output, calls = fake("""
import threading
x = [td.empty(1000, "float32") for _ in range(4)]
def work(k):
    with cuda.stream():
        for _ in range(200):
            y = td.empty(1000, "float32")
            add[4, 256](x[k], y, y)
threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(_treadle.counts()["launches"])
""")
    assert output.split() == ["800"] and len(fake.named(calls, "cuLaunchKernel")) == 800


def test_cubins_are_kept_on_the_disk(fake, tmp_path):
    code = """
x = td.empty(10, "float32")
add[1, 32](x, x, x)
print(add.last_compile.from_cache)
"""
    kept = {"TREADLE_CACHE_DIR": str(tmp_path / "kept"), "TREADLE_CACHE": "1"}
    assert fake(code, **kept)[0].split() == ["False"]
    output, calls = fake(code, **kept)
    assert output.split() == ["True"] and not fake.named(calls, "cuLinkCreate")
    # Another driver is another key.
    assert fake(code, FAKE_CUDA_VERSION="12040", **kept)[0].split() == ["False"]


CUPY = """
import sys, types
class Memory:
    def __init__(self, ptr, device_id):
        self.ptr, self.device_id = ptr, device_id
class Stream:
    ptr = 0
cupy, stream = types.ModuleType("cupy"), Stream()
cupy.cuda = types.ModuleType("cupy.cuda")
cupy.cuda.get_current_stream = lambda: stream
sys.modules |= {"cupy": cupy, "cupy.cuda": cupy.cuda}
class ndarray:
    __module__ = "cupy"
    def __init__(self, like, device=0):
        self.data, self.shape, self.strides = Memory(like._pointer, device), like.shape, like.strides
        self.dtype, self._c_contiguous = np.dtype(like.dtype), like._c_contiguous
"""


def test_arrays_of_cupy(fake):
    """Their attributes are read, and the stream that CuPy has current is waited for and waits, once a launch."""
    output, calls = fake(
        CUPY
        + """
whole = td.empty(100, "float32")
part = whole[::2]
x, y = ndarray(whole), ndarray(part)
add[1, 32](x, y, x)
stream.ptr = 4096
own = cuda.stream()
add[1, 32, own](x, x, y)
print(whole._pointer, hex(own.handle))
try:
    add[1, 32](x, x, ndarray(whole, device=1))
except TypeError as error:
    print(error)
"""
    )
    (pointer, own), message = output.splitlines()[0].split(), output.splitlines()[1]
    assert "argument 'c'" in message and "GPU 1" in message
    first, second = fake.named(calls, "cuLaunchKernel")
    assert first[4:13] == [pointer, "100", "4", pointer, "50", "8", pointer, "100", "4"]
    assert second[4:13] == [pointer, "100", "4", pointer, "100", "4", pointer, "50", "8"]
    waits = fake.named(calls, "cuStreamWaitEvent")
    assert [wait[0] for wait in waits] == [own, "0x1000"], waits


def test_bfloat16_has_no_cuda_array_interface(fake):
    output, _ = fake("""
x = td.empty(3, td.bfloat16)
try:
    x.__cuda_array_interface__
except AttributeError as error:
    print(error)
print(hasattr(x.view("uint16"), "__cuda_array_interface__"))
""")
    assert output == "__cuda_array_interface__: has no bfloat16: use DLPack, or view the array as uint16\nTrue\n"


def test_kernels_that_recurse_get_a_stack(fake):
    output, calls = fake("""
@cuda.jit(device=True)
def f(n):
    return 0 if n == 0 else f(n - 1) + 1
@cuda.jit
def kernel(out):
    out[0] = f(3)
add[1, 32](*(td.empty(4, "float32") for _ in range(3)))
kernel[1, 1](td.empty(1, "int64"))
""")
    assert fake.named(calls, "cuCtxSetLimit") == [["0", str(16 * 1024)]]
