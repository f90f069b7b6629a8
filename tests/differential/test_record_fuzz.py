"""Random records in random kernels, against NumPy. A failure prints the seed, the dtype and the kernel."""

import importlib.util
import os

import numpy as np
import pytest

from treadle import cuda

FIRST = int(os.environ.get("TREADLE_FUZZ_SEED", "0"))


def check(case, seed, folder):
    path = folder / f"records_{seed}.py"
    path.write_text(case.source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    story = f"seed {seed}\n{case.dtype}\n{case.source}"
    on_device = [cuda.to_device(argument) for argument in case.arguments]
    try:
        module.make(case.dtype)[(case.threads + 31) // 32, 32](*on_device)
        cuda.synchronize()
    except Exception as error:
        raise AssertionError(story) from error
    for number, (array, expected) in enumerate(zip(on_device, case.expected, strict=True)):
        compare(array.copy_to_host(), expected, f"argument {number}, {story}")


def compare(got, expected, story):
    for name in expected.dtype.names or ():
        compare(got[name], expected[name], f"{name} of {story}")
    if not expected.dtype.names:
        np.testing.assert_array_equal(got, expected, err_msg=story)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + 60))
def test_random_records(seed, tmp_path, fuzz_records):
    check(fuzz_records.Case(seed), seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_many_random_records(block, tmp_path, fuzz_records):
    for seed in range(FIRST + 1000 + 50 * block, FIRST + 1050 + 50 * block):
        check(fuzz_records.Case(seed), seed, tmp_path)
