"""The ``treadle`` command: run, info, cache."""

from __future__ import annotations

import argparse
import builtins
import linecache
import os
import runpy
import sys
import time
import types
from importlib.machinery import SourceFileLoader
from typing import Any


def main(argv: list[str] | None = None) -> int:
    """Entry point. Returns the exit status; ``run`` ends with the program's own."""
    arguments = sys.argv[1:] if argv is None else argv
    if arguments[:1] == ["run"]:
        return _run(arguments[1:])
    parser = argparse.ArgumentParser(
        prog="treadle", description="GPU programming from Python, on NVIDIA GPUs and on any CPU."
    )
    parser.add_argument("--version", action="version", version=f"treadle {_version()}")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser(
        "run", help="run a program whose cupy and numba.cuda are Treadle: treadle run [-m MODULE | -c CODE | FILE] ARGS"
    )
    commands.add_parser("doctor", help="look for CUDA's components, say whether they fit together and what to install")
    commands.add_parser("info", help="show the device, versions and directories")
    cache = commands.add_parser("cache", help="look at or empty the cache of compiled kernels")
    cache.add_argument("action", choices=["list", "clear", "prefill"])
    chosen = parser.parse_args(arguments)
    try:
        return _answer(chosen)
    except BrokenPipeError:
        # Whoever read the output has enough; nothing may be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _version() -> str:
    import treadle

    return treadle.__version__


def _answer(chosen: argparse.Namespace) -> int:
    if chosen.command == "info":
        return _info()
    if chosen.command == "doctor":
        from treadle import doctor

        return doctor.main()
    if chosen.action == "prefill":
        from treadle._prefill_cache import prefill

        return prefill()
    return _cache(chosen.action)


_USAGE = "usage: treadle run [-m MODULE | -c CODE | FILE] [ARGS ...]"


def _run(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_USAGE, file=sys.stderr if not arguments else sys.stdout)
        return 0 if arguments else 2
    import treadle.dropin  # noqa: F401

    try:
        if arguments[0] == "-m":
            if len(arguments) < 2:
                print(f"{_USAGE}\ntreadle run: -m needs the name of a module", file=sys.stderr)
                return 2
            sys.argv = arguments[1:]
            sys.path.insert(0, os.getcwd())
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        elif arguments[0] == "-c":
            if len(arguments) < 2:
                print(f"{_USAGE}\ntreadle run: -c needs a program text", file=sys.stderr)
                return 2
            sys.argv = ["-c", *arguments[2:]]
            sys.path.insert(0, "")
            # Kernels are compiled from their text, so it is kept where the standard library looks for it.
            text = arguments[1]
            linecache.cache["<string>"] = (len(text), None, text.splitlines(keepends=True), "<string>")
            _execute(compile(text, "<string>", "exec", dont_inherit=True), None)
        else:
            _run_file(arguments)
    except SystemExit:
        raise
    except BaseException as error:
        _report(error)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _run_file(arguments: list[str]) -> None:
    path = arguments[0]
    sys.argv = list(arguments)
    if os.path.isdir(path) or path.endswith((".zip", ".pyz")):
        runpy.run_path(path, run_name="__main__")
        return
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        print(f"treadle run: can't open file {path!r}: {error.strerror}", file=sys.stderr)
        raise SystemExit(2) from None
    sys.path.insert(0, os.path.dirname(os.path.realpath(path)))
    absolute = os.path.abspath(path)
    _execute(compile(source, absolute, "exec", dont_inherit=True), absolute)


def _execute(code: types.CodeType, path: str | None) -> None:
    """Runs code as ``__main__``, as the interpreter does."""
    module = types.ModuleType("__main__")
    module.__dict__.update(__builtins__=builtins, __spec__=None, __package__=None, __cached__=None)
    if path is not None:
        module.__dict__["__file__"] = path
        module.__dict__["__loader__"] = SourceFileLoader("__main__", path)
    sys.modules["__main__"] = module
    exec(code, module.__dict__)


def _report(error: BaseException) -> None:
    """Shows an uncaught exception as the interpreter would: without the frames that started the program."""
    own = {__file__, runpy.__file__, "<frozen runpy>"}
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code.co_filename in own:
        traceback = traceback.tb_next
    sys.excepthook(type(error), error.with_traceback(traceback), traceback)


def _info() -> int:
    import numpy

    import treadle
    from treadle import _treadle, cuda

    rows = {
        "treadle": treadle.__version__,
        "python": sys.version.split()[0],
        "numpy": numpy.__version__,
        "kernel cache": _treadle.cache_directory(),
        "built-in kernels": _treadle.package_cache_directory(),
    }
    for number in range(_treadle.device_count()):
        rows[f"device {number}"] = _device(cuda.Device(number).attributes)
    rows["GPU"] = _treadle.gpu_problem() or "can be used"
    for name, value in rows.items():
        print(f"{name:17} {value}")
    return 0


def _device(facts: dict[str, Any]) -> str:
    kind, units = {"cpu": ("CPU", "threads"), "cuda": ("GPU", "multiprocessors")}[facts["kind"]]
    return f"{kind}: {facts['name']}, {facts['multiprocessors']} {units}, {facts['target']}, {facts['total_bytes'] >> 20} MiB"


def _cache(action: str) -> int:
    from treadle import _treadle

    if action == "clear":
        print(f"removed {_treadle.cache_clear()} kernels from {_treadle.cache_directory()}")
        return 0
    entries = sorted(_treadle.cache_list(), key=lambda entry: entry[3], reverse=True)
    for path, key, size, used in entries:
        program = key.rsplit("\n", 1)[-1]
        name = program.split(" ", 2)[1] if program.startswith("(fn ") else "(unreadable)"
        print(f"{time.strftime('%Y-%m-%d %H:%M', time.localtime(used))}  {size:8}  {name:20}  {path}")
    print(f"{len(entries)} kernels, {sum(entry[2] for entry in entries)} bytes in {_treadle.cache_directory()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
