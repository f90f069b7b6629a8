"""Source text from bytecode, for functions that have none.

``text_of`` gives a Python function with the same behaviour. It is compiled again and compared with the original instruction by
instruction, so text that means anything else is never given out. The steps are a module each: opcodes and instructions (one
form for all versions of Python), graph, steps and expressions, statements, layout.

The package imports nothing of Treadle.
"""

from __future__ import annotations

import ast
import types

from .expressions import Machine
from .graph import Graph, Merging
from .instructions import Instruction, NotUnderstood, difference, read, same_behaviour
from .layout import Layout
from .statements import Structure

__all__ = ["NotUnderstood", "does_the_same", "text_of"]


def text_of(code: types.CodeType) -> str:
    """A function definition, or a lambda, that compiles to what the code does; its first line is the code's.

    Statements stand on their lines of the original text. Raises NotUnderstood.
    """
    instructions = read(code)
    problem: NotUnderstood | None = None
    for merging in Merging:
        try:
            text = _text(code, instructions, merging)
            _check(text, instructions)
            return text
        except NotUnderstood as error:
            problem = problem or error
        except LookupError:
            problem = problem or NotUnderstood("its bytecode takes what is not there", code.co_firstlineno)
        except ValueError:
            problem = problem or NotUnderstood("an f-string like this has no text", code.co_firstlineno)
    assert problem is not None
    raise problem


def does_the_same(node: ast.FunctionDef | ast.Lambda, code: types.CodeType) -> bool:
    """Whether a definition in source text is that of a code object. Its defaults, annotations and decorators do not count."""
    arguments = ast.arguments([], [ast.arg(arg.arg) for arg in node.args.args], None, [], [], None, [])
    bare: ast.stmt
    if isinstance(node, ast.Lambda):
        bare = ast.Expr(ast.Lambda(arguments, node.body))
    else:
        bare = ast.FunctionDef(node.name, arguments, node.body, [], None)
        bare.type_params = []  # type: ignore[attr-defined]
    ast.copy_location(bare, node)
    module = ast.Module([bare], [])
    try:
        compiled = _function_in(compile(ast.fix_missing_locations(module), "<kernel>", "exec", dont_inherit=True))
        return _parameters(compiled) == _parameters(code) and same_behaviour(read(compiled), read(code))
    except (NotUnderstood, SyntaxError, ValueError):
        return False


def _text(code: types.CodeType, instructions: list[Instruction], merging: Merging) -> str:
    layout = Layout(code.co_firstlineno)
    parameters = ", ".join(_parameters(code))
    body = _statements(instructions, merging)
    if code.co_name == "<lambda>":
        layout.header(0, ast.unparse(_as_lambda(code, body)))
    else:
        layout.header(0, f"def {code.co_name}({parameters}):")
        layout.block(body, 1)
    return layout.text()


def _statements(instructions: list[Instruction], merging: Merging) -> list[ast.stmt]:
    def nested(code: types.CodeType) -> ast.expr | ast.stmt:
        body = _statements(read(code), merging)
        if code.co_name == "<lambda>":
            return _as_lambda(code, body)
        return ast.FunctionDef(code.co_name, _arguments(code), body or [ast.Pass()], [], None)

    return Structure(Machine(Graph(instructions, merging), nested)).statements()


def _as_lambda(code: types.CodeType, body: list[ast.stmt]) -> ast.Lambda:
    match body:
        case []:
            value: ast.expr = ast.Constant(None)
        case [ast.Return(value=ast.expr() as returned)]:
            value = returned
        case _:
            raise NotUnderstood("a lambda like this is not understood", code.co_firstlineno)
    return ast.Lambda(_arguments(code), value)


def _arguments(code: types.CodeType) -> ast.arguments:
    return ast.arguments([], [ast.arg(name) for name in _parameters(code)], None, [], [], None, [])


def _parameters(code: types.CodeType) -> tuple[str, ...]:
    if code.co_flags & 0x0C or code.co_kwonlyargcount or code.co_posonlyargcount:
        raise NotUnderstood("a kernel's parameters are plain positional names", code.co_firstlineno)
    return code.co_varnames[: code.co_argcount]


def _function_in(code: types.CodeType) -> types.CodeType:
    return next(constant for constant in code.co_consts if isinstance(constant, types.CodeType))


def _check(text: str, instructions: list[Instruction]) -> None:
    """Refuses text that does not do what the instructions do."""
    try:
        compiled = read(_function_in(compile(text, "<kernel>", "exec", dont_inherit=True)))
    except (SyntaxError, ValueError):
        raise NotUnderstood("its bytecode gives no text that compiles", instructions[0].line) from None
    found = difference(instructions, compiled)
    if found is not None:
        what = "no text is found that does the same"
        raise NotUnderstood(f"bytecode instruction {found.name or found.op}: {what}", found.line)
