"""Reconstructions, as a whole or step by step."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Callable, Iterable, Iterator, Literal, Mapping, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from .. import _warpstride
from .._arguments import device_number, device_numbers, text, truth, whole
from .._arrays import any_array, complexes, filled, floats, real
from .._gpu import device_of, exported, on_host
from .._progress import EVERY, Progress
from .._types import Backend, Devices, Path, Precision
from ._engines import Engine
from ._frames import Prepared
from ._result import Iteration, Result
from ._scan import Scan, as_json


_MOST_PROBE_MODES = 64
"""The library's limit."""


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
        frames: Union[npt.ArrayLike, Scan],
        positions: Optional[npt.ArrayLike] = None,
        *,
        wavelength: Optional[float] = None,
        distance: Optional[float] = None,
        pixel_size: Union[None, float, Sequence[float]] = None,
        mask: Optional[npt.ArrayLike] = None,
        probe: Optional[npt.ArrayLike] = None,
        engines: Union[None, Literal["auto"], Engine, Sequence[Engine]] = None,
        precision: Precision = "f32",
        probe_modes: Optional[int] = None,
        seed: int = 0,
        recipe: Optional[Mapping[str, Any]] = None,
        near_field: bool = False,
        focus_to_sample: Optional[float] = None,
        start: Optional[Result] = None,
        start_object: Optional[npt.ArrayLike] = None,
        resume: Optional[Path] = None,
        backend: Backend = "auto",
        device: Optional[int] = None,
        devices: Devices = None,
    ) -> None:
        if recipe is not None and not isinstance(recipe, Mapping):
            raise _warpstride.DataError(f"recipe: expected a mapping, found {type(recipe).__name__}")
        automatic = isinstance(engines, str) and engines == "auto"
        several = None if engines is None or automatic else _engines(engines)
        device, devices = device_number(device), device_numbers(devices)
        near_field, chosen = truth("near_field", near_field), text("precision", precision)
        modes = 1 if probe_modes is None else whole("probe_modes", probe_modes, 1, _MOST_PROBE_MODES)
        seed = whole("seed", seed)
        if start is not None and not isinstance(start, Result):
            raise _warpstride.DataError(f"start: expected a Result, found {type(start).__name__}")
        if automatic and start is not None:
            raise _warpstride.DataError('engines: expected engines beside start, found "auto", which chooses by free pixels: the earlier result may have been fitted to them')
        if automatic and not isinstance(frames, Scan) and device_of(frames) is not None:
            raise _warpstride.DataError('engines: expected engines for frames on a GPU, found "auto", whose trials take them from host memory')
        if resume is not None:
            given: dict[str, Any] = {"engines": engines, "recipe": recipe, "start": start, "start_object": start_object}
            given["probe"] = probe
            usual: dict[str, Any] = {"precision": (chosen, "f32"), "probe_modes": (modes, 1), "seed": (seed, 0)}
            given.update({name: value for name, (value, default) in usual.items() if value != default})
            for name in (name for name, value in given.items() if value is not None):
                raise _warpstride.DataError(f"{name}: expected none beside resume, whose file has the recipe and the state")
        table: dict[str, Any] = {"precision": chosen, "probe_modes": modes, "seed": seed}
        for name in table.keys() & (recipe or {}).keys():
            raise _warpstride.DataError(f"recipe: expected no {name}, which is an argument of its own")
        if several is not None:
            table["engines"] = [engine._table() for engine in several]
        if automatic and probe_modes is None:
            del table["probe_modes"]
        document = as_json("recipe", {**table, **(recipe or {})})
        given = {"positions": positions, "wavelength": wavelength, "distance": distance, "pixel_size": pixel_size}
        counts: Any
        if isinstance(frames, Scan):
            given.update({"mask": mask, "probe": probe, "focus_to_sample": focus_to_sample, "near_field": near_field or None})
            for name in (name for name, value in given.items() if value is not None):
                raise _warpstride.DataError(f"{name}: expected none beside a scan, which has its own")
            counts, geometry, places, valid, waves = frames._inner, None, None, None, None
        else:
            missing = [name for name, value in given.items() if value is None]
            if missing:
                raise TypeError(f"missing arguments beside an array of frames: {', '.join(missing)}")
            geometry, places, waves = _geometry(wavelength, distance, pixel_size), _places(on_host("positions", positions)), _waves(on_host("probe", probe))
            counts, valid = None, None
            if device_of(frames) is None:
                counts, valid = filled("frames", any_array("frames", frames)), _valid(on_host("mask", mask))
        image = None if start_object is None else filled("start_object", complexes("start_object", on_host("start_object", start_object))).astype(np.complex128, copy=False)
        if image is not None and image.ndim != 2:
            raise _warpstride.DataError(f"start_object: expected an array (row, column), found shape {image.shape}")
        options: dict[str, Any] = {
            "geometry": geometry,
            "near_field": near_field,
            "focus_to_sample": None if focus_to_sample is None else real("focus_to_sample", focus_to_sample),
            "start": None if start is None else start._inner,
            "start_object": image,
            "resume": resume,
            "recipe": document,
            "automatic": automatic,
            "backend": text("backend", backend),
            "device": device,
            "devices": devices,
            "on_gpu": None,
        }
        self._from_gpu = not isinstance(frames, Scan) and device_of(frames) is not None
        if not self._from_gpu:
            self._run = _warpstride.PtychoRun(counts, places, valid, waves, options)
            return
        if resume is not None:
            raise _warpstride.DataError("resume: expected frames in host memory, found frames on a GPU")
        prepared = Prepared(frames, mask)
        options["on_gpu"] = prepared.options()
        try:
            self._run = _warpstride.PtychoRun(None, places, prepared.mask, waves, options)
        finally:
            prepared.close()

    @property
    def setup(self) -> str:
        """Back end, device and precision."""
        return self._run.setup

    @property
    def notes(self) -> list[str]:
        """What was decided and why, and options without effect."""
        return self._run.notes

    @property
    def problems(self) -> list[str]:
        """Doubtful properties of the scan, of which the constructor has warned: those that ``warpstride ptycho reconstruct``
        warns of, and for arrays also the frames and pixels that are left out or masked in files. Frames on a GPU are not
        looked at."""
        return self._run.problems

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

    def arrays(self, like: Any) -> tuple[Any, Any]:
        """Object (row, column) and probe (mode, row, column) after the last iteration as arrays of a library on the GPU that
        computes, copied there without the host.

        Parameters
        ----------
        like : array
            An array of CuPy, PyTorch or JAX on a GPU, such as the frames, of whose library the arrays are.

        Returns
        -------
        tuple of array
            Object and probe, complex64.

        Raises
        ------
        DataError
            The run is not on a GPU, the specimen has slices, or the array is not on a GPU.
        """
        if device_of(like) is None:
            raise _warpstride.DataError("like: expected an array on a GPU, found another")
        found = self._run.on_gpu()
        if found is None:
            raise _warpstride.DataError(f"arrays: expected a reconstruction on a GPU, found {self.setup}")
        return exported(like, found[0]), exported(like, found[1])

    @property
    def layers(self) -> npt.NDArray[Any]:
        """The modes or slices of the object (layer, row, column) after the last iteration."""
        return self._run.layers()

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
        """The present object, probe and metrics; the run can go on. Warns of fitted scales of frames that ended at a limit."""
        return Result(self._run.result())

    def checkpoint(self, path: Path) -> None:
        """Write the whole state of the run, from which ``resume=`` resumes bit for bit; the file is absent or complete.

        Raises
        ------
        OSError
            The file cannot be written.
        DataError
            The frames were given on a GPU, from where they would have to be read again.
        """
        if self._from_gpu:
            raise _warpstride.DataError("checkpoint: expected frames in host memory, found frames on a GPU")
        self._run.checkpoint(path)

    def close(self) -> None:
        """Free the memory of the run; nothing can be computed afterwards."""
        self._run.close()


def reconstruct(
    frames: Union[npt.ArrayLike, Scan],
    positions: Optional[npt.ArrayLike] = None,
    *,
    wavelength: Optional[float] = None,
    distance: Optional[float] = None,
    pixel_size: Union[None, float, Sequence[float]] = None,
    mask: Optional[npt.ArrayLike] = None,
    probe: Optional[npt.ArrayLike] = None,
    engines: Union[None, Literal["auto"], Engine, Sequence[Engine]] = None,
    precision: Precision = "f32",
    probe_modes: Optional[int] = None,
    seed: int = 0,
    recipe: Optional[Mapping[str, Any]] = None,
    near_field: bool = False,
    focus_to_sample: Optional[float] = None,
    start: Optional[Result] = None,
    start_object: Optional[npt.ArrayLike] = None,
    resume: Optional[Path] = None,
    backend: Backend = "auto",
    device: Optional[int] = None,
    devices: Devices = None,
    callback: Optional[Callable[[Iteration, Reconstruction], Optional[bool]]] = None,
    progress: Optional[bool] = None,
) -> Result:
    """Reconstruct a specimen and its illumination from diffraction patterns, of the far or of the near field.

    Parameters
    ----------
    frames : array_like or Scan
        Counts (frame, row, column) with the zero frequency at (rows/2, columns/2), integers or floats. Those of CuPy, PyTorch
        or JAX on a GPU are prepared and reconstructed there, without a copy through the host but of at most 48 of them where
        a start probe is searched for. Or a scan from a file (`read_scan`), which has the arguments as far as ``probe``,
        ``near_field`` and ``focus_to_sample`` itself.
    positions : array_like
        Positions (frame, (row, column)), m.
    wavelength, distance : float
        Wavelength, and distance from the specimen to the detector, m.
    pixel_size : float or sequence of two float
        Pixel of the detector, or its (row, column), m.
    mask : array_like, optional
        Valid pixels, ``True``, as (row, column) or (frame, row, column). Mask, positions, start probe and start object may
        lie on a GPU too, from where they are copied to the host.
    probe : array_like, optional
        Start probe (row, column) or (mode, row, column), √photons. By default one is derived from the frames.
    engines : Engine, sequence of Engine or "auto", optional
        One engine, or several in their order; by default 100 iterations of `DM` and 50 of `RAAR`. With ``"auto"`` short trials on a
        part of the scan choose engines, probe modes and corrections by R_free, as ``warpstride ptycho reconstruct`` does without
        ``--engine``; what arguments and ``recipe`` name is kept. `Reconstruction.notes` says what was tried and why.
    precision : {"f32", "f64"}
        Double precision is computed on the CPU only.
    probe_modes : int, optional
        Number of mutually incoherent modes of the probe; by default 1, or what the trials of ``engines="auto"`` find.
    seed : int
        Seed of random choices.
    recipe : mapping, optional
        Further options as in a recipe file: ``{"free_pixels": 0.02, "positions": {"refine": ["gradient"]}}``, of which the gradients
        of positions need an engine such as `LSQML`.
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
    devices : int, sequence of int or "all", optional
        GPUs of one model that share the frames; with ``emulator`` the number of emulated ones.
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
        devices=devices,
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


def _engines(engines: Any) -> list[Engine]:
    """One engine or several as a list."""
    if isinstance(engines, Engine):
        return [engines]
    several = list(engines) if isinstance(engines, Iterable) and not isinstance(engines, (str, Mapping)) else [engines]
    if not several:
        raise _warpstride.DataError("engines: expected at least one engine such as DM(100), found none")
    for engine in several:
        if not isinstance(engine, Engine):
            raise _warpstride.DataError(f"engines: expected engines such as DM(100), found {engine!r:.100}")
    return several


def _geometry(wavelength: Any, distance: Any, pixel_size: Any) -> tuple[float, float, list[float]]:
    """Wavelength, distance, and the pixel (row, column)."""
    pixel = floats("pixel_size", pixel_size)
    if pixel.shape not in ((), (1,), (2,)):
        raise _warpstride.DataError(f"pixel_size: expected a number or (row, column), found shape {pixel.shape}")
    lengths = real("wavelength", wavelength), real("distance", distance)
    sizes = [float(pixel.flat[0]), float(pixel.flat[-1])]
    for name, found in (("wavelength", lengths[0]), ("distance", lengths[1]), *(("pixel_size", size) for size in sizes)):
        if not 0 < found < np.inf:
            raise _warpstride.DataError(f"{name}: expected a finite length > 0 m, found {found:g}")
    return *lengths, sizes


def _places(positions: Any) -> npt.NDArray[np.float64]:
    places = filled("positions", floats("positions", positions))
    if places.ndim != 2:
        raise _warpstride.DataError(f"positions: expected an array (frame, 2), found shape {places.shape}")
    return places


def _valid(mask: Optional[npt.ArrayLike]) -> Optional[npt.NDArray[np.bool_]]:
    return None if mask is None else filled("mask", any_array("mask", mask)).astype(bool, copy=False)


def _waves(probe: Optional[npt.ArrayLike]) -> Optional[npt.NDArray[np.complex128]]:
    """A probe as (mode, row, column)."""
    if probe is None:
        return None
    waves = filled("probe", complexes("probe", probe)).astype(np.complex128, copy=False)
    if waves.ndim == 2:
        waves = waves[np.newaxis]
    if waves.ndim != 3:
        raise _warpstride.DataError(
            f"probe: expected an array (row, column) or (mode, row, column), found shape {waves.shape}"
        )
    return waves
