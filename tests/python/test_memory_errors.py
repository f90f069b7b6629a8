"""Allocations that fail: what they give back first, and what they tell."""

import re

import pytest

pytestmark = pytest.mark.cpu("these run on a driver without a GPU, or with the host's memory limited")

MEBIBYTE = 1 << 20


def test_the_largest_holders_are_told(fake):
    output, calls = fake("""
MB = 1 << 20
kept = td.empty((300, 1 << 20), "int8")
del kept
big = td.empty((4, 25 * MB), "float32")
several = [td.empty((5, 10 * MB), "int8") for _ in range(3)]
points = cuda.device_array(3 * MB, np.dtype([("x", "f8"), ("y", "f4")]))
few = [td.empty(size * MB, "uint8") for size in (1, 2, 3)]
scalar = td.empty((), "float64")
for _ in range(2):
    try:
        td.empty(500 * MB, "int8")
    except MemoryError as error:
        print(error)
        print(type(error).__name__)
del big
print(td.empty(500 * MB, "int8").size)
""")
    first, *holders = output.split("OutOfMemoryError\n")[0].splitlines()
    assert first.startswith(f"CUDA_ERROR_OUT_OF_MEMORY: cannot allocate {500 * MEBIBYTE} bytes of GPU 0: ")
    facts = re.search(
        r"(\d+) of 4294967296 bytes are free; (\d+) bytes are in use by arrays, and (\d+) bytes that were kept for reuse have been given "
        r"back. The largest holders:",
        first,
    )
    free, used, given_back = map(int, facts.groups())
    assert 0 < free < 500 * MEBIBYTE and used > 590 * MEBIBYTE and given_back == 320 * MEBIBYTE
    assert holders == [
        f"  1 block of {400 * MEBIBYTE} bytes: float32 (4, {25 * MEBIBYTE})",
        f"  3 blocks of {50 * MEBIBYTE} bytes: int8 (5, {10 * MEBIBYTE})",
        f"  1 block of {36 * MEBIBYTE} bytes: records of 12 bytes ({3 * MEBIBYTE},)",
        f"  1 block of {3 * MEBIBYTE} bytes: uint8 ({3 * MEBIBYTE},)",
        f"  1 block of {2 * MEBIBYTE} bytes: uint8 ({2 * MEBIBYTE},)",
        "  and 2 more kinds",
    ]
    assert "kept for reuse" not in output.split("OutOfMemoryError\n")[1], "the second time nothing was kept"
    assert output.splitlines()[-1] == str(500 * MEBIBYTE)


def test_one_gpu_of_several(fake):
    output, _ = fake(
        """
x = td.empty(1000, "int8")
with cuda.gpus[1]:
    try:
        td.empty(1 << 50, "int8")
    except MemoryError as error:
        print(error)
    print(cuda.current_context().get_memory_info() == (1 << 30, 1 << 32))
""",
        FAKE_CUDA_MEMORY=1 << 30,
    )
    assert "bytes of GPU 1: " in output and "0 bytes are in use by arrays\n" in output


@pytest.mark.parametrize("call", ("cuModuleLoadData", "cuLaunchKernel", "cuMemHostAlloc"))
def test_the_driver_itself_needs_memory(fake, call):
    """What is kept for reuse is given back before the driver's second and last attempt."""
    code = """
kept = td.empty(100 << 20, "int8")
del kept
x = td.empty(10, "float32")
try:
    if WHAT == "cuMemHostAlloc":
        cuda.pinned_array(10)
    else:
        add[1, 32](x, x, x)
    print("fine")
except MemoryError as error:
    print(error)
print(_treadle.memory_use()[1])
"""
    for times, ending in ((1, "fine"), (2, "CUDA_ERROR_OUT_OF_MEMORY: ")):
        output, calls = fake(f"WHAT = {call!r}" + code, FAKE_CUDA_FAIL=f"{call}:2:1:{times}")
        assert output.startswith(ending) and output.splitlines()[-1] == "0"
        assert len(fake.named(calls, call)) == 2 and "cuMemFree" in calls


def test_on_the_cpu(run_python):
    result = run_python("""
import resource
import treadle as td
x = td.ones((16, 1 << 20))
y = td.ones(1 << 20)
del y
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, resource.RLIM_INFINITY))
try:
    td.empty(5 << 30, "int8")
except MemoryError as error:
    print(error)
print((x + 1).sum())
""")
    first, holder, total = result.stdout.splitlines()
    assert re.match(
        rf"CUDA_ERROR_OUT_OF_MEMORY: cannot allocate {5 << 30} bytes of the host's memory: \d+ of \d+ bytes are free; "
        r"\d+ bytes are in use by arrays.*\. The largest holders:$",
        first,
    ), (result.stdout, result.stderr)
    assert holder == f"  1 block of {128 * MEBIBYTE} bytes: float64 (16, {MEBIBYTE})"
    assert float(total) == 2 * 16 * MEBIBYTE
