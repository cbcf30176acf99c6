"""Images from k-space samples."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, Callable, Iterator, Literal, Optional, Sequence, Union, cast

import numpy as np
import numpy.typing as npt

from .. import _warpstride
from .._arguments import device_numbers, optional_text, optional_whole, text, truth, whole
from .._arrays import any_array, complexes, filled, floats, of_shape, real
from .._gpu import device_of, on_host
from .._progress import EVERY, Progress
from .._types import Backend, Devices, Precision
from ._kspace import KSpace, _coils
from ._on_gpu import OnGpu, check_maps
from ._result import Iteration, Result

_Complex = npt.NDArray[Any]
_Floats = npt.NDArray[np.float64]


def reconstruct(
    samples: Any,
    k: Any = None,
    matrix: Union[None, int, Sequence[int]] = None,
    *,
    method: Literal["cg", "adjoint", "tv", "wavelet"] = "cg",
    maps: Union[Literal["auto", "espirit", "low-pass", "walsh", "none"], Any] = "auto",
    operator: Literal["auto", "direct", "nufft", "toeplitz"] = "auto",
    iterations: Optional[int] = None,
    lamda: Optional[float] = None,
    min_residual: Optional[float] = None,
    tolerance: Optional[float] = None,
    k_unit: Optional[str] = None,
    density: Union[None, Literal["none", "ramp", "pipe"], Any] = None,
    intensity_correction: bool = False,
    exclude_coils: Union[int, Sequence[int]] = (),
    off_resonance: Optional[npt.ArrayLike] = None,
    times: Optional[npt.ArrayLike] = None,
    field: Optional[tuple[npt.ArrayLike, npt.ArrayLike]] = None,
    precision: Optional[Precision] = None,
    backend: Backend = "auto",
    devices: Devices = None,
    callback: Optional[Callable[[Iteration], Optional[bool]]] = None,
    progress: Optional[bool] = None,
) -> Result:
    """Reconstruct an image from k-space samples of one or several coils.

    Samples of CuPy, PyTorch or JAX in the memory of a GPU (complex64, C order) are reconstructed there, and image and maps come
    back in the same library: neither samples nor image pass through the host, but for what `maps` and `method` say.

    Parameters
    ----------
    samples : array_like or KSpace
        (coil, sample) or (sample); with readouts (coil, readout, sample) or (readout, sample). Or those of a file (`read`),
        which have k and matrix themselves.
    k : array_like
        Trajectory (sample, axis) or (readout, sample, axis) in cycles per pixel, −0.5 to 0.5; axes kx, ky[, kz], which
        belong to columns, rows[, slices]. One on a GPU is copied to the host, which plans the transforms.
    matrix : int or sequence of int
        Rows and columns of the image, or slices, rows and columns; one number for all.
    method : {"cg", "adjoint", "tv", "wavelet"}
        Conjugate gradients (CG-SENSE), one weighted adjoint transform (gridding), total variation, sparse wavelets. For samples
        on a GPU, ``tv`` and ``wavelet`` copy EᴴWd, which is as large as the image, to the host once, for the scale of λ.
    maps : {"auto", "espirit", "low-pass", "walsh", "none"} or array_like
        Coil maps (coil, \\*matrix) or (set, coil, \\*matrix), or how they are estimated from the samples; ``auto`` is
        ESPIRiT. With ``none`` each coil has an image of its own, and the result of several coils is their root sum of squares.
        Maps are estimated on the host: samples on a GPU are copied there for it. Beside samples on a GPU, maps are NumPy's, or
        of the same library on the same GPU.
    operator : {"auto", "direct", "nufft", "toeplitz"}
        The encoding: exact sums, a non-uniform FFT, or one convolution in an iteration. ``auto`` is ``toeplitz`` for methods
        that iterate, else ``nufft``.
    iterations : int, optional
        Number of iterations, 15 by default.
    lamda : float, optional
        Weight λ of the regulariser: 0 by default; 10⁻³ of the largest value for ``tv`` and ``wavelet``.
    min_residual : float, optional
        \\|r\\|²/\\|b\\|² at which conjugate gradients stop; 0 does all iterations.
    tolerance : float, optional
        Relative error of the non-uniform FFT, 10⁻⁵ by default.
    k_unit : str, optional
        Unit of `k`: ``cycles-per-pixel`` (the default), ``radians-per-pixel``, ``cycles-per-fov``, ``radians-per-fov`` or
        ``fraction-of-kmax``.
    density : {"none", "ramp", "pipe"} or array_like, optional
        Density weights of the samples, with the axes of k before the last or flat, or how they are computed: \\|k\\|
        for equal spokes in evenly spread directions, or Pipe and Menon's iteration. By default ``adjoint`` has weights, by the ramp
        if it is right, and the others none. Weights on a GPU are copied to the host.
    intensity_correction : bool
        Whether the image has the intensities that one coil of uniform sensitivity would see.
    exclude_coils : int or sequence of int
        Coils to leave out, numbered from 0 as in `samples` or their file; none of samples on a GPU. Maps that are given have
        all coils, or those that are left.
    off_resonance : array_like, optional
        Deviation of the field (\\*matrix), Hz; with the exact operator, ``direct``. The phase of a sample is
        exp(−2πi f t).
    times : array_like, optional
        Times t of the samples since their readouts began, s, with the axes of k before the last or flat, for `off_resonance`;
        those of a file by default.
    field : tuple of two array_like, optional
        Phases over a basis of fields instead: coefficients (sample, function) and maps (function, \\*matrix), whose products
        are cycles.
    precision : {"f32", "f64"}, optional
        By default complex64 and files are computed in single precision, complex128 in double, which is done on the CPU.
    backend : {"auto", "cpu", "cuda", "emulator"}
        Where to compute. Samples on a GPU are reconstructed there, with ``auto`` and ``cuda``.
    devices : int, sequence of int or "all", optional
        GPUs that share the coils; with ``emulator`` the number of emulated ones. Samples on a GPU have that one alone.
    callback : callable, optional
        Called after each iteration with its `Iteration`; the run ends if it returns ``True``. On a GPU iterations are waited
        for one by one then, which is slower.
    progress : bool, optional
        Whether a bar is shown; by default in terminals and notebooks.

    Returns
    -------
    Result
        The image, and how it was computed.

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
    >>> import numpy as np
    >>> import warpstride as ws
    >>> scan = ws.mri.simulate(matrix=32, coils=4)
    >>> result = ws.mri.reconstruct(scan.samples, scan.k, 32, backend="cpu")
    >>> result.image.shape, result.image.dtype.name, result.maps.shape
    ((32, 32), 'complex64', (4, 32, 32))
    >>> bool(result.data_residual < 1e-3)
    True
    """
    given = _given(
        samples,
        k,
        matrix,
        method=method,
        maps=maps,
        operator=operator,
        iterations=iterations,
        lamda=lamda,
        min_residual=min_residual,
        tolerance=tolerance,
        k_unit=k_unit,
        density=density,
        intensity_correction=intensity_correction,
        exclude_coils=exclude_coils,
        off_resonance=off_resonance,
        times=times,
        field=field,
        precision=precision,
        backend=backend,
        devices=devices,
    )
    run: Union[_warpstride.MriRun, OnGpu]
    if given.gpu is None:
        run = _warpstride.MriRun(given.arrays(), given.asked, None)
    else:
        assert given.trajectory is not None
        run = OnGpu(given.values, given.gpu, given.trajectory, given.maps, given.weights, given.asked)
    try:
        with Progress("reconstruction", progress) as bar:
            _iterate(run, callback, bar)
        if isinstance(run, OnGpu):
            image, maps_on_gpu, residuals, facts = run.result()
            return Result(image=image, maps=maps_on_gpu, residuals=residuals, **facts)
        return given.result(run.result())
    finally:
        run.close()


def reconstruct_all(
    samples: Any,
    k: Any = None,
    matrix: Union[None, int, Sequence[int]] = None,
    *,
    maps_once: bool = False,
    method: Literal["cg", "adjoint", "tv", "wavelet"] = "cg",
    maps: Union[Literal["auto", "espirit", "low-pass", "walsh", "none"], Any] = "auto",
    operator: Literal["auto", "direct", "nufft", "toeplitz"] = "auto",
    iterations: Optional[int] = None,
    lamda: Optional[float] = None,
    min_residual: Optional[float] = None,
    tolerance: Optional[float] = None,
    k_unit: Optional[str] = None,
    density: Union[None, Literal["none", "ramp", "pipe"], Any] = None,
    intensity_correction: bool = False,
    exclude_coils: Union[int, Sequence[int]] = (),
    off_resonance: Optional[npt.ArrayLike] = None,
    times: Optional[npt.ArrayLike] = None,
    field: Optional[tuple[npt.ArrayLike, npt.ArrayLike]] = None,
    precision: Optional[Precision] = None,
    backend: Backend = "auto",
    devices: Devices = None,
    callback: Optional[Callable[[Result], Optional[bool]]] = None,
    progress: Optional[bool] = None,
) -> list[Result]:
    """Reconstruct several images, such as the frames of a series or the slices of a file, one after another.

    Plans of transforms, density weights and the spectrum of the Toeplitz operator are computed once for images with the same trajectory,
    and a GPU is opened once. Images have the bits that `reconstruct` gives each of them.

    Parameters
    ----------
    samples : array_like or iterable of KSpace
        (image, coil, sample) or (image, coil, readout, sample), which share k and matrix, in host memory; or those of a file
        (`read_all`), which may differ in both.
    k, matrix
        As for `reconstruct`; none beside samples of a file.
    maps_once : bool
        Whether the coil maps that are estimated are those of the first image of each slice, as with the command's ``--coil-maps-once``;
        by default each image has its own.
    method, maps, operator, iterations, lamda, min_residual, tolerance, k_unit, density, intensity_correction
        As for `reconstruct`, the same for all images.
    exclude_coils, off_resonance, times, field
        As for `reconstruct`, the same for all images.
    precision, backend, devices
        As for `reconstruct`.
    callback : callable, optional
        Called after each image with its `Result`; the images so far are returned if it returns ``True``.
    progress : bool, optional
        Whether a bar is shown; by default in terminals and notebooks.

    Returns
    -------
    list of Result
        One for each image, in their order; ``np.stack([one.image for one in results])`` has all of them.

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
    >>> import numpy as np
    >>> import warpstride as ws
    >>> scan = ws.mri.simulate(matrix=32, coils=4)
    >>> frames = np.stack([scan.samples, 2 * scan.samples])
    >>> results = ws.mri.reconstruct_all(frames, scan.k, 32, maps_once=True, backend="cpu")
    >>> images = np.stack([one.image for one in results])
    >>> images.shape, bool(np.allclose(images[1], 2 * images[0], rtol=1e-3, atol=1e-5))
    ((2, 32, 32), True)
    """
    named, _ = _name_or_array("maps", maps)
    maps_once = truth("maps_once", maps_once)
    if maps_once and (named is None or named == "none"):
        raise _warpstride.DataError("maps_once: expected maps that are estimated, found " + (named or "maps that are given"))
    results: list[Result] = []
    run: Optional[_warpstride.MriRun] = None
    bar = Progress("reconstructions", progress)
    try:
        with bar:
            for one, count in _images(samples, k, matrix):
                given = _given(
                    one,
                    k,
                    matrix,
                    method=method,
                    maps=maps,
                    operator=operator,
                    iterations=iterations,
                    lamda=lamda,
                    min_residual=min_residual,
                    tolerance=tolerance,
                    k_unit=k_unit,
                    density=density,
                    intensity_correction=intensity_correction,
                    exclude_coils=exclude_coils,
                    off_resonance=off_resonance,
                    times=times,
                    field=field,
                    precision=precision,
                    backend=backend,
                    devices=devices,
                )
                if run is None:
                    run = _warpstride.MriRun(given.arrays(), given.asked, maps_once)
                else:
                    run.next(given.arrays(), given.asked)
                finished = False
                while not finished:
                    _, _, finished = run.advance(EVERY)
                results.append(given.result(run.result()))
                bar.see(len(results), count or len(results), "images")
                if callback is not None and callback(results[-1]):
                    break
    finally:
        if run is not None:
            run.close()
    return results


def _images(samples: Any, k: Any, matrix: Any) -> Iterator[tuple[Any, Optional[int]]]:
    """The samples of each image, and the number of images if it is known."""
    if isinstance(samples, KSpace):
        raise _warpstride.DataError("samples: expected several images, such as those of read_all, found one; use reconstruct")
    if isinstance(samples, Iterator) or (
        isinstance(samples, (list, tuple)) and len(samples) > 0 and isinstance(samples[0], KSpace)
    ):
        count = None if isinstance(samples, Iterator) else len(samples)
        for one in samples:
            if not isinstance(one, KSpace):
                raise _warpstride.DataError(f"samples: expected samples of a file (KSpace), found {type(one).__name__}")
            yield one, count
        return
    if k is None or matrix is None:
        raise TypeError("missing arguments beside an array of samples: k and matrix")
    if device_of(samples) is not None:
        raise _warpstride.DataError("samples: expected an array in host memory, found one on a GPU; use reconstruct")
    values, axes = filled("samples", complexes("samples", samples)), any_array("k", on_host("k", k)).ndim + 1
    if values.ndim != axes:
        raise _warpstride.DataError(
            f"samples: expected {axes} axes (image, coil, …), as k has {axes - 1}, found shape {values.shape}"
        )
    for one in values:
        yield one, len(values)


@dataclass(frozen=True)
class _Given:
    """The arguments of a reconstruction, checked."""

    samples: Any
    values: Any
    gpu: Optional[int]
    trajectory: Optional[_Floats]
    maps: Any
    weights: Optional[_Floats]
    phases: Optional[tuple[_Floats, _Floats]]
    shape: tuple[int, ...]
    coils: int
    asked: dict[str, Any]

    def arrays(self) -> tuple[Any, ...]:
        """Samples, k, maps, weights and phases on the host."""
        maps, axes = self.maps, len(self.shape)
        if maps is not None:
            maps = filled("maps", complexes("maps", on_host("maps", maps)))
            sets = check_maps(maps, self.coils, self.shape)
            maps = maps.astype(np.complex128, copy=False)
            maps = maps.reshape((sets, maps.shape[-axes - 1], *(1,) * (3 - axes), *self.shape))
        return self.values, self.trajectory, maps, self.weights, self.phases

    def result(self, found: tuple[_Complex, Optional[_Complex], _Floats, str]) -> Result:
        """What a run returns as a result."""
        result = _result(found, len(self.shape))
        if not isinstance(self.samples, KSpace):
            return result
        return replace(
            result,
            source=self.samples.path,
            field_of_view=self.samples.field_of_view,
            placement=self.samples._inner.placement,
        )


def _given(
    samples: Any,
    k: Any,
    matrix: Any,
    *,
    method: str,
    maps: Any,
    operator: str,
    iterations: Any,
    lamda: Any,
    min_residual: Any,
    tolerance: Any,
    k_unit: Any,
    density: Any,
    intensity_correction: bool,
    exclude_coils: Any,
    off_resonance: Any,
    times: Any,
    field: Any,
    precision: Optional[str],
    backend: str,
    devices: Any,
) -> _Given:
    """The arguments of `reconstruct`, checked.

    Raises
    ------
    DataError
        Data or options with which nothing can be reconstructed.
    """
    values: Any
    gpu: Optional[int] = None
    if isinstance(samples, KSpace):
        for name, value in (("k", k), ("matrix", matrix), ("k_unit", k_unit)):
            if value is not None:
                raise _warpstride.DataError(f"{name}: expected none beside samples of a file, which have it")
        values, trajectory, shape, readouts = samples._inner, None, samples.matrix, samples.readouts
        axes, coils, acquired, of = len(shape), samples.coils, samples._acquired, "the trajectory"
    else:
        if k is None or matrix is None:
            raise TypeError("missing arguments beside an array of samples: k and matrix")
        gpu = device_of(samples)
        values = filled("samples", complexes("samples", samples) if gpu is None else samples)
        trajectory = filled("k", floats("k", on_host("k", k)))
        if trajectory.ndim < 2 or trajectory.shape[-1] not in (2, 3):
            raise _warpstride.DataError(
                f"k: expected an array (sample, axis) with 2 or 3 axes, found shape {trajectory.shape}"
            )
        axes, acquired, of = trajectory.shape[-1], trajectory.shape[:-1], "k"
        found = tuple(values.shape)
        if found[-len(acquired) :] != acquired or len(found) not in (len(acquired), len(acquired) + 1):
            raise _warpstride.DataError(
                f"samples: expected shape {acquired} or (coil, *{acquired}) as k has it, found {found}"
            )
        coils = found[0] if len(found) > len(acquired) else 1
        values = values.reshape((coils, int(np.prod(acquired))))
        shape, readouts = _matrix(matrix, axes), [acquired[-1]] * int(np.prod(acquired[:-1]))
        trajectory = trajectory.reshape((-1, axes))
    if not (precision is None or isinstance(precision, str) and precision in ("f32", "f64")):
        raise _warpstride.DataError(f"precision {precision!r}: expected f32 or f64")
    if gpu is not None:
        if precision == "f64":
            raise _warpstride.DataError("precision: expected f32, which reconstructions of samples on a GPU have, found f64")
        if off_resonance is not None or field is not None:
            raise _warpstride.DataError("off_resonance and field: expected samples in a NumPy array, found samples on a GPU")
    excluded = _coils(exclude_coils)
    if gpu is not None and excluded:
        raise _warpstride.DataError(
            "exclude_coils: expected samples in a NumPy array, found samples on a GPU; leave the coils out of them"
        )
    if times is not None and off_resonance is None:
        raise _warpstride.DataError("times: expected off_resonance beside them, found none")
    if isinstance(samples, KSpace) and times is None:
        times = samples._inner.times()
    if off_resonance is not None and times is not None:
        times = of_shape("times", floats("times", times), acquired, of)
    phases = _phases(off_resonance, times, field, shape, sum(readouts))
    named, given = _name_or_array("maps", maps)
    density_name, weights = (None, None) if density is None else _name_or_array("density", density)
    asked = {
        "matrix": shape,
        "readouts": readouts,
        "method": text("method", method),
        "operator": text("operator", operator),
        "iterations": optional_whole("iterations", iterations),
        "min_residual": None if min_residual is None else real("min_residual", min_residual),
        "lamda": None if lamda is None else real("lamda", lamda),
        "tolerance": None if tolerance is None else real("tolerance", tolerance),
        "k_unit": optional_text("k_unit", k_unit),
        "density": density_name,
        "maps": named or "given",
        "intensity_correction": truth("intensity_correction", intensity_correction),
        "exclude_coils": excluded,
        "double": None if precision is None else precision == "f64",
        "backend": text("backend", backend),
        "devices": device_numbers(devices),
    }
    weights = None if weights is None else of_shape("density", floats("density", on_host("density", weights)), acquired, of)
    return _Given(samples, values, gpu, trajectory, given, weights, phases, shape, coils, asked)


def _phases(
    off_resonance: Optional[npt.ArrayLike],
    times: Optional[npt.ArrayLike],
    field: Optional[tuple[npt.ArrayLike, npt.ArrayLike]],
    shape: tuple[int, ...],
    samples: int,
) -> Optional[tuple[_Floats, _Floats]]:
    """Coefficients (sample, function) and maps (function, voxel) of phases beside those of the trajectory."""
    if off_resonance is None and field is None:
        return None
    if off_resonance is not None:
        if field is not None:
            raise _warpstride.DataError("field: expected none beside off_resonance")
        if times is None:
            raise _warpstride.DataError("times: expected the times of the samples, which give the phases, found none")
        hertz, seconds = floats("off_resonance", off_resonance), floats("times", times)
        if hertz.shape != shape:
            raise _warpstride.DataError(f"off_resonance: expected shape {shape} (*matrix), found {hertz.shape}")
        return seconds.reshape((samples, 1)), hertz.reshape((1, -1))
    if not isinstance(field, tuple) or len(field) != 2:
        raise _warpstride.DataError(f"field: expected (coefficients, maps), found {type(field).__name__}")
    coefficients, maps = (filled("field", floats("field", part)) for part in field)
    if maps.ndim != len(shape) + 1 or maps.shape[1:] != shape:
        raise _warpstride.DataError(f"field: expected maps (function, *matrix) with {shape}, found shape {maps.shape}")
    if coefficients.shape != (samples, len(maps)):
        raise _warpstride.DataError(
            f"field: expected coefficients of shape {(samples, len(maps))} (sample, function), found {coefficients.shape}"
        )
    return coefficients, maps.reshape((len(maps), -1))


def _iterate(
    run: Union[_warpstride.MriRun, OnGpu], callback: Optional[Callable[[Iteration], Optional[bool]]], bar: Progress
) -> None:
    finished = False
    while not finished:
        entries, planned, finished = run.advance(EVERY if callback is None else 0.0)
        if entries:
            bar.see(entries[-1][0], planned, f"residual {entries[-1][1]:.3g}")
        for entry in entries:
            if callback is not None and callback(Iteration(*entry)):
                return


def _result(found: tuple[_Complex, Optional[_Complex], _Floats, str], axes: int) -> Result:
    image, maps, residuals, facts = found
    shape = image.shape[-axes:]
    if maps is not None:
        sets, coils = maps.shape[:2]
        maps = maps.reshape((coils, *shape) if sets == 1 else (sets, coils, *shape))
    return Result(image=image.reshape(shape), maps=maps, residuals=residuals, **json.loads(facts))


def _matrix(matrix: Union[int, Sequence[int]], axes: int) -> tuple[int, ...]:
    several = isinstance(matrix, (list, tuple, range)) or (isinstance(matrix, np.ndarray) and matrix.ndim == 1)
    sides: list[Any] = list(cast(Sequence[int], matrix)) if several else [matrix] * axes
    if len(sides) != axes:
        raise _warpstride.DataError(f"matrix: expected {axes} whole numbers, as k has axes, found {matrix!r:.100}")
    return tuple(whole("matrix", side, 1, 2**31 - 1) for side in sides)


def _name_or_array(argument: str, value: Any) -> tuple[Optional[str], Any]:
    """A name, or an array."""
    if value is None:
        raise _warpstride.DataError(f"{argument}: expected a name or an array, found None")
    return (text(argument, value), None) if isinstance(value, str) else (None, value)
