"""Results of reconstructions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Optional

import numpy as np
import numpy.typing as npt

from .. import _warpstride
from .._arguments import text
from .._gpu import on_host
from .._representation import Summarised
from .._types import Path

_Complex = npt.NDArray[Any]
_Floats = npt.NDArray[np.float64]


class Iteration(NamedTuple):
    """An iteration.

    Attributes
    ----------
    iteration : int
        Its number, from 1.
    residual : float
        \\|r\\|²/\\|b\\|², with b = EᴴWd and r what is left of it.

    Examples
    --------
    >>> import warpstride as ws
    >>> scan, seen = ws.mri.simulate(matrix=32, coils=4), []
    >>> _ = ws.mri.reconstruct(scan.samples, scan.k, 32, iterations=2, callback=seen.append, backend="cpu")
    >>> [one.iteration for one in seen], seen[1].residual < seen[0].residual
    ([1, 2], True)
    """

    iteration: int
    residual: float


@dataclass(frozen=True, repr=False)
class Result(Summarised):
    """A reconstructed image. It pickles, and `save` writes it to a file.

    Attributes
    ----------
    image : array
        (row, column) or (slice, row, column), complex64 or complex128 as the samples, in their library and on their GPU.
    maps : array or None
        Coil maps (coil, \\*shape of the image), or (set, coil, \\*shape of the image) for several sets; ``None`` without.
    residuals : ndarray of float64
        \\|r\\|²/\\|b\\|² after each iteration.
    data_residual : float or None
        Share of the signal's energy that the image does not explain; ``None`` for the adjoint.
    converged : bool
        Whether conjugate gradients stopped before the number of iterations.
    backend, device, precision : str
        Where it was computed, and in ``f32`` or ``f64``.
    density : str
        The density weights: ``none``, ``ramp``, ``pipe``, or ``weights`` that were given.
    recipe : dict
        All options.
    notes, problems : list of str
        What was decided, and doubtful properties of the samples.
    source : str
        The file of the samples, or ``arrays``.
    field_of_view, placement : tuple or None
        What that file says: extent along slices, rows and columns, m; position of the image, m, and directions of columns,
        rows and slices in the patient. They are written to NIfTI.

    Examples
    --------
    >>> import tempfile
    >>> import warpstride as ws
    >>> scan = ws.mri.simulate(matrix=32, coils=4)
    >>> result = ws.mri.reconstruct(scan.samples, scan.k, 32, backend="cpu")
    >>> result.precision, result.density, result.metrics["iteration"][0] == 1
    ('f32', 'none', np.True_)
    >>> result.save(tempfile.mkdtemp() + "/image.npy")
    []
    """

    image: Any
    maps: Any
    residuals: _Floats
    data_residual: Optional[float]
    converged: bool
    backend: str
    device: str
    precision: str
    density: str
    recipe: dict[str, Any]
    notes: list[str]
    problems: list[str]
    source: str = "arrays"
    field_of_view: Optional[tuple[float, float, float]] = None
    placement: Optional[tuple[list[float], list[list[float]]]] = None

    @property
    def metrics(self) -> dict[str, npt.NDArray[Any]]:
        """The iterations as arrays: ``iteration`` and ``residual``."""
        return {"iteration": np.arange(1, len(self.residuals) + 1), "residual": self.residuals}

    def save(self, path: Path, *, nifti: Literal["magnitude", "complex"] = "magnitude") -> list[str]:
        """Write the image: HDF5 (``.h5``, ``.hdf5``, ``.hdf``) with its coil maps; or a NumPy array (``.npy``), a BART array (``.cfl``) or NIfTI (``.nii``,
        ``.nii.gz``) with the values ``nifti``. The file is absent or complete. Returns notes about it.

        Raises
        ------
        DataError
            A name with another ending.
        OSError
            The file cannot be written.
        """
        _warpstride.check_ending(path, ["h5", "hdf5", "hdf", "npy", "cfl", "nii", "nii.gz"])
        axes = self.image.ndim
        image = np.asarray(on_host("image", self.image), dtype=np.complex128)
        facts = {
            "volume": axes == 3,
            "recipe": json.dumps(self.recipe),
            "operator": self.recipe["operator"],
            "method": self.recipe["method"],
            "backend": self.backend,
            "device": self.device,
            "precision": self.precision,
            "nifti": text("nifti", nifti),
            "source": self.source,
            "field_of_view": self.field_of_view,
            "placement": self.placement,
        }
        image = image.reshape((1,) * (3 - axes) + image.shape)
        maps = on_host("maps", self.maps)
        if maps is not None:
            sets = maps.shape[0] if maps.ndim == axes + 2 else 1
            maps = np.asarray(maps, dtype=np.complex128).reshape((sets, maps.shape[-axes - 1], *image.shape))
        return _warpstride.mri_save(path, image, maps, self.residuals, facts)

    def to_xarray(self) -> Any:
        """Image and coil maps on the host as an ``xarray.Dataset`` with coordinates in voxels; xarray must be installed."""
        import xarray

        axes = ("slice", "row", "column")[-self.image.ndim :]
        data: dict[str, Any] = {
            "image": (axes, on_host("image", self.image)),
            "residual": (("iteration",), self.residuals),
        }
        if self.maps is not None:
            sets = ("set",) if self.maps.ndim == self.image.ndim + 2 else ()
            data["maps"] = ((*sets, "coil", *axes), on_host("maps", self.maps))
        coordinates: dict[str, Any] = {
            axis: np.arange(count) - count // 2 for axis, count in zip(axes, self.image.shape)
        }
        coordinates["iteration"] = self.metrics["iteration"]
        attributes = {"backend": self.backend, "device": self.device, "recipe": json.dumps(self.recipe)}
        return xarray.Dataset(data, coords=coordinates, attrs=attributes)
