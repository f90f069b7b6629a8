"""Types of kernel arguments, by numba's names, for signatures such as ``void(float32[:], float32[:, ::1], int64)``.

Indexing a type with slices gives arrays of it: ``float32[:]`` has any strides, ``[:, ::1]`` is C-contiguous, ``[::1, :]``
Fortran-contiguous. Calling a type gives a signature with it as the result.

>>> from treadle import types
>>> types.void(types.f4[:, ::1], types.intp)
(Array(float32, 2, 'C', False, aligned=True), int64) -> none
>>> types.Tuple((types.int32, types.float64[:]))
Tuple((int32, Array(float64, 1, 'A', False, aligned=True)))
"""

from __future__ import annotations

from treadle._kernel_types import (
    Array,
    BaseTuple,
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
from treadle._record_types import NestedArray, NPDatetime, NPTimedelta, Record
from treadle._signatures import as_type, from_dtype, parse_signature, typeof

none = void = NoneType("none")
bool_ = boolean = b1 = c_bool = np_bool_ = py_bool = Boolean("bool")
int8 = i1 = char = c_int8 = np_int8 = np_char = Integer("int8")
int16 = i2 = short = c_int16 = np_int16 = np_short = Integer("int16")
int32 = i4 = intc = c_int32 = np_int32 = np_intc = Integer("int32")
int64 = i8 = c_int64 = np_int64 = Integer("int64")
intp = int_ = long_ = longlong = ssize_t = c_intp = np_intp = np_int_ = np_long = np_longlong = py_int = int64
uint8 = u1 = byte = uchar = c_uint8 = np_uint8 = np_uchar = Integer("uint8")
uint16 = u2 = ushort = c_uint16 = np_uint16 = np_ushort = Integer("uint16")
uint32 = u4 = uintc = c_uint32 = np_uint32 = np_uintc = Integer("uint32")
uint64 = u8 = c_uint64 = np_uint64 = Integer("uint64")
uintp = uint = ulong = ulonglong = size_t = c_uintp = np_uintp = np_uint = np_ulong = np_ulonglong = uint64
float16 = f2 = c_float16 = np_float16 = Float("float16")
bfloat16 = Float("bfloat16")
float32 = f4 = c_float32 = np_float32 = np_float_ = Float("float32")
float64 = f8 = double = c_float64 = np_float64 = np_double = py_float = Float("float64")
complex64 = c8 = np_complex64 = Complex("complex64")
complex128 = c16 = np_complex128 = py_complex = Complex("complex128")
# A name of Python's own: nothing in this module may need it.
globals()["bool"] = boolean

__all__ = [
    "Array",
    "BaseTuple",
    "Boolean",
    "CPointer",
    "Complex",
    "Float",
    "Integer",
    "NPDatetime",
    "NPTimedelta",
    "NestedArray",
    "NoneType",
    "Number",
    "Record",
    "Signature",
    "Tuple",
    "Type",
    "UniTuple",
    "as_type",
    "from_dtype",
    "parse_signature",
    "typeof",
    *(name for name, value in list(globals().items()) if isinstance(value, Type)),
]
