"""Aggregation of time series, from and to tables of any library with the Arrow PyCapsule interface.

`docs/series.md` of the project describes buckets and aggregates.
"""

from __future__ import annotations

import warnings
from typing import Any, Iterable, Literal, Mapping, Optional, Protocol, Sequence, Union, overload

import numpy as np
import numpy.typing as npt

from . import _warpstride
from ._arguments import device_number, optional_text, text, texts
from ._arrays import any_array, floats
from ._types import Backend
from ._warpstride import Table

__all__ = ["Table", "resample", "table"]


Duplicates = Literal["keep", "first", "last", "error"]
"""What several points of a series at one time are."""

TimeFormat = Literal["unix", "unix-ms", "unix-us", "unix-ns"]
"""What integers are as times."""


class ArrowStream(Protocol):
    """A table of polars, pyarrow, pandas, duckdb, …"""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


def table(
    times: npt.ArrayLike, values: npt.ArrayLike, labels: Optional[Mapping[str, Sequence[Optional[str]]]] = None
) -> Table:
    """Make a table of points from arrays.

    Parameters
    ----------
    times : array_like of datetime64
        Times (point).
    values : array_like
        Values (point).
    labels : mapping of str to sequence of str, optional
        Columns (point) that name the series.

    Returns
    -------
    Table
        With the columns of labels, ``time`` and ``value``.

    Raises
    ------
    DataError
        Times of another type, without a time or outside of what nanoseconds in 64 bits can be (1677-09-21 to 2262-04-11),
        columns of different lengths, or labels that are not a mapping.

    Warns
    -----
    UserWarning
        Integers beyond 2⁵³, which are rounded.

    Examples
    --------
    >>> import numpy as np
    >>> import warpstride as ws
    >>> points = ws.series.table(np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[ns]"), [1, 2])
    >>> points.column_names, points["value"].tolist()
    (['time', 'value'], [1.0, 2.0])
    """
    stamps = any_array("times", times)
    if stamps.dtype.kind != "M":
        raise _warpstride.DataError(f"times: expected datetime64, found {stamps.dtype}")
    given = any_array("values", values)
    numbers = floats("values", given)
    for name, column in (("times", stamps), ("values", numbers)):
        if column.ndim != 1:
            raise _warpstride.DataError(f"{name}: expected a vector (point), found shape {column.shape}")
    if len(numbers) != len(stamps):
        raise _warpstride.DataError(f"values: expected {len(stamps)}, as many as times, found {len(numbers)}")
    missing = np.argwhere(np.isnat(stamps))
    if len(missing):
        row = ", ".join(map(str, missing[0]))
        raise _warpstride.DataError(f"times: row {row} (from 0): expected a time of each point, found NaT")
    nanoseconds = _nanoseconds(stamps)
    columns = _labels(labels, len(stamps))
    if given.dtype in (np.int64, np.uint64):
        rounded = _warpstride.series_rounded(given)
        if rounded is not None:
            warnings.warn(f"values: {rounded}", stacklevel=2)
    try:
        return Table.of_points(nanoseconds, numbers, columns)
    except (TypeError, UnicodeEncodeError):
        for name, entries in columns:
            for entry in entries:
                optional_text(f"labels: {name}", entry)
        raise


def _labels(labels: Any, count: int) -> list[tuple[str, list[Optional[str]]]]:
    """The columns of labels, each with as many entries as there are points; what the entries are is not looked at."""
    if labels is None:
        return []
    if not isinstance(labels, Mapping):
        raise _warpstride.DataError(f"labels: expected a mapping of names to columns, found {type(labels).__name__}")
    columns = []
    for name, column in labels.items():
        name = text("labels", name)
        if isinstance(column, str) or not isinstance(column, Iterable):
            raise TypeError(f"labels: {name}: expected a sequence of texts, found {column!r:.100}")
        entries = list(column)
        if len(entries) != count:
            raise _warpstride.DataError(f"labels: {name}: expected {count} entries, as many as times, found {len(entries)}")
        columns.append((name, entries))
    return columns


_NANOSECONDS = {
    "W": 604_800_000_000_000,
    "D": 86_400_000_000_000,
    "h": 3_600_000_000_000,
    "m": 60_000_000_000,
    "s": 1_000_000_000,
    "ms": 1_000_000,
    "us": 1000,
    "ns": 1,
}
_PER_NANOSECOND = {"ps": 1000, "fs": 10**6, "as": 10**9}
_LARGEST = 2**63 - 1


def _nanoseconds(times: npt.NDArray[np.datetime64]) -> npt.NDArray[np.int64]:
    """Times, none of them NaT, in nanoseconds since 1970; NumPy's own conversion overflows without an error."""
    if not times.size:
        return np.zeros(times.shape, np.int64)
    given, valid = times, np.ones(times.shape, bool)
    if np.datetime_data(times.dtype)[0] in ("Y", "M"):
        years = times.astype("datetime64[Y]").astype(np.int64)
        valid = (years >= 1677 - 1970) & (years <= 2262 - 1970)
        times = np.where(valid, times, np.zeros_like(times)).astype("datetime64[D]")
    unit, count = np.datetime_data(times.dtype)
    numbers = times.astype(times.dtype.newbyteorder("=")).view(np.int64)
    if unit in _NANOSECONDS:
        factor = _NANOSECONDS[unit] * count
        limit = _LARGEST // factor
        valid &= (numbers >= -limit) & (numbers <= limit)
        found = np.where(valid, numbers, 0) * factor if limit else np.zeros_like(numbers)
    else:
        per = _PER_NANOSECOND[unit]
        whole, rest = numbers // per, numbers % per
        limit = _LARGEST // count - 1
        valid &= (whole >= -limit) & (whole <= limit)
        found = np.where(valid, whole, 0) * count + rest * count // per
    if not valid.all():
        at = tuple(np.argwhere(~valid)[0])
        row = ", ".join(map(str, at))
        raise _warpstride.DataError(
            f"times: row {row} (from 0): expected a time from 1677-09-21 to 2262-04-11, as nanoseconds in 64 bits can be, "
            f"found {given[at]}"
        )
    return found


def _finite(name: str, values: Any) -> list[float]:
    """A sequence of finite numbers."""
    found: list[float] = []
    if isinstance(values, Iterable) and not isinstance(values, (str, bytes)):
        listed = list(values)
        found = [float(number) for number in listed if isinstance(number, (int, float, np.number))]
        if len(found) == len(listed) and np.isfinite(found).all():
            return found
    raise TypeError(f"{name}: expected a sequence of finite numbers, found {values!r:.100}")


@overload
def resample(
    table: ArrowStream,
    every: str,
    agg: Union[str, Sequence[str]] = ...,
    *,
    time: Optional[str] = ...,
    value: Optional[str] = ...,
    by: Optional[Sequence[str]] = ...,
    nan: str = ...,
    missing_values: Sequence[float] = ...,
    duplicates: Duplicates = ...,
    time_format: Optional[TimeFormat] = ...,
    timezone: Optional[str] = ...,
    backend: Backend = ...,
    device: Optional[int] = ...,
) -> Table: ...


@overload
def resample(
    table: ArrowStream,
    every: Union[list[str], tuple[str, ...]],
    agg: Union[str, Sequence[str]] = ...,
    *,
    time: Optional[str] = ...,
    value: Optional[str] = ...,
    by: Optional[Sequence[str]] = ...,
    nan: str = ...,
    missing_values: Sequence[float] = ...,
    duplicates: Duplicates = ...,
    time_format: Optional[TimeFormat] = ...,
    timezone: Optional[str] = ...,
    backend: Backend = ...,
    device: Optional[int] = ...,
) -> dict[str, Table]: ...


def resample(
    table: ArrowStream,
    every: Union[str, list[str], tuple[str, ...]],
    agg: Union[str, Sequence[str]] = "mean",
    *,
    time: Optional[str] = None,
    value: Optional[str] = None,
    by: Optional[Sequence[str]] = None,
    nan: str = "keep",
    missing_values: Sequence[float] = (),
    duplicates: Duplicates = "keep",
    time_format: Optional[TimeFormat] = None,
    timezone: Optional[str] = None,
    backend: Backend = "auto",
    device: Optional[int] = None,
) -> Union[Table, dict[str, Table]]:
    """Aggregate the points of each series over buckets of time.

    Parameters
    ----------
    table : object with ``__arrow_c_stream__``
        A row is a point. Rows may have any order; ``duplicates`` says what several points of a series at one time are,
        and rows without a value are left out.
    every : str, or list or tuple of str
        Lengths of buckets: ``"1m"``, ``"250ms"``, ``"1d"``, or ``"W"``, ``"M"``, ``"Q"``, ``"H"``, ``"Y"`` of the
        calendar in UTC, or in ``timezone``.
    agg : str or sequence of str
        ``count``, ``sum``, ``mean``, ``min``, ``max``, ``first``, ``last``, ``nunique``, ``std``, ``median``, a
        percentile such as ``95pct``, or one of these of the differences between points, such as ``rate:mean``.
    time : str, optional
        Column of timestamps (Timestamp or Date), or of integers or float64 with ``time_format``; by default the only one.
    value : str, optional
        Column of numbers; by default the only one.
    by : sequence of str, optional
        Columns of text, integers, booleans, dates or times that name the series; by default all columns of text. Without ``by``,
        columns that may tell series apart otherwise (structures, lists, booleans, dates) are an error.
    nan : {"keep", "skip"}
        Whether NaN is a value, greater than all others, or is left out.
    missing_values : sequence of float
        Values that stand for missing ones, such as ``-9999``, also rounded to single precision: such rows are left out.
    duplicates : {"keep", "first", "last", "error"}
        What points of a series at one time are: all of them points, in the order of the rows, or the first or the last of
        them, or an error.
    time_format : {"unix", "unix-ms", "unix-us", "unix-ns"}, optional
        What numbers in the column of times are: seconds since 1970, milliseconds, microseconds or nanoseconds.
    timezone : str, optional
        IANA time zone, such as ``"Europe/Zurich"``: days and periods of the calendar begin at local midnight, and the starts of
        buckets have this zone. Lengths below a day must divide what its clocks change by.
    backend : {"auto", "cpu", "cuda", "emulator"}
        Where to compute.
    device : int, optional
        Number of the GPU.

    Returns
    -------
    Table or dict of str to Table
        A row for each bucket that has points: the labels of the series, the start of the bucket, and a column for each
        aggregate, null where a bucket has too few points for it. For a list of lengths, a table for each.

    Raises
    ------
    DataError
        Columns of other types, times before 1970, or an unknown length or aggregate; several points at one time with
        ``duplicates="error"``.
    DeviceError, OutOfMemoryError
        A GPU that cannot be used; too little memory.

    Warns
    -----
    UserWarning
        Columns that nothing is read from; rows without a value; integers beyond 2⁵³, which are rounded; values such as -9999 that
        occur again far from all others.

    Examples
    --------
    >>> import numpy as np
    >>> import warpstride as ws
    >>> times = np.datetime64("2026-01-01T00:00", "s") + np.arange(0, 180, 30)
    >>> table = ws.series.table(times, [1.0, 3.0, 5.0, 9.0, 2.0, 2.0])
    >>> minutes = ws.series.resample(table, "1m", ["mean", "max"])
    >>> minutes["mean"].tolist()
    [2.0, 7.0, 2.0]
    """
    lengths, aggregates = texts("every", every), texts("agg", agg)
    if not hasattr(table, "__arrow_c_stream__"):
        raise _warpstride.DataError(
            f"table: expected an object with __arrow_c_stream__, found {type(table).__name__}"
        )
    options = {
        "time": optional_text("time", time),
        "value": optional_text("value", value),
        "by": None if by is None else texts("by", by),
        "nan": text("nan", nan),
        "missing_values": _finite("missing_values", missing_values),
        "duplicates": text("duplicates", duplicates),
        "time_format": optional_text("time_format", time_format),
        "timezone": optional_text("timezone", timezone),
        "backend": text("backend", backend),
        "device": device_number(device),
    }
    tables, notes = _warpstride.resample(table.__arrow_c_stream__(), lengths, aggregates, options)
    for note in notes:
        warnings.warn(note, stacklevel=2)
    if isinstance(every, str):
        return tables[0]
    return dict(zip(lengths, tables))
