"""Results of reconstructions."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple, Optional

import numpy as np
import numpy.typing as npt

from .. import _warpstride
from .._gpu import device_of, moved
from .._types import Path


class Iteration(NamedTuple):
    """Metrics of an iteration; ``None`` where they were not computed.

    Attributes
    ----------
    iteration : int
        Number in the run, from 1.
    engine : str
        Name of the engine.
    err_fourier : float
        Mean over frames of Σ w (|ψ̂| − √I)² / Σ w.
    err_exit, err_phot, r_factor, r_free : float or None
        Mean |Δψ|², the photon error, R, and R of the free pixels.
    seconds : float
        Seconds spent in this iteration and those before it.

    Examples
    --------
    >>> import warpstride as ws
    >>> scan = ws.ptycho.simulate(frame=32, positions=12)
    >>> result = ws.ptycho.reconstruct(**scan.arguments, engines=ws.ptycho.DM(2), backend="cpu")
    >>> result.history[1].iteration, result.history[1].engine
    (2, 'dm')
    """

    iteration: int
    engine: str
    err_fourier: float
    err_exit: Optional[float]
    err_phot: Optional[float]
    r_factor: Optional[float]
    r_free: Optional[float]
    seconds: float


class Result:
    """A reconstructed specimen. It pickles, and `save` writes a file that ``warpstride`` and other programs read.

    Arrays of a run in single precision are complex64, else complex128.

    Examples
    --------
    >>> import warpstride as ws
    >>> scan = ws.ptycho.simulate(frame=32, positions=12)
    >>> result = ws.ptycho.reconstruct(**scan.arguments, engines=ws.ptycho.DM(2), backend="cpu")
    >>> result.object.dtype.name, result.probe.shape, len(result.metrics["err_fourier"])
    ('complex64', (1, 32, 32), 2)
    """

    def __init__(self, inner: _warpstride.PtychoResult) -> None:
        self._inner = inner

    @cached_property
    def object(self) -> npt.NDArray[Any]:
        """Complex transmission (row, column)."""
        return self._inner.object

    @cached_property
    def layers(self) -> npt.NDArray[Any]:
        """The layers of the object (layer, row, column): its slices in the order of the beam, whose product `object` is; its
        modes, strongest first, of which `object` is the first; or the object alone."""
        return self._inner.layers()

    @property
    def object_mode_power(self) -> Optional[npt.NDArray[np.float64]]:
        """Share of the power in each mode of the object; ``None`` with one mode."""
        power = self._inner.layer_facts[0]
        return None if power is None else np.array(power)

    @property
    def slice_distances(self) -> Optional[npt.NDArray[np.float64]]:
        """Distance from each slice to the next, m, refined if that was asked for; ``None`` for a thin specimen."""
        distances = self._inner.layer_facts[1]
        return None if distances is None else np.array(distances)

    @cached_property
    def probe_variations(self) -> Optional[tuple[npt.NDArray[Any], npt.NDArray[np.float64]]]:
        """Variations of the first mode of the probe (variation, row, column), and their coefficients (frame, variation),
        √photons; ``None`` unless ``opr_modes`` were asked for."""
        return self._inner.probe_variations()

    @cached_property
    def background(self) -> Optional[npt.NDArray[np.float64]]:
        """Background of the detector (row, column), photons; ``None`` without one."""
        return self._inner.background()

    @cached_property
    def probe(self) -> npt.NDArray[Any]:
        """Probe modes (mode, row, column), √photons; orthogonal, strongest first."""
        return self._inner.probe

    def arrays(self, like: Any) -> tuple[Any, Any]:
        """Object and probe as arrays of the library of ``like``, an array of CuPy, PyTorch or JAX on a GPU, and on that GPU.

        Results are made in host memory (orthogonal modes, for example), from where they are copied; `Reconstruction.arrays` has the
        object and the probe of a run without the host.

        Raises
        ------
        DataError
            ``like`` is not on a GPU.
        """
        device = device_of(like)
        if device is None:
            raise _warpstride.DataError("like: expected an array on a GPU, found another")
        return moved("like", self.object, like, device), moved("like", self.probe, like, device)

    @property
    def mode_power(self) -> npt.NDArray[np.float64]:
        """Share of the probe's power in each mode."""
        return self._inner.mode_power

    @property
    def pixel_size(self) -> tuple[float, float]:
        """Pixel of the object (row, column), m."""
        rows, columns = self._inner.pixel
        return rows, columns

    @property
    def positions(self) -> npt.NDArray[np.float64]:
        """Positions (frame, (row, column)), m; the refined ones if they were refined."""
        return self._inner.positions

    @property
    def corners(self) -> npt.NDArray[np.uint32]:
        """First row and column of each frame's window on the object (frame, 2)."""
        return self._inner.corners

    @property
    def frame_scales(self) -> npt.NDArray[np.float64]:
        """Factor on the model's intensities of each frame; 1 unless they were fitted."""
        return self._inner.frame_scales

    @cached_property
    def fluence(self) -> npt.NDArray[np.float64]:
        """Photons on each pixel of the object (row, column)."""
        return self._inner.fluence

    @cached_property
    def history(self) -> list[Iteration]:
        """The metrics of all iterations."""
        return [Iteration(*entry) for entry in self._inner.history]

    @cached_property
    def metrics(self) -> dict[str, npt.NDArray[Any]]:
        """The metrics as arrays (iteration), NaN where they were not computed."""
        columns = zip(*self.history) if self.history else ((),) * len(Iteration._fields)
        numbers = dict(zip(Iteration._fields, columns))
        metrics: dict[str, npt.NDArray[Any]] = {
            name: np.array(values, dtype=np.float64)
            for name, values in numbers.items()
            if name not in ("iteration", "engine")
        }
        return {
            "iteration": np.array(numbers["iteration"], dtype=np.int64),
            "engine": np.array(numbers["engine"], dtype=str),
            **metrics,
        }

    @property
    def recipe(self) -> str:
        """The recipe with all options, TOML."""
        return self._inner.recipe

    @property
    def backend(self) -> str:
        """Back end: ``cpu``, ``cuda`` or ``emulator``; of a result of another program its name."""
        return self._inner.setup[0]

    @property
    def device(self) -> str:
        """Name of the device."""
        return self._inner.setup[1]

    def save(self, path: Path) -> None:
        """Write the results file (HDF5: ``.h5``, ``.hdf5``, ``.hdf`` or ``.cxi``), which is absent or complete.

        Raises
        ------
        DataError
            A name with another ending.
        OSError
            The file cannot be written.
        """
        _warpstride.check_ending(path, ["h5", "hdf5", "hdf", "cxi"])
        self._inner.save(path)

    def to_xarray(self) -> Any:
        """Object, probe and fluence as an ``xarray.Dataset`` with coordinates in metres; xarray must be installed."""
        import xarray

        rows, columns = self.pixel_size
        _, height, width = self.probe.shape
        return xarray.Dataset(
            {
                "object": (("y", "x"), self.object),
                "layers": (("layer", "y", "x"), self.layers),
                "fluence": (("y", "x"), self.fluence),
                "probe": (("mode", "probe_y", "probe_x"), self.probe),
                "mode_power": (("mode",), self.mode_power),
            },
            coords={
                "y": rows * np.arange(self.object.shape[0]),
                "x": columns * np.arange(self.object.shape[1]),
                "probe_y": rows * (np.arange(height) - height // 2),
                "probe_x": columns * (np.arange(width) - width // 2),
            },
            attrs={"backend": self.backend, "device": self.device, "recipe": self.recipe},
        )

    def __repr__(self) -> str:
        rows, columns = self.object.shape
        return f"<warpstride.ptycho.Result: object {rows} x {columns}, {len(self.history)} iterations>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Result, (self._inner,))


def read(path: Path) -> Result:
    """Read a results file of `Result.save` or ``warpstride ptycho reconstruct``, or one of another program.

    Others are PtyPy's ``.ptyr`` and Ptychodus' ``product.h5``, in which pty-chi's results are saved. Their results have no history
    and an empty recipe, and `Result.backend` is the name of the program. See `from_pty_chi` for a task of pty-chi.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    Result
        It compares, saves, and is a start (``reconstruct(…, start=…)``) as any other.

    Raises
    ------
    DataError
        A file that is not a results file, or is damaged.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import warpstride as ws
    >>> scan = ws.ptycho.simulate(frame=32, positions=12)
    >>> result = ws.ptycho.reconstruct(**scan.arguments, engines=ws.ptycho.DM(2), backend="cpu")
    >>> path = tempfile.mkdtemp() + "/result.h5"
    >>> result.save(path)
    >>> bool(np.array_equal(ws.ptycho.read(path).object, result.object))
    True
    """
    return Result(_warpstride.PtychoResult.read(path))
