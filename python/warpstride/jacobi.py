"""Jacobi relaxation of Laplace's and Poisson's equation on a grid, on the CPU or on several GPUs.

`docs/multi-gpu.md` of the project has the mathematics. All back ends give the same field, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Literal, NamedTuple, Optional

import numpy as np
import numpy.typing as npt

from . import _warpstride
from ._arguments import device_numbers, text, whole
from ._arrays import any_array, floats, real
from ._files import write_npy
from ._warpstride import check_ending
from ._gpu import device_of, exported, on_host, stream_of, type_of
from ._progress import EVERY, Progress
from ._representation import Summarised
from ._types import Backend, Devices, Path

__all__ = ["Solution", "Sweep", "solve"]


class Sweep(NamedTuple):
    """A sweep whose residual norm was computed.

    Attributes
    ----------
    sweep : int
        Its index, from 0.
    norm : float
        √Σ(new − old)².

    Examples
    --------
    >>> import numpy as np
    >>> import warpstride as ws
    >>> field = np.pad(np.ones((1, 9)), ((0, 8), (0, 0)))
    >>> seen = []
    >>> _ = ws.jacobi.solve(field, iterations=3, callback=seen.append, backend="cpu")
    >>> [one.sweep for one in seen], seen[2].norm < seen[0].norm
    ([0, 1, 2], True)
    """

    sweep: int
    norm: float


@dataclass(frozen=True, repr=False)
class Solution(Summarised):
    """A field after its relaxation.

    Attributes
    ----------
    field : ndarray
        (row, column), of the type of the start field; if that lies on a GPU, an array of the same library on the same GPU.
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
    seconds : float
        Spent in the library.

    Examples
    --------
    >>> import numpy as np
    >>> import warpstride as ws
    >>> field = np.pad(np.ones((1, 9)), ((0, 8), (0, 0)))
    >>> solution = ws.jacobi.solve(field, tolerance=1e-6, backend="cpu")
    >>> solution.converged, len(solution.norms) == solution.sweeps
    (True, True)
    """

    field: Any
    norms: npt.NDArray[np.float64]
    norm_sweeps: npt.NDArray[np.uint64]
    sweeps: int
    converged: bool
    setup: str
    notes: list[str]
    seconds: float

    def save(self, path: Path) -> None:
        """Write the field as a NumPy array (``.npy``), as ``warpstride jacobi -o`` does; the file is absent or complete.

        Raises
        ------
        DataError
            A name with another ending.
        OSError
            The file cannot be written.
        """
        check_ending(path, ["npy"])
        write_npy(path, on_host("field", self.field))

    def to_xarray(self) -> Any:
        """The field and the norms as an ``xarray.Dataset``; xarray must be installed."""
        import xarray

        return xarray.Dataset(
            {"field": (("row", "column"), on_host("field", self.field)), "norm": (("sweep",), self.norms)},
            coords={"sweep": self.norm_sweeps},
            attrs={"setup": self.setup, "sweeps": self.sweeps, "converged": int(self.converged)},
        )


def solve(
    field: npt.ArrayLike,
    source: Optional[npt.ArrayLike] = None,
    *,
    boundary: Literal["dirichlet", "periodic", "textbook"] = "dirichlet",
    iterations: int = 1000,
    tolerance: float = 1e-8,
    check_every: int = 1,
    backend: Backend = "auto",
    devices: Devices = None,
    callback: Optional[Callable[[Sweep], Optional[bool]]] = None,
    progress: Optional[bool] = None,
) -> Solution:
    """Relax a field: each sweep replaces inner cells by the mean of their four neighbours.

    With a source f, the solution satisfies −∇²u = f on cells of spacing 1; for a spacing h, pass h² f.

    Parameters
    ----------
    field : array_like
        Start field (row, column) with its border, at least 3 × 3. float32 is computed in single precision, anything
        else in double. An array of CuPy, PyTorch or JAX on a GPU, float32 or float64 and contiguous, is relaxed on that
        GPU without a copy through the host.
    source : array_like, optional
        Source (row, column); on the GPU of the field, and of its type, if that lies on one.
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
    callback : callable, optional
        Called with each `Sweep` whose norm was computed; the relaxation ends if it returns ``True``, after what is done at a
        time: a pass of up to 16 sweeps on the CPU, on GPUs a batch whose length depends on the field.
    progress : bool, optional
        Whether a bar is shown; by default in terminals and notebooks.

    Returns
    -------
    Solution
        The field and its residual norms.

    Raises
    ------
    DataError
        A field that is too small, values that are not finite, or options that contradict each other. Values on a GPU that
        are not finite are found by the norm of the first sweep.
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
    device = device_of(field)
    if device_of(source) != device and source is not None:
        here, there = _place(device), _place(device_of(source))
        raise _warpstride.DataError(f"source: expected an array {here}, as the field, found one {there}")
    tolerance = real("tolerance", tolerance)
    if np.isnan(tolerance):
        raise _warpstride.DataError(f"tolerance: expected a number, found {tolerance}")
    options: dict[str, Any] = {
        "boundary": text("boundary", boundary),
        "iterations": whole("iterations", iterations),
        "tolerance": tolerance,
        "check_every": whole("check_every", check_every, 1),
        "backend": text("backend", backend),
        "devices": device_numbers(devices),
    }
    bar = Progress("relaxation", progress)

    def see(entries: list[tuple[int, float]]) -> bool:
        sweep, norm = entries[-1]
        bar.see(sweep + 1, iterations, f"norm {norm:.3g}")
        return callback is not None and any(callback(Sweep(*entry)) for entry in entries)

    options["see"], options["every"] = see, 0.0 if callback is not None else EVERY
    if device is not None:
        kind = type_of(field)
        if kind not in ("float32", "float64"):
            raise _warpstride.DataError(f"field: expected float32 or float64 on a GPU, found {kind}")
        with bar:
            solved = _warpstride.solve_on_gpu(
                field, source, options, kind == "float64", device, stream_of(field, device)
            )
        return Solution(exported(field, solved[0]), solved[2], solved[1], *solved[3:])
    start = _field(field)
    given = None if source is None else _plane("source", floats("source", source)).astype(start.dtype, copy=False)
    with bar:
        found, sweeps, norms, done, converged, setup, notes, seconds = _warpstride.solve(start, given, options)
    return Solution(found, norms, sweeps, done, converged, setup, notes, seconds)


def _place(device: Optional[int]) -> str:
    return "in host memory" if device is None else f"on GPU {device}"


def _field(field: npt.ArrayLike) -> npt.NDArray[Any]:
    array = any_array("field", field)
    return _plane("field", array if array.dtype == np.float32 else floats("field", array))


def _plane(name: str, array: Any) -> npt.NDArray[Any]:
    if array.ndim != 2:
        raise _warpstride.DataError(f"{name}: expected an array (row, column), found shape {array.shape}")
    plane: npt.NDArray[Any] = array
    return plane
