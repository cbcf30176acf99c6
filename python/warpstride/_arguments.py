"""Whole numbers, truth values, texts and devices as arguments."""

from __future__ import annotations

import operator
from typing import Any, Iterable, Optional, cast

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


def truth(name: str, value: Any, advice: str = "") -> bool:
    """True or False.

    Raises
    ------
    DataError
        Anything else; the sentence ends with the advice.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise DataError(f"{name}: expected True or False, found {value!r:.100}{advice}")
    return bool(value)


def text(name: str, value: Any) -> str:
    """A text: a word of a list of choices, or the name of a model, a column and the like.

    Raises
    ------
    TypeError
        An object of another type.
    DataError
        A text with a lone surrogate, which Unicode does not have. (Names of files may have them, and are not checked here.)
    """
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected a text, found {value!r:.100}")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise DataError(f"{name}: expected a text of Unicode characters, found a lone surrogate in {value!r:.100}") from None
    return value


def optional_text(name: str, value: Any) -> Optional[str]:
    """A text, or None.

    Raises
    ------
    TypeError, DataError
        As for `text`.
    """
    return None if value is None else text(name, value)


def texts(name: str, value: Any) -> list[str]:
    """A text or several as a list.

    Raises
    ------
    TypeError, DataError
        As for `text`.
    """
    if isinstance(value, str):
        return [text(name, value)]
    if not isinstance(value, Iterable):
        raise TypeError(f"{name}: expected a text or several, found {value!r:.100}")
    return [text(name, one) for one in value]


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
        return cast(Devices, optional_text("devices", value))  # The library refuses other words.
    if isinstance(value, (list, tuple, range)) or (isinstance(value, np.ndarray) and value.ndim == 1):
        if len(value) == 0:
            raise DataError("devices: expected at least one number of a GPU, found none")
        return [whole("devices", one) for one in value]
    return whole("devices", value)
