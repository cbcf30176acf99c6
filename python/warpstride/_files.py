"""Results as files, and as datasets of xarray."""

from __future__ import annotations

import json
import os
from typing import Any, BinaryIO, Callable

import numpy as np
import numpy.typing as npt

from . import _warpstride
from ._types import Path


def write_file(path: Path, fill: Callable[[BinaryIO], object]) -> None:
    """Write a file that is absent or complete: an older one stays as it is if anything fails.

    As for all outputs of the library, links are followed, and folders, devices, pipes and sockets refused with ``OSError``.
    """
    name = os.fsdecode(path)

    def write(temporary: str) -> None:
        try:
            with open(temporary, "wb") as file:
                fill(file)
        except OSError as error:
            # The name of the temporary file says nothing to the user.
            raise OSError(f"{name}: cannot be written: {error.strerror or error}") from None

    _warpstride.write_file(name, write)


def write_npy(path: Path, array: npt.NDArray[Any]) -> None:
    """Write a NumPy array to a file that is absent or complete."""
    write_file(path, lambda file: np.save(file, array))


def write_json(path: Path, document: Any) -> None:
    """Write a JSON document to a file that is absent or complete."""
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    write_file(path, lambda file: file.write(text.encode("utf-8")))


def table_to_xarray(table: Any) -> Any:
    """The columns of a table of time series as an ``xarray.Dataset`` over rows."""
    import xarray

    columns = {name: (("row",), np.asarray(table[name])) for name in table.column_names}
    times = [name for name, (_, column) in columns.items() if column.dtype.kind == "M"]
    return xarray.Dataset(
        {name: column for name, column in columns.items() if name not in times},
        coords={name: columns[name] for name in times},
    )
