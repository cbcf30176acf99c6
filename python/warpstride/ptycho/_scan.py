"""Scans from files."""

from __future__ import annotations

import json
import math
import os
from functools import cached_property
from typing import Any, Literal, Mapping, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from .. import _warpstride
from .._arguments import LARGEST, text, truth
from .._types import Path

_Quantity = Union[float, str]


class Scan:
    """A scan that was read from a file: `reconstruct` takes it in the place of frames, positions and geometry.

    The library keeps the counts in single precision, with which it computes, whatever the type in the file.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import warpstride as ws
    >>> made, folder = ws.ptycho.simulate(frame=32, positions=12), tempfile.mkdtemp()
    >>> np.save(folder + "/frames.npy", made.frames)
    >>> np.savetxt(folder + "/places.csv", made.positions, delimiter=",", header="y_m,x_m", comments="")
    >>> scan = ws.ptycho.read_scan(
    ...     folder + "/frames.npy",
    ...     positions=folder + "/places.csv",
    ...     wavelength=made.wavelength,
    ...     distance=made.distance,
    ...     pixel_size=made.pixel_size,
    ... )
    >>> scan.shape, bool(np.array_equal(scan.frames, made.frames))
    ((12, 32, 32), True)
    """

    def __init__(self, inner: _warpstride.PtychoScan) -> None:
        self._inner = inner

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of frames, rows and columns."""
        frames, rows, columns = self._inner.shape
        return frames, rows, columns

    @cached_property
    def frames(self) -> npt.NDArray[np.float32]:
        """Counts (frame, row, column) with the zero frequency at (rows/2, columns/2), masked pixels 0. A copy, which
        `reconstruct` does not need."""
        return self._inner.frames()

    @cached_property
    def positions(self) -> npt.NDArray[np.float64]:
        """Positions (frame, (row, column)), m."""
        return self._inner.positions

    @cached_property
    def mask(self) -> npt.NDArray[np.bool_]:
        """Valid pixels, ``True``, (row, column), or (frame, row, column) where frames differ."""
        return self._inner.mask()

    @cached_property
    def probe(self) -> Optional[npt.NDArray[np.complex128]]:
        """Start probe (mode, row, column) of the file, √photons."""
        return self._inner.probe()

    @property
    def wavelength(self) -> float:
        """Wavelength, m."""
        return self._inner.geometry[0]

    @property
    def distance(self) -> float:
        """Distance from the specimen to the detector, m."""
        return self._inner.geometry[1]

    @property
    def pixel_size(self) -> tuple[float, float]:
        """Pixel of the detector (row, column), m."""
        rows, columns = self._inner.geometry[2]
        return rows, columns

    @property
    def object_pixel(self) -> tuple[float, float]:
        """Pixel of the object (row, column), m."""
        rows, columns = self._inner.object_pixel
        return rows, columns

    @property
    def voltage(self) -> Optional[float]:
        """Voltage that has accelerated the electrons, V; ``None`` for photons."""
        return self._inner.voltage

    @property
    def near_field(self) -> bool:
        """Whether the frames are near fields."""
        return self._inner.field[0]

    @property
    def focus_to_sample(self) -> Optional[float]:
        """Distance from the focus of a cone beam to the specimen, m."""
        return self._inner.field[1]

    @property
    def path(self) -> str:
        """The file, as given."""
        return self._inner.path

    @property
    def notes(self) -> list[str]:
        """What was decided when the file was read, and why."""
        return self._inner.notes

    @property
    def arguments(self) -> dict[str, Any]:
        """The arrays as arguments for `reconstruct`, for changes of them. What only the scan has, such as the direction of
        travel of a fly scan of which frames were left out, is not among them."""
        return {
            "frames": self.frames,
            "positions": self.positions,
            "wavelength": self.wavelength,
            "distance": self.distance,
            "pixel_size": self.pixel_size,
            "mask": self.mask,
            "probe": self.probe,
            "near_field": self.near_field,
            "focus_to_sample": self.focus_to_sample,
        }

    def save(self, path: Path) -> None:
        """Write the scan as a CXI file (``.cxi``, ``.h5``, ``.hdf5`` or ``.hdf``), which is absent or complete.

        Raises
        ------
        DataError
            A name with another ending.
        OSError
            The file cannot be written.
        """
        _warpstride.check_ending(path, ["cxi", "h5", "hdf5", "hdf"])
        self._inner.save(path)

    def __repr__(self) -> str:
        frames, rows, columns = self.shape
        return f"<warpstride.ptycho.Scan: {frames} frames of {rows} x {columns} from {self.path}>"


def read_scan(
    path: Union[Path, Sequence[Path]],
    *,
    recipe: Optional[Path] = None,
    format: Optional[  # noqa: A002
        Literal["auto", "cxi", "ptyd", "hdf5", "matlab", "nexus", "emd", "dectris", "frames"]
    ] = None,
    energy: Optional[_Quantity] = None,
    wavelength: Optional[_Quantity] = None,
    voltage: Optional[_Quantity] = None,
    distance: Optional[_Quantity] = None,
    pixel_size: Union[None, _Quantity, Sequence[_Quantity]] = None,
    pixel_angle: Union[None, _Quantity, Sequence[_Quantity]] = None,
    pixel_frequency: Union[None, _Quantity, Sequence[_Quantity]] = None,
    frames: Optional[tuple[int, int]] = None,
    every: Optional[int] = None,
    exclude: Optional[Sequence[int]] = None,
    half: Optional[Literal[1, 2]] = None,
    crop: Optional[tuple[int, int]] = None,
    pad: Optional[tuple[int, int]] = None,
    bin: Optional[int] = None,  # noqa: A002
    coarse: Optional[int] = None,
    centre: Union[None, Literal["auto"], tuple[float, float]] = None,
    transform_frames: Optional[Sequence[str]] = None,
    mask: Optional[Path] = None,
    dark: Optional[Path] = None,
    flat: Optional[Path] = None,
    monitor: Optional[Path] = None,
    positions: Union[None, Path, Mapping[str, Any]] = None,
    raster: Optional[Mapping[str, Any]] = None,
    affine: Optional[Sequence[Sequence[float]]] = None,
    swap_axes: bool = False,
    flip_rows: bool = False,
    flip_columns: bool = False,
    near_field: Optional[bool] = None,
    focus_to_sample: Optional[float] = None,
    paths: Optional[Mapping[str, Any]] = None,
    units: Optional[Mapping[str, str]] = None,
    follow_links: bool = False,
    sparse: bool = False,
    **options: Any,
) -> Scan:
    """Read a scan from a file in any format that ``warpstride ptycho`` reads, with the options of a recipe's table ``data``.

    `reconstruct` of it has the bits of ``warpstride ptycho reconstruct`` with the same options. Names of files in options are
    relative to the working folder, as there. The whole scan must fit into memory.

    Parameters
    ----------
    path : path or sequence of path
        The file, or the files of a scan in several, each with a part of the frames: CXI, PtyPy's ``.ptyd``, NeXus, MATLAB 7.3,
        EMD, DECTRIS masters, any HDF5 file by ``paths``, Merlin's ``.mib``, EMPAD's ``.raw``, TIFF, ``.npy`` and ``.npz``.
    recipe : path, optional
        A recipe (TOML), of which the table ``data`` is used. Other arguments take the place of what is there.
    format : str, optional
        The layout of the file, by default as the contents show.
    energy, wavelength, voltage : float or str, optional
        Of the photons or electrons, in the place of those of the file: ``"8.7keV"``, ``"1.4A"``, ``"300kV"``, or SI units.
    distance : float or str, optional
        From the specimen to the detector, m or with a unit.
    pixel_size, pixel_angle, pixel_frequency : float, str or pair of them, optional
        Pixel of the detector (row, column), m, rad or 1/m, or with a unit.
    frames : tuple of two int, optional
        First frame, and the end of the range, which is not used.
    every : int, optional
        One of so many frames is used.
    exclude : sequence of int, optional
        Frames that are left out.
    half : {1, 2}, optional
        One half of the scan.
    crop, pad : tuple of two int, optional
        Rows and columns to keep, or after padding, around the zero frequency.
    bin : int, optional
        So many rows and columns become one.
    coarse : int, optional
        Factor on the pixel of the object.
    centre : "auto", "shifted" or tuple of two float, optional
        The pixel (row, column) of the zero frequency; ``"shifted"`` if it is the first one, as ``numpy.fft.fft2`` has it.
    transform_frames : sequence of str, optional
        ``"transpose"``, ``"flip-rows"``, ``"flip-columns"``, ``"rotate=90"``, …
    mask, dark, flat, monitor : path, optional
        A dataset of the file, or ``FILE:/DATASET``: a mask whose non-zero pixels are bad, counts without beam, counts of a
        uniform illumination, and the brightness of the beam in each frame.
    positions : path or mapping, optional
        A file with the positions, or ``{"file": …, "columns": (row, column), "unit": …}``.
    raster : mapping, optional
        Positions of a raster: ``{"points": (64, 64), "step": "31.25A", "rotation": "-120deg", "snake": True}``.
    affine : 2 x 2 numbers, optional
        A matrix that is applied to the positions.
    swap_axes, flip_rows, flip_columns : bool
        Exchange rows and columns of the positions, and invert their signs.
    near_field : bool, optional
        Whether frames are near fields, whatever the file says.
    focus_to_sample : float, optional
        Distance from the focus of a cone beam to the specimen, m.
    paths, units : mapping, optional
        Datasets of an HDF5 file without a known layout, and units of its numbers.
    follow_links : bool
        Whether links to files outside the folder of the scan are followed.
    sparse : bool
        Whether numbers of which the file stores almost nothing are read.
    **options
        The other options of the table ``data``: ``dataset``, ``mask_marks``, ``file_mask_marks``, ``negative``, ``bad_frames``, ``hot_pixels``,
        ``saturation``, ``no_data``, ``empty_frames``, ``frame_axes``, ``pair`` (``"first"``, ``"by-index"`` or ``"by-name"``: frames and
        positions in different numbers), ``order`` (``"natural"``: of several files).

    Returns
    -------
    Scan
        Frames, positions and geometry.

    Raises
    ------
    DataError
        A file that cannot be read as a scan, or options that do not suit it.
    OutOfMemoryError
        The scan does not fit into memory.

    Examples
    --------
    >>> import subprocess, sys, tempfile
    >>> import warpstride as ws
    >>> path = tempfile.mkdtemp() + "/scan.cxi"
    >>> command = [sys.executable, "-m", "warpstride", "ptycho", "simulate", path, "--frame", "32", "--positions", "12"]
    >>> _ = subprocess.run(command, check=True, capture_output=True)
    >>> scan = ws.ptycho.read_scan(path, frames=(0, 9), distance="2 m")
    >>> scan.shape, scan.frames.dtype.name, scan.distance
    ((9, 32, 32), 'float32', 2.0)
    >>> result = ws.ptycho.reconstruct(scan, engines=[ws.ptycho.DM(5)], backend="cpu")
    """
    files = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    if not files:
        raise _warpstride.DataError("path: expected a file, found none")
    constants = {
        "energy": energy,
        "wavelength": wavelength,
        "voltage": voltage,
        "distance": distance,
        "pixel_size": pixel_size,
        "pixel_angle": pixel_angle,
        "pixel_frequency": pixel_frequency,
    }
    given = {name: value for name, value in constants.items() if value is not None}
    chosen = {"swap_axes": swap_axes, "flip_rows": flip_rows, "flip_columns": flip_columns}
    chosen.update({"follow_links": follow_links, "sparse": sparse})
    if isinstance(positions, (str, os.PathLike)):
        positions = {"file": positions}
    data = {
        **options,
        "format": format,
        "files": files[1:] or None,
        "frames": frames,
        "every": every,
        "exclude": exclude,
        "half": half,
        "crop": crop,
        "pad": pad,
        "bin": bin,
        "coarse": coarse,
        "centre": centre,
        "transform_frames": transform_frames,
        "mask": mask,
        "dark": dark,
        "flat": flat,
        "monitor": monitor,
        "positions": positions,
        "raster": raster,
        "affine": affine,
        "near_field": None if near_field is None else truth("near_field", near_field),
        "focus_to_sample": focus_to_sample,
        "paths": paths,
        "units": units,
        "constants": given or None,
        # What a recipe says is not undone by defaults.
        **{name: True for name, value in chosen.items() if truth(name, value)},
    }
    return Scan(_warpstride.PtychoScan.read(files[0], as_json("", data), recipe))


def as_json(argument: str, table: Mapping[str, Any]) -> str:
    """The table, which errors name by this argument, as JSON, with the numbers of NumPy as Python's, names of files as texts, and
    without options that are ``None``.

    Raises
    ------
    DataError
        Other values than numbers, texts, lists and tables.
    """

    def plain(value: Any, path: str) -> Any:
        if isinstance(value, (np.ndarray, np.generic)):
            value = value.tolist()
        if isinstance(value, Mapping):
            within = f"{path}." if path else ""
            keys = {key: text(path or "options", str(key)) for key in value}
            return {keys[key]: plain(one, f"{within}{key}") for key, one in value.items() if one is not None}
        if isinstance(value, (list, tuple, range)):
            return [plain(one, path) for one in value]
        if isinstance(value, os.PathLike):
            return os.fspath(value)
        if isinstance(value, int) and not -LARGEST <= value <= LARGEST:
            raise _warpstride.DataError(f"{path}: expected a number of at most 2**63 - 1, found {value!r:.100}")
        if isinstance(value, float) and not math.isfinite(value):
            raise _warpstride.DataError(f"{path}: expected a finite number, found {value}")
        if not isinstance(value, (str, int, float)):
            raise _warpstride.DataError(
                f"{path}: expected numbers, texts, lists and tables, found {type(value).__name__}"
            )
        return text(path, value) if isinstance(value, str) else value

    return json.dumps(plain(table, argument))
