"""The cache of compiled kernels on disk."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
import treadle as td
from treadle import cuda

FACTOR = {factor}

@cuda.jit(device=True)
def helper(v):
    return v * {inner}

{comment}
@cuda.jit({options})
def kernel(x):
    i = cuda.grid(1)
    x[i] = helper(i) + FACTOR

x = td.zeros(8, "{dtype}")
kernel[1, 8](x)
print(int(x[3]), kernel.last_compile.from_cache, kernel.last_compile.path)
"""


@pytest.fixture
def program(tmp_path, run_python):
    """program(**parts): the printed value, whether the kernel was found in the cache, and its file."""

    def run(
        folder="cache", environment=None, factor=1, inner=2, options="", dtype="int64", comment="", name="program.py"
    ):
        path = tmp_path / name
        path.write_text(PROGRAM.format(factor=factor, inner=inner, options=options, dtype=dtype, comment=comment))
        result = run_python([str(path)], **{"TREADLE_CACHE_DIR": tmp_path / folder, **(environment or {})})
        assert result.returncode == 0, result.stderr
        value, cached, *file = result.stdout.split()
        return int(value), cached == "True", file[0] if file else ""

    return run


def test_second_process_finds_the_kernel(program, tmp_path):
    value, cached, file = program()
    assert (value, cached) == (7, False) and Path(file).is_file() and str(tmp_path) in file
    assert program() == (7, True, file)


def test_key(program, on_gpu):
    program()
    for change, value in (
        ({"factor": 5}, 11),
        ({"inner": 3}, 10),
        ({"options": "fmad=False"}, 7),
        ({"dtype": "int32"}, 7),
    ):
        assert program(**change)[:2] == (value, False), change
        assert program(**change)[:2] == (value, True), change
    assert program()[1]
    assert program(environment={"TREADLE_CPU": "x86-64"})[1] is on_gpu, (
        "the name of a CPU matters where it compiles for it"
    )
    # Comments, lines and files do not matter.
    assert program(comment="# a comment\n\n")[1]
    assert program(name="other.py")[1]


def test_lines_matter_where_they_are_reported(program):
    program(options="bounds='raise'")
    assert program(options="bounds='raise'")[1]


def test_switched_off(program, tmp_path):
    for _ in range(2):
        assert program(environment={"TREADLE_CACHE": "0"})[:2] == (7, False)
    assert not list((tmp_path / "cache").rglob("*.tk"))


def test_default_directory(program, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    _, _, file = program(environment={"TREADLE_CACHE_DIR": "", "XDG_CACHE_HOME": "", "HOME": home})
    assert file.startswith(str(home / ".cache/treadle"))
    _, _, file = program(environment={"TREADLE_CACHE_DIR": "", "XDG_CACHE_HOME": home / "xdg", "HOME": home})
    assert file.startswith(str(home / "xdg/treadle"))


@pytest.mark.parametrize(
    "damage", ["truncate", "empty", "garbage", "flip", "object", "directory", "link", "unreadable"]
)
def test_damaged_file(damage, program, tmp_path):
    _, _, file = program()
    path = Path(file)
    data = path.read_bytes()
    path.unlink()
    if damage == "truncate":
        path.write_bytes(data[: len(data) // 2])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "garbage":
        path.write_bytes(os.urandom(len(data)))
    elif damage == "flip":
        path.write_bytes(data[:40] + bytes([data[40] ^ 1]) + data[41:])
    elif damage == "object":
        path.write_bytes(data[:-100] + bytes(b ^ 255 for b in data[-100:]))
    elif damage == "directory":
        path.mkdir()
    elif damage == "link":
        path.symlink_to("/etc/passwd")
    else:
        path.write_bytes(data)
        path.chmod(0)
    value, cached, _ = program()
    assert value == 7
    assert cached is False or damage == "unreadable"
    if damage not in ("directory", "unreadable"):
        assert program()[:2] == (7, True)


def test_directory_that_cannot_be_written(program, tmp_path):
    (tmp_path / "file").write_text("not a directory")
    assert program(folder="file")[0] == 7
    assert program(folder="file/below")[0] == 7
    assert (tmp_path / "file").read_text() == "not a directory"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_directory(program, tmp_path):
    program()
    folders = [tmp_path / "cache", *(p for p in (tmp_path / "cache").rglob("*") if p.is_dir())]
    for folder in folders:
        folder.chmod(0o500)
    try:
        assert program()[:2] == (7, True)
        assert program(factor=2)[:2] == (8, False)
    finally:
        for folder in folders:
            folder.chmod(0o700)


def test_permissions(program, tmp_path):
    _, _, file = program()
    assert (tmp_path / "cache").stat().st_mode & 0o077 == 0
    assert Path(file).stat().st_mode & 0o077 == 0
    assert not list((tmp_path / "cache").rglob(".new*"))


def test_processes_share_a_directory(tmp_path):
    import treadle

    path = tmp_path / "many.py"
    kernels = "\n".join(f"@cuda.jit\ndef k{n}(x):\n    i = cuda.grid(1)\n    x[i] += {n} * i\n" for n in range(12))
    calls = "\n".join(f"k{n}[1, 16](x)" for n in range(12))
    path.write_text(
        f"import treadle as td\nfrom treadle import cuda\n{kernels}\nx = td.zeros(16)\n{calls}\nprint(float(x[1]))\n"
    )
    env = {
        **os.environ,
        "PYTHONPATH": str(Path(treadle.__file__).parents[1]),
        "TREADLE_CACHE_DIR": str(tmp_path / "cache"),
    }
    processes = [
        subprocess.Popen([sys.executable, path], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(5)
    ]
    for process in processes:
        out, error = process.communicate(timeout=120)
        assert out.strip() == "66.0", error
    assert not list((tmp_path / "cache").rglob(".new*"))


def test_signatures_compile_and_store(run_python, tmp_path):
    program = tmp_path / "signature.py"
    program.write_text(
        "from treadle import cuda\n@cuda.jit('void(float32[::1], int64)')\ndef k(x, n):\n    x[cuda.grid(1)] = n\n"
        "print(k.last_compile.path, len(k.signatures))\n"
    )
    result = run_python([str(program)], TREADLE_CACHE_DIR=tmp_path / "cache")
    file, count = result.stdout.split()
    assert Path(file).exists() and count == "1"


def test_command(program, run_python, tmp_path):
    program()
    env = {"TREADLE_CACHE_DIR": tmp_path / "cache"}
    listed = run_python(["-m", "treadle", "cache", "list"], **env)
    assert listed.returncode == 0 and "kernel" in listed.stdout and str(tmp_path / "cache") in listed.stdout
    assert "removed" in run_python(["-m", "treadle", "cache", "clear"], **env).stdout
    assert "0 kernels, 0 bytes" in run_python(["-m", "treadle", "cache", "list"], **env).stdout
    assert program()[:2] == (7, False)


def test_info(run_python):
    result = run_python(["-m", "treadle", "info"])
    assert result.returncode == 0
    for word in ("treadle", "python", "numpy", "device 0", "kernel cache"):
        assert word in result.stdout


def test_bad_commands(run_python):
    for arguments in ([], ["what"], ["cache"], ["cache", "burn"], ["run"], ["run", "-m"], ["run", "-c"]):
        result = run_python(["-m", "treadle", *arguments])
        assert result.returncode == 2 and "usage: treadle" in result.stderr, arguments
    assert run_python(["-m", "treadle", "run", "--help"]).returncode == 0
    missing = run_python(["-m", "treadle", "run", "no_such_file.py"])
    assert missing.returncode == 2 and "no_such_file.py" in missing.stderr
