"""Writes the C++ file that embeds the built-in function library as kernel syntax text.

usage: embed_library.py OUTPUT.cpp LIBRARY.py ...
"""

from __future__ import annotations

import ast
import importlib.util
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
_TABLE_DTYPES = {"uint32", "int32", "uint64", "int64", "float32", "float64"}


def load_walker():
    """The walker is loaded by path: the package itself cannot be imported while it is being built."""
    folder = ROOT / "python/treadle/_syntax"
    spec = importlib.util.spec_from_file_location(
        "_syntax", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules["_syntax"] = module
    spec.loader.exec_module(module)
    return module


def constants_of(tree: ast.Module) -> dict[str, object]:
    """Module-level numbers and tables, evaluated in order, so that one may be written in terms of another."""
    scope: dict[str, object] = {"float": float}
    tables: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) or (isinstance(node, ast.AnnAssign) and node.value is not None):
            exec(compile(ast.Module([node], []), "library", "exec"), {"__builtins__": {}}, scope)
            if isinstance(node, ast.AnnAssign):
                tables[node.target.id] = ast.literal_eval(node.annotation)
    del scope["float"]
    scope.pop("__annotations__", None)
    return {name: (tables.get(name), value) for name, value in scope.items()}


def texts_of(path: pathlib.Path, syntax) -> dict[str, str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    constants = constants_of(tree)

    def resolve(name, chain, node):
        if name in constants:
            dtype, value = constants[name]
            if dtype in _TABLE_DTYPES:
                return f"(table {dtype} " + " ".join(map(syntax.number_text, value)) + ")", 0
            return syntax.number_text(value), 0
        return f"(builtin {name})", 0

    texts = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            texts[node.name] = syntax.FunctionWalker(resolve, node.lineno, spans=False).function(node, node.name)
    return texts


def main(output: str, *sources: str) -> None:
    syntax = load_walker()
    rows = {}
    for source in sources:
        for name, text in texts_of(pathlib.Path(source), syntax).items():
            if name in rows:
                raise SystemExit(f"{source}: {name} is defined twice in the library")
            rows[name] = text
    lines = ['#include "frontend/library.h"', "", "#include <map>", "", "namespace treadle::frontend {", ""]
    lines += ["std::string_view library_text(std::string_view name) {"]
    lines += ["    static const std::map<std::string_view, std::string_view> rows = {"]
    for name, text in sorted(rows.items()):
        # Adjacent literals: compilers need not take very long ones.
        pieces = [text[i : i + 8000] for i in range(0, len(text), 8000)]
        lines.append(f'        {{"{name}", ' + " ".join(f'R"~({piece})~"' for piece in pieces) + "},")
    lines += [
        "    };",
        "    const auto found = rows.find(name);",
        "    return found == rows.end() ? std::string_view() : found->second;",
    ]
    lines += ["}", "", "}  // namespace treadle::frontend", ""]
    text = "\n".join(lines)
    target = pathlib.Path(output)
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
