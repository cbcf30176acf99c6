"""Whole numbers, truth values and devices as arguments."""

from __future__ import annotations

import operator
from typing import Any, Optional, cast

import numpy as np

from ._types import Devices
from ._warpstride import DataError

LARGEST = 2**63 - 1
"""The largest number that the library takes, where nothing else limits it."""


def whole(name: str, value: Any, low: int = 0, high: int = LARGEST) -> int:
    """A whole number within a range: an int, or one of NumPy.

    Raises
    ------
    DataError
        Anything else, also True and False.
    """
    try:
        number = None if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except TypeError:
        number = None
    if number is None or not low <= number <= high:
        most = "2**63 - 1" if high == LARGEST else str(high)
        raise DataError(f"{name}: expected a whole number from {low} to {most}, found {value!r:.100}")
    return number


def optional_whole(name: str, value: Any, low: int = 0, high: int = LARGEST) -> Optional[int]:
    """A whole number within a range, or None.

    Raises
    ------
    DataError
        Anything else.
    """
    return None if value is None else whole(name, value, low, high)


def truth(name: str, value: Any) -> bool:
    """True or False.

    Raises
    ------
    DataError
        Anything else.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise DataError(f"{name}: expected True or False, found {value!r:.100}")
    return bool(value)


def device_number(value: Any) -> Optional[int]:
    """The argument ``device``: the number of a GPU, or None.

    Raises
    ------
    DataError
        Anything else.
    """
    return optional_whole("device", value)


def device_numbers(value: Any) -> Devices:
    """The argument ``devices``: a number, a list of numbers, ``"all"``, or None.

    Raises
    ------
    DataError
        Anything else.
    """
    if value is None or isinstance(value, str):
        return cast(Devices, value)  # The library refuses other words.
    if isinstance(value, (list, tuple, range)) or (isinstance(value, np.ndarray) and value.ndim == 1):
        return [whole("devices", one) for one in value]
    return whole("devices", value)
