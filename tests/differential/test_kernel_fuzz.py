"""Random kernels against their interpretation, bit for bit. TREADLE_FUZZ_PROGRAMS (default 30 a shard) and TREADLE_FUZZ_SEED widen the
search; `python tests/support/fuzz.py FIRST COUNT` runs seeds outside pytest and shrinks what fails."""

import os

import pytest

PROGRAMS = int(os.environ.get("TREADLE_FUZZ_PROGRAMS", "30"))
FIRST = int(os.environ.get("TREADLE_FUZZ_SEED", "0"))
SHARDS = 5

WORKER = """
import importlib.util, signal, sys, tempfile
from pathlib import Path

def load(name):
    spec = importlib.util.spec_from_file_location(name, f"{folder}/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

folder, first, count, options = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
interpreter, fuzz = load("interpreter"), load("fuzz")
scratch = Path(tempfile.mkdtemp())
signal.signal(signal.SIGALRM, signal.SIG_DFL)
for seed in range(first, first + count):
    print("seed", seed, flush=True)
    signal.alarm(60)
    source, shapes = fuzz.generate(seed, options)
    problem = fuzz.differences(source, shapes, seed, scratch, interpreter)
    if problem:
        print("DIFFERS", problem)
        print(source)
        sys.exit(3)
print("done")
"""


def run(run_python, support, tmp_path, first, count, options="fmad=False", **environment):
    result = run_python(WORKER, support, first, count, options, timeout=1800, TMPDIR=tmp_path, **environment)
    assert result.stdout.rstrip().endswith("done"), (result.returncode, result.stdout[-6000:], result.stderr[-3000:])


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(SHARDS))
def test_random_kernels(shard, run_python, support, tmp_path):
    run(run_python, support, tmp_path, FIRST + shard * PROGRAMS, PROGRAMS)


@pytest.mark.slow
@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v3"])
def test_other_targets(cpu, run_python, support, tmp_path):
    run(run_python, support, tmp_path, FIRST + 10_000, max(1, PROGRAMS // 2), TREADLE_CPU=cpu)


PASSES = "fold_constants,analyze_shapes,separate_counters,eliminate_dead_code"


@pytest.mark.slow
@pytest.mark.parametrize("disabled", [*PASSES.split(","), PASSES])
def test_without_passes(disabled, run_python, support, tmp_path):
    options = f"fmad=False, disabled_passes={disabled!r}"
    run(run_python, support, tmp_path, FIRST + 20_000, max(1, PROGRAMS // 4), options)


def test_generation_is_deterministic(fuzz):
    assert fuzz.generate(5) == fuzz.generate(5)
    assert fuzz.generate(5) != fuzz.generate(6)


def test_shrinking(fuzz):
    source, _ = fuzz.generate(7)
    small = fuzz.shrink(source, lambda text: "math.sqrt" in text or "out_g[t, 1]" in text)
    assert len(small) < len(source) / 2
