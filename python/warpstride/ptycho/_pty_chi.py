"""Results of pty-chi."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Union

import numpy as np

from .. import _warpstride
from ._result import Result

_HALF = 0.01
"""Pixels from a half at which an offset counts as one."""


def from_pty_chi(
    task: Any,
    *,
    wavelength: float,
    distance: float,
    pixel_size: Union[float, Sequence[float]],
) -> Result:
    """Take object, probe and positions of a ``ptychi.api.task.PtychographyTask`` in the far field.

    The probe is the mean one, without the variations of further OPR modes. It is multiplied by √(rows · columns), because pty-chi's
    transform has no factor. Positions are those of pty-chi in pixels, times the object pixel.

    Parameters
    ----------
    task : PtychographyTask
        A task that has run, on any device.
    wavelength, distance : float
        Wavelength and distance from the specimen to the detector, m.
    pixel_size : float or (float, float)
        Pixel of the detector (row, column), m.

    Returns
    -------
    Result
        It compares, saves, and is a start (``reconstruct(…, start=…)``) as any other. It has no history.

    Raises
    ------
    DataError
        The object has several slices, a window is not inside the object, or arrays have other shapes than pty-chi documents.

    Examples
    --------
    >>> class Task:                                   # what is taken of a task
    ...     def get_data_to_cpu(self, name, as_numpy):
    ...         return {"object": np.ones((1, 12, 12), "c8"), "probe": np.ones((1, 1, 8, 8), "c8"),
    ...                 "probe_positions": np.array([[-1.0, 0.25], [1.0, 0.0]])}[name]
    ...     class object:
    ...         pos_origin_coords = np.array([5.5, 5.5])
    >>> r = from_pty_chi(Task(), wavelength=1e-10, distance=2.0, pixel_size=75e-6)
    >>> r.corners.tolist(), r.object.shape, float(r.probe[0, 0, 0].real)
    ([[1, 2], [3, 2]], (12, 12), 8.0)
    """
    if not (hasattr(task, "get_data_to_cpu") and hasattr(getattr(task, "object", None), "pos_origin_coords")):
        raise TypeError(f"task: expected a task of pty-chi that has run, found {type(task).__name__}")
    slices, probes, positions = (
        np.asarray(task.get_data_to_cpu(name, as_numpy=True)) for name in ("object", "probe", "probe_positions")
    )
    _expect("object", slices, 3, "(1, row, column): one slice", slices.shape[:1] == (1,))
    _expect("probe", probes, 4, "(OPR mode, mode, row, column)", 0 not in probes.shape)
    _expect("probe_positions", positions, 2, "(frame, 2)", positions.shape[1:] == (2,))
    given = task.object.pos_origin_coords
    centre = np.asarray(given.detach().cpu() if hasattr(given, "detach") else given, dtype=np.float64)
    _expect("object.pos_origin_coords", centre, 1, "(2)", centre.shape == (2,))
    shape = np.array(probes.shape[-2:])
    sizes = np.broadcast_to(np.asarray(pixel_size, dtype=np.float64), (2,))
    geometry = np.array([wavelength, distance, *sizes], dtype=np.float64)
    if not (np.isfinite(geometry) & (geometry > 0)).all():
        raise _warpstride.DataError(
            "wavelength, distance, pixel_size: expected finite lengths above 0, "
            f"found {wavelength}, {distance}, {pixel_size}"
        )
    pixel = wavelength * distance / (shape * sizes)
    # The middle of a window of n pixels is at (n − 1)/2; offsets are whole pixels but exact halves.
    offset = centre - (shape - 1) / 2
    whole = np.rint(offset)
    offset = np.where(np.abs(np.abs(offset - whole) - 0.5) < _HALF, offset, whole)
    windows = positions.astype(np.float64) + offset
    origin = -offset * pixel
    inner = _warpstride.PtychoResult.of_pty_chi(
        slices[0].astype(np.complex128),
        np.sqrt(float(shape.prod())) * probes[0].astype(np.complex128),
        positions.astype(np.float64) * pixel,
        windows,
        (float(wavelength), float(distance), (float(pixel[0]), float(pixel[1])), (float(origin[0]), float(origin[1]))),
        slices.dtype == np.complex128,
    )
    return Result(inner)


def _expect(name: str, array: np.ndarray[Any, Any], axes: int, expected: str, fits: bool) -> None:
    if array.ndim != axes or not fits:
        raise _warpstride.DataError(f"task: {name}: expected an array {expected}, found shape {array.shape}")
    if not np.isfinite(array).all():
        raise _warpstride.DataError(f"task: {name}: expected finite numbers, found others")
