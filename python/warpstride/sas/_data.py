"""Data from files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Optional, Union

import numpy as np
import numpy.typing as npt

from .. import _warpstride
from .._arguments import optional_text
from .._representation import Summarised
from .._types import Path

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Data(Summarised):
    """Measured intensities of a curve or of an image, for `fit` and as points of a model.

    Attributes
    ----------
    q : ndarray of float64, or tuple of two
        Scattering vectors of a curve, 1/Å; of an image (qx, qy) of its pixels.
    intensity : ndarray of float64
        1/cm, or arbitrary units.
    sigma : ndarray of float64 or None
        Standard deviations of the intensities.
    dq : ndarray of float64 or None
        Standard deviations of q of a curve, 1/Å.
    slit : tuple of two ndarray or None
        Half length along the slit and half width along q, 1/Å.
    pixel_dq : tuple of two ndarray or None
        Standard deviations of q of an image, parallel and perpendicular to q, 1/Å.
    title : str
        In the file, or its name.
    notes : list of str
        What was left out, converted or assumed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import warpstride as ws
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "curve.txt"
    >>> _ = path.write_text("q I dI\\n0.01 9.0 0.1\\n0.02 7.0 0.1\\n0.03 4.0 0.1\\n")
    >>> data = ws.sas.read(path)
    >>> data.title, data.dq is None, len(ws.sas.Model("sphere", backend="cpu")(data.q))
    ('curve', True, 3)
    """

    q: Union[_Floats, tuple[_Floats, _Floats]]
    intensity: _Floats
    sigma: Optional[_Floats]
    dq: Optional[_Floats]
    slit: Optional[tuple[_Floats, _Floats]]
    pixel_dq: Optional[tuple[_Floats, _Floats]]
    title: str
    notes: list[str]

    def _columns(self) -> dict[str, Any]:
        q, qy = self.q if isinstance(self.q, tuple) else (self.q, None)
        return {
            "q": q,
            "qy": qy,
            "intensity": self.intensity,
            "sigma": self.sigma,
            "dq": self.dq,
            "slit": self.slit,
            "pixels": self.pixel_dq,
        }


def read(
    path: Path,
    *,
    select: Optional[str] = None,
    kind: Optional[Literal["curve", "image"]] = None,
    q_unit: Optional[Literal["1/A", "1/nm"]] = None,
) -> Data:
    """Read columns of text, canSAS 1-D XML or NXcanSAS (HDF5), as ``warpstride sas fit`` does.

    Parameters
    ----------
    path : path
        The file, whose contents say what it is.
    select : str, optional
        The set of data: its number in the file, from 1, or its title; by default the first.
    kind : {"curve", "image"}, optional
        As what columns of text are read; by default as the file says.
    q_unit : {"1/A", "1/nm"}, optional
        Unit of q if the file gives none.

    Returns
    -------
    Data
        In 1/Å and, if the file gives its units, 1/cm.

    Raises
    ------
    DataError
        A file that has no such data.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import warpstride as ws
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "data.txt"
    >>> _ = path.write_text("q I dI\\n0.01 9.0 0.1\\n0.02 7.0 0.1\\n0.03 4.0 0.1\\n")
    >>> data = ws.sas.read(path)
    >>> data.q.tolist(), data.intensity.tolist(), data.sigma.tolist()
    ([0.01, 0.02, 0.03], [9.0, 7.0, 4.0], [0.1, 0.1, 0.1])
    """
    chosen = (optional_text("select", select), optional_text("kind", kind), optional_text("q_unit", q_unit))
    qx, qy, intensity, sigma, resolution, title, notes = _warpstride.sas_read(path, *chosen)
    of, columns = (None, []) if resolution is None else resolution
    return Data(
        q=qx if qy is None else (qx, qy),
        intensity=intensity,
        sigma=sigma,
        dq=columns[0] if of == "dq" else None,
        slit=(columns[0], columns[1]) if of == "slit" else None,
        pixel_dq=(columns[0], columns[1]) if of == "pixels" else None,
        title=title,
        notes=notes,
    )
