"""bfloat16, the upper half of a float32: a dtype of our own, since NumPy has none. Host arrays of it need the package ml_dtypes."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from treadle.errors import UnsupportedError

_NAME = "bfloat16"
# What casts to bfloat16 without loss, and to what it casts, besides itself.
_EXACT_IN = ("bool", "int8", "uint8")
_EXACT_OUT = ("float32", "float64", "complex64", "complex128")


def _bits(value: float) -> int:
    """The bits of the bfloat16 next to a number, made from float32 and rounded to nearest even."""
    with np.errstate(over="ignore"):
        word = int(np.float32(value).view(np.uint32))
    if value != value:
        return (word | 0x00400000) >> 16
    return (word + 0x7FFF + (word >> 16 & 1)) >> 16


class BFloat16(float):
    """A number of type bfloat16 on the host, rounded to nearest even: a Python float that kernels take as bfloat16 and that shows
    the digits that tell it apart. Arithmetic on the host gives Python floats.

    >>> import treadle as td
    >>> td.bfloat16(0.1), td.bfloat16(0.1) + 0
    (bfloat16(0.1), 0.10009765625)
    """

    def __new__(cls, value: Any = 0.0) -> BFloat16:
        return super().__new__(cls, struct.unpack("<f", struct.pack("<I", _bits(float(value)) << 16))[0])

    @property
    def dtype(self) -> BFloat16Type:
        """``treadle.bfloat16``."""
        return bfloat16

    @property
    def bits(self) -> int:
        """The 16 bits."""
        return _bits(self)

    def __str__(self) -> str:
        most = 4
        texts = (f"{float(self):.{digits}g}" for digits in range(1, most))
        text = next((text for text in texts if _bits(float(text)) == self.bits), f"{float(self):.{most}g}")
        return repr(float(text))

    def __repr__(self) -> str:
        return f"bfloat16({self})"

    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec else str(self)

    def __reduce__(self) -> Any:
        return BFloat16, (float(self),)


class BFloat16Type:
    """The dtype ``treadle.bfloat16``, with the attributes of NumPy's dtypes; equal to the name and to ``ml_dtypes.bfloat16``. Called
    with a number it gives one of this type; in kernels it converts. NumPy takes it as a dtype where ml_dtypes is installed.

    >>> import treadle as td
    >>> td.ones(3, dtype=td.bfloat16) / 3
    array([0.334, 0.334, 0.334], dtype=bfloat16)
    """

    name, kind, char, str, byteorder = _NAME, "f", "E", "<V2", "="
    itemsize = alignment = 2
    type = BFloat16
    names = fields = subdtype = metadata = None
    shape = ()
    ndim = 0
    hasobject = False
    isnative = True
    _treadle_dtype = _NAME  # kernels take it as a function that converts

    @property
    def base(self) -> BFloat16Type:
        """The dtype itself."""
        return self

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype that ml_dtypes has for NumPy: this makes it one for NumPy. Raises AttributeError without the package."""
        found = _of_ml_dtypes()
        if found is None:
            raise AttributeError("NumPy has no bfloat16 without the package ml_dtypes")
        return found

    def newbyteorder(self, order: Any = "S") -> BFloat16Type:
        """The dtype itself: devices have one order."""
        return self

    def __call__(self, value: Any = 0.0) -> BFloat16:
        return BFloat16(value)

    def __repr__(self) -> Any:
        return _NAME

    def __eq__(self, other: object) -> bool:
        return is_bfloat16(other)

    def __hash__(self) -> int:
        return hash(_NAME)

    def __reduce__(self) -> Any:
        return "bfloat16"


bfloat16 = BFloat16Type()


def _of_ml_dtypes() -> np.dtype[Any] | None:
    try:
        import ml_dtypes
    except ImportError:
        return None
    return np.dtype(ml_dtypes.bfloat16)


def is_bfloat16(dtype: Any) -> bool:
    """Whether a dtype, a type or a name is bfloat16: ours, or that of ml_dtypes."""
    if dtype is BFloat16 or getattr(dtype, "_treadle_dtype", None) == _NAME:
        return True
    if isinstance(dtype, type):
        return dtype.__name__ == _NAME and dtype.__module__ == "ml_dtypes"
    return dtype == _NAME if isinstance(dtype, str) else isinstance(dtype, np.dtype) and dtype.name == _NAME


def host_dtype(dtype: Any) -> np.dtype[Any]:
    """The dtype that NumPy arrays with these elements have. Raises UnsupportedError for bfloat16 without ml_dtypes."""
    if not is_bfloat16(dtype):
        return np.dtype(dtype)
    found = _of_ml_dtypes()
    if found is None:
        raise UnsupportedError(
            "NumPy has no bfloat16: install the package ml_dtypes, or convert on the device with astype('float32')"
        )
    return found


def can_cast(given: Any, wanted: Any, casting: Any = "safe") -> bool:
    """``numpy.can_cast`` of dtypes, which knows no bfloat16 without ml_dtypes."""
    if not is_bfloat16(given) and not is_bfloat16(wanted):
        return np.can_cast(given, wanted, casting)
    if is_bfloat16(given) and is_bfloat16(wanted):
        return True
    if casting == "same_kind":
        return np.can_cast(_stand_in(given), _stand_in(wanted), casting)
    return np.dtype(given).name in _EXACT_IN if is_bfloat16(wanted) else np.dtype(wanted).name in _EXACT_OUT


def _stand_in(dtype: Any) -> np.dtype[Any]:
    return np.dtype("float32" if is_bfloat16(dtype) else dtype)
