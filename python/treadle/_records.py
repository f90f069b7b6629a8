"""Structured dtypes as the compiler takes them: layouts in the kernel syntax text, and the way back."""

from __future__ import annotations

from typing import Any

import numpy as np

from treadle._types import DTYPES, dtype_name

_NUMPY: dict[str, Any] = dict(DTYPES)
# By identity, since equal dtypes may differ in how they were aligned; with the hash, since names can be changed in place.
_KNOWN: dict[int, tuple[np.dtype[Any], int, str]] = {}
_MOST_KNOWN = 1000
_WANTED = "a boolean, integer, floating, complex or datetime dtype, a record, or an array of these"


def native_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """A dtype in the byte order of devices, without titles and metadata."""
    if dtype.subdtype is not None:
        return np.dtype((native_dtype(dtype.subdtype[0]), dtype.shape))
    if dtype.names is None:
        return dtype.newbyteorder("=")
    places = [dtype.fields[name] for name in dtype.names]  # type: ignore[index]
    described: dict[str, Any] = {
        "names": list(dtype.names),
        "formats": [native_dtype(place[0]) for place in places],
        "offsets": [place[1] for place in places],
        "itemsize": dtype.itemsize,
    }
    return np.dtype(described, align=dtype.isalignedstruct)  # type: ignore[call-overload]


def _element_text(dtype: np.dtype[Any], what: str, path: str) -> str:
    if dtype.names is not None:
        return _record_text(dtype, what, path)
    if dtype.kind in "mM":
        return dtype.str[1:]
    name = dtype.newbyteorder("=").name
    if name not in DTYPES:
        raise TypeError(f"{what}: field '{path}': expected {_WANTED}, got {dtype}")
    return name


def _record_text(dtype: np.dtype[Any], what: str, path: str = "") -> str:
    if not dtype.names or not dtype.itemsize:
        place = f"field '{path}': " if path else ""
        raise TypeError(f"{what}: {place}expected a record with at least one field and one byte, got {dtype}")
    fields = []
    for name in dtype.names:
        inner = f"{path}.{name}" if path else name
        if not name.isprintable() or '"' in name or "\\" in name:
            raise TypeError(
                f"{what}: field {inner!r}: expected a name of printable letters without quotes and backslashes"
            )
        base, offset = dtype.fields[name][:2]  # type: ignore[index]
        shape: tuple[int, ...] = ()
        while base.subdtype is not None:
            base, extents = base.subdtype
            shape += extents
        extent_text = "".join(f" {extent}" for extent in shape)
        fields.append(f'("{name}" {offset} {_element_text(base, what, inner)}{extent_text})')
    return f"(record {dtype.itemsize} {'aligned' if dtype.isalignedstruct else 'packed'} {' '.join(fields)})"


def element_name(dtype: Any, what: str = "dtype") -> str:
    """What arrays call their elements: as ``dtype_name``, and the layout of a structured dtype.

    Raises TypeError for what devices do not have, naming the field.

    >>> element_name([("x", "f4"), ("v", "i2", (3,))])
    '(record 10 packed ("x" 0 float32) ("v" 4 int16 3))'
    """
    if isinstance(dtype, str) and dtype.startswith("(record "):
        return dtype
    try:
        resolved = np.dtype(dtype)
    except (TypeError, ValueError):  # bfloat16 among others
        return dtype_name(dtype, what)
    if resolved.names is None:
        return dtype_name(dtype, what)
    known = _KNOWN.get(id(resolved))
    if known is not None and known[1] == hash(resolved):
        return known[2]
    text = _record_text(resolved, what)
    if text not in _NUMPY:
        _NUMPY[text] = native_dtype(resolved)
    if len(_KNOWN) >= _MOST_KNOWN:
        _KNOWN.clear()
    _KNOWN[id(resolved)] = (resolved, hash(resolved), text)
    return text


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The dtype of a name that ``element_name`` gave in this process: NumPy's, or ours that stands for one."""
    return _NUMPY[name]


def is_record(name: str) -> bool:
    """Whether the name of an element type is the layout of a record."""
    return name.startswith("(record ")
