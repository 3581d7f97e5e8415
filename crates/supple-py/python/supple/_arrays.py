"""Arrays from callers, checked before they reach the native module: errors give the argument, index and value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from ._errors import InvalidInput

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

#: One array of rows with the same number of vertices, or a list of faces of any number.
Faces = Union[npt.ArrayLike, Sequence[Sequence[int]]]


def numbers(value: npt.ArrayLike, name: str) -> FloatArray:
    """An array of finite numbers of any shape."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise InvalidInput(f"`{name}` is not an array: {error}") from None
    if array.dtype.kind not in "fiu":
        raise TypeError(f"`{name}` has the dtype {array.dtype}; it must contain real numbers")
    finite = np.ascontiguousarray(array, dtype=np.float64)
    if not np.isfinite(finite).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(finite))[0])
        shown = ", ".join(map(str, place))
        raise InvalidInput(f"`{name}[{shown}]` is {finite[place]}; it must be finite")
    return finite


def points(value: npt.ArrayLike, name: str, width: int = 3) -> FloatArray:
    """An array of shape (n, width)."""
    array = numbers(value, name)
    if array.size == 0:
        array = array.reshape(0, width)
    if array.ndim != 2 or array.shape[1] != width:
        raise InvalidInput(f"`{name}` has the shape {array.shape}; it must be (n, {width})")
    return array


def whole_numbers(value: npt.ArrayLike, name: str) -> IntArray:
    """An array of integers of any shape."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise InvalidInput(f"`{name}` is not an array: {error}") from None
    if array.size == 0:
        return np.zeros(array.shape, dtype=np.int64)
    if array.dtype.kind not in "iu":
        raise TypeError(f"`{name}` has the dtype {array.dtype}; it must contain integers")
    if array.dtype.kind == "u" and array.max() > np.iinfo(np.int64).max:
        raise InvalidInput(f"`{name}` contains {array.max()}, which is not a valid index")
    return np.ascontiguousarray(array, dtype=np.int64)


def indices(value: npt.ArrayLike, name: str) -> IntArray:
    """An array of shape (n,)."""
    array = whole_numbers(value, name)
    if array.ndim != 1:
        raise InvalidInput(f"`{name}` has the shape {array.shape}; it must be (n,)")
    return array


def faces(value: Faces, name: str) -> tuple[IntArray, IntArray]:
    """The start of each face, and the vertices of all faces."""
    if not isinstance(value, np.ndarray):
        value = _as_rows(value, name)
    if isinstance(value, list):
        rows = [indices(row, f"{name}[{i}]") for i, row in enumerate(value)]
        sizes = np.array([len(row) for row in rows], dtype=np.int64)
        corners = np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)
    else:
        array = whole_numbers(value, name)
        if array.size == 0:
            array = array.reshape(0, 3)
        if array.ndim != 2:
            raise InvalidInput(f"`{name}` has the shape {array.shape}; it must be (n, 3), or (n, k) for polygons")
        sizes = np.full(len(array), array.shape[1], dtype=np.int64)
        corners = array.reshape(-1)
    if (sizes < 3).any():
        face = int(np.argmax(sizes < 3))
        raise InvalidInput(f"`{name}[{face}]` has {sizes[face]} vertices; a face has at least 3")
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])
    return starts, corners


def _as_rows(value: Any, name: str) -> Any:
    """A list of rows of different lengths unchanged, everything else as an array."""
    if isinstance(value, (list, tuple)) and len({len(row) for row in value if hasattr(row, "__len__")}) > 1:
        return list(value)
    try:
        return np.asarray(value)
    except ValueError as error:
        raise InvalidInput(f"`{name}` is not an array: {error}") from None


def tetrahedra(value: npt.ArrayLike, name: str) -> IntArray:
    """The vertices of all tetrahedra, four each."""
    array = whole_numbers(value, name)
    if array.ndim != 2 or array.shape[1] != 4:
        raise InvalidInput(f"`{name}` has the shape {array.shape}; it must be (n, 4)")
    return array.reshape(-1)
