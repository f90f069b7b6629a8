"""treadle.core: devices, streams, memory and CUDA C++ with cuda.core's names."""

import ctypes
import io

import numpy as np
import pytest

import treadle as td
from treadle import _treadle, cuda, pathfinder, profiler
from treadle._raw_kernels import RawKernel, RawModule
from treadle.core import (
    LEGACY_DEFAULT_STREAM,
    PER_THREAD_DEFAULT_STREAM,
    Device,
    EventOptions,
    LaunchConfig,
    LegacyPinnedMemoryResource,
    Linker,
    ObjectCode,
    Program,
    ProgramOptions,
    Stream,
    StreamOptions,
    launch,
)
from treadle.core.utils import FileStreamProgramCache, InMemoryProgramCache, make_program_cache_key
from treadle.errors import CompileError, DeviceError

SOURCE = r"""
extern "C" __global__ void saxpy(float a, const float* x, const float* y, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a * x[i] + y[i];
}
template <class T> __global__ void add(const T* a, T* b, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) b[i] += a[i] + OFFSET;
}
__device__ int seven = 7;
struct Pair { int a; double b; };
extern "C" __global__ void take(Pair pair, unsigned char flag, double* out) { out[0] = pair.a + pair.b + flag; }
"""


@pytest.fixture
def gpu(on_gpu):
    if not on_gpu:
        pytest.skip("needs a GPU")
    return Device()


def test_device():
    device = Device()
    assert device is Device(device.device_id) and int(device) == _treadle.device_index()
    assert device in Device.get_all_devices()
    assert device.arch == "".join(map(str, device.compute_capability))
    assert device.properties.max_threads_per_block == 1024 and device.properties.warp_size == 32
    device.set_current()
    with pytest.raises(ValueError, match="device: expected a number"):
        Device(1000)
    with pytest.raises(AttributeError):
        _ = device.properties.no_such_thing


def test_streams_and_events():
    device = Device()
    first, second = device.create_stream(), device.create_stream(options=StreamOptions(nonblocking=False))
    assert first != second and first.is_nonblocking and not second.is_nonblocking
    assert Stream.from_handle(first.handle) == first and first.__cuda_stream__() == (0, first.handle)
    assert tuple(LEGACY_DEFAULT_STREAM.__cuda_stream__()) == (0, 1)
    assert tuple(PER_THREAD_DEFAULT_STREAM.__cuda_stream__()) == (0, 2)
    for stream in (LEGACY_DEFAULT_STREAM, PER_THREAD_DEFAULT_STREAM, first):
        event = stream.record()
        second.wait(event)
        second.wait(stream)
        second.sync()
        assert event.is_done
    start = first.record(options=EventOptions(timing_enabled=True))
    end = first.record(options=EventOptions(timing_enabled=True))
    first.sync()
    assert 0 <= end - start < 1000
    with pytest.raises(RuntimeError, match="timing_enabled"):
        _ = end - first.record()
    with pytest.raises(TypeError, match="handle: expected an integer"):
        Stream.from_handle("x")
    assert device.create_stream(first) == first


def test_stream_priorities():
    device = Device()
    last, first = device.stream_priorities
    assert last == 0 and first < 0
    stream = device.create_stream(StreamOptions(priority=first))
    assert stream.priority == first and device.create_stream().priority == 0
    assert Stream.from_handle(stream.handle).priority == first
    assert cuda.Stream(priority=first - 10).priority == first and cuda.Stream().priority == 0
    for bad in (first - 1, last + 1):
        with pytest.raises(ValueError, match=rf"priority: expected {first} \(first\) to {last} \(last\), got {bad}"):
            device.create_stream(StreamOptions(priority=bad))
    with pytest.raises(TypeError, match="StreamOptions: priority: expected an integer, got str"):
        StreamOptions(priority="high")


@cuda.jit
def add_one_slowly(x):
    i = cuda.grid(1)
    for _ in range(2000):
        x[i] += 1


def test_closed_streams_finish_their_work():
    device = Device()
    x = td.zeros(100_000, "int32")
    td.synchronize()
    for _ in range(5):
        stream = device.create_stream()
        add_one_slowly[391, 256, stream](x)
        event = stream.record()
        other = Stream.from_handle(stream.handle)
        stream.close()
        stream.close()
        other.close()
        event.sync()
        event.close()
    assert (x.get() == 10_000).all()
    for use in (stream.sync, stream.record, lambda: stream.handle, lambda: add_one_slowly[391, 256, stream](x)):
        with pytest.raises(RuntimeError, match="stream: expected one that is not closed"):
            use()
    with pytest.raises(RuntimeError, match="event: expected one that is not closed"):
        event.sync()
    assert "(closed)" in repr(stream) and stream == stream and stream != other  # noqa: PLR0124
    LEGACY_DEFAULT_STREAM.close()
    LEGACY_DEFAULT_STREAM.sync()


def test_faults_of_closed_streams_arrive():
    @cuda.jit(bounds="raise")
    def out_of_bounds(x):
        x[cuda.grid(1) + 7] = 1

    stream = Device().create_stream()
    out_of_bounds[1, 32, stream](td.zeros(4))
    stream.close()
    with pytest.raises(IndexError, match="out_of_bounds"):
        td.synchronize()
    td.synchronize()


@pytest.mark.parametrize("host", (False, True))
def test_buffers(host):
    device = Device()
    stream = device.create_stream()
    resource = LegacyPinnedMemoryResource() if host else device.memory_resource
    one, other = resource.allocate(1000, stream), resource.allocate(1000, stream)
    assert one.size == 1000 and one.handle and one.is_device_accessible and one.device_id == (-1 if host else 0)
    one.fill(7, stream=stream)
    other.copy_from(one, stream=stream)
    third = other.copy_to(stream=stream)
    stream.sync()
    assert td.from_dlpack(third).get().tolist() == [7] * 1000
    with pytest.raises(ValueError, match="one size"):
        other.copy_from(resource.allocate(3, stream), stream=stream)
    with pytest.raises(ValueError, match="fill: value"):
        one.fill(256, stream=stream)
    with pytest.raises(ValueError, match="size"):
        resource.allocate(-1)
    one.close()
    with pytest.raises(RuntimeError, match="not closed"):
        one.fill(1, stream=stream)


def test_launch_config():
    config = LaunchConfig(grid=3, block=(4, 5))
    assert config.grid == (3, 1, 1) and config.block == (4, 5, 1)
    for bad in (0, (1, 2, 3, 4), (1, -1)):
        with pytest.raises(ValueError, match="grid: expected one to three positive"):
            LaunchConfig(grid=bad)
    with pytest.raises(TypeError, match="block: expected an integer"):
        LaunchConfig(block="x")


def test_options_become_flags():
    options = ProgramOptions(
        std="c++17", debug=True, fma=False, define_macro=[("A", 3), "B"], include_path=["x", "y"], max_register_count=32
    )
    flags = options.flags("sm_90")
    for flag in ("--gpu-architecture=sm_90", "--std=c++17", "--device-debug", "--fmad=false", "--define-macro=A=3"):
        assert flag in flags
    assert "--define-macro=B" in flags and "--include-path=y" in flags and "--maxrregcount=32" in flags
    assert ProgramOptions(define_macro=("A", "1")).flags("x")[1:] == ["--define-macro=A=1"]
    with pytest.raises(TypeError, match="define_macro"):
        ProgramOptions(define_macro=[3]).flags("x")


def test_bad_programs():
    with pytest.raises(ValueError, match="code_type: expected"):
        Program("", "rust")
    with pytest.raises(TypeError, match="code: expected a text"):
        Program(b"", "c++")
    with pytest.raises(ValueError, match="target_type"):
        Program("", "c++").compile("exe")
    with pytest.raises(TypeError, match="object code 0"):
        Linker("x")


@pytest.mark.cpu("a GPU runs it")
def test_cuda_cpp_needs_a_gpu():
    with pytest.raises(NotImplementedError, match="the CPU device does not run CUDA C"):
        Program(SOURCE, "c++").compile("cubin")
    with pytest.raises(NotImplementedError):
        RawKernel(SOURCE, "saxpy")((1,), (1,), ())
    with pytest.raises(NotImplementedError, match="needs a GPU"):
        ObjectCode.from_ptx(".version 7.0\n").get_kernel("x")


def compiled(cache=None, **options):
    options = ProgramOptions(define_macro=("OFFSET", "1"), **options)
    return Program(SOURCE, "c++", options).compile("ptx", ("add<float>", "add<long long>"), cache=cache)


@pytest.mark.skipif(pathfinder.find("nvrtc") is None, reason="NVRTC is not installed")
def test_compile_without_a_gpu():
    kept = InMemoryProgramCache()
    code = compiled(kept, arch="sm_80")
    assert b".target sm_80" in code.code and "add<float>" in code.symbol_mapping and len(kept) == 1
    again = compiled(kept, arch="sm_80")
    assert again.code == code.code and again.symbol_mapping == code.symbol_mapping
    assert compiled(kept, arch="sm_90").code != code.code and len(kept) == 2
    with pytest.raises(CompileError, match='identifier "undeclared" is undefined'):
        Program("__global__ void f(int* x) { undeclared[0] = 1; }", "c++", ProgramOptions(arch="sm_80")).compile(
            "ptx", cache={}
        )
    logs = io.StringIO()
    Program("__global__ void f() { int unused; }", "c++", ProgramOptions(arch="sm_80")).compile(
        "ptx", logs=logs, cache={}
    )
    assert "unused" in logs.getvalue()


@pytest.mark.skipif(pathfinder.find("nvrtc") is None, reason="NVRTC is not installed")
def test_headers_are_part_of_the_key(tmp_path):
    (tmp_path / "own.h").write_text("#define VALUE 1\n")
    source = '#include "own.h"\n__global__ void f(int* x) { x[0] = VALUE; }'
    options = ProgramOptions(arch="sm_80", include_path=str(tmp_path))
    kept = InMemoryProgramCache()
    first = Program(source, "c++", options).compile("ptx", cache=kept).code
    (tmp_path / "own.h").write_text("#define VALUE 2\n")
    assert Program(source, "c++", options).compile("ptx", cache=kept).code != first


def test_caches(tmp_path):
    key = make_program_cache_key(code="a", code_type="c++", options=ProgramOptions(arch="sm_80"), target_type="cubin")
    others = [
        make_program_cache_key(code="b", code_type="c++", options=ProgramOptions(arch="sm_80"), target_type="cubin"),
        make_program_cache_key(code="a", code_type="c++", options=ProgramOptions(arch="sm_90"), target_type="cubin"),
        make_program_cache_key(code="a", code_type="c++", options=ProgramOptions(arch="sm_80"), target_type="ptx"),
        make_program_cache_key(
            code="a", code_type="c++", options=ProgramOptions(arch="sm_80"), target_type="cubin", extra_digest=b"x"
        ),
    ]
    assert len({key, *others}) == 5
    for cache in (InMemoryProgramCache(), FileStreamProgramCache(tmp_path / "kept")):
        with cache:
            assert cache.get(key) is None and len(cache) == 0
            cache[key] = ObjectCode(b"code", "cubin")
            assert cache[key] == b"code" and len(cache) == 1
            del cache[key]
            with pytest.raises(KeyError):
                cache[key]
    kept = FileStreamProgramCache(tmp_path / "kept", max_size_bytes=200)
    for number in range(10):
        kept[bytes([number])] = bytes(50)
    assert 0 < len(kept) <= 2
    file = next((tmp_path / "kept").glob("*.bin"))
    file.write_bytes(b"damaged" * 10)
    assert sum(bytes([number]) in kept for number in range(10)) == len(kept) - 1


def test_saxpy(gpu):
    code = Program(SOURCE, "c++", ProgramOptions(std="c++17", define_macro=("OFFSET", "1"))).compile(
        "cubin", ("add<float>", "add<long long>")
    )
    kernel = code.get_kernel("saxpy")
    n = 1000
    x, y, out = td.arange(n, dtype="float32"), td.ones(n, "float32"), td.zeros(n, "float32")
    stream = gpu.create_stream()
    gpu.sync()
    config = LaunchConfig(grid=4, block=256)
    launch(stream, config, kernel, np.float32(2), x, y, out, n)
    stream.sync()
    np.testing.assert_array_equal(out.get(), 2 * np.arange(n, dtype="float32") + 1)
    launch(stream, config, kernel, ctypes.c_float(3), x._pointer, y._pointer, out._pointer, np.int32(10))
    stream.sync()
    np.testing.assert_array_equal(out.get()[:10], 3 * np.arange(10) + 1)
    assert kernel.num_arguments == 5 and kernel.attributes.num_regs > 0
    assert kernel.occupancy.max_active_blocks_per_multiprocessor(256) > 0
    for dtype, name in (("float32", "add<float>"), ("int64", "add<long long>")):
        a, b = td.arange(10, dtype=dtype), td.ones(10, dtype)
        gpu.sync()
        launch(stream, LaunchConfig(grid=1, block=32), code.get_kernel(name), a, b, 10)
        stream.sync()
        assert b.tolist() == [i + 2 for i in range(10)]
    pair = np.zeros((), np.dtype([("a", "i4"), ("b", "f8")], align=True))
    pair["a"], pair["b"] = 3, 0.5
    result = td.zeros(1)
    gpu.sync()
    launch(stream, LaunchConfig(), code.get_kernel("take"), pair[()], True, result)
    stream.sync()
    assert result.tolist() == [4.5]


def test_typed_launches(gpu):
    kernel = Program(SOURCE, "c++", ProgramOptions(define_macro=("OFFSET", "1"))).compile("cubin").get_kernel("saxpy")
    x = td.zeros(4, "float32")
    config = LaunchConfig(grid=1, block=32)
    stream = gpu.create_stream()
    with pytest.raises(TypeError, match="expected 5 arguments, got 2"):
        launch(stream, config, kernel, x, x)
    with pytest.raises(TypeError, match="argument 0: expected a value of 4 bytes, got float, which is C's double"):
        launch(stream, config, kernel, 2.0, x, x, x, 4)
    with pytest.raises(TypeError, match="argument 1: expected memory that the device reaches"):
        launch(stream, config, kernel, np.float32(2), np.zeros(4, "float32"), x, x, 4)
    with pytest.raises(OverflowError, match="argument 4"):
        launch(stream, config, kernel, np.float32(2), x, x, x, 1 << 40)
    with pytest.raises(TypeError, match="argument 4: expected an array, a number"):
        launch(stream, config, kernel, np.float32(2), x, x, x, "four")
    with pytest.raises(DeviceError, match="CUDA_ERROR_INVALID_VALUE"):
        launch(stream, LaunchConfig(grid=1, block=2048), kernel, np.float32(2), x, x, x, 4)
    with pytest.raises(DeviceError, match="no kernel 'saxpi'"):
        Program(SOURCE, "c++", ProgramOptions(define_macro=("OFFSET", "1"))).compile("cubin").get_kernel("saxpi")
    launch(stream, config, kernel, np.float32(2), x, x, x, 4)
    stream.sync()


def test_linker(gpu):
    options = ProgramOptions(relocatable_device_code=True)
    one = Program('extern "C" __device__ int twice(int x) { return 2 * x; }', "c++", options).compile("cubin")
    other = Program(
        'extern "C" __device__ int twice(int); extern "C" __global__ void f(int* x) { x[0] = twice(x[0]); }',
        "c++",
        options,
    )
    for target in ("cubin", "ptx"):
        linked = Linker(one, other.compile(target)).link("cubin")
        x = td.array([21], "int32")
        launch(LEGACY_DEFAULT_STREAM, LaunchConfig(), linked.get_kernel("f"), x)
        assert x.tolist() == [42]
    with pytest.raises(CompileError, match="twice"):
        Linker(other.compile("cubin")).link("cubin")


def test_raw_kernels(gpu):
    kernel = RawKernel(SOURCE, "saxpy", ("-DOFFSET=1",))
    x, out = td.arange(100, dtype="float32"), td.zeros(100, "float32")
    kernel((1,), (128,), (np.float32(2), x, x, out, np.int32(100)))
    np.testing.assert_array_equal(out.get(), 3 * np.arange(100, dtype="float32"))
    assert kernel.num_regs > 0 and kernel.attributes["num_regs"] == kernel.num_regs
    module = RawModule(code=SOURCE, options=("-DOFFSET=10", "-std=c++17"), name_expressions=["add<float>", "&seven"])
    y = td.zeros(100, "float32")
    module.get_function("add<float>")((1,), (128,), (x, y, 100))
    np.testing.assert_array_equal(y.get(), np.arange(100, dtype="float32") + 10)
    assert module.get_global("&seven").ptr
    with pytest.raises(CompileError, match="expected"):
        RawKernel("nonsense", "f").compile()
    with pytest.raises(TypeError, match="either code or path"):
        RawModule()


def test_counters():
    x = td.ones(1000)
    with profiler.profile() as counted:
        y = x + 1
        y.get()
        z = y.copy()
        td.synchronize()
    report = counted.report
    assert report.launches == 1 and report.allocations == 2 and report.bytes_to_host == 8000
    assert report.bytes_on_device == 8000 and report.synchronizations >= 1 and report.seconds > 0
    assert z.size == 1000

    @profiler.profile(metrics=["launches", "bytes_to_device"])
    def work(count):
        for _ in range(count):
            td.zeros(10)
        return td.array(np.zeros(4))

    profiler.generate_report()
    work(3)
    work(4)
    report = profiler.generate_report()
    assert (report.launches, report.calls, report.bytes_to_device, report.allocations) == (7, 2, 64, None)
    assert "launches" in str(report) and report.to_dict()["calls"] == 2
    assert profiler.generate_report().calls == 0
    stream = cuda.stream()
    with stream:
        x + 1
    assert profiler.stream_counts(stream)["launches"] == 1
    with pytest.raises(ValueError, match="metrics: expected some of"):
        profiler.profile(metrics=["nonsense"])


@pytest.mark.parametrize("options", ({"priority": -1}, 3))
def test_streams_take_options_alone(options):
    with pytest.raises(TypeError, match="create_stream: options: expected StreamOptions, got"):
        Device().create_stream(options=options)
    with pytest.raises(ValueError, match="priority: expected a number of 32 bits"):
        StreamOptions(priority=-(2**40))
