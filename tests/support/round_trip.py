"""Functions of source files taken through bytecode and back. Runs under any Python of 3.11 or later, without NumPy.

usage: round_trip.py FILE ...
Prints JSON: how many functions were understood, how many of them gave the very same syntax text, and why the rest was refused.
"""

import ast
import collections
import importlib.util
import json
import sys
import types
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "python/treadle"


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=[str(path.parent)])
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def function_codes(code):
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from function_codes(constant)


def functions(text):
    """(definition, code) of each function of a program."""
    nodes = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            nodes[node.name, min([node.lineno, *(d.lineno for d in node.decorator_list)])] = node
    for code in function_codes(compile(text, "<round trip>", "exec", dont_inherit=True)):
        if (code.co_name, code.co_firstlineno) in nodes:
            yield nodes[code.co_name, code.co_firstlineno], code


class Folded(ast.NodeTransformer):
    """Arithmetic of numbers as Python's compiler leaves it: its result."""

    def visit_BinOp(self, node):
        return self.folded(self.generic_visit(node), node.left, node.right)

    def visit_UnaryOp(self, node):
        return self.folded(self.generic_visit(node), node.operand)

    def folded(self, node, *operands):
        if not all(isinstance(part, ast.Constant) and type(part.value) in (int, float) for part in operands):
            return node
        try:
            value = eval(compile(ast.fix_missing_locations(ast.Expression(node)), "<number>", "eval"))
        except ArithmeticError:
            return node
        is_small = type(value) is float or type(value) is int and value.bit_length() <= 128
        return ast.copy_location(ast.Constant(value), node) if is_small else node


def syntax_text(syntax, node):
    """The kernel syntax text without positions, numbers folded; free names stand for themselves."""
    node = Folded().visit(node)

    def resolve(name, chain, node):
        return f"(free {name})", 0

    try:
        return syntax.FunctionWalker(resolve, 1, spans=False).function(node, node.name)
    except syntax.UnsupportedSyntax as error:
        return error.message


def main(paths):
    bytecode = load("_bytecode", PACKAGE / "_bytecode/__init__.py")
    syntax = load("_syntax", PACKAGE / "_syntax/__init__.py")
    understood = same = 0
    refused = collections.Counter()
    for path in paths:
        for node, code in functions(Path(path).read_text()):
            try:
                text = bytecode.text_of(code)
            except bytecode.NotUnderstood as error:
                refused[error.message] += 1
                continue
            understood += 1
            same += syntax_text(syntax, node) == syntax_text(syntax, ast.parse(text).body[0])
    print(json.dumps({"understood": understood, "same": same, "refused": refused}))


if __name__ == "__main__":
    main(sys.argv[1:])
