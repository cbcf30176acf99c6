"""Simulated scans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from .. import _warpstride
from .._arguments import truth, whole
from .._arrays import real
from .._representation import Summarised


@dataclass(frozen=True, repr=False)
class Simulation(Summarised):
    """A simulated scan with its truth.

    Attributes
    ----------
    frames : ndarray of float32
        Counts (frame, row, column).
    positions : ndarray of float64
        Positions (frame, (row, column)), m.
    wavelength, distance : float
        m.
    pixel_size : tuple of two float
        Pixel of the detector (row, column), m.
    object : ndarray of complex128
        The specimen (row, column).
    probe : ndarray of complex128
        The probe (mode, row, column), √photons.
    near_field : bool
        Whether the frames are near fields.
    focus_to_sample : float or None
        Distance from the focus of a cone beam to the specimen, m.

    Examples
    --------
    >>> import warpstride as ws
    >>> scan = ws.ptycho.simulate(frame=32, positions=12)
    >>> scan.probe.shape, sorted(scan.arguments)[:3]
    ((1, 32, 32), ['distance', 'focus_to_sample', 'frames'])
    """

    frames: npt.NDArray[np.float32]
    positions: npt.NDArray[np.float64]
    wavelength: float
    distance: float
    pixel_size: tuple[float, float]
    object: npt.NDArray[np.complex128]
    probe: npt.NDArray[np.complex128]
    near_field: bool = False
    focus_to_sample: Optional[float] = None

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments for `reconstruct`."""
        return {
            "frames": self.frames,
            "positions": self.positions,
            "wavelength": self.wavelength,
            "distance": self.distance,
            "pixel_size": self.pixel_size,
            "near_field": self.near_field,
            "focus_to_sample": self.focus_to_sample,
        }


def simulate(
    *,
    frame: int = 128,
    positions: int = 100,
    photons: float = 1e8,
    seed: int = 0,
    near_field: bool = False,
    focus_to_sample: Optional[float] = None,
) -> Simulation:
    """Simulate a scan of a specimen, for tests and examples.

    Parameters
    ----------
    frame : int
        Rows and columns of a frame.
    positions : int
        Number of frames.
    photons : float
        Photons of a frame.
    seed : int
        Seed of positions and noise.
    near_field : bool
        Whether the frames are near fields.
    focus_to_sample : float, optional
        Distance from the focus of a cone beam to the specimen, m; by default near fields are those of a parallel beam.

    Returns
    -------
    Simulation
        Frames, geometry and truth.

    Raises
    ------
    DataError
        A number out of range.

    Examples
    --------
    >>> import warpstride as ws
    >>> ws.ptycho.simulate(frame=32, positions=12).frames.shape
    (12, 32, 32)
    """
    near_field = truth("near_field", near_field)
    frames, places, geometry, specimen, probe = _warpstride.simulate_scan(
        whole("frame", frame),
        whole("positions", positions),
        real("photons", photons),
        whole("seed", seed),
        near_field,
        None if focus_to_sample is None else real("focus_to_sample", focus_to_sample),
    )
    wavelength, distance, (rows, columns) = geometry
    pixel = (rows, columns)
    return Simulation(frames, places, wavelength, distance, pixel, specimen, probe, near_field, focus_to_sample)
