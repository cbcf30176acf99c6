"""Ptychography: a specimen and its illumination from overlapping diffraction patterns.

`docs/ptychography.md` of the project has the mathematics, the engines and all options of a recipe.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from types import TracebackType
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from . import _warpstride
from ._arrays import any_array, complexes, floats, real
from ._progress import EVERY, Progress
from ._types import Backend, Path, Precision

__all__ = [
    "AP",
    "DM",
    "EPIE",
    "LSQML",
    "ML",
    "RAAR",
    "RPIE",
    "Engine",
    "Iteration",
    "Reconstruction",
    "Result",
    "Simulation",
    "read",
    "reconstruct",
    "simulate",
]

Option = Union[float, int, bool, str, Sequence[float]]
"""The value of an option of an engine."""


@dataclass(frozen=True)
class Engine:
    """An engine of a recipe: its name, its iterations and its options.

    `DM`, `RAAR`, `AP`, `LSQML`, `EPIE`, `RPIE` and `ML` make one.
    """

    name: str
    iterations: int
    options: Mapping[str, Option] = field(default_factory=dict)

    def _table(self) -> dict[str, Any]:
        return {"name": self.name, "iterations": self.iterations, **self.options}


def DM(iterations: int, **options: Option) -> Engine:  # noqa: N802
    """Difference map; options such as ``alpha``.

    Examples
    --------
    >>> import warpstride as ws
    >>> ws.ptycho.DM(100, alpha=0.9)
    Engine(name='dm', iterations=100, options={'alpha': 0.9})
    """
    return Engine("dm", iterations, options)


def RAAR(iterations: int, **options: Option) -> Engine:  # noqa: N802
    """Relaxed averaged alternating reflections; options such as ``beta``."""
    return Engine("raar", iterations, options)


def AP(iterations: int, **options: Option) -> Engine:  # noqa: N802
    """Alternating projections."""
    return Engine("ap", iterations, options)


def LSQML(iterations: int, **options: Option) -> Engine:  # noqa: N802
    """Least squares by mini-batches with optimal step lengths; options such as ``batch`` and ``momentum``."""
    return Engine("lsqml", iterations, options)


def EPIE(iterations: int, **options: Option) -> Engine:  # noqa: N802
    """The extended ptychographic iterative engine; options such as ``object_step`` and ``probe_step``."""
    return Engine("epie", iterations, options)


def RPIE(iterations: int, **options: Option) -> Engine:  # noqa: N802
    """The regularised ptychographic iterative engine; options such as ``object_alpha`` and ``batch``."""
    return Engine("rpie", iterations, options)


def ML(iterations: int, **options: Option) -> Engine:  # noqa: N802
    """Maximum likelihood by conjugate gradients; options such as ``noise``."""
    return Engine("ml", iterations, options)


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
    """

    def __init__(self, inner: _warpstride.PtychoResult) -> None:
        self._inner = inner

    @cached_property
    def object(self) -> npt.NDArray[Any]:
        """Complex transmission (row, column)."""
        return self._inner.object

    @cached_property
    def probe(self) -> npt.NDArray[Any]:
        """Probe modes (mode, row, column), √photons; orthogonal, strongest first."""
        return self._inner.probe

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
        """Back end: ``cpu``, ``cuda`` or ``emulator``."""
        return self._inner.setup[0]

    @property
    def device(self) -> str:
        """Name of the device."""
        return self._inner.setup[1]

    def save(self, path: Path) -> None:
        """Write the results file (HDF5), which is absent or complete.

        Raises
        ------
        OSError
            The file cannot be written.
        """
        self._inner.save(path)

    def to_xarray(self) -> Any:
        """Object, probe and fluence as an ``xarray.Dataset`` with coordinates in metres; xarray must be installed."""
        import xarray

        rows, columns = self.pixel_size
        _, height, width = self.probe.shape
        return xarray.Dataset(
            {
                "object": (("y", "x"), self.object),
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
    """Read a results file of `Result.save` or ``warpstride ptycho reconstruct``.

    Raises
    ------
    DataError
        It is no results file, or it is damaged.
    """
    return Result(_warpstride.PtychoResult.read(path))


class Reconstruction:
    """A reconstruction that goes step by step; iterating does one iteration after another.

    The parameters are those of `reconstruct`. As a context manager it frees its memory at the end.

    Examples
    --------
    >>> import warpstride as ws
    >>> scan = ws.ptycho.simulate(frame=32, positions=12)
    >>> with ws.ptycho.Reconstruction(**scan.arguments, engines=[ws.ptycho.DM(20)], backend="cpu") as run:
    ...     for iteration in run:
    ...         if iteration.iteration == 5:
    ...             break
    ...     result = run.result()
    >>> len(result.history), result.object.dtype.name
    (5, 'complex64')
    """

    def __init__(
        self,
        frames: npt.ArrayLike,
        positions: npt.ArrayLike,
        *,
        wavelength: float,
        distance: float,
        pixel_size: Union[float, Sequence[float]],
        mask: Optional[npt.ArrayLike] = None,
        probe: Optional[npt.ArrayLike] = None,
        engines: Optional[Sequence[Engine]] = None,
        precision: Precision = "f32",
        probe_modes: int = 1,
        seed: int = 0,
        recipe: Optional[Mapping[str, Any]] = None,
        near_field: bool = False,
        focus_to_sample: Optional[float] = None,
        start: Optional[Result] = None,
        start_object: Optional[npt.ArrayLike] = None,
        resume: Optional[Path] = None,
        backend: Backend = "auto",
        device: Optional[int] = None,
    ) -> None:
        if recipe is not None and not isinstance(recipe, Mapping):
            raise _warpstride.DataError(f"recipe: expected a mapping, found {type(recipe).__name__}")
        engines = None if engines is None else list(engines)
        for engine in engines or ():
            if not isinstance(engine, Engine):
                raise _warpstride.DataError(f"engines: expected engines such as DM(100), found {engine!r}")
        if start is not None and not isinstance(start, Result):
            raise _warpstride.DataError(f"start: expected a Result, found {type(start).__name__}")
        if resume is not None:
            given = {"engines": engines, "recipe": recipe, "start": start, "start_object": start_object}
            for name in (name for name, value in given.items() if value is not None):
                raise _warpstride.DataError(f"{name}: expected none beside resume, whose file has the recipe and the state")
        table: dict[str, Any] = {"precision": precision, "probe_modes": probe_modes, "seed": seed}
        for name in table.keys() & (recipe or {}).keys():
            raise _warpstride.DataError(f"recipe: expected no {name}, which is an argument of its own")
        if engines is not None:
            table["engines"] = [engine._table() for engine in engines]
        text = _json({**table, **(recipe or {})})
        pixel = floats("pixel_size", pixel_size)
        if pixel.shape not in ((), (1,), (2,)):
            raise _warpstride.DataError(f"pixel_size: expected a number or (row, column), found shape {pixel.shape}")
        lengths = real("wavelength", wavelength), real("distance", distance)
        geometry = (*lengths, [float(pixel.flat[0]), float(pixel.flat[-1])])
        waves = None if probe is None else complexes("probe", probe).astype(np.complex128, copy=False)
        if waves is not None and waves.ndim == 2:
            waves = waves[np.newaxis]
        if waves is not None and waves.ndim != 3:
            raise _warpstride.DataError(
                f"probe: expected an array (row, column) or (mode, row, column), found shape {waves.shape}"
            )
        places = floats("positions", positions)
        if places.ndim != 2:
            raise _warpstride.DataError(
                f"positions: expected an array (frame, 2), found shape {places.shape}"
            )
        image = None if start_object is None else complexes("start_object", start_object).astype(np.complex128, copy=False)
        if image is not None and image.ndim != 2:
            raise _warpstride.DataError(f"start_object: expected an array (row, column), found shape {image.shape}")
        options = {
            "geometry": geometry,
            "near_field": near_field,
            "focus_to_sample": None if focus_to_sample is None else real("focus_to_sample", focus_to_sample),
            "start": None if start is None else start._inner,
            "start_object": image,
            "resume": resume,
            "recipe": text,
            "backend": backend,
            "device": device,
        }
        self._run = _warpstride.PtychoRun(
            any_array("frames", frames),
            places,
            None if mask is None else any_array("mask", mask).astype(bool, copy=False),
            waves,
            options,
        )

    @property
    def setup(self) -> str:
        """Back end, device and precision."""
        return self._run.setup

    @property
    def notes(self) -> list[str]:
        """What was decided and why, and options without effect."""
        return self._run.notes

    def __enter__(self) -> Reconstruction:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[Iteration]:
        return self

    def __next__(self) -> Iteration:
        entry = self._run.step()
        if entry is None:
            raise StopIteration
        return Iteration(*entry)

    @property
    def object(self) -> npt.NDArray[Any]:
        """The object (row, column) after the last iteration."""
        return self._run.object()

    @property
    def probe(self) -> npt.NDArray[Any]:
        """The probe (mode, row, column) after the last iteration, √photons."""
        return self._run.probe()

    @property
    def done(self) -> int:
        """Finished iterations."""
        return self._run.progress()[0]

    @property
    def planned(self) -> int:
        """Iterations of the recipe."""
        return self._run.progress()[1]

    @property
    def finished(self) -> bool:
        """Whether all iterations are done."""
        return self._run.progress()[2]

    def run(self, *, progress: Optional[bool] = None) -> None:
        """Do the remaining iterations, without waiting for the metrics of each. ``progress`` is whether a bar is shown, by
        default in terminals and notebooks."""
        finished = self.finished
        with Progress("reconstruction", progress) as bar:
            while not finished:
                done, planned, finished = self._run.advance(EVERY)
                bar.see(done, planned, "iterations")

    def result(self) -> Result:
        """The present object, probe and metrics; the run can go on."""
        return Result(self._run.result())

    def checkpoint(self, path: Path) -> None:
        """Write the whole state of the run, from which ``resume`` continues to the same bits; the file is absent or complete.

        Raises
        ------
        OSError
            The file cannot be written.
        """
        self._run.checkpoint(path)

    def close(self) -> None:
        """Free the memory of the run; nothing can be computed afterwards."""
        self._run.close()


def reconstruct(
    frames: npt.ArrayLike,
    positions: npt.ArrayLike,
    *,
    wavelength: float,
    distance: float,
    pixel_size: Union[float, Sequence[float]],
    mask: Optional[npt.ArrayLike] = None,
    probe: Optional[npt.ArrayLike] = None,
    engines: Optional[Sequence[Engine]] = None,
    precision: Precision = "f32",
    probe_modes: int = 1,
    seed: int = 0,
    recipe: Optional[Mapping[str, Any]] = None,
    near_field: bool = False,
    focus_to_sample: Optional[float] = None,
    start: Optional[Result] = None,
    start_object: Optional[npt.ArrayLike] = None,
    resume: Optional[Path] = None,
    backend: Backend = "auto",
    device: Optional[int] = None,
    callback: Optional[Callable[[Iteration, Reconstruction], Optional[bool]]] = None,
    progress: Optional[bool] = None,
) -> Result:
    """Reconstruct a specimen and its illumination from diffraction patterns, of the far or of the near field.

    Parameters
    ----------
    frames : array_like
        Counts (frame, row, column) with the zero frequency at (rows/2, columns/2), integers or floats.
    positions : array_like
        Positions (frame, (row, column)), m.
    wavelength, distance : float
        Wavelength, and distance from the specimen to the detector, m.
    pixel_size : float or sequence of two float
        Pixel of the detector, or its (row, column), m.
    mask : array_like, optional
        Valid pixels, ``True``, as (row, column) or (frame, row, column).
    probe : array_like, optional
        Start probe (row, column) or (mode, row, column), √photons. By default one is derived from the frames.
    engines : sequence of Engine, optional
        Engines in their order; by default 100 iterations of `DM` and 50 of `RAAR`.
    precision : {"f32", "f64"}
        Double precision is computed on the CPU only.
    probe_modes : int
        Number of mutually incoherent modes of the probe.
    seed : int
        Seed of random choices.
    recipe : mapping, optional
        Further options as in a recipe file: ``{"free_pixels": 0.02, "positions": {"refine": ["gradient"]}}``.
    near_field : bool
        Whether the frames are near fields, of a parallel beam or of a cone beam with ``focus_to_sample``.
    focus_to_sample : float, optional
        Distance from the focus of a cone beam to the specimen, m.
    start : Result, optional
        An earlier result from which object, probe, positions and scales are taken, also one of frames of another size.
    start_object : array_like, optional
        Start object (row, column), of the shape of the object.
    resume : path, optional
        A file of `Reconstruction.checkpoint` or of ``warpstride ptycho reconstruct --checkpoint`` of the same scan: the run
        goes on where it was, with the recipe of the file.
    backend : {"auto", "cpu", "cuda", "emulator"}
        Where to compute.
    device : int, optional
        Number of the GPU.
    callback : callable, optional
        Called after each iteration with its `Iteration` and the `Reconstruction`; the run ends if it returns ``True``.
    progress : bool, optional
        Whether a bar is shown; by default in terminals and notebooks.

    Returns
    -------
    Result
        Object, probe and metrics.

    Raises
    ------
    DataError
        Data or options with which nothing can be reconstructed.
    DeviceError, OutOfMemoryError
        A GPU that cannot be used; too little memory.
    KeyboardInterrupt
        After Ctrl-C, once the present iteration has ended.

    Examples
    --------
    >>> import warpstride as ws
    >>> scan = ws.ptycho.simulate(frame=32, positions=12)
    >>> result = ws.ptycho.reconstruct(
    ...     scan.frames,
    ...     scan.positions,
    ...     wavelength=scan.wavelength,
    ...     distance=scan.distance,
    ...     pixel_size=scan.pixel_size,
    ...     engines=[ws.ptycho.DM(20), ws.ptycho.RAAR(10)],
    ...     backend="cpu",
    ... )
    >>> r = result.metrics["r_factor"]
    >>> bool(r[-1] < 0.1 * r[0])
    True
    """
    run = Reconstruction(
        frames,
        positions,
        wavelength=wavelength,
        distance=distance,
        pixel_size=pixel_size,
        mask=mask,
        probe=probe,
        engines=engines,
        precision=precision,
        probe_modes=probe_modes,
        seed=seed,
        recipe=recipe,
        near_field=near_field,
        focus_to_sample=focus_to_sample,
        start=start,
        start_object=start_object,
        resume=resume,
        backend=backend,
        device=device,
    )
    with run:
        if callback is None:
            run.run(progress=progress)
            return run.result()
        with Progress("reconstruction", progress) as bar:
            planned = run.planned
            for iteration in run:
                bar.see(iteration.iteration, planned, f"error {iteration.err_fourier:.3g}")
                if callback(iteration, run):
                    break
        return run.result()


def _json(table: Mapping[str, Any]) -> str:
    """The table as JSON, with the numbers of NumPy as Python's and without options that are ``None``."""

    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {str(key): plain(one) for key, one in value.items() if one is not None}
        if isinstance(value, np.ndarray):
            return value.tolist()
        if isinstance(value, (list, tuple)):
            return [plain(one) for one in value]
        if isinstance(value, np.generic):
            return value.item()
        return value

    try:
        return json.dumps(plain(table), allow_nan=False)
    except (TypeError, ValueError) as why:
        raise _warpstride.DataError(f"recipe: expected numbers, texts, lists and tables: {why}") from None


@dataclass(frozen=True)
class Simulation:
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

    Examples
    --------
    >>> import warpstride as ws
    >>> ws.ptycho.simulate(frame=32, positions=12).frames.shape
    (12, 32, 32)
    """
    frames, places, geometry, specimen, probe = _warpstride.simulate_scan(
        frame, positions, photons, seed, near_field, focus_to_sample
    )
    wavelength, distance, (rows, columns) = geometry
    pixel = (rows, columns)
    return Simulation(frames, places, wavelength, distance, pixel, specimen, probe, near_field, focus_to_sample)
