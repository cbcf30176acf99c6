"""Arguments as arrays."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ._warpstride import DataError


def floats(name: str, values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Real numbers as float64, without a copy if they are.

    Raises
    ------
    DataError
        Anything but numbers.
    """
    return np.asarray(_numbers(name, values, "biuf", "real numbers"), dtype=np.float64)


def complexes(name: str, values: npt.ArrayLike) -> npt.NDArray[Any]:
    """Numbers as a contiguous array of complex64 (of complex64 and float32) or complex128.

    Raises
    ------
    DataError
        Anything but numbers.
    """
    array = _numbers(name, values, "biufc", "numbers")
    single = array.dtype in (np.complex64, np.float32)
    # Not ascontiguousarray, which makes a vector of a single number.
    return np.asarray(array, dtype=np.complex64 if single else np.complex128, order="C")


_Array = TypeVar("_Array")


def filled(name: str, array: _Array) -> _Array:
    """An array, of whatever library.

    Raises
    ------
    DataError
        It has no elements.
    """
    shape = tuple(getattr(array, "shape", ()))
    if 0 in shape:
        raise DataError(f"{name}: expected at least one element, found shape {shape}")
    return array


def of_shape(name: str, array: npt.NDArray[Any], shape: tuple[int, ...], of: str) -> npt.NDArray[Any]:
    """An array of this shape, that of ``of``, or one with as many elements on a single axis, as a vector.

    Raises
    ------
    DataError
        An array of another shape.
    """
    count = math.prod(shape)
    if array.shape not in (shape, (count,)):
        flat = "" if len(shape) == 1 else f" or ({count},)"
        raise DataError(f"{name}: expected shape {shape}{flat}, as {of} has it, found {array.shape}")
    return array.reshape((count,))


def real(name: str, value: Any) -> float:
    """A real number.

    Raises
    ------
    DataError
        Anything else.
    """
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{name}: expected a number, found {value!r:.100}") from None


def any_array(name: str, values: Any) -> npt.NDArray[Any]:
    """An array of whatever type, in the byte order of the machine and aligned to its elements.

    Raises
    ------
    DataError
        Lists of different lengths, or masked elements.
    """
    return _native(name, values, "an array")


def _native(name: str, values: Any, expected: str) -> npt.NDArray[Any]:
    """An array without a mask, which np.asarray would drop, in the byte order of the machine and aligned."""
    masked = int(np.sum(values.mask)) if isinstance(values, np.ma.MaskedArray) else 0
    if masked:
        raise DataError(
            f"{name}: expected an array without masked elements, found {masked} that are masked; "
            "leave them out, or fill them"
        )
    try:
        array = np.asarray(values)
    except ValueError as why:
        raise DataError(f"{name}: expected {expected}: {why}") from None
    if not array.dtype.isnative:
        return array.astype(array.dtype.newbyteorder("="))
    return array if array.flags.aligned else array.copy()


def _numbers(name: str, values: npt.ArrayLike, kinds: str, expected: str) -> npt.NDArray[Any]:
    array = _native(name, values, f"an array of {expected}")
    if array.dtype.kind not in kinds:
        raise DataError(f"{name}: expected an array of {expected}, found one of {array.dtype}")
    return array
