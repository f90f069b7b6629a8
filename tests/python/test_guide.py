"""The programs of docs/guide: what stands below them is what they print."""

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import treadle

pytestmark = pytest.mark.cpu("kernels are debugged on the CPU device")

GUIDE = Path(__file__).resolve().parents[2] / "docs/guide"
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```", re.DOTALL | re.MULTILINE)
PAGES = sorted(GUIDE.glob("*.md"))


def blocks(page):
    return BLOCK.findall(page.read_text())


def agrees(wanted, got):
    return doctest.OutputChecker().check_output(wanted, got, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_programs(page, tmp_path, run_python):
    parts = [(language, text) for language, name, text in blocks(page) if not name]
    assert parts[0][0] == "python" and {language for language, _ in parts} == {"python", "text"}
    # Each program is a file of its own, so that its lines count from 1; what is printed between two marks is its output.
    wanted, lines = {}, []
    for number, (language, text) in enumerate(parts):
        if language == "text":
            wanted[number - 1] = text
            continue
        (tmp_path / f"part{number}.py").write_text(text)
        lines.append(f"print('@@@', {number})")
        lines.append(f"exec(compile(open('part{number}.py').read(), 'part{number}.py', 'exec'))")
    result = run_python("\n".join(lines))
    assert result.returncode == 0, result.stderr
    printed = re.split(r"@@@ (\d+)\n", result.stdout)
    got = dict(zip(map(int, printed[1::2]), printed[2::2], strict=True))
    for number, text in wanted.items():
        assert agrees(text, got[number]), f"{page.name}: expected\n{text}\ngot\n{got[number]}"


def test_gdb(tmp_path):
    if shutil.which("gdb") is None:
        pytest.skip("gdb is not installed")
    found = {name: text for _, name, text in blocks(GUIDE / "debugging.md") if name}
    (tmp_path / "prog.py").write_text(found["prog.py"])
    commands = [line.removeprefix("(gdb) ") for line in found["gdb"].splitlines() if line.startswith("(gdb) ")]
    script = ["set breakpoint pending on", "set pagination off"]
    for command in commands:
        script += ['printf "@@@\\n"', command]
    (tmp_path / "script").write_text("\n".join(script) + "\n")
    env = {
        **os.environ,
        "PYTHONPATH": str(Path(treadle.__file__).parents[1]),
        "TREADLE_CACHE_DIR": str(tmp_path / "cache"),
    }
    command = ["gdb", "-q", "-nx", "-batch", "-x", tmp_path / "script", "--args", sys.executable, tmp_path / "prog.py"]
    result = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
    if "ptrace: Operation not permitted" in result.stderr:
        pytest.skip("gdb may not trace processes here")
    noise = re.compile(r"\[.*\]|warning: .*|No source file named.*|Using host lib.*|Missing separate.*|\s*")
    answers = [
        "\n".join(line for line in answer.splitlines() if not noise.fullmatch(line))
        for answer in result.stdout.split("@@@\n")[1:]
    ]
    wanted = [text.partition("\n")[2] for text in found["gdb"].split("(gdb) ")[1:]]
    assert len(answers) == len(commands)
    for one, text, answer in zip(commands, wanted, answers, strict=True):
        assert agrees(text, answer + "\n"), f"{one}: expected\n{text}\ngot\n{answer}\n{result.stderr[-2000:]}"
