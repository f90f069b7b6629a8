"""Streams and events of a GPU, over the driver that only notes its calls: priorities, and what is left of closed ones."""

import pytest

pytestmark = pytest.mark.cpu("these run on a driver without a GPU")

START = """
from treadle.core import Device, Stream, StreamOptions
device = Device()
"""


def test_priorities_are_the_drivers(fake):
    output, calls = fake(
        START
        + """
print(device.stream_priorities)
first = device.create_stream(StreamOptions(priority=-3))
second = device.create_stream(StreamOptions(nonblocking=False))
print(first.priority, first.is_nonblocking, second.priority, second.is_nonblocking, device.default_stream.priority)
borrowed = Stream.from_handle(first.handle)
print(borrowed.priority, borrowed.is_nonblocking)
for bad in (-4, 1):
    try:
        device.create_stream(StreamOptions(priority=bad))
    except ValueError as error:
        print(error)
print([cuda.Stream(priority=number).priority for number in (-100, -2, 100)])
"""
    )
    assert output.splitlines() == [
        "(0, -3)",
        "-3 True 0 False 0",
        "-3 True",
        "[stream] priority: expected -3 (first) to 0 (last), got -4",
        "[stream] priority: expected -3 (first) to 0 (last), got 1",
        "[-3, -2, 0]",
    ]
    assert [call[1:] for call in fake.named(calls, "cuStreamCreate")[:2]] == [["1", "-3"], ["0", "0"]]


def test_closing_waits_for_nothing(fake):
    output, calls = fake(
        START
        + """
stream = device.create_stream()
add[1, 32, stream](*[td.empty(4, "float32")] * 3)
print(hex(stream.handle))
stream.close()
stream.close()
for use in (stream.sync, stream.record, lambda: stream.handle, lambda: stream.priority, lambda: add[1, 32, stream]):
    try:
        use()
    except RuntimeError as error:
        print(error)
print(stream, stream == stream)
""",
        FAKE_CUDA_BUSY="1000",
    )
    handle, *errors, text = output.splitlines()
    assert errors == ["stream: expected one that is not closed, got a closed one"] * 5
    assert text == f"<Stream {handle} (closed)> True"
    assert fake.named(calls, "cuStreamDestroy") == [[handle]]
    assert not fake.named(calls, "cuStreamSynchronize")


def test_memory_of_a_closed_stream_is_waited_for(fake):
    """Its work may still run when another stream takes the block: that one waits for the event that the closed one left."""
    output, calls = fake(
        START
        + """
stream, other = device.create_stream(), device.create_stream()
x = td.empty(1000, "float32")
add[4, 256, stream](x, x, x)
print(hex(stream.handle), hex(other.handle))
stream.close()
third = device.create_stream()
del x
y = td.empty(1000, "float32")
add[4, 256, other](y, y, y)
""",
        FAKE_CUDA_BUSY="1000",
    )
    closed, other = output.split()
    end = next(event for event, stream in fake.named(calls, "cuEventRecord") if stream == closed)
    assert fake.named(calls, "cuStreamWaitEvent") == [[other, end]]


def test_borrowed_streams_stay(fake):
    """A stream of another library may be gone once our object is: its handle is used no more."""
    output, calls = fake(
        START
        + """
borrowed = Stream.from_handle(0x5550)
x = td.empty(1000, "float32")
add[4, 256, borrowed](x, x, x)
borrowed.close()
print("--", flush=True)
del x
y = td.empty(1000, "float32")
add[4, 256, device.create_stream()](y, y, y)
again = Stream.from_handle(0x5550)
add[4, 256, again](y, y, y)
"""
    )
    launches = [number for number, call in enumerate(calls) if call.startswith("cuLaunchKernel")]
    assert calls[launches[0]].split()[4] == calls[launches[2]].split()[4] == "0x5550"
    between = calls[launches[0] + 1 : launches[1]]
    assert not any("0x5550" in call for call in between) and "cuCtxSynchronize" in between
    assert not any(call.startswith("cuStreamDestroy 0x5550") for call in calls)


def test_closed_events(fake):
    output, _ = fake(
        START
        + """
stream = device.create_stream()
event = stream.record()
event.close()
for use in (event.sync, lambda: event.is_done, lambda: stream.wait(event), lambda: stream.record(event)):
    try:
        use()
    except RuntimeError as error:
        print(error)
"""
    )
    assert output.splitlines() == ["event: expected one that is not closed, got a closed one"] * 4


def test_many_streams_come_and_go(fake):
    """Slots are given again once the work is done; while it is not, the last one is shared."""
    for busy in ("0", "100000"):
        _, calls = fake(
            START
            + """
for _ in range(200):
    stream = device.create_stream()
    add[1, 32, stream](*[td.empty(4, "float32")] * 3)
    stream.close()
""",
            FAKE_CUDA_BUSY=busy,
        )
        assert len(fake.named(calls, "cuStreamDestroy")) == 200
