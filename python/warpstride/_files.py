"""Results as files, and as datasets of xarray."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from ._types import Path


def write_npy(path: Path, array: npt.NDArray[Any]) -> None:
    """Write a NumPy array to a file that is absent or complete."""
    temporary = f"{os.fspath(path)}.{os.getpid()}.tmp"
    try:
        with open(temporary, "wb") as file:
            np.save(file, array)
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise


def table_to_xarray(table: Any) -> Any:
    """The columns of a table of time series as an ``xarray.Dataset`` over rows."""
    import xarray

    columns = {name: (("row",), np.asarray(table[name])) for name in table.column_names}
    times = [name for name, (_, column) in columns.items() if column.dtype.kind == "M"]
    return xarray.Dataset(
        {name: column for name, column in columns.items() if name not in times},
        coords={name: columns[name] for name in times},
    )
