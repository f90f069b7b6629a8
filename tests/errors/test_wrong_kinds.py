"""Every public function, given a wrong kind of value for each of its parameters: the message names what was expected and what came.

The table holds a good call of each function; a walk over the public names makes sure that none is missing.
"""

import inspect

import numpy as np
import pytest

import treadle as td
from treadle import core, cuda
from treadle.errors import TreadleError


class Nonsense:
    """A value that no parameter takes."""

    def __repr__(self):
        return "<nonsense>"


# Parameters that take anything, or that are hints without effect.
ANY = {"desc", "owner", "block", "interprocess", "ptds", "portable", "wc", "attach_global", "arg", "ipc_enabled", "blocking_sync", "timing_enabled"}  # fmt: skip
FLAGS = {"copy", "keepdims", "endpoint", "null", "non_blocking", "disable_timing", "timing", "sync", "nonblocking"}
TEXTS = {"dtype", "order", "identity"}


def array():
    return td.ones((2, 3))


def host():
    return np.ones((2, 3))


def event():
    recorded = cuda.event().record()
    recorded.synchronize()
    return recorded


def core_event():
    return core.Device().create_stream().record(options=core.EventOptions(timing_enabled=True))


def stream():
    return core.Device().create_stream()


def buffer():
    return core.Device().allocate(24)


# Function, and the arguments of a good call; callables are called for a value of their own each time.
CALLS = {
    "td": [
        (td.arange, {"start": 0, "stop": 4, "step": 1, "dtype": "int32"}),
        (td.array, {"obj": 1, "dtype": "int32", "copy": True, "order": "C", "ndmin": 1}),
        (td.asarray, {"obj": 1, "dtype": "int32", "order": "C"}),
        (td.ascontiguousarray, {"a": array, "dtype": "int32"}),
        (lambda stream, order, out: td.asnumpy(array(), stream, order, out), {"stream": None, "order": "C", "out": host}),
        (td.astype, {"a": array, "dtype": "int32"}),
        (td.array_equal, {"a": array, "b": array}),
        (td.broadcast_to, {"a": array, "shape": (4, 2, 3)}),
        (td.clip, {"a": array, "a_min": 0, "a_max": 1, "out": array}),
        (td.concatenate, {"arrays": lambda: [array(), array()], "axis": 0}),
        (td.copy, {"a": array}),
        (td.empty, {"shape": 3, "dtype": "int32", "order": "C"}),
        (td.empty_like, {"a": array, "dtype": "int32", "shape": 4}),
        (td.expand_dims, {"a": array, "axis": 0}),
        (td.from_dlpack, {"x": array, "device": None, "copy": True}),
        (td.full, {"shape": 3, "fill_value": 1, "dtype": "int32", "order": "C"}),
        (td.full_like, {"a": array, "fill_value": 1, "dtype": "int32", "shape": 4}),
        (td.linspace, {"start": 0, "stop": 1, "num": 5, "endpoint": True, "dtype": "float32"}),
        (td.ones, {"shape": 3, "dtype": "int32", "order": "C"}),
        (td.ones_like, {"a": array, "dtype": "int32", "shape": 4}),
        (td.ravel, {"a": array}),
        (td.reshape, {"a": array, "shape": 6, "order": "C"}),
        (td.squeeze, {"a": lambda: td.ones((1, 3)), "axis": 0}),
        (td.stack, {"arrays": lambda: [array(), array()], "axis": 0}),
        (td.swapaxes, {"a": array, "axis1": 0, "axis2": 1}),
        (td.transpose, {"a": array, "axes": (1, 0)}),
        (td.where, {"condition": True, "x": array, "y": array}),
        (td.zeros, {"shape": 3, "dtype": "int32", "order": "C"}),
        (td.zeros_like, {"a": array, "dtype": "int32", "shape": 4}),
        *((getattr(td, name), {"a": array, "axis": 0, "out": lambda: td.zeros(3), "keepdims": False}) for name in ("min", "max", "amin", "amax")),
        *((getattr(td, name), {"a": array, "axis": 0, "dtype": "float64", "out": lambda: td.zeros(3), "keepdims": False}) for name in ("sum", "prod", "mean")),
        *((getattr(td, name), {"a": array, "axis": 0, "keepdims": False}) for name in ("any", "all", "argmin", "argmax")),
    ],
    "random": [
        (td.random.seed, {"seed": 1}),
        (td.random.uniform, {"low": 0, "high": 1, "size": 3, "dtype": "float32"}),
        (td.random.random, {"size": 3, "dtype": "float32"}),
        (td.random.normal, {"loc": 0, "scale": 1, "size": 3, "dtype": "float32"}),
        (td.random.standard_normal, {"size": 3, "dtype": "float32"}),
        (td.random.randint, {"low": 0, "high": 5, "size": 3, "dtype": "int32"}),
    ],
    "cuda": [
        (cuda.as_cuda_array, {"obj": array, "sync": True}),
        (cuda.current_context, {"devnum": 0}),
        (cuda.device_array, {"shape": 3, "dtype": "int32", "strides": 4, "order": "C", "stream": 0}),
        (cuda.device_array_like, {"ary": host, "stream": 0}),
        (cuda.event, {"timing": True}),
        (cuda.event_elapsed_time, {"evtstart": event, "evtend": event}),
        (cuda.external_stream, {"ptr": 1}),
        (cuda.get_elapsed_time, {"start": event, "end": event}),
        (cuda.managed_array, {"shape": 3, "dtype": "int32", "strides": 4, "order": "C", "stream": 0, "attach_global": True}),
        (cuda.mapped_array, {"shape": 3, "dtype": "int32", "strides": 4, "order": "C", "stream": 0, "portable": False, "wc": False}),
        (cuda.mapped_array_like, {"ary": host, "stream": 0, "portable": False, "wc": False}),
        (cuda.pinned_array, {"shape": 3, "dtype": "int32", "strides": 4, "order": "C"}),
        (cuda.pinned_array_like, {"ary": host}),
        (cuda.select_device, {"device_id": 0}),
        (cuda.to_device, {"obj": host, "stream": 0, "copy": True, "to": array}),
        (cuda.Device, {"device": 0}),
        (cuda.Event, {"block": False, "disable_timing": False, "interprocess": False, "timing": True}),
        (cuda.Stream, {"null": False, "non_blocking": False, "ptds": False, "priority": 0}),
        (lambda stream: event().record(stream), {"stream": None}),
        (lambda stream: event().wait(stream), {"stream": None}),
        (lambda event: cuda.stream().wait_event(event), {"event": event}),
        (lambda event: cuda.stream().record(event), {"event": event}),
        (lambda end: event().elapsed_time(end), {"end": event}),
        (lambda number: cuda.gpus[number], {"number": 0}),
    ],
    "core": [
        (core.Device, {"device_id": 0}),
        (core.DeviceMemoryResource, {"device_id": 0}),
        (core.StreamOptions, {"nonblocking": True, "priority": 0}),
        (core.LaunchConfig, {"grid": 1, "block": 32, "cluster": 1, "shmem_size": 0}),
        (core.Stream.from_handle, {"handle": 1}),
        (lambda options: core.Device().create_stream(options), {"options": core.StreamOptions}),
        (lambda options: core.Device().create_event(options), {"options": core.EventOptions}),
        (lambda size, stream: core.Device().allocate(size, stream), {"size": 8, "stream": None}),
        (lambda peer: core.Device().can_access_peer(peer), {"peer": 0}),
        (lambda devices: setattr(core.Device().memory_resource, "peer_accessible_by", devices), {"devices": ()}),
        (lambda event, options: stream().record(event, options), {"event": None, "options": core.EventOptions}),
        (lambda other: stream().wait(other), {"other": core_event}),
        (lambda start: core_event() - start, {"start": core_event}),
        (lambda value, stream: buffer().fill(value, stream=stream), {"value": 0, "stream": stream}),
        (lambda src, stream: buffer().copy_from(src, stream=stream), {"src": buffer, "stream": stream}),
        (lambda dst, stream: buffer().copy_to(dst, stream=stream), {"dst": buffer, "stream": stream}),
        (lambda size: core.LegacyPinnedMemoryResource().allocate(size), {"size": 8}),
    ],
    "ndarray": [
        (lambda dtype, copy: array().astype(dtype, copy), {"dtype": "int32", "copy": True}),
        (lambda dtype: array().view(dtype), {"dtype": "int64"}),
        (lambda shape, order: array().reshape(shape, order=order), {"shape": 6, "order": "C"}),
        (lambda order: array().ravel(order), {"order": "C"}),
        (lambda order: array().flatten(order), {"order": "C"}),
        (lambda order: array().copy(order), {"order": "C"}),
        (lambda axes: array().transpose(axes), {"axes": (1, 0)}),
        (lambda axis: td.ones((1, 3)).squeeze(axis), {"axis": 0}),
        (lambda axis1, axis2: array().swapaxes(axis1, axis2), {"axis1": 0, "axis2": 1}),
        (lambda min, max: array().clip(min, max), {"min": 0, "max": 1}),
        (lambda axis, out: array().sum(axis, out=out), {"axis": 0, "out": lambda: td.zeros(3)}),
        (lambda axis, out: array().argmax(axis, out=out), {"axis": 0, "out": None}),
        (lambda value: array().fill(value), {"value": 1}),
        (lambda index: array().item(index), {"index": 0}),
        (lambda index: array()[index], {"index": 0}),
        (lambda index, value: array().__setitem__(index, value), {"index": 0, "value": 1}),
        (lambda stream, order, out: array().get(stream, order, out), {"stream": None, "order": "F", "out": host}),
        (lambda host: array().set(host), {"host": host}),
        (lambda other: array() + other, {"other": 1}),
        (lambda ary, stream: array().copy_to_host(ary, stream), {"ary": host, "stream": 0}),
        (lambda ary, stream: array().copy_to_device(ary, stream), {"ary": host, "stream": 0}),
        (lambda other, out: td.add(array(), other, out=out), {"other": 1, "out": array}),
    ],
}  # fmt: skip


def value_of(given):
    return given() if callable(given) else given


def call(function, arguments):
    values = {name: value_of(given) for name, given in arguments.items()}
    parameters = inspect.signature(function).parameters
    positional = [values.pop(name) for name, one in parameters.items() if one.kind is one.POSITIONAL_ONLY]
    return function(*positional, **values)


def wrong_calls():
    """Of each parameter, one for each wrong value."""
    for area, calls in CALLS.items():
        for number, (function, arguments) in enumerate(calls):
            name = function.__name__ if function.__name__ != "<lambda>" else f"{area}{number}"
            for parameter in arguments:
                if parameter not in ANY | FLAGS:
                    wrongs = [Nonsense()] if parameter in TEXTS else [Nonsense(), "a", 1.5, b"a", {"a": 1}]
                    yield from (
                        pytest.param(
                            function, arguments, parameter, wrong, id=f"{name}-{parameter}-{type(wrong).__name__}"
                        )
                        for wrong in wrongs
                    )


@pytest.mark.parametrize(("function", "arguments"), [call for calls in CALLS.values() for call in calls])
def test_the_calls_of_the_table_are_good(function, arguments):
    call(function, arguments)


@pytest.mark.parametrize(("function", "arguments", "parameter", "wrong"), list(wrong_calls()))
def test_wrong_kinds(function, arguments, parameter, wrong):
    """Numbers and texts may mean something; a message then is as good as a result. Nonsense never does."""
    try:
        call(function, {**arguments, parameter: wrong})
    except (TypeError, ValueError, IndexError, OverflowError, TreadleError) as error:
        assert "expected" in str(error) and "got" in str(error), f"{type(error).__name__}: {error}"
    else:
        assert not isinstance(wrong, Nonsense), "nonsense was taken"


def test_no_public_function_is_missing():
    """Kernel intrinsics and decorators have tests of their own, and what takes no arguments has nothing to be given wrong."""
    known = {getattr(function, "__qualname__", "") for calls in CALLS.values() for function, _ in calls}
    elsewhere = {"compile", "compile_for_current_device", "compile_ptx", "compile_ptx_for_current_device", "declare_device", "from_cuda_array_interface", "asnumpy"}  # fmt: skip
    elsewhere |= {
        "guvectorize",
        "is_cuda_array",
        "jit",
        "mapped",
        "pinned",
        "vectorize",
        "launch",
        "get_array_module",
        "rand",
        "randn",
    }
    for module in (td, cuda, core, td.random):
        names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
        for name in names:
            function = getattr(module, name)
            if not inspect.isfunction(function) or (module is td.random and function.__module__ != module.__name__):
                continue
            if inspect.signature(function).parameters and name not in elsewhere:
                assert function.__qualname__ in known, f"{module.__name__}.{name} is not in the table"
