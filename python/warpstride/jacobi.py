"""Jacobi relaxation of Laplace's and Poisson's equation on a grid, on the CPU or on several GPUs.

`docs/multi-gpu.md` of the project has the mathematics. All back ends give the same field, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from . import _warpstride
from ._arrays import floats
from ._types import Backend

__all__ = ["Solution", "solve"]


@dataclass(frozen=True)
class Solution:
    """A field after its relaxation.

    Attributes
    ----------
    field : ndarray
        (row, column), of the type of the start field.
    norms : ndarray of float64
        The residual norm √Σ(new − old)² of each checked sweep.
    norm_sweeps : ndarray of uint64
        Indices of these sweeps, from 0.
    sweeps : int
        Sweeps done.
    converged : bool
        Whether the tolerance was met.
    setup : str
        Back end, device and precision.
    notes : list of str
        What was chosen, and why.
    """

    field: npt.NDArray[Any]
    norms: npt.NDArray[np.float64]
    norm_sweeps: npt.NDArray[np.uint64]
    sweeps: int
    converged: bool
    setup: str
    notes: list[str]


def solve(
    field: npt.ArrayLike,
    source: Optional[npt.ArrayLike] = None,
    *,
    boundary: Literal["dirichlet", "periodic", "textbook"] = "dirichlet",
    iterations: int = 1000,
    tolerance: float = 1e-8,
    check_every: int = 1,
    backend: Backend = "auto",
    devices: Union[None, int, Sequence[int], Literal["all"]] = None,
) -> Solution:
    """Relax a field: each sweep replaces inner cells by the mean of their four neighbours.

    With a source f, the solution satisfies −∇²u = f on cells of spacing 1; for a spacing h, pass h² f.

    Parameters
    ----------
    field : array_like
        Start field (row, column) with its border, at least 3 × 3. float32 is computed in single precision, anything
        else in double.
    source : array_like, optional
        Source (row, column).
    boundary : {"dirichlet", "periodic", "textbook"}
        All four sides keep their values; or all wrap around; or the first and the last column keep their values and
        rows wrap around.
    iterations : int
        Maximum number of sweeps.
    tolerance : float
        The relaxation ends after the first checked sweep whose residual norm does not exceed it; never early if it is
        negative.
    check_every : int
        The norm is computed in sweeps 0, k, 2k, …
    backend : {"auto", "cpu", "cuda", "emulator"}
        Where to compute.
    devices : int, sequence of int or "all", optional
        The GPUs that share the rows; of the emulator, the number of devices. By default the first GPU.

    Returns
    -------
    Solution
        The field and its residual norms.

    Raises
    ------
    DataError
        A field that is too small, values that are not finite, or options that contradict each other.
    DeviceError, OutOfMemoryError
        A GPU that cannot be used; too little memory.

    Examples
    --------
    Between two plates the potential is linear:

    >>> import numpy as np
    >>> import warpstride as ws
    >>> field = np.zeros((9, 9))
    >>> field[0] = 1.0
    >>> field[:, 0] = field[:, -1] = np.linspace(1, 0, 9)
    >>> solution = ws.jacobi.solve(field, tolerance=1e-12, backend="cpu")
    >>> solution.converged, solution.field[:, 4].round(3).tolist()
    (True, [1.0, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125, 0.0])
    """
    start = _field(field)
    options = {
        "boundary": boundary,
        "iterations": iterations,
        "tolerance": tolerance,
        "check_every": check_every,
        "backend": backend,
        "devices": list(devices) if isinstance(devices, (tuple, range)) else devices,
    }
    given = None if source is None else floats("source", source).astype(start.dtype, copy=False)
    found, sweeps, norms, done, converged, setup, notes = _warpstride.solve(start, given, options)
    return Solution(found, norms, sweeps, done, converged, setup, notes)


def _field(field: npt.ArrayLike) -> npt.NDArray[Any]:
    if isinstance(field, np.ndarray) and field.dtype == np.float32:
        return field
    return floats("field", field)
