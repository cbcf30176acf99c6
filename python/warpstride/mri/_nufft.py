"""Non-uniform Fourier transforms."""

from __future__ import annotations

import functools
import math
from typing import Any, Callable, Optional, Sequence

import numpy as np
import numpy.typing as npt

from .. import _warpstride
from .._arguments import LARGEST, optional_text, whole
from .._arrays import complexes, floats, real
from .._gpu import Place, Transforms, on_host
from .._types import Backend

SMALLEST = {True: 1e-13, False: 1e-6}
"""The smallest tolerance in double and in single precision; of some shapes it is larger."""

_Complex = npt.NDArray[Any]


def _trajectory(points: Sequence[npt.ArrayLike], negative: bool) -> npt.NDArray[np.float64]:
    """Points x, y[, z] in radians as k (sample, axis) in cycles, kx first: x belongs to the first axis of modes."""
    axes = [floats(name, on_host(name, axis)) for name, axis in zip("xyz", points)]
    for name, axis in zip("xyz", axes):
        if axis.ndim != 1 or axis.shape != axes[0].shape:
            raise _warpstride.DataError(
                f"{name}: expected an array (point) as long as x, {axes[0].shape}, found shape {axis.shape}"
            )
        if not np.isfinite(axis).all():
            at = int(np.flatnonzero(~np.isfinite(axis))[0])
            raise _warpstride.DataError(f"{name}: expected finite values, found {axis[at]} at point {at}")
    k = np.empty((axes[0].size, len(axes)))
    scale = (-1.0 if negative else 1.0) / (2.0 * np.pi)
    for column, axis in enumerate(reversed(axes)):
        np.multiply(axis, scale, out=k[:, column])
    return k


def _shape(name: str, shape: Sequence[int]) -> tuple[int, ...]:
    try:
        axes = list(shape)
    except TypeError:
        raise _warpstride.DataError(f"{name}: expected whole numbers above 0, found {shape!r:.100}") from None
    return tuple(whole(name, axis, 1) for axis in axes)


def _sign(isign: Any) -> int:
    return whole("isign", isign, -LARGEST)


def _type1(
    points: Sequence[Any],
    c: Any,
    n_modes: Optional[Sequence[int]],
    out: Any,
    eps: float,
    isign: int,
    place: Place,
) -> Any:
    gpu = place.gpu_of("c", c)
    strengths = c if gpu is not None else place.numbers("c", c)
    if n_modes is None:
        if out is None:
            raise _warpstride.DataError("n_modes: expected n_modes or out, found neither")
        n_modes = tuple(getattr(out, "shape", ()))[-len(points) :]
    shape = _shape("n_modes", n_modes)
    if len(shape) != len(points):
        raise _warpstride.DataError(f"n_modes: expected {len(points)} numbers, found {len(shape)}")
    several = len(strengths.shape) == 2
    if not several and len(strengths.shape) != 1:
        raise _warpstride.DataError(
            f"c: expected an array (point) or (transform, point), found shape {tuple(strengths.shape)}"
        )
    k = _trajectory(points, _sign(isign) < 0)
    eps = real("eps", eps)
    if gpu is not None:
        return Transforms(k, shape, eps, None, "c").adjoint(strengths, gpu, out)
    _expect("c", strengths, k.shape[:1], "transform", "x")
    _check_out(out, (*strengths.shape[:-1], *shape))
    strengths = np.atleast_2d(strengths)
    if place.uploads:
        found = Transforms(k, shape, eps, None).adjoint_of_host(strengths, place.target)
    else:
        plan = _warpstride.PlannedNufft(shape, k, eps, strengths.dtype == np.complex128)
        found = plan.adjoint(strengths)
    return _returned(found if several else found[0], out)


def _type2(points: Sequence[Any], f: Any, out: Any, eps: float, isign: int, place: Place) -> Any:
    gpu = place.gpu_of("f", f)
    modes = f if gpu is not None else place.numbers("f", f)
    axes = len(points)
    several = len(modes.shape) == axes + 1
    if not several and len(modes.shape) != axes:
        raise _warpstride.DataError(
            f"f: expected an array of {axes} axes, or one more for several transforms, found shape {tuple(modes.shape)}"
        )
    k = _trajectory(points, _sign(isign) >= 0)
    eps = real("eps", eps)
    shape = tuple(modes.shape[-axes:])
    if gpu is not None:
        return Transforms(k, shape, eps, None, "f").forward(modes, gpu, out)
    _check_out(out, (*modes.shape[:-axes], len(k)))
    modes = modes if several else modes[np.newaxis]
    if place.uploads:
        found = Transforms(k, shape, eps, None).forward_of_host(modes, place.target)
    else:
        found = _warpstride.PlannedNufft(shape, k, eps, modes.dtype == np.complex128).forward(modes)
    return _returned(found if several else found[0], out)


def _check_out(out: Any, shape: tuple[int, ...]) -> None:
    """Refuse an array for the result that cannot take it."""
    if out is None:
        return
    if not isinstance(out, np.ndarray):
        raise _warpstride.DataError(f"out: expected a complex array of shape {shape}, found {type(out).__name__}")
    if out.shape != shape or out.dtype.kind != "c":
        raise _warpstride.DataError(f"out: expected a complex array of shape {shape}, found {out.dtype} of shape {out.shape}")
    if not out.flags.writeable:
        raise _warpstride.DataError("out: expected an array that can be written to, found one that is read-only")
    if not out.flags.aligned:
        raise _warpstride.DataError(
            f"out: expected an array whose elements are aligned in memory, found {out.dtype} at an address that its type does not "
            "allow"
        )


def _returned(found: _Complex, out: Optional[_Complex]) -> _Complex:
    if out is None:
        return found
    out[...] = found
    return out


def _expect(name: str, array: Any, shape: tuple[int, ...], several: str, of: str) -> None:
    """Refuse an array that has neither this shape nor one more axis in front, of what is named."""
    found = tuple(array.shape)
    if found[max(0, len(found) - len(shape)) :] != shape or len(found) > len(shape) + 1:
        sizes = ", ".join(map(str, shape))
        raise _warpstride.DataError(f"{name}: expected shape {shape} or ({several}, {sizes}), as {of} has it, found {found}")


def nufft2d1(
    x: Any,
    y: Any,
    c: Any,
    n_modes: Optional[Sequence[int]] = None,
    out: Any = None,
    eps: float = 1e-6,
    isign: int = 1,
    *,
    backend: Backend = "auto",
    device: Optional[int] = None,
) -> Any:
    """Type-1 transform in two dimensions (non-uniform to uniform), f[k₁, k₂] = Σ_j c_j exp(± i (k₁ x_j + k₂ y_j)).

    Parameters
    ----------
    x, y : array_like
        Coordinates (point) in radians; they are periodic with 2π. Those on a GPU are copied to the host, which sorts them.
    c : array_like
        Strengths (point), or (transform, point) for several transforms. complex64 is computed in single precision,
        anything else in double. An array of CuPy, PyTorch or JAX on a GPU (complex64, C order) is transformed where it lies.
    n_modes : sequence of two int, optional
        Numbers N₁, N₂ of modes; those of `out` by default. The modes are −⌊N/2⌋ … ⌈N/2⌉ − 1, in this order.
    out : array, optional
        Array for the result: of NumPy, or of the library and on the GPU of `c` (complex64, C order; not of JAX, whose arrays
        cannot be written to).
    eps : float
        Relative l² error that is asked for. On grids of fewer than about 100 modes along an axis it may be up to 2.5 times as
        large; `docs/python.md` of the project has what was measured.
    isign : int
        Sign of the exponent; 0 is positive.
    backend : {"auto", "cpu", "cuda", "emulator"}
        Where to compute. ``auto``: where `c` lies, so that NumPy arrays are computed on the CPU. With ``cuda`` a NumPy array of
        complex64 (or float32) is copied to a GPU and the result back; complex128 is refused, as transforms on a GPU have
        single precision. ``emulator`` runs the kernels of GPUs on the CPU, which is slow.
    device : int, optional
        Number of the GPU; ``auto`` is then ``cuda``.

    Returns
    -------
    array
        (N₁, N₂), or (transform, N₁, N₂), in the library of `c`, and on its GPU.

    Raises
    ------
    DataError
        Shapes that differ, coordinates that are not finite, a tolerance that the precision does not reach, or complex128 for
        a GPU.
    DeviceError, OutOfMemoryError
        A GPU that cannot be used; too little memory.

    Examples
    --------
    >>> import numpy as np
    >>> import warpstride as ws
    >>> f = ws.mri.nufft2d1([0.1, 0.2], [0.3, 0.4], np.array([1 + 0j, 2]), (4, 6), eps=1e-9)
    >>> k1, k2 = np.arange(-2, 2)[:, None], np.arange(-3, 3)
    >>> exact = np.exp(1j * (k1 * 0.1 + k2 * 0.3)) + 2 * np.exp(1j * (k1 * 0.2 + k2 * 0.4))
    >>> bool(np.linalg.norm(f - exact) < 1e-8 * np.linalg.norm(exact))
    True
    """
    return _type1((x, y), c, n_modes, out, eps, isign, Place(backend, device))


def nufft3d1(
    x: Any,
    y: Any,
    z: Any,
    c: Any,
    n_modes: Optional[Sequence[int]] = None,
    out: Any = None,
    eps: float = 1e-6,
    isign: int = 1,
    *,
    backend: Backend = "auto",
    device: Optional[int] = None,
) -> Any:
    """Type-1 transform in three dimensions; see `nufft2d1`.

    Parameters
    ----------
    x, y, z : array_like
        Coordinates (point) in radians; they are periodic with 2π.
    c : array_like
        Strengths (point), or (transform, point) for several transforms.
    n_modes : sequence of three int, optional
        Numbers N₁, N₂, N₃ of modes; those of `out` by default.
    out : array, optional
        Array for the result, as for `nufft2d1`.
    eps : float
        Relative l² error that is asked for.
    isign : int
        Sign of the exponent; 0 is positive.
    backend, device
        Where to compute, as for `nufft2d1`.

    Returns
    -------
    array
        (N₁, N₂, N₃), or (transform, N₁, N₂, N₃), in the library of `c`, and on its GPU.

    Raises
    ------
    DataError, DeviceError, OutOfMemoryError
        As for `nufft2d1`.

    Examples
    --------
    >>> import numpy as np
    >>> import warpstride as ws
    >>> f = ws.mri.nufft3d1([0.0], [0.0], [0.0], np.array([3 + 0j]), (2, 3, 4))
    >>> f.shape, bool(np.allclose(f, 3, atol=1e-4))
    ((2, 3, 4), True)
    """
    return _type1((x, y, z), c, n_modes, out, eps, isign, Place(backend, device))


def nufft2d2(
    x: Any,
    y: Any,
    f: Any,
    out: Any = None,
    eps: float = 1e-6,
    isign: int = -1,
    *,
    backend: Backend = "auto",
    device: Optional[int] = None,
) -> Any:
    """Type-2 transform in two dimensions (uniform to non-uniform), c_j = Σ_k f[k₁, k₂] exp(± i (k₁ x_j + k₂ y_j)).

    Parameters
    ----------
    x, y : array_like
        Coordinates (point) in radians; they are periodic with 2π. Those on a GPU are copied to the host, which sorts them.
    f : array_like
        Modes (N₁, N₂), or (transform, N₁, N₂), in the order of `nufft2d1`; on a GPU they are transformed where they lie.
    out : array, optional
        Array for the result, as for `nufft2d1`.
    eps : float
        Relative l² error that is asked for.
    isign : int
        Sign of the exponent; 0 is positive.
    backend, device
        Where to compute, as for `nufft2d1`.

    Returns
    -------
    array
        (point), or (transform, point), in the library of `f`, and on its GPU.

    Raises
    ------
    DataError, DeviceError, OutOfMemoryError
        As for `nufft2d1`.

    Examples
    --------
    >>> import numpy as np
    >>> import warpstride as ws
    >>> c = ws.mri.nufft2d2([0.0, 1.0], [0.0, 2.0], np.eye(3, dtype=complex), eps=1e-9)
    >>> bool(np.allclose(c, [3, 1 + 2 * np.cos(3)]))
    True
    """
    return _type2((x, y), f, out, eps, isign, Place(backend, device))


def nufft3d2(
    x: Any,
    y: Any,
    z: Any,
    f: Any,
    out: Any = None,
    eps: float = 1e-6,
    isign: int = -1,
    *,
    backend: Backend = "auto",
    device: Optional[int] = None,
) -> Any:
    """Type-2 transform in three dimensions; see `nufft2d2`.

    Parameters
    ----------
    x, y, z : array_like
        Coordinates (point) in radians; they are periodic with 2π.
    f : array_like
        Modes (N₁, N₂, N₃), or (transform, N₁, N₂, N₃), in the order of `nufft2d1`.
    out : array, optional
        Array for the result, as for `nufft2d1`.
    eps : float
        Relative l² error that is asked for.
    isign : int
        Sign of the exponent; 0 is positive.
    backend, device
        Where to compute, as for `nufft2d1`.

    Returns
    -------
    array
        (point), or (transform, point), in the library of `f`, and on its GPU.

    Raises
    ------
    DataError, DeviceError, OutOfMemoryError
        As for `nufft2d1`.

    Examples
    --------
    >>> import numpy as np
    >>> import warpstride as ws
    >>> c = ws.mri.nufft3d2([0.0], [0.0], [0.0], np.ones((2, 3, 4), dtype=complex))
    >>> bool(np.allclose(c, 24, rtol=1e-4))
    True
    """
    return _type2((x, y, z), f, out, eps, isign, Place(backend, device))


class NUFFT:
    """The encoding of non-Cartesian MRI, with its exact adjoint: (A ρ)_m = Σ_n ρ_n exp(−2πi k_m·x_n).

    Voxel n of an axis of N lies at n − ⌊N/2⌋ pixels. Transforms are planned once for each precision.

    Arrays of CuPy, PyTorch or JAX in the memory of a GPU (contiguous, complex64) are transformed there, in single precision,
    without a copy: the work waits for what their library has queued in its current stream, and that stream for the work.
    NumPy arrays are transformed on the CPU in their own precision, or as `backend` says.

    Values are not looked at: as with ``numpy.fft``, a NaN or an infinity in an image or in samples makes what depends on it, which
    is the whole result, NaN. (`reconstruct` refuses such samples.)

    Parameters
    ----------
    k : array_like
        Trajectory (sample, axis) or (readout, sample, axis) in cycles per pixel; axes kx, ky[, kz], which belong to columns,
        rows[, slices]. Samples have its axes before the last.
    shape : sequence of int
        Rows and columns of an image, or slices, rows and columns.
    eps : float
        Relative l² error that is asked for, as for `nufft2d1`.
    maps : array_like, optional
        Coil maps S, (coil, *shape). With these, ``A(x)`` are the samples of S x in each coil, and ``A.H(y)`` is the sum
        over coils.
    backend : {"auto", "cpu", "cuda", "emulator"}
        Where to compute. ``auto``: where an array lies, so that NumPy arrays are computed on the CPU. With ``cuda`` NumPy arrays
        of complex64 (or float32) are copied to a GPU and the results back; complex128 is refused, as transforms on a GPU have
        single precision. ``emulator`` runs the kernels of GPUs on the CPU, which is slow. ``cpu`` and ``emulator`` refuse
        arrays on a GPU.
    device : int, optional
        Number of the GPU; ``auto`` is then ``cuda``, and arrays on other GPUs are refused.
    k_unit : str, optional
        Unit of `k`: ``cycles-per-pixel`` (the default), ``radians-per-pixel``, ``cycles-per-fov``, ``radians-per-fov`` or
        ``fraction-of-kmax``. Beyond half a cycle per pixel `k` is refused, as it must be in another unit.

    Raises
    ------
    DataError
        Shapes that differ, a trajectory that is not finite or beyond half a cycle per pixel, or a tolerance out of range; one that only a precision does not reach,
        when the first array of that precision is transformed.
    DeviceError, OutOfMemoryError
        A GPU that cannot be used; too little memory.

    Examples
    --------
    >>> import numpy as np
    >>> import warpstride as ws
    >>> random = np.random.default_rng(1)
    >>> A = ws.mri.NUFFT(random.uniform(-0.5, 0.5, (50, 2)), (8, 8))
    >>> x, y = random.normal(size=(8, 8)) + 0j, random.normal(size=50) + 0j
    >>> bool(np.isclose(np.vdot(A(x), y), np.vdot(x, A.H(y))))
    True
    """

    def __init__(
        self,
        k: Any,
        shape: Sequence[int],
        eps: float = 1e-5,
        maps: Any = None,
        *,
        backend: Backend = "auto",
        device: Optional[int] = None,
        k_unit: Optional[str] = None,
    ) -> None:
        self.shape = _shape("shape", shape)
        if len(self.shape) not in (2, 3):
            raise _warpstride.DataError(f"shape: expected 2 or 3 whole numbers, found {len(self.shape)}")
        self.eps = real("eps", eps)
        if not SMALLEST[True] <= self.eps < 1:
            raise _warpstride.DataError(
                f"eps: expected a tolerance of at least {SMALLEST[True]:g} (in single precision {SMALLEST[False]:g}) "
                f"and less than 1, found {self.eps:g}"
            )
        self.backend, self.device = backend, device
        self._place = Place(backend, device)
        self.maps = None if maps is None else complexes("maps", on_host("maps", maps))
        if self.maps is not None and np.shape(self.maps)[1:] != self.shape:
            raise _warpstride.DataError(
                f"maps: expected shape (coil, {', '.join(map(str, self.shape))}), found {self.maps.shape}"
            )
        self._k = floats("k", on_host("k", k))
        if self._k.ndim < 2 or self._k.shape[-1] != len(self.shape):
            raise _warpstride.DataError(
                f"k: expected an array (sample, axis) with {len(self.shape)} axes, as shape has, found shape {self._k.shape}"
            )
        finite = np.isfinite(self._k)
        if not finite.all():
            at = np.argwhere(~finite)[0].tolist()
            raise _warpstride.DataError(f"k: expected finite values, found NaN or infinity at {at}")
        self._acquired = self._k.shape[:-1]
        flat = self._k.reshape((math.prod(self._acquired), len(self.shape)))
        self._k = _warpstride.k_in_cycles(self.shape, flat, optional_text("k_unit", k_unit))
        self._plans: dict[bool, _warpstride.PlannedNufft] = {}
        self._gpu = Transforms(self._k, self.shape, self.eps, self.maps)

    @property
    def samples(self) -> int:
        """Number of samples of an image."""
        return len(self._k)

    def _plan(self, double: bool) -> _warpstride.PlannedNufft:
        if double not in self._plans:
            self._plans[double] = _warpstride.PlannedNufft(list(self.shape), self._k, self.eps, double)
        return self._plans[double]

    def _forward(self, images: _Complex) -> _Complex:
        if self._place.uploads:
            return self._gpu.forward_of_host(images, self._place.target)
        return self._plan(images.dtype == np.complex128).forward(images)

    def _adjoint(self, samples: _Complex) -> _Complex:
        if self._place.uploads:
            return self._gpu.adjoint_of_host(samples, self._place.target)
        return self._plan(samples.dtype == np.complex128).adjoint(samples)

    def __call__(self, x: Any) -> Any:
        """Samples of images.

        Parameters
        ----------
        x : array_like
            (*shape) or (image, *shape); with coil maps one image.

        Returns
        -------
        array
            (sample) or (image, sample); with coil maps (coil, sample). Of an array on a GPU on that GPU, in the same library.

        Raises
        ------
        DataError
            An array of another shape, or one that is not transformed there.
        """
        if (gpu := self._place.gpu_of("x", x)) is not None:
            return self._as_acquired(self._gpu.forward(x, gpu))
        image = self._place.numbers("x", x)
        if self.maps is None:
            _expect("x", image, self.shape, "image", "the operator")
        else:
            if image.shape != self.shape:
                raise _warpstride.DataError(f"x: expected shape {self.shape}, found {image.shape}")
            image = self.maps.astype(image.dtype, copy=False) * image
        several = image.ndim == len(self.shape) + 1
        found = self._forward(image if several else image[np.newaxis])
        return self._as_acquired(found if several else found[0])

    def _as_acquired(self, found: Any) -> Any:
        """(…, sample) with the axes of the trajectory."""
        return found if len(self._acquired) == 1 else found.reshape((*found.shape[:-1], *self._acquired))

    def _flat(self, samples: Any) -> Any:
        """(…, sample) of samples with the axes of the trajectory."""
        _expect("y", samples, self._acquired, "image" if self.maps is None else "coil", "k")
        axes = len(self._acquired)
        return samples if axes == 1 else samples.reshape((*samples.shape[:-axes], self.samples))

    @property
    def H(self) -> Callable[[Any], Any]:  # noqa: N802
        """The adjoint, `adjoint`."""
        return self.adjoint

    def adjoint(self, y: Any) -> Any:
        """Images of samples, Σ_m y_m exp(+2πi k_m·x_n).

        Parameters
        ----------
        y : array_like
            (sample) or (image, sample); with coil maps (coil, sample).

        Returns
        -------
        array
            (*shape) or (image, *shape); with coil maps the sum over coils with the conjugate maps. Of an array on a GPU on that GPU,
            in the same library.

        Raises
        ------
        DataError
            An array of another shape, or one that is not transformed there.
        """
        if (gpu := self._place.gpu_of("y", y)) is not None:
            return self._gpu.adjoint(self._flat(y), gpu)
        samples = self._flat(self._place.numbers("y", y))
        several = samples.ndim == 2
        if not several:
            samples = samples[np.newaxis]
        images = self._adjoint(samples)
        if self.maps is None:
            return images if several else images[0]
        if len(samples) != len(self.maps):
            raise _warpstride.DataError(
                f"y: expected samples of {len(self.maps)} coils, found {len(samples)}"
            )
        weights = self.maps.astype(images.dtype, copy=False).conj()
        total: _Complex = np.einsum("c...,c...->...", weights, images)
        return total

    def __reduce__(self) -> tuple[Any, ...]:
        make = functools.partial(NUFFT, backend=self.backend, device=self.device)
        return (make, (self._k.reshape((*self._acquired, len(self.shape))), self.shape, self.eps, self.maps))
