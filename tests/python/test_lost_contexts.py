"""Kernels that break the context of their GPU: what is told, and what still works."""

import pytest

pytestmark = pytest.mark.cpu("these run on a driver without a GPU")

LOST = "CUDA_ERROR_ILLEGAL_ADDRESS: GPU 0 cannot be used again in this process: a kernel has made its context unusable, as the first error of this kind told"


def test_the_first_error_tells_all_and_the_others_little(fake):
    output, _ = fake(
        """
from treadle.core import Device
@cuda.jit
def oops(x):
    x[0] = 1
host = np.arange(4, dtype="float32")
x = td.asarray(host)
pinned = cuda.pinned_array(4, "float32")
pinned[:] = 3
with cuda.gpus[1]:
    y = td.asarray(host)
stream = cuda.stream()
event = cuda.event()
add[1, 32](x, x, x)
oops[1, 32, stream](x)
print(hex(stream.handle))
def attempt(use):
    try:
        use()
        print("fine")
    except td.errors.DeviceError as error:
        assert error.code == 700
        print(error)
attempt(stream.synchronize)
for use in (
    cuda.synchronize, stream.query, lambda: add[1, 32](x, x, x), lambda: td.empty(3), x.get, lambda: x + x, cuda.stream, cuda.event,
    lambda: event.record(), Device(0).create_stream, lambda: cuda.pinned_array(5), lambda: cuda.current_context().get_memory_info(),
    lambda: _treadle.release_cached_memory(),
):
    attempt(use)
print("--")
with cuda.gpus[1]:
    attempt(lambda: y.__setitem__(..., x))
    add[1, 32](y, y, y)
    print(y.get().tolist(), td.ones(3).shape)
print((host + pinned).tolist())
del x, stream, event, pinned
""",
        FAKE_CUDA_BREAK="cuLaunchKernel:700:2:1",
    )
    stream, first, *rest = output.splitlines()
    assert first == (
        "CUDA_ERROR_ILLEGAL_ADDRESS: [cuStreamQuery] as the test asked: a kernel has made the context of GPU 0 unusable, so the GPU cannot be "
        "used again in this process and its arrays are lost; host arrays and the other GPUs are not. The last launches, latest first: "
        f"oops on stream {stream}, add on the default stream"
    )
    middle = rest.index("--")
    assert rest[:middle] == [LOST] * 13
    assert rest[middle + 1 :] == [LOST, "[0.0, 1.0, 2.0, 3.0] (3,)", "[3.0, 4.0, 5.0, 6.0]"]


def test_a_process_ends_after_it(fake, run_python):
    """Nothing hangs or crashes at the end, and what was told is not told again."""
    code = """
import sys
x = td.empty(4, "float32")
s = cuda.stream()
add[1, 32, s](x, x, x)
if TELLS:
    try:
        s.synchronize()
    except td.errors.DeviceError:
        pass
print("end")
"""
    for tells in (True, False):
        output, _ = fake(f"TELLS = {tells}" + code, FAKE_CUDA_BREAK="cuLaunchKernel:719:1")
        assert output == "end\n"
        told = fake.stderr()
        assert (
            (told == "")
            if tells
            else ("nothing waited for it: CUDA_ERROR_LAUNCH_FAILED" in told and "add on stream" in told)
        )


def test_errors_that_break_nothing(fake):
    output, _ = fake(
        """
x = td.empty(4, "float32")
try:
    add[1, 32](x, x, x)
except td.errors.DeviceError as error:
    print(error)
add[1, 32](x, x, x)
""",
        FAKE_CUDA_FAIL="cuLaunchKernel:1:1:1",
    )
    assert output == "CUDA_ERROR_INVALID_VALUE: [cuLaunchKernel] as the test asked\n"
