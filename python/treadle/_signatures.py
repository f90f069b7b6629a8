"""What programs give as types and signatures - strings, calls, tuples, NumPy's dtypes, numba's objects - as kernel types."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from treadle._bfloat16 import BFloat16, is_bfloat16
from treadle._kernel_types import (
    Array,
    Boolean,
    Complex,
    CPointer,
    Float,
    Integer,
    NoneType,
    Number,
    Signature,
    Tuple,
    Type,
    UniTuple,
)
from treadle._record_types import NestedArray, NPDatetime, NPTimedelta, Record, record_of
from treadle._records import element_name

_KINDS: dict[str, type[Number]] = {"b": Boolean, "i": Integer, "u": Integer, "f": Float, "c": Complex}
# Names that older versions of numba had.
_OLD_NAMES: dict[str, Type] = {"float_": Float("float64"), "long": Integer("int64")}


def _is_numba(item: Any) -> bool:
    """Whether this is a type or signature of an installed numba, known by its names alone."""
    return type(item).__module__.split(".")[0] == "numba"


def from_dtype(dtype: Any) -> Any:
    """The type of a NumPy dtype's elements: a number, a date, a record, or an array in a record. Raises TypeError for other dtypes.

    >>> import numpy as np
    >>> from_dtype(np.dtype("f4"))
    float32
    """
    if is_bfloat16(dtype):
        return Float("bfloat16")
    resolved = np.dtype(dtype)
    if resolved.names is not None:
        return record_of(resolved, from_dtype)
    if resolved.subdtype is not None:
        return NestedArray(from_dtype(resolved.subdtype[0]), resolved.shape)
    if resolved.kind in "mM":
        unit = resolved.str[4:-1]
        return NPDatetime(unit) if resolved.kind == "M" else NPTimedelta(unit)
    kind = _KINDS.get(resolved.kind)
    if kind is None or resolved.itemsize > 16:
        raise TypeError(f"from_dtype: dtype: expected a boolean, integer, floating or complex dtype, got {resolved}")
    return kind(resolved.name)


def typeof(val: Any, purpose: Any = None) -> Type:
    """The type a kernel would see for an argument. purpose: taken for compatibility. Raises ValueError for what has no type.

    >>> import numpy as np
    >>> typeof((1, np.zeros((2, 3), "f4")))
    Tuple((int64, Array(float32, 2, 'C', False, aligned=True)))
    """
    if val is None:
        return NoneType("none")
    if isinstance(val, bool):
        return Boolean("bool")
    if isinstance(val, int) and -(2**63) <= val < 2**64:
        return Integer("int64" if val < 2**63 else "uint64")
    if isinstance(val, BFloat16):
        return Float("bfloat16")
    if isinstance(val, float) and not isinstance(val, np.generic):
        return Float("float64")
    if isinstance(val, complex) and not isinstance(val, np.generic):
        return Complex("complex128")
    if isinstance(val, tuple):
        return Tuple(typeof(item) for item in val)
    try:
        if isinstance(val, np.generic):
            return from_dtype(val.dtype)
        if hasattr(val, "dtype") and hasattr(val, "flags"):
            flags = val.flags
            layout = "C" if flags["C_CONTIGUOUS"] else "F" if flags["F_CONTIGUOUS"] else "A"
            readonly = isinstance(val, np.ndarray) and not val.flags.writeable
            return Array(from_dtype(val.dtype), val.ndim, layout, readonly=readonly)
    except TypeError as error:
        raise ValueError(f"typeof: {error}") from None
    raise ValueError(f"typeof: val: expected an array, a number or a tuple of these, got {type(val).__name__}")


def _named(name: str) -> Any:
    from treadle import types  # which imports this module

    return getattr(types, name, None)


class _Reader(ast.NodeVisitor):
    """Reads a type or signature from an expression: names of types, calls, slices, tuples and numbers, nothing else."""

    def __init__(self, text: str) -> None:
        self._text = text

    def _refuse(self, node: ast.AST) -> TypeError:
        return TypeError(f"signature: cannot read '{ast.unparse(node)}' in '{self._text}'")

    def generic_visit(self, node: ast.AST) -> Any:
        raise self._refuse(node)

    def visit_Expression(self, node: ast.Expression) -> Any:
        return self.visit(node.body)

    def visit_Name(self, node: ast.Name) -> Any:
        found = _OLD_NAMES.get(node.id, _named(node.id))
        if isinstance(found, Type) or found in (Array, CPointer, Tuple, UniTuple):
            return found
        raise TypeError(f"signature: expected the name of a type, got '{node.id}'")

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        # types.float32, numba.types.float32: the last part says it.
        return self.visit_Name(ast.Name(node.attr))

    def visit_Constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, (int, str)):
            return node.value
        raise self._refuse(node)

    def visit_Tuple(self, node: ast.Tuple) -> Any:
        return tuple(self.visit(item) for item in node.elts)

    visit_List = visit_Tuple  # type: ignore[assignment]

    def visit_Slice(self, node: ast.Slice) -> slice:
        is_step = isinstance(node.step, ast.Constant) and node.step.value == 1
        if node.lower or node.upper or (node.step is not None and not is_step):
            raise TypeError(f"signature: cannot read '{self._text}': expected ':' or '::1' in the brackets")
        return slice(None, None, 1 if is_step else None)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        index = self.visit(node.slice)
        parts = index if isinstance(index, tuple) else (index,)
        if not all(isinstance(part, slice) for part in parts):
            raise TypeError(f"signature: cannot read '{self._text}': expected ':' or '::1' in the brackets")
        return self.visit(node.value)[index]

    def visit_Call(self, node: ast.Call) -> Any:
        called = self.visit(node.func)
        keywords = {keyword.arg: self.visit(keyword.value) for keyword in node.keywords if keyword.arg}
        result = called(*map(self.visit, node.args), **keywords)
        if not isinstance(result, (Type, Signature)):
            raise self._refuse(node)
        return result


def _read(text: str) -> Any:
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError:
        raise TypeError(f"signature: expected something like 'void(float32[:], int64)', got {text!r}") from None
    return _Reader(text).visit(tree)


def parse_signature(signature: Any) -> Signature:
    """A signature given as a string, a call of types, a tuple of types, or one of numba's. Raises TypeError for anything else."""
    if isinstance(signature, Signature):
        return signature
    if _is_numba(signature) and hasattr(signature, "return_type"):
        return Signature(as_type(signature.return_type), map(as_type, signature.args))
    if isinstance(signature, (tuple, list)):
        return Signature(None, map(as_type, signature))
    if isinstance(signature, str):
        found = _read(signature)
        if isinstance(found, Signature):
            return found
        # Text without brackets is more often a slip than a tuple; one type in brackets is one argument.
        if isinstance(found, (tuple, Type)) and signature.strip().startswith("("):
            return Signature(None, map(as_type, found if isinstance(found, tuple) else (found,)))
    raise TypeError(f"signature: expected something like 'void(float32[:], int64)', got {signature!r}")


def as_type(item: Any) -> Type:
    """A type given as an object of ``treadle.types``, a string, a NumPy dtype, or one of numba's types. Raises TypeError."""
    if isinstance(item, Type):
        return item
    if _is_numba(item):
        return _from_numba(item)
    if isinstance(item, str):
        found = _read(item)
        if isinstance(found, Type):
            return found
        raise TypeError(f"signature: expected a type, got '{item}'")
    element_name(item, "signature")
    return from_dtype(item)


def _from_numba(item: Any) -> Type:
    if hasattr(item, "literal_type"):
        return _from_numba(item.literal_type)
    if hasattr(item, "fields") and hasattr(item, "aligned"):
        fields = [(name, {**field._asdict(), "type": _from_numba(field.type)}) for name, field in item.fields.items()]
        return Record(fields, item.size, item.aligned)
    if type(item).__name__ in ("NPDatetime", "NPTimedelta"):
        return NPDatetime(item.unit) if type(item).__name__ == "NPDatetime" else NPTimedelta(item.unit)
    if hasattr(item, "nitems") and hasattr(item, "shape"):
        return NestedArray(_from_numba(item.dtype), item.shape)
    if hasattr(item, "layout") and hasattr(item, "ndim"):
        return Array(
            _from_numba(item.dtype),
            item.ndim,
            item.layout,
            readonly=not item.mutable,
            aligned=getattr(item, "aligned", True),
        )
    if type(item).__name__ == "CPointer":
        return CPointer(_from_numba(item.dtype))
    if hasattr(item, "types") and hasattr(item, "count"):
        return Tuple(map(_from_numba, item.types))
    if hasattr(item, "dtype") and hasattr(item, "count"):
        return UniTuple(_from_numba(item.dtype), item.count)
    found = _named(str(item))
    if isinstance(found, Type):
        return found
    raise TypeError(f"signature: expected a type that kernels have, got {item}")
