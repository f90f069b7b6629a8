"""Translates the dialect of src/library to C++ with strict types, for the accuracy check (check_math.py).

A function becomes C++ when it is required with the dtypes of its arguments; functions that it calls follow. The rules
are those of the compiler: both operands of an operator have one dtype, literals and module constants take the dtype of
the other operand.
"""

import ast
import pathlib

CPP = {
    "f32": "float",
    "f64": "double",
    "i32": "int32_t",
    "i64": "int64_t",
    "u32": "uint32_t",
    "u64": "uint64_t",
    "bool": "bool",
}
DTYPES = {"float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64", "uint32": "u32", "uint64": "u64"}
FLOATS, INTS = ("f32", "f64"), ("i32", "i64", "u32", "u64")
BINARY = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
}
COMPARE = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
UNARY_CALLS = ("sqrt", "reciprocal", "rint", "floor", "ceil", "trunc", "abs", "isnan")
LITERAL_INT, LITERAL_FLOAT = "literal int", "literal float"

PROLOGUE = r"""
#include <tuple>
template <class To, class From> inline To bitcast(From v) {
    static_assert(sizeof(To) == sizeof(From));
    To r;
    std::memcpy(&r, &v, sizeof r);
    return r;
}
inline float t_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double t_fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
#define TREADLE_UNARY(name, f, d) \
    inline float t_##name(float a) { return f(a); } \
    inline double t_##name(double a) { return d(a); }
TREADLE_UNARY(sqrt, __builtin_sqrtf, __builtin_sqrt)
TREADLE_UNARY(rint, __builtin_rintf, __builtin_rint)
TREADLE_UNARY(floor, __builtin_floorf, __builtin_floor)
TREADLE_UNARY(ceil, __builtin_ceilf, __builtin_ceil)
TREADLE_UNARY(trunc, __builtin_truncf, __builtin_trunc)
TREADLE_UNARY(abs, __builtin_fabsf, __builtin_fabs)
inline float t_reciprocal(float a) { return 1.0f / a; }
inline double t_reciprocal(double a) { return 1.0 / a; }
inline bool t_isnan(float a) { return a != a; }
inline bool t_isnan(double a) { return a != a; }
inline float t_copysign(float a, float b) { return __builtin_copysignf(a, b); }
inline double t_copysign(double a, double b) { return __builtin_copysign(a, b); }
template <class T> inline T t_min(T a, T b) { return a < b ? a : b; }
template <class T> inline T t_max(T a, T b) { return a > b ? a : b; }
"""


class DialectError(Exception):
    pass


class Translator:
    def __init__(self, folder):
        self.functions, self.constants, self.tables, self.done, self.order = {}, {}, {}, {}, []
        self.table_text = []
        for path in sorted(pathlib.Path(folder).glob("math_*.py")):
            tree = ast.parse(path.read_text())
            constants, tables = {}, {}
            for node in tree.body:
                if isinstance(node, ast.FunctionDef):
                    if node.name in self.functions:
                        raise DialectError(f"{node.name} is defined twice")
                    self.functions[node.name] = (node, constants, tables)
                elif isinstance(node, ast.Assign):
                    constants[node.targets[0].id] = ast.literal_eval(node.value)
                elif isinstance(node, ast.AnnAssign):
                    name, dtype = node.target.id, DTYPES[node.annotation.value]
                    symbol = f"table_{path.stem}_{name}"
                    values = ", ".join(literal(v, dtype) for v in ast.literal_eval(node.value))
                    self.table_text.append(f"static const {CPP[dtype]} {symbol}[] = {{{values}}};")
                    tables[name] = (dtype, symbol)

    def prologue(self):
        return PROLOGUE

    def text(self):
        return "\n".join(self.table_text + self.order)

    def require(self, name, types):
        """The dtype of the result (a tuple of dtypes for a tuple)."""
        if name not in self.functions:
            raise DialectError(f"unknown function {name}")
        if name in self.done:
            known, result = self.done[name]
            if known != list(types):
                raise DialectError(f"{name} is called with {types} and with {known}")
            return result
        node, constants, tables = self.functions[name]
        body = Function(self, node, constants, tables, types)
        text = body.translate()
        self.done[name] = (list(types), body.result)
        self.order.append(text)
        return body.result


def literal(value, dtype):
    if dtype in FLOATS:
        return f"{CPP[dtype]}({float(value).hex()})"
    bits = 64 if dtype.endswith("64") else 32
    return f"{CPP[dtype]}({int(value) % 2**bits:#x}u{'ll' if bits == 64 else ''})"


class Function:
    def __init__(self, owner, node, constants, tables, types):
        self.owner, self.node, self.constants, self.tables = owner, node, constants, tables
        names = [a.arg for a in node.args.args]
        if len(names) != len(types):
            raise DialectError(f"{node.name} takes {len(names)} arguments")
        self.parameters = list(zip(names, types, strict=True))
        self.locals, self.result, self.loops = dict(self.parameters), None, set()

    def fail(self, node, message):
        raise DialectError(f"{self.node.name}, line {getattr(node, 'lineno', '?')}: {message}")

    def translate(self):
        if not isinstance(self.node.body[-1], ast.Return):
            self.fail(self.node, "the last statement has to be a return")
        body = self.block(self.node.body, 1)
        names = dict(self.parameters)
        declared = "".join(
            f"    {CPP[t]} {n};\n" for n, t in self.locals.items() if n not in names and n not in self.loops
        )
        result = (
            f"std::tuple<{', '.join(CPP[t] for t in self.result)}>"
            if isinstance(self.result, tuple)
            else CPP[self.result]
        )
        parameters = ", ".join(f"{CPP[t]} {n}" for n, t in self.parameters)
        return f"static inline {result} {self.node.name}({parameters}) {{\n{declared}{body}}}\n"

    def block(self, statements, depth):
        return "".join(self.statement(s, depth) for s in statements)

    def statement(self, s, depth):
        pad = "    " * depth
        if isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant) and isinstance(s.value.value, str):
            return ""
        if isinstance(s, ast.Assign):
            return pad + self.assign(s.targets[0], s.value, depth) + "\n"
        if isinstance(s, ast.AugAssign):
            value = ast.copy_location(ast.BinOp(ast.Name(s.target.id, ast.Load()), s.op, s.value), s)
            return pad + self.assign(s.target, value, depth) + "\n"
        if isinstance(s, ast.If):
            text = f"{pad}if ({self.boolean(s.test)}) {{\n{self.block(s.body, depth + 1)}{pad}}}"
            if s.orelse:
                text += f" else {{\n{self.block(s.orelse, depth + 1)}{pad}}}"
            return text + "\n"
        if isinstance(s, ast.While):
            return f"{pad}while ({self.boolean(s.test)}) {{\n{self.block(s.body, depth + 1)}{pad}}}\n"
        if isinstance(s, ast.For):
            count, name = s.iter.args[0].value, s.target.id
            self.locals[name] = "i32"
            self.loops.add(name)
            head = f"for (int32_t {name} = 0; {name} < {count}; ++{name})"
            return f"{pad}{head} {{\n{self.block(s.body, depth + 1)}{pad}}}\n"
        if isinstance(s, ast.Return):
            if s is not self.node.body[-1]:
                self.fail(s, "return is allowed at the end only")
            if isinstance(s.value, ast.Tuple):
                items = [self.typed(v) for v in s.value.elts]
                self.result = tuple(t for _, t in items)
                return f"{pad}return {{{', '.join(c for c, _ in items)}}};\n"
            code, self.result = self.typed(s.value)
            return f"{pad}return {code};\n"
        return self.fail(s, f"{type(s).__name__} is not in the dialect")

    def assign(self, target, value, depth):
        if isinstance(target, ast.Tuple):
            if isinstance(value, ast.Tuple):
                self.fail(target, "a tuple is assigned from a call only")
            code, types = self.expression(value)
            for t, dtype in zip(target.elts, types, strict=True):
                self.declare(t, dtype, depth)
            return f"std::tie({', '.join(t.id for t in target.elts)}) = {code};"
        code, dtype = self.typed(value)
        self.declare(target, dtype, depth)
        return f"{target.id} = {code};"

    def declare(self, target, dtype, depth):
        known = self.locals.setdefault(target.id, dtype)
        if known != dtype:
            self.fail(target, f"{target.id} is {known} and becomes {dtype}")

    def boolean(self, node):
        code, dtype = self.expression(node)
        if dtype != "bool":
            self.fail(node, f"expected a bool, got {dtype}")
        return code

    def typed(self, node):
        """An expression with a dtype of its own: bare literals are refused, their dtype would be a guess."""
        code, dtype = self.expression(node)
        if dtype in (LITERAL_INT, LITERAL_FLOAT):
            self.fail(node, "a literal needs a conversion here")
        return code, dtype

    def unify(self, node, items):
        """Gives literals the dtype of the others and checks that all agree."""
        dtype = next((t for _, t in items if t not in (LITERAL_INT, LITERAL_FLOAT)), None)
        if dtype is None:
            self.fail(node, "only literals")
        codes = []
        for code, t in items:
            if t in (LITERAL_INT, LITERAL_FLOAT):
                if t == LITERAL_FLOAT and dtype not in FLOATS:
                    self.fail(node, f"float literal with {dtype}")
                code = literal(code, dtype)
            elif t != dtype:
                self.fail(node, f"{dtype} with {t}")
            codes.append(code)
        return codes, dtype

    def expression(self, node):
        if isinstance(node, ast.Constant):
            if isinstance(node.value, bool):
                return ("true" if node.value else "false"), "bool"
            return node.value, LITERAL_INT if isinstance(node.value, int) else LITERAL_FLOAT
        if isinstance(node, ast.Name):
            if node.id in self.locals:
                return node.id, self.locals[node.id]
            if node.id in self.constants:
                value = self.constants[node.id]
                return value, LITERAL_INT if isinstance(value, int) else LITERAL_FLOAT
            self.fail(node, f"unknown name {node.id}")
        if isinstance(node, ast.BinOp):
            if type(node.op) not in BINARY:
                self.fail(node, "operator is not in the dialect")
            (a, b), dtype = self.unify(node, [self.expression(node.left), self.expression(node.right)])
            operator = BINARY[type(node.op)]
            if dtype == "bool" or (operator in ("<<", ">>", "&", "|", "^")) != (
                dtype in INTS and operator not in "+-*"
            ):
                self.fail(node, f"operator {operator} on {dtype}")
            return f"{CPP[dtype]}({a} {operator} {b})", dtype
        if isinstance(node, ast.UnaryOp):
            code, dtype = self.expression(node.operand)
            if dtype in (LITERAL_INT, LITERAL_FLOAT):
                return -code, dtype
            operator = {ast.USub: "-", ast.Invert: "~", ast.Not: "!"}[type(node.op)]
            return (f"(!{code})" if operator == "!" else f"{CPP[dtype]}({operator}{code})"), dtype
        if isinstance(node, ast.BoolOp):
            operator = " && " if isinstance(node.op, ast.And) else " || "
            return "(" + operator.join(self.boolean(v) for v in node.values) + ")", "bool"
        if isinstance(node, ast.Compare):
            if len(node.ops) > 1:
                self.fail(node, "chained comparison")
            (a, b), _ = self.unify(node, [self.expression(node.left), self.expression(node.comparators[0])])
            return f"({a} {COMPARE[type(node.ops[0])]} {b})", "bool"
        if isinstance(node, ast.Subscript):
            dtype, symbol = self.tables[node.value.id]
            index, index_type = self.typed(node.slice)
            if index_type != "i32":
                self.fail(node, "a table index is int32")
            return f"{symbol}[{index}]", dtype
        if isinstance(node, ast.Call):
            return self.call(node, node.func.id)
        return self.fail(node, f"{type(node).__name__} is not in the dialect")

    def call(self, node, name):
        items = [self.expression(a) for a in node.args]
        if name in DTYPES:
            code, dtype = items[0]
            target = DTYPES[name]
            return (
                literal(code, target) if dtype in (LITERAL_INT, LITERAL_FLOAT) else f"{CPP[target]}({code})"
            ), target
        if name.startswith("bitcast_"):
            target = DTYPES[name[len("bitcast_") :]]
            return f"bitcast<{CPP[target]}>({self.typed(node.args[0])[0]})", target
        if name == "select":
            if items[0][1] != "bool":
                self.fail(node, "select wants a bool first")
            (a, b), dtype = self.unify(node, items[1:])
            return f"({items[0][0]} ? {a} : {b})", dtype
        if name in UNARY_CALLS + ("fma", "copysign", "min", "max"):
            codes, dtype = self.unify(node, items)
            if dtype not in FLOATS and name not in ("min", "max"):
                self.fail(node, f"{name} of {dtype}")
            return f"t_{name}({', '.join(codes)})", "bool" if name == "isnan" else dtype
        types = [self.typed(a)[1] for a in node.args]
        result = self.owner.require(name, types)
        return f"{name}({', '.join(c for c, _ in items)})", result
