"""The checkers in scripts/, on small made-up trees."""

import importlib.util
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


def load(name):
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_tree(root, files):
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


layers = load("check_layers")
symbols = load("check_symbols")
docs = load("check_docs")
tidy = load("run_clang_tidy")


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("src/base/hash.h", '#include "ir/ir.h"'),
        ("src/ir/ir.h", '#include "passes/fold.h"'),
        ("src/passes/fold.cpp", '#include "frontend/parser.h"'),
        ("src/frontend/parser.cpp", '#  include "passes/fold.h"'),
        ("src/runtime/stream.h", '#include "compiler/compiler.h"'),
        ("src/array/array.h", '#include "interop/dlpack.h"'),
        ("src/device/device.h", '#include "service/compiler_service.h"'),
        ("src/device/cpu/pool.cpp", '#include "device/cuda/driver.h"'),
        ("src/device/device.cpp", '#include "device/cpu/pool.h"'),
        ("src/ir/ir.cpp", "#include <llvm/IR/Module.h>"),
        ("src/runtime/stream.cpp", "#include <cuda.h>"),
        ("src/runtime/stream.cpp", "#include <cuda_runtime_api.h>"),
        ("src/array/array.cpp", "#include <nanobind/nanobind.h>"),
        ("src/array/array.cpp", '#include "array.h"'),
        ("src/array/array.cpp", '#include "arrays/array.h"'),
        ("src/unknown/file.h", ""),
        ("python/bindings/array.cpp", '#include "codegen/target.h"'),
        ("include/treadle/base/hash.h", "#include <treadle/array/array.h>"),
    ],
)
def test_layers_refuses(tmp_path, path, line):
    write_tree(tmp_path, {path: f"// a file\n{line}\n"})
    errors = layers.check_tree(tmp_path)
    assert len(errors) == 1
    assert errors[0].startswith(f"{path}:{2 if line else 1}: ")
    assert layers.main([str(tmp_path)]) == 1


def test_layers_accepts(tmp_path):
    files = {
        "src/base/hash.h": "#include <vector>\n#include <xxhash.h>\n",
        "src/ir/ir.h": '#include "base/hash.h"\n#include "ir/types.h"\n',
        "src/frontend/parser.cpp": '#include "frontend/parser.h"\n#include "library/library.h"\n',
        "src/codegen/cpu/emit.cpp": '#include <llvm/IR/Module.h>\n#include "codegen/common/names.h"\n',
        "src/compiler/compiler.cpp": '#include "codegen/codegen.h"\n#include "service/compiler_service.h"\n',
        "src/device/registry.cpp": '#include "device/cpu/pool.h"\n',
        "src/device/cuda/driver.cpp": '#include <cuda.h>\n#include "device/cuda/driver.h"\n',
        "src/array/array.cpp": '#include "runtime/stream.h"\n#include "service/compiler_service.h"\n',
        "python/bindings/array.cpp": '#include <nanobind/nanobind.h>\n#include "array/array.h"\n#include "casts.h"\n',
        "tests/cpp/ir_test.cpp": '#include <gtest/gtest.h>\n#include "ir/ir.h"\n#include "support/files.h"\n',
    }
    write_tree(tmp_path, files)
    assert layers.check_tree(tmp_path) == []


@pytest.mark.parametrize(
    "line",
    [
        "std::cout << 1;",
        "std :: cerr << 1;",
        'printf("%d", 1);',
        'std::fprintf(stderr, "x");',
        "std::abort();",
        "if (x) exit (1);",
        "using namespace std;",
        "  #pragma omp parallel for",
        "// TODO: more",
        "/* FIXME(somebody) */",
    ],
)
def test_symbols_refuses(tmp_path, line):
    write_tree(tmp_path, {"src/array/array.cpp": f"int x = 1'000;\n{line}\n"})
    errors, warnings = symbols.check_tree(tmp_path)
    assert len(errors) == 1
    assert errors[0].startswith("src/array/array.cpp:2: ")
    assert warnings == []


def test_symbols_accepts(tmp_path):
    text = """
    snprintf(buffer, size, "printf(%d) exit(1)", 1);  // abort() would end the user's process
    char quote = '"'; block.exit(); node->abort(); int at_exit(int);
    const char* text = R"(std::cout << "x";)"; int million = 1'000'000;
    // TODO(#12): the second form
    """
    write_tree(tmp_path, {"src/array/array.cpp": text, "src/base/log.cpp": 'void f() { std::fprintf(stderr, "x"); }'})
    assert symbols.check_tree(tmp_path) == ([], [])


def test_symbols_counts_lines(tmp_path):
    files = {"src/ir/a.cpp": "\n" * 1001, "python/treadle/b.py": "\n" * 501, "tests/c.py": "\n" * 500}
    write_tree(tmp_path, files)
    errors, warnings = symbols.check_tree(tmp_path)
    assert [error.partition(":")[0] for error in errors] == ["src/ir/a.cpp"]
    assert [warning.partition(":")[0] for warning in warnings] == ["python/treadle/b.py"]


def test_docs(tmp_path):
    page = "[there](b.md#part) [web](https://example.org)\n[gone](c.md)\n```python\nx = 1\ny =\n```\n"
    write_tree(tmp_path, {"a.md": page, "b.md": "", "build/d.md": "[gone](e.md)"})
    assert [error.rpartition(": ")[0] for error in docs.check_file(tmp_path / "a.md", tmp_path)][0] == "a.md:2"
    assert docs.check_file(tmp_path / "a.md", tmp_path)[1].startswith("a.md:5: example is not valid Python")
    assert docs.main([str(tmp_path)]) == 1


def test_tidy_key_follows_includes(tmp_path):
    write_tree(
        tmp_path,
        {
            "src/ir/a.cpp": '#include "ir/a.h"\n#include <vector>\n',
            "src/ir/a.h": '#include "base/b.h"\n',
            "src/base/b.h": '#include "ir/a.h"\n',
            "src/base/other.h": "",
        },
    )
    before = tidy.Includes(tmp_path).hash_of(tmp_path / "src/ir/a.cpp")
    (tmp_path / "src/base/other.h").write_text("int x;")
    assert tidy.Includes(tmp_path).hash_of(tmp_path / "src/ir/a.cpp") == before
    (tmp_path / "src/base/b.h").write_text('#include "ir/a.h"\nint x;')
    assert tidy.Includes(tmp_path).hash_of(tmp_path / "src/ir/a.cpp") != before
