"""Fixtures of all Python tests."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SUPPORT = Path(__file__).resolve().parent / "support"


def load(name):
    """A module of tests/support; loaded once."""
    full = f"treadle_tests_{name}"
    if full not in sys.modules:
        spec = importlib.util.spec_from_file_location(full, SUPPORT / f"{name}.py")
        sys.modules[full] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[full]


def device_is_gpu():
    from treadle import _treadle

    return _treadle.device_kind() == "cuda"


def pytest_collection_modifyitems(items):
    """Tests with the mark ``cpu(reason)`` are about the CPU device alone."""
    marked = [(item, item.get_closest_marker("cpu")) for item in items]
    if any(mark for _, mark in marked) and device_is_gpu():
        for item, mark in marked:
            if mark:
                item.add_marker(pytest.mark.skip(reason=f"the CPU device's: {mark.args[0]}"))


@pytest.fixture(scope="session")
def on_gpu():
    """Whether the tests run on a GPU: TREADLE_DEVICE chooses."""
    return device_is_gpu()


@pytest.fixture(scope="session")
def orders():
    """tests/support/orders.py."""
    return load("orders")


@pytest.fixture(scope="session", autouse=bool(os.environ.get("TREADLE_TEST_DEBUG")))
def small_launches_are_debugged():
    """TREADLE_TEST_DEBUG=2048: launches of up to so many threads run as ``kernel.debug()`` runs them; what tests expect has to hold there too."""
    from treadle.cuda._kernel import Dispatcher

    configure = Dispatcher._configure

    def debugged(self, config):
        launcher = configure(self, config)
        if np.prod(config[0]) * np.prod(config[1]) > int(os.environ["TREADLE_TEST_DEBUG"]):
            return launcher
        self._launchers.clear()
        return self.debug(thread=None)[config]

    Dispatcher._configure = debugged
    yield
    Dispatcher._configure = configure


@pytest.fixture(scope="session")
def interpreter():
    """tests/support/interpreter.py."""
    return load("interpreter")


@pytest.fixture(scope="session")
def fuzz():
    """tests/support/fuzz.py."""
    return load("fuzz")


@pytest.fixture(scope="session")
def fuzz_records():
    """tests/support/fuzz_records.py."""
    return load("fuzz_records")


@pytest.fixture(scope="session")
def records():
    """tests/support/records.py."""
    return load("records")


@pytest.fixture(scope="session")
def support():
    """The folder of the helpers, for processes that load them themselves."""
    return SUPPORT


def to_device(value):
    """A host array as a device array with the same strides."""
    import treadle as td

    if isinstance(value, tuple):
        return tuple(map(to_device, value))
    if not isinstance(value, np.ndarray):
        return value
    if value.ndim and value.size and not value.flags.c_contiguous:
        order = sorted(range(value.ndim), key=lambda axis: -abs(value.strides[axis]))
        dense = value.transpose(order)
        if dense.flags.c_contiguous:
            return td.asarray(dense).transpose(*(order.index(axis) for axis in range(value.ndim)))
    return td.asarray(value)


@pytest.fixture(scope="session")
def device_copy():
    return to_device


@pytest.fixture(scope="session")
def check_kernel(interpreter):
    """check_kernel(kernel, grid, block, *args, exact=True, rtol=0): runs a kernel and its interpretation and compares all arrays."""

    def check(kernel, grid, block, *args, rtol=0.0, atol=0.0):
        import treadle as td

        expected = interpreter.interpret(kernel, grid, block, *args)
        on_device = [to_device(arg) for arg in args]
        kernel[grid, block](*on_device)
        td.synchronize()

        def compare(number, host, device):
            if isinstance(host, tuple):
                for one, other in zip(host, device, strict=True):
                    compare(number, one, other)
            elif isinstance(host, np.ndarray):
                got = device.get()
                message = f"argument {number} of {kernel.__name__}[{grid}, {block}]"
                assert got.dtype == host.dtype
                if rtol or atol:
                    np.testing.assert_allclose(got, host, rtol=rtol, atol=atol, err_msg=message)
                else:
                    np.testing.assert_array_equal(got, host, err_msg=message)
                    if host.dtype.kind == "f":
                        numbers = ~np.isnan(host)
                        np.testing.assert_array_equal(
                            np.signbit(got)[numbers], np.signbit(host)[numbers], err_msg=message
                        )

        for number, (host, device) in enumerate(zip(expected, on_device, strict=True)):
            compare(number, host, device)

    return check


@pytest.fixture
def run_python(tmp_path):
    """run_python(code or [arguments], **environment): a Python process with the package; returns the CompletedProcess."""

    def run(code, *arguments, cwd=None, timeout=120, input=None, **environment):
        import treadle

        env = {**os.environ, "PYTHONPATH": str(Path(treadle.__file__).parents[1]), **environment}
        env = {name: str(value) for name, value in env.items() if value is not None}
        command = [sys.executable, *(code if isinstance(code, list) else ["-c", code]), *map(str, arguments)]
        return subprocess.run(
            command,
            cwd=cwd or tmp_path,
            env=env,
            capture_output=True,
            text=True,
            timeout=timeout,
            input=input,
            check=False,
        )

    return run


FAKE_PROGRAM = """
import numpy as np, treadle as td
from treadle import cuda, _treadle
@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]
"""


@pytest.fixture
def fake(run_python, tmp_path):
    """fake(code, **environment): runs code on the GPU that is none, after the kernel ``add``; gives what it printed and the driver's
    calls. fake.named(calls, name): the arguments of the calls of one function; fake.stderr(): of the last run."""
    libraries = sorted(SUPPORT.parents[1].glob("build/*/libfake_cuda.so"))
    if not libraries:
        pytest.skip("the C++ tests, with which the driver comes, were not built")

    def run(code, fails=False, **environment):
        log = tmp_path / "calls"
        names = {"TREADLE_CUDA_DRIVER": str(libraries[0]), "TREADLE_DEVICE": "cuda", "FAKE_CUDA_LOG": str(log)}
        result = run_python(FAKE_PROGRAM + code, **{**names, **environment})
        assert (result.returncode != 0) == fails, result.stderr
        run.stderr = lambda: result.stderr
        calls = log.read_text().splitlines() if log.exists() else []
        return result.stderr if fails else result.stdout, calls

    run.named = lambda calls, name: [call.split()[1:] for call in calls if call.split()[0] == name]
    return run
