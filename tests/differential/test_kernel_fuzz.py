"""Random kernels against their interpretation, bit for bit. TREADLE_FUZZ_PROGRAMS (default 30 a shard) and TREADLE_FUZZ_SEED widen the
search; `python tests/support/fuzz.py FIRST COUNT` runs seeds outside pytest and shrinks what fails, fuzz_blocks.py those whose
threads share memory and wait for each other."""

import os

import pytest

PROGRAMS = int(os.environ.get("TREADLE_FUZZ_PROGRAMS", "30"))
FIRST = int(os.environ.get("TREADLE_FUZZ_SEED", "0"))
SHARDS = 5

WORKER = """
import importlib, signal, sys, tempfile
from pathlib import Path

folder, first, count, options, programs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5]
sys.path.insert(0, folder)
import fuzz, interpreter

family = importlib.import_module(programs).FAMILY
scratch = Path(tempfile.mkdtemp())
signal.signal(signal.SIGALRM, signal.SIG_DFL)
for seed in range(first, first + count):
    print("seed", seed, flush=True)
    signal.alarm(60)
    source, shapes = family.generate(seed, options)
    problem = fuzz.differences(source, shapes, seed, scratch, interpreter, family)
    if problem:
        print("DIFFERS", problem)
        print(source)
        sys.exit(3)
print("done")
"""


def run(run_python, support, tmp_path, first, count, options="fmad=False", programs="fuzz", **environment):
    result = run_python(WORKER, support, first, count, options, programs, timeout=1800, TMPDIR=tmp_path, **environment)
    assert result.stdout.rstrip().endswith("done"), (result.returncode, result.stdout[-6000:], result.stderr[-3000:])


@pytest.mark.slow
@pytest.mark.parametrize("programs", ["fuzz", "fuzz_blocks"])
@pytest.mark.parametrize("shard", range(SHARDS))
def test_random_kernels(programs, shard, run_python, support, tmp_path):
    run(run_python, support, tmp_path, FIRST + shard * PROGRAMS, PROGRAMS, programs=programs)


def test_some_random_blocks(run_python, support, tmp_path):
    run(run_python, support, tmp_path, 0, 10, programs="fuzz_blocks", TREADLE_VERIFY=1)


@pytest.mark.slow
@pytest.mark.parametrize("programs", ["fuzz", "fuzz_blocks"])
@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v3"])
def test_other_targets(programs, cpu, run_python, support, tmp_path):
    run(run_python, support, tmp_path, FIRST + 10_000, max(1, PROGRAMS // 2), programs=programs, TREADLE_CPU=cpu)


PASSES = "fold_constants,analyze_shapes,separate_counters,eliminate_dead_code,split_blocks"


@pytest.mark.slow
@pytest.mark.parametrize("programs", ["fuzz", "fuzz_blocks"])
@pytest.mark.parametrize("disabled", [*PASSES.split(","), PASSES])
def test_without_passes(programs, disabled, run_python, support, tmp_path):
    options = f"fmad=False, disabled_passes={disabled!r}"
    run(run_python, support, tmp_path, FIRST + 20_000, max(1, PROGRAMS // 4), options, programs)


def test_generation_is_deterministic(fuzz):
    assert fuzz.generate(5) == fuzz.generate(5)
    assert fuzz.generate(5) != fuzz.generate(6)


def test_shrinking(fuzz):
    source, _ = fuzz.generate(7)
    small = fuzz.shrink(source, lambda text: "math.sqrt" in text or "out_g[t, 1]" in text)
    assert len(small) < len(source) / 2
