"""Streams, events, threads, processes, pickling, signatures, lifetimes."""

import gc
import pickle
import sys
import threading
import time

import numpy as np
import pytest

import treadle as td
from treadle import cuda


@cuda.jit
def busy(x, rounds):
    i = cuda.grid(1)
    v = x[i]
    for j in range(rounds):
        v = v * 1.0000001 + 0.5
    x[i] = v


@cuda.jit
def add_one(x):
    i = cuda.grid(1)
    x[i] += 1


def test_launch_is_asynchronous():
    x = td.ones(1024)
    busy[1, 1024](x, 1)
    td.synchronize()
    begin = time.perf_counter()
    busy[1, 1024](x, 3_000_000)
    launched = time.perf_counter() - begin
    td.synchronize()
    total = time.perf_counter() - begin
    assert launched < total / 2


def test_order_within_a_stream():
    stream = cuda.stream()
    x = td.zeros(64)
    for _ in range(200):
        add_one[2, 32, stream](x)
    stream.synchronize()
    assert x.tolist() == [200] * 64


def test_default_stream_orders_created_ones():
    x = td.zeros(1024)
    streams = [cuda.stream() for _ in range(3)]
    for stream in streams:
        busy[1, 1024, stream](x, 10_000)
    add_one[1, 1024](x)
    td.synchronize()
    y = td.zeros(1024)
    busy[1, 1024](y, 1_000_000)
    add_one[1, 1024, streams[0]](y)
    streams[0].synchronize()
    z = td.zeros(1024)
    busy[1, 1024](z, 1_000_000)
    td.synchronize()
    assert (y.get() == z.get() + 1).all()


def test_events():
    stream, other = cuda.Stream(non_blocking=True), cuda.Stream(non_blocking=True)
    x = td.zeros(1024)
    td.synchronize()
    start, end = cuda.Event(), cuda.event()
    start.record(stream)
    busy[1, 1024, stream](x, 1_000_000)
    end.record(stream)
    end.wait(other)
    add_one[1, 1024, other](x)
    other.synchronize()
    assert end.query() and end.done and stream.query()
    assert cuda.get_elapsed_time(start, end) > 0.01
    assert end - start == start.elapsed_time(end)
    y = td.zeros(1024)
    busy[1, 1024](y, 1_000_000)
    assert (x.get() == y.get() + 1).all()
    with pytest.raises(td.errors.DeviceError, match="CUDA_ERROR"):
        cuda.Event().elapsed_time(cuda.Event())


def test_current_stream():
    default = cuda.get_current_stream()
    stream = cuda.stream()
    with stream:
        assert cuda.get_current_stream() == stream
        with cuda.default_stream():
            assert cuda.get_current_stream() == default
        assert cuda.get_current_stream() == stream
        x = td.ones(10) + 1
    assert cuda.get_current_stream() == default
    with stream.auto_synchronize():
        busy[1, 10, stream](x, 100_000)
    assert stream.done
    with pytest.raises(ZeroDivisionError):
        with stream:
            1 / 0  # noqa: B018
    assert cuda.get_current_stream() == default


def test_buffers_live_until_their_last_use():
    stream = cuda.stream()
    results = []
    for n in range(50):
        x = td.full(5000, float(n))
        busy[5, 1000, stream](x, 2000)
        results.append(x.sum())
        del x
        td.empty(5000).fill(-1)
    stream.synchronize()
    expected = []
    for n in range(50):
        y = td.full(5000, float(n))
        busy[5, 1000](y, 2000)
        expected.append(float(y.sum()))
    assert [float(r) for r in results] == expected


def test_memory_comes_back():
    td.synchronize()
    gc.collect()
    used = td._treadle.memory_use()[0]
    for _ in range(100):
        x = td.ones(100_000) * 2 + 1
    del x
    td.synchronize()
    gc.collect()
    assert td._treadle.memory_use()[0] <= used + 100_000


def test_threads_launch_concurrently():
    failures = []

    def work(number):
        try:
            with cuda.stream() as stream:
                x = td.zeros(500)
                for _ in range(100):
                    add_one[5, 100](x)
                y = (x * number + 1).get()
                assert (y == 100 * number + 1).all()
                stream.synchronize()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not failures


def test_threads_compile_concurrently(tmp_path):
    import importlib.util

    path = tmp_path / "kernels.py"
    path.write_text(
        "from treadle import cuda\n"
        + "\n".join(f"@cuda.jit\ndef k{n}(x, y):\n    i = cuda.grid(1)\n    x[i] = y[i] * {n} + i\n" for n in range(6))
    )
    spec = importlib.util.spec_from_file_location("kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    failures = []
    start = threading.Barrier(8)

    def work(number):
        try:
            start.wait()
            for n in range(6):
                kernel = getattr(module, f"k{(n + number) % 6}")
                dtype = ("int32", "float32", "float64")[number % 3]
                x, y = td.zeros(64, dtype), td.ones(64, dtype)
                kernel[1, 64](x, y)
                assert (x.get() == (n + number) % 6 + np.arange(64)).all()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not failures
    assert all(len(getattr(module, f"k{n}").signatures) == 3 for n in range(6))


def test_synchronize_releases_the_interpreter():
    x = td.ones(1024)
    ticks = []

    def tick():
        for _ in range(20):
            ticks.append(time.perf_counter())
            time.sleep(0.002)

    busy[1, 1024](x, 1)
    td.synchronize()
    thread = threading.Thread(target=tick)
    busy[1, 1024](x, 20_000_000)
    thread.start()
    begin = time.perf_counter()
    td.synchronize()
    end = time.perf_counter()
    thread.join()
    if end - begin > 0.03:
        assert sum(begin < t < end for t in ticks) > 3


FORK = """
import os, sys
import treadle as td
if {use}:
    td.ones(10).sum().get()
pid = os.fork()
if pid == 0:
    try:
        print(float(td.ones(1000).sum()), flush=True)
    except Exception as error:
        print(type(error).__name__, error, flush=True)
    sys.stdout.flush()
    os._exit(0)
os.waitpid(pid, 0)
print("parent", float(td.ones(7).sum()))
"""


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork_before_use(run_python):
    result = run_python(FORK.format(use=False), timeout=30)
    assert result.stdout.split() == ["1000.0", "parent", "7.0"], result.stderr


def test_fork_after_use(run_python):
    result = run_python(FORK.format(use=True), timeout=30)
    assert "parent 7.0" in result.stdout
    assert "fork" in result.stdout, "a clear error that names fork"


def test_exit_with_work_in_flight(run_python, tmp_path):
    program = tmp_path / "flight.py"
    program.write_text(
        "import treadle as td\nfrom treadle import cuda\n@cuda.jit\ndef busy(x):\n    i = cuda.grid(1)\n"
        "    for j in range(3000000):\n        x[i] = x[i] * 1.0001 + j\n"
        "x = td.ones(256)\ns = cuda.stream()\nbusy[1, 256](x)\nbusy[1, 256, s](x)\nprint('launched')\n"
    )
    result = run_python([str(program)], timeout=60)
    assert (result.returncode, result.stdout.strip()) == (0, "launched"), result.stderr
    assert "leaked" not in result.stderr and "Error" not in result.stderr


def test_exit_with_objects_alive(run_python):
    code = """
import treadle as td
from treadle import cuda
keep = [td.ones(10), cuda.stream(), cuda.event().record(), td.random.random(5), cuda.Device()]
cuda.stream().use()
print("end")
"""
    result = run_python(code)
    assert (result.returncode, result.stdout.strip(), result.stderr) == (0, "end", "")


def test_exit_after_an_unseen_fault(run_python, tmp_path):
    program = tmp_path / "fault.py"
    program.write_text(
        "import treadle as td\nfrom treadle import cuda\n@cuda.jit(bounds='raise')\n"
        "def k(x):\n    x[cuda.grid(1)] = 1\nk[1, 8](td.zeros(2))\n"
    )
    assert run_python([str(program)], timeout=60).returncode == 0


# ------------------------------------------------------------------------------------------------ pickling, signatures


@cuda.jit(device=True)
def twice(v):
    return 2 * v


@cuda.jit(fastmath=True, bounds="guard")
def doubled(x):
    i = cuda.grid(1)
    x[i] = twice(x[i])


def test_cloudpickle(run_python, tmp_path):
    cloudpickle = pytest.importorskip("cloudpickle")

    def make(scale):
        @cuda.jit
        def scaled(x):
            i = cuda.grid(1)
            x[i] = twice(x[i]) * scale

        return scaled

    for kernel, expected in ((doubled, 2), (make(5), 10)):
        other = cloudpickle.loads(cloudpickle.dumps(kernel))
        x = td.ones(4)
        other[1, 4](x)
        assert x.tolist() == [expected] * 4
        assert other.options == kernel.options


def test_pickle_of_arrays():
    x = td.arange(6, dtype="int16").reshape(2, 3).T
    y = pickle.loads(pickle.dumps(x))
    assert y.dtype == x.dtype and y.tolist() == x.tolist()


def simple(x, n):
    i = cuda.grid(1)
    x[i] = n


@pytest.mark.parametrize(
    "signature",
    [
        "void(float32[:], int64)",
        "(float32[:], int64)",
        "float32[:], int64",
        ["void(float32[:], int64)", "void(float64[:], int64)"],
        [(td.types.float32[:], td.types.int64)] if hasattr(td, "types") else "void(f4[:], i8)",
        "void(f4[::1], i8)",
        "  void ( float32 [ : ] , int64 ) ",
    ],
    ids=str,
)
def test_signatures(signature):
    if signature == "float32[:], int64":
        with pytest.raises(TypeError, match="signature"):
            cuda.jit(signature)(simple)
        return
    kernel = cuda.jit(signature)(simple)
    assert len(kernel.signatures) == (2 if isinstance(signature, list) and len(signature) == 2 else 1)
    x = td.zeros(4, "float32")
    kernel[1, 4](x, 3)
    assert x.tolist() == [3, 3, 3, 3]


def test_signature_objects():
    from treadle import types

    kernel = cuda.jit(types.void(types.float32[:], types.int64))(simple)
    assert len(kernel.signatures) == 1
    kernel = cuda.jit((types.float64[::1], types.int32))(simple)
    assert len(kernel.signatures) == 1
    device = cuda.jit("float64(float64)", device=True)(lambda v: v)
    assert device(2.0) == 2.0


def test_signature_error_is_raised_at_once():
    def wrong(x):
        x[0] = x & 1

    with pytest.raises(td.errors.TypingError):
        cuda.jit("void(float32[:])")(wrong)


def test_dispatcher_surface():
    kernel = cuda.jit(simple)
    assert kernel.__name__ == "simple" and kernel.py_func is simple and "simple" in repr(kernel)
    x = td.zeros(1000)
    kernel.forall(1000)(x, 2)
    assert x.tolist() == [2] * 1000
    assert "define" in kernel.inspect_llvm(kernel.signatures[0])
    assert kernel.inspect_asm(kernel.signatures[0])
    assert "store" in kernel.dump("ir").lower()
    assert kernel.last_compile.milliseconds >= 0
    assert kernel[1, 2] is kernel[1, 2]
    assert kernel[[1], [2]] is not None
    with pytest.raises(ValueError, match="expected argument types"):
        cuda.jit(simple).dump("ir")


def test_globals_are_frozen_at_first_use():
    global LEVEL
    LEVEL = 3
    kernel = cuda.jit(level)
    x = td.zeros(1, "int64")
    kernel[1, 1](x)
    LEVEL = 4
    kernel[1, 1](x)
    assert x.tolist() == [3]


LEVEL = 3


def level(x):
    x[0] = LEVEL


def test_devices():
    device = cuda.Device()
    assert device == cuda.Device(0) == cuda.get_current_device() == td.ones(3).device
    assert device.name and device.attributes["max_threads_per_block"] == 1024
    free, total = device.mem_info
    assert 0 < free <= total
    with cuda.Device(0):
        td.ones(1)
    assert cuda.is_available() and cuda.select_device(0) == device
    assert "Device 0" in repr(device)


def test_many_launch_shapes():
    kernel = cuda.jit(simple)
    x = td.zeros(4096, "int32")
    for block in range(1, 1025, 31):
        kernel[4, block](x, block)
        assert (x[: 4 * block].get() == block).all()


def test_no_thread_is_left_behind_by_a_failed_compilation():
    def wrong(x):
        x[0] = undefined  # noqa: F821

    before = threading.active_count()
    kernel = cuda.jit(wrong)
    for _ in range(3):
        with pytest.raises(td.errors.CompileError):
            kernel[1, 1](td.zeros(1))
    assert threading.active_count() == before


def test_reference_counts():
    x = td.ones(10)
    before = sys.getrefcount(x)
    for _ in range(100):
        add_one[1, 10](x)
        x + x
        x[1:]
        x += 1
    td.synchronize()
    assert sys.getrefcount(x) == before


def test_events_tell_of_faults():
    @cuda.jit(debug=True, opt=False)
    def checked(x):
        x[cuda.grid(1)] += 1

    x = td.zeros(4)
    stream, event = cuda.stream(), cuda.event()
    checked[1, 8, stream](x)
    event.record(stream)
    with pytest.raises(IndexError):
        event.synchronize()
    checked[1, 4, stream](x)
    event.record(stream)
    event.synchronize()


def test_daemon_threads_that_wait_at_the_end(run_python):
    code = """
import threading, time
import treadle as td
from treadle import cuda

def wait():
    while True:
        td.synchronize()

for _ in range(8):
    threading.Thread(target=wait, daemon=True).start()
time.sleep(0.05)
"""
    for _ in range(3):
        result = run_python(code)
        assert result.returncode == 0, result.stderr
