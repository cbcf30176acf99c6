"""Simulated acquisitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Optional

import numpy as np
import numpy.typing as npt

from .. import _warpstride
from .._arguments import optional_whole, text, truth, whole
from .._arrays import real
from .._representation import Summarised


@dataclass(frozen=True, repr=False)
class Simulation(Summarised):
    """A simulated acquisition with its truth.

    Attributes
    ----------
    samples : ndarray of complex64
        (coil, readout, sample).
    k : ndarray of float64
        Trajectory (readout, sample, axis), cycles per pixel.
    image : ndarray of complex128
        The phantom (row, column) or (slice, row, column).
    maps : ndarray of complex128
        Coil maps (coil, \\*shape of the image).

    Examples
    --------
    >>> import warpstride as ws
    >>> scan = ws.mri.simulate(matrix=32, coils=4)
    >>> scan.image.shape, scan.maps.shape
    ((32, 32), (4, 32, 32))
    """

    samples: npt.NDArray[np.complex64]
    k: npt.NDArray[np.float64]
    image: npt.NDArray[np.complex128]
    maps: npt.NDArray[np.complex128]


def simulate(
    *,
    matrix: int = 256,
    trajectory: Literal["radial", "golden", "spiral"] = "radial",
    spokes: Optional[int] = None,
    samples: Optional[int] = None,
    coils: int = 8,
    snr: Optional[float] = None,
    volume: bool = False,
    seed: int = 0,
) -> Simulation:
    """Simulate the samples of the Shepp–Logan phantom, exact integrals over its ellipses, for tests and examples.

    Parameters
    ----------
    matrix : int
        Voxels along each axis.
    trajectory : {"radial", "golden", "spiral"}
        Spokes at equal angles, spokes a golden angle apart, or interleaved spirals.
    spokes, samples : int, optional
        Number of spokes or interleaves, and samples of each; by default those of Nyquist's criterion.
    coils : int
        Number of coils.
    snr : float, optional
        Signal-to-noise ratio; no noise by default.
    volume : bool
        Whether three axes are encoded.
    seed : int
        Seed of the noise.

    Returns
    -------
    Simulation
        Samples, trajectory and truth.

    Raises
    ------
    DataError
        A number out of range.

    Examples
    --------
    >>> import warpstride as ws
    >>> scan = ws.mri.simulate(matrix=32, coils=4, spokes=20)
    >>> scan.samples.shape, scan.k.shape
    ((4, 20, 64), (20, 64, 2))
    """
    options = {
        "trajectory": text("trajectory", trajectory),
        "matrix": whole("matrix", matrix),
        "spokes": optional_whole("spokes", spokes),
        "samples": optional_whole("samples", samples),
        "coils": whole("coils", coils),
        "snr": None if snr is None else real("snr", snr),
        "volume": truth("volume", volume),
        "seed": whole("seed", seed),
    }
    values, k, readouts, image, maps = _warpstride.mri_simulate(options)
    shape = (len(readouts), readouts[0])
    if not volume:
        image, maps = image[0], maps[:, 0]
    return Simulation(values.reshape((coils, *shape)), k.reshape((*shape, k.shape[1])), image, maps)
