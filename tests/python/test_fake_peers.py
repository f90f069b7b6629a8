"""GPUs that use each other's memory, over the driver that only notes its calls."""

import pytest

pytestmark = pytest.mark.cpu("these run on a driver without a GPU")

START = """
from treadle.core import Device
first, second = Device(0), Device(1)
x = td.empty(10, "float32")
second.set_current()
def attempt():
    y = td.empty(10, "float32")
    try:
        add[1, 32](x, y, y)
        print("launched")
    except td.errors.DeviceError as error:
        print(error)
"""


def test_kernels_reach_what_they_are_let(fake):
    output, calls = fake(
        START
        + """
attempt()
print(second.can_access_peer(first), second.can_access_peer(1), first.memory_resource.peer_accessible_by)
first.memory_resource.peer_accessible_by = [second]
first.memory_resource.peer_accessible_by = [1]
print(first.memory_resource.peer_accessible_by, second.memory_resource.peer_accessible_by)
attempt()
first.memory_resource.peer_accessible_by = []
attempt()
"""
    )
    refusal = (
        "CUDA_ERROR_INVALID_VALUE: [stream] expected memory of the stream's GPU 1, got an array on GPU 0: copy it, or let GPU 1 reach "
        "it: treadle.core.Device(0).memory_resource.peer_accessible_by = [1]"
    )
    assert output.splitlines() == [refusal, "True True ()", "(1,) ()", "launched", refusal]
    assert fake.named(calls, "cuCtxEnablePeerAccess") == [["0xc1", "0xc0"]]
    assert fake.named(calls, "cuCtxDisablePeerAccess") == [["0xc1", "0xc0"]]


def test_gpus_that_cannot(fake):
    output, calls = fake(
        START
        + """
attempt()
print(second.can_access_peer(0))
try:
    first.memory_resource.peer_accessible_by = [1]
except td.errors.DeviceError as error:
    print(error)
y = td.empty(10, "float32")
y[...] = x
""",
        FAKE_CUDA_PEERS="0",
    )
    lines = output.splitlines()
    assert lines[0].endswith("got an array on GPU 0: copy it (GPU 1 cannot reach it)") and lines[1] == "False"
    assert lines[2].startswith(
        "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED: [peer access] GPU 1 cannot reach the memory of GPU 0"
    )
    assert len(fake.named(calls, "cuMemcpyPeerAsync")) == 1


def test_access_that_another_library_enabled(fake):
    output, _ = fake(
        START + "first.memory_resource.peer_accessible_by = [1]\nattempt()",
        FAKE_CUDA_FAIL="cuCtxEnablePeerAccess:704:1",
    )
    assert output.split() == ["launched"]


def test_memory_that_was_lent_is_waited_for(fake):
    """When a block is used again on its own GPU, its streams wait for the other GPU's."""
    output, calls = fake(
        START
        + """
first.memory_resource.peer_accessible_by = [1]
attempt()
first.set_current()
print(hex(second.default_stream.handle))
del x
z = td.empty(10, "float32")
stream = first.create_stream()
print(hex(stream.handle))
cuda.current_context().synchronize()
add[1, 32, stream](z, z, z)
del z
_treadle.release_cached_memory()
"""
    )
    own = output.split()[2]
    at = calls.index(next(call for call in calls if call.startswith("cuCtxSynchronize")))
    later = calls[at + 1 :]
    assert any(call.startswith(f"cuStreamWaitEvent {own}") for call in later), later


def test_numbas_and_cupys_names(fake):
    output, calls = fake("""
import treadle.dropin
import cupy
from numba import cuda as numba_cuda
second = numba_cuda.gpus[1]
with second:
    context = numba_cuda.current_context()
    print(context.can_access_peer(0))
    context.enable_peer_access(numba_cuda.gpus[0])
    for bad in (lambda: context.enable_peer_access(0, 1), lambda: context.can_access_peer(9)):
        try:
            bad()
        except ValueError as error:
            print(error)
cupy.cuda.runtime.setDevice(0)
print(cupy.cuda.runtime.deviceCanAccessPeer(0, 1), cupy.cuda.runtime.deviceCanAccessPeer(0, 0))
cupy.cuda.runtime.deviceEnablePeerAccess(1)
cupy.cuda.runtime.deviceDisablePeerAccess(1)
""")
    assert output.splitlines() == [
        "True",
        "enable_peer_access: flags: expected 0, got 1",
        "device: expected a number from 0 to 1, got 9",
        "1 0",
    ]
    assert fake.named(calls, "cuCtxEnablePeerAccess") == [["0xc1", "0xc0"], ["0xc0", "0xc1"]]
    assert fake.named(calls, "cuCtxDisablePeerAccess") == [["0xc0", "0xc1"]]
