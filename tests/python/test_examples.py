"""The programs in examples/ check their own results; all but the demo print one line."""

from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.py"))


@pytest.mark.parametrize("example", [file for file in EXAMPLES if file.stem != "vecadd"], ids=lambda file: file.stem)
def test_example(example, run_python):
    result = run_python(["-m", "treadle", "run"], example)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert len(result.stdout.splitlines()) == 1 and len(result.stdout) < 120
    assert f"`treadle run examples/{example.name}`" in example.read_text(), "the docstring says how to run it"


@pytest.mark.slow
def test_demo(run_python):
    example = next(file for file in EXAMPLES if file.stem == "vecadd")
    result = run_python(["-m", "treadle", "run"], example)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("Test succeeded\n")
