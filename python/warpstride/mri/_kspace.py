"""Samples of k-space from files, and other files that a reconstruction takes."""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any, Iterator, Literal, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from .. import _warpstride
from .._arguments import optional_text, text, whole
from .._types import Path

_Floats = npt.NDArray[np.float64]


class KSpace:
    """Samples of an image that were read from a file: `reconstruct` takes them in the place of samples, k and matrix.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> import warpstride as ws
    >>> scan, folder = ws.mri.simulate(matrix=32, coils=4), pathlib.Path(tempfile.mkdtemp())
    >>> readouts, samples = scan.k.shape[:2]
    >>> def write(name, array, sizes):                # an array of BART: the first axis is the fastest
    ...     (folder / f"{name}.hdr").write_text("# Dimensions\\n" + " ".join(map(str, sizes)) + "\\n")
    ...     array.astype(np.complex64).tofile(folder / f"{name}.cfl")
    >>> write("samples", scan.samples, (1, samples, readouts, 4))
    >>> write("k", np.concatenate([32 * scan.k, 0 * scan.k[..., :1]], axis=2), (3, samples, readouts))
    >>> kspace = ws.mri.read(folder / "samples.cfl", trajectory=folder / "k.cfl", matrix=(32, 32))
    >>> kspace.coils, kspace.matrix, bool(np.array_equal(kspace.samples, scan.samples))
    (4, (32, 32), True)
    """

    def __init__(self, inner: _warpstride.MriKSpace) -> None:
        self._inner = inner

    @property
    def matrix(self) -> tuple[int, ...]:
        """Rows and columns of the image, or slices, rows and columns."""
        matrix, axes = self._inner.extent
        return tuple(matrix[3 - axes :])

    @property
    def readouts(self) -> list[int]:
        """Number of samples of each readout."""
        return self._inner.readouts

    @property
    def coils(self) -> int:
        """Number of coils."""
        return self._inner.coils

    @cached_property
    def samples(self) -> npt.NDArray[np.complex64]:
        """(coil, readout, sample), or (coil, sample) if readouts differ in length; in the precision of the file. A copy,
        which `reconstruct` does not need."""
        return self._inner.samples().reshape((self.coils, *self._acquired))

    @cached_property
    def k(self) -> _Floats:
        """Trajectory (readout, sample, axis), or (sample, axis) if readouts differ in length, cycles per pixel."""
        return self._inner.k().reshape((*self._acquired, len(self.matrix)))

    @cached_property
    def times(self) -> Optional[_Floats]:
        """Times of the samples since their readouts began, s, with the axes of `k` before the last; ``None`` if unknown."""
        times = self._inner.times()
        return None if times is None else times.reshape(self._acquired)

    @property
    def field_of_view(self) -> Optional[tuple[float, float, float]]:
        """Extent along slices, rows and columns, m."""
        found = self._inner.field_of_view
        return None if found is None else (found[0], found[1], found[2])

    @property
    def counters(self) -> dict[str, int]:
        """Numbers of slice and, of one of several images, of contrast, phase, repetition and set."""
        return dict(self._inner.counters)

    @property
    def path(self) -> str:
        """The file, as given."""
        return self._inner.path

    @property
    def notes(self) -> list[str]:
        """What was decided when the file was read, and why."""
        return self._inner.notes

    @property
    def _acquired(self) -> tuple[int, ...]:
        readouts = self.readouts
        return (len(readouts), readouts[0]) if len(set(readouts)) == 1 else (sum(readouts),)

    def __repr__(self) -> str:
        size = " x ".join(map(str, self.matrix))
        return f"<warpstride.mri.KSpace: {self.coils} coils, {len(self.readouts)} readouts for {size} from {self.path}>"


def read(
    path: Path,
    *,
    trajectory: Optional[Path] = None,
    matrix: Optional[Sequence[int]] = None,
    group: str = "dataset",
    select: Optional[str] = None,
    combine: Optional[Literal["repetition"]] = None,
    k_unit: Optional[str] = None,
    exclude_coils: Union[int, Sequence[int]] = (),
) -> KSpace:
    """Read the samples of an image from an ISMRMRD file or BART's arrays, as ``warpstride mri reconstruct`` does.

    Parameters
    ----------
    path : path
        An ISMRMRD file (HDF5), or samples as a BART array (``.cfl`` with its ``.hdr``).
    trajectory : path, optional
        Positions of the samples as a BART array, in cycles per field of view or `k_unit`; for samples in a ``.cfl`` file.
    matrix : sequence of int, optional
        Rows and columns, or slices, rows and columns, of the image, whose field of view stays; by default those of the header,
        and for samples in a ``.cfl`` file twice the largest \\|k\\|.
    group : str
        Group of the file that holds ``data`` and ``xml``.
    select : str, optional
        The image if the file holds several: ``"slice=2,phase=0"``, of counters ``slice``, ``contrast``, ``phase``,
        ``repetition`` and ``set``; by default the first.
    combine : {"repetition"}, optional
        Join the samples of all repetitions to one image.
    k_unit : str, optional
        Unit of the trajectory: ``cycles-per-pixel``, ``-fov``, ``-m``, ``-cm`` or ``-mm``, ``radians-per-…``, or
        ``fraction-of-kmax``, which ends at 1; by default ``cycles-per-pixel``, and ``cycles-per-fov`` in a ``.cfl`` file.
    exclude_coils : int or sequence of int
        Coils to leave out, numbered from 0.

    Returns
    -------
    KSpace
        Samples, trajectory and size of the image.

    Raises
    ------
    DataError
        A file that cannot be read, or a selection that has no image or several.
    OutOfMemoryError
        The samples do not fit into memory.

    Examples
    --------
    >>> import subprocess, sys, tempfile
    >>> import warpstride as ws
    >>> path = tempfile.mkdtemp() + "/raw.h5"
    >>> command = [sys.executable, "-m", "warpstride", "mri", "simulate", path, "--matrix", "32", "--coils", "4"]
    >>> _ = subprocess.run(command, check=True, capture_output=True)
    >>> kspace = ws.mri.read(path)
    >>> kspace.matrix, kspace.samples.shape == (4, *kspace.k.shape[:2])
    ((32, 32), True)
    >>> ws.mri.reconstruct(kspace, backend="cpu").image.shape
    (32, 32)
    """
    source = _source(path, trajectory, matrix, group, select, combine, k_unit, exclude_coils)
    return KSpace(_warpstride.MriKSpace.read(source, None))


def read_all(
    path: Path,
    select: str = "all",
    *,
    trajectory: Optional[Path] = None,
    matrix: Optional[Sequence[int]] = None,
    group: str = "dataset",
    combine: Optional[Literal["repetition"]] = None,
    k_unit: Optional[str] = None,
    exclude_coils: Union[int, Sequence[int]] = (),
) -> Iterator[KSpace]:
    """Read the samples of several images of a file, one after the other as the iterator is asked for them.

    Parameters
    ----------
    path : path
        As for `read`.
    select : str
        ``"all"`` for an image of each value of every counter, or such as ``"slice=all,phase=0"``.
    trajectory, matrix, group, combine, k_unit, exclude_coils
        As for `read`.

    Yields
    ------
    KSpace
        In the order of set, repetition, phase, contrast and slice.

    Raises
    ------
    DataError
        A file that cannot be read, or an unknown selection.

    Examples
    --------
    >>> import subprocess, sys, tempfile
    >>> import warpstride as ws
    >>> path = tempfile.mkdtemp() + "/raw.h5"
    >>> command = [sys.executable, "-m", "warpstride", "mri", "simulate", path, "--matrix", "32", "--coils", "4"]
    >>> _ = subprocess.run(command, check=True, capture_output=True)
    >>> [kspace.counters["slice"] for kspace in ws.mri.read_all(path)]
    [0]
    """
    source = _source(path, trajectory, matrix, group, select, combine, k_unit, exclude_coils)
    return (KSpace(_warpstride.MriKSpace.read(source, image)) for image in _warpstride.MriKSpace.images(source))


def read_maps(path: Path, *, slice: int = 0) -> npt.NDArray[np.complex128]:  # noqa: A002
    """Read coil maps (coil, \\*matrix), or (set, coil, \\*matrix) for several sets, from a result of
    ``warpstride mri reconstruct``, simulated samples, ``.npy`` or ``.cfl``.

    Parameters
    ----------
    path : path
        The file.
    slice : int
        Of the slices of a BART array, the one with this number.

    Returns
    -------
    ndarray of complex128
        The maps.

    Raises
    ------
    DataError
        A file without coil maps.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import warpstride as ws
    >>> path, maps = tempfile.mkdtemp() + "/maps.npy", ws.mri.simulate(matrix=8, coils=2).maps
    >>> np.save(path, maps)
    >>> bool(np.array_equal(ws.mri.read_maps(path), maps))
    True
    """
    (maps,) = _warpstride.mri_read_arrays("maps", path, whole("slice", slice, 0, 2**16 - 1))
    return _plane(maps[0] if maps.shape[0] == 1 else maps)


def read_image(path: Path) -> npt.NDArray[np.complex128]:
    """Read an image (row, column) or (slice, row, column), or several, from a result of ``warpstride mri reconstruct``,
    simulated samples, ``.npy`` or ``.cfl``.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    ndarray of complex128
        The image.

    Raises
    ------
    DataError
        A file without an image.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import warpstride as ws
    >>> path = tempfile.mkdtemp() + "/image.npy"
    >>> np.save(path, np.ones((4, 6), dtype=complex))
    >>> ws.mri.read_image(path).shape
    (4, 6)
    """
    (image,) = _warpstride.mri_read_arrays("image", path, 0)
    return _plane(image) if image.ndim == 3 else image


def read_off_resonance(path: Path) -> _Floats:
    """Read an off-resonance map (\\*matrix), Hz, from ``.npy``, ``.cfl`` or ``/field/hertz`` of an HDF5 file.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    ndarray of float64
        The map.

    Raises
    ------
    DataError
        A file without such a map.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import warpstride as ws
    >>> path = tempfile.mkdtemp() + "/hertz.npy"
    >>> np.save(path, np.full((4, 6), 20.0))
    >>> float(ws.mri.read_off_resonance(path).max())
    20.0
    """
    (hertz,) = _warpstride.mri_read_arrays("off-resonance", path, 0)
    return _plane(hertz)


def read_field(path: Path) -> tuple[_Floats, _Floats]:
    """Read phases of samples over a basis of fields, ``field=`` of `reconstruct`: coefficients (sample, function) and maps
    (function, \\*matrix) of ``/field/coefficients`` and ``/field/maps`` of an HDF5 file.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    tuple of two ndarray of float64
        Coefficients and maps.

    Raises
    ------
    DataError
        A file without them.

    Examples
    --------
    >>> import warpstride as ws
    >>> ws.mri.reconstruct(samples, k, 256, operator="direct", field=ws.mri.read_field("field.h5"))  # doctest: +SKIP
    """
    coefficients, maps = _warpstride.mri_read_arrays("field", path, 0)
    return coefficients, _plane(maps)


def _plane(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Without the axis of slices, if there is one slice."""
    return array[..., 0, :, :] if array.shape[-3] == 1 else array


def _sides(matrix: Any) -> list[int]:
    several = isinstance(matrix, (list, tuple, range)) or (isinstance(matrix, np.ndarray) and matrix.ndim == 1)
    if not several or len(matrix) not in (2, 3):
        raise _warpstride.DataError(f"matrix: expected 2 or 3 whole numbers, found {matrix!r:.100}")
    return [whole("matrix", side, 1, 2**20) for side in matrix]


def _coils(numbers: Any) -> list[int]:
    several = isinstance(numbers, (list, tuple, range)) or (isinstance(numbers, np.ndarray) and numbers.ndim == 1)
    return [whole("exclude_coils", number, 0, 2**16 - 1) for number in (numbers if several else [numbers])]


def _source(
    path: Path,
    trajectory: Optional[Path],
    matrix: Optional[Sequence[int]],
    group: str,
    select: Optional[str],
    combine: Union[None, str],
    k_unit: Optional[str],
    exclude_coils: Union[int, Sequence[int]],
) -> dict[str, Any]:
    return {
        "file": os.fspath(path),
        "trajectory": None if trajectory is None else os.fspath(trajectory),
        "matrix": None if matrix is None else "x".join(str(side) for side in _sides(matrix)),
        "group": text("group", group),
        "select": optional_text("select", select),
        "combine": optional_text("combine", combine),
        "k_unit": optional_text("k_unit", k_unit),
        "exclude_coils": _coils(exclude_coils),
    }
