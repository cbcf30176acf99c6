"""Arrays of CuPy, PyTorch, JAX and other libraries in the memory of a GPU."""

from __future__ import annotations

import importlib
import sys
from typing import Any, ContextManager, Optional, Sequence

import numpy as np
import numpy.typing as npt

from . import _warpstride
from ._arguments import device_number, text
from ._arrays import complexes
from ._types import Backend

__all__ = [
    "LIBRARIES",
    "Place",
    "Transforms",
    "device_of",
    "exported",
    "in_double",
    "library_of",
    "module_of",
    "moved",
    "on_host",
    "stream_of",
    "type_of",
    "with_value",
]

# Libraries whose arrays are made and computed with here.
LIBRARIES = ("cupy", "torch", "jax")

# DLPack's numbers of CUDA's memory and of its managed memory.
_CUDA = (2, 13)


def device_of(array: Any) -> Optional[int]:
    """The number of the GPU whose memory an array lies in; None for anything else."""
    if isinstance(array, np.ndarray):
        return None
    if hasattr(array, "__dlpack_device__"):
        try:
            kind, number = array.__dlpack_device__()
        except Exception:  # An array of a kind that its library does not share.
            return None
        return int(number) if int(kind) in _CUDA else None
    # The interface does not say which device; the check of the memory does.
    return 0 if hasattr(array, "__cuda_array_interface__") else None


def _library(array: Any) -> Any:
    name = library_of(array)
    return sys.modules.get(name), name


def library_of(array: Any) -> str:
    """The name of the library that an array is of."""
    name = type(array).__module__.partition(".")[0]
    return "jax" if name == "jaxlib" else name


def on_host(name: str, array: Any) -> Any:
    """An array on a GPU as a NumPy array, a copy; anything else as it is.

    Raises
    ------
    DataError
        An array on a GPU of another library than CuPy, PyTorch and JAX.
    """
    device = device_of(array)
    if device is None:
        return array
    library = library_of(array)
    if library == "torch":
        return array.detach().cpu().numpy()
    if library == "cupy":
        with sys.modules[library].cuda.Device(device):
            return array.get()
    if library == "jax":
        return np.asarray(array)
    if isinstance(array, _warpstride.DeviceArray):
        return array.to_numpy()
    raise _warpstride.DataError(
        f"{name}: expected an array of CuPy, PyTorch, JAX or NumPy, found one of {library} on a GPU"
    )


def _stream(array: Any, device: int) -> Optional[int]:
    """The handle of the current stream of the array's library, if it tells."""
    library, name = _library(array)
    if name == "torch":
        return int(library.cuda.current_stream(device).cuda_stream)
    if name == "cupy":
        with library.cuda.Device(device):
            return int(library.cuda.get_current_stream().ptr)
    return None


def _empty(like: Any, shape: Sequence[int], device: int) -> Any:
    """A new array of complex64 of the same library, or None where the library's arrays cannot be written to."""
    library, name = _library(like)
    if name == "torch":
        return library.empty(tuple(shape), dtype=library.complex64, device=like.device)
    if name == "cupy":
        with library.cuda.Device(device):
            return library.empty(tuple(shape), dtype=np.complex64)
    return None


def in_double(library: Any) -> ContextManager[Any]:
    """In which JAX has arrays in double precision, which it otherwise makes single."""
    enable = getattr(library, "enable_x64", None)
    if enable is None:
        enable = importlib.import_module("jax.experimental").enable_x64
    context: ContextManager[Any] = enable(True)
    return context


def _converted(like: Any, found: Any) -> Any:
    library, name = _library(like)
    if name == "jax":
        with in_double(library):
            return library.numpy.from_dlpack(found)
    return found


def moved(name: str, values: npt.NDArray[Any], like: Any, device: int) -> Any:
    """An array of the host, the argument `name`, in the memory of a GPU, by the library of `like`."""
    library, of = _library(like)
    if of == "torch":
        return library.as_tensor(values, device=like.device)
    if of == "cupy":
        with library.cuda.Device(device):
            return library.asarray(values)
    if of == "jax":
        return library.device_put(values, next(iter(like.devices())))
    raise _warpstride.DataError(
        f"{name}: expected an array on a GPU of CuPy, PyTorch or JAX beside one of NumPy, found one of {of}"
    )


class Place:
    """Where transforms are computed, as `backend` and `device` ask for.

    Parameters
    ----------
    backend : {"auto", "cpu", "cuda", "emulator"}
        ``auto``: where the array lies.
    device : int, optional
        Number of the GPU.
    """

    def __init__(self, backend: Backend, device: Optional[int]) -> None:
        self.device = device_number(device)
        self.backend = _warpstride.transform_backend(text("backend", backend), self.device)

    def gpu_of(self, name: str, array: Any) -> Optional[int]:
        """The number of the GPU on which an array lies and is transformed; None for an array of the host.

        Raises
        ------
        DataError
            It lies on a GPU and is to be transformed elsewhere.
        """
        found = device_of(array)
        if found is None:
            return None
        if self.backend not in ("auto", "cuda"):
            raise _warpstride.DataError(
                f"{name}: expected a NumPy array with backend {self.backend}, found an array on GPU {found}"
            )
        if self.device not in (None, found):
            raise _warpstride.DataError(
                f"{name}: expected a NumPy array or one on GPU {self.device}, found an array on GPU {found}"
            )
        return found

    @property
    def uploads(self) -> bool:
        """Whether arrays of the host are transformed by a GPU or the emulator, in single precision."""
        return self.backend in ("cuda", "emulator")

    @property
    def target(self) -> Optional[int]:
        """The number of the GPU that transforms arrays of the host; None for the emulator."""
        return None if self.backend == "emulator" else self.device or 0

    def numbers(self, name: str, values: Any) -> npt.NDArray[Any]:
        """An argument of the host as complex64 or complex128, which a GPU does not transform.

        Raises
        ------
        DataError
            Anything but numbers, or numbers that a GPU's precision would round.
        """
        array = complexes(name, values)
        if self.uploads and array.dtype != np.complex64:
            raise _warpstride.DataError(
                f"{name}: expected complex64 or float32 with backend {self.backend}, whose transforms have single "
                f"precision, found {np.asarray(values).dtype}; round it with astype, or use backend cpu"
            )
        return array


def type_of(array: Any) -> str:
    """NumPy's name of the type of an array's elements."""
    if hasattr(array, "dtype"):
        return str(array.dtype).rpartition(".")[2]
    return str(np.dtype(array.__cuda_array_interface__["typestr"]).name)


def module_of(array: Any) -> Any:
    """The library of an array as a module."""
    return _library(array)[0]


def stream_of(array: Any, device: int) -> Optional[int]:
    """The handle of the current stream of an array's library, if it tells."""
    return _stream(array, device)


def exported(like: Any, found: _warpstride.DeviceArray) -> Any:
    """A result on a GPU as an array of the library of ``like``, without a copy; of an unknown library as it is."""
    library, name = _library(like)
    if name in ("torch", "cupy"):
        return library.from_dlpack(found)
    return _converted(like, found)


def with_value(array: Any, index: tuple[Any, ...], value: float) -> Any:
    """An array on a GPU with a value at this index, lists of numbers of axes."""
    if not len(index[0]):
        return array
    if library_of(array) == "jax":
        with in_double(module_of(array)):
            return array.at[tuple(np.asarray(axis) for axis in index)].set(value)
    array[tuple(list(map(int, axis)) for axis in index)] = value
    return array


class Transforms:
    """The transforms of one trajectory on GPUs, planned when they are first used.

    Parameters
    ----------
    k : ndarray
        Trajectory (sample, axis) in cycles per pixel.
    shape : tuple of int
        Lengths of an image's axes.
    eps : float
        Relative l² error that is asked for.
    maps : ndarray, optional
        Coil maps (coil, *shape).
    name : str, optional
        What callers name the arrays, for errors.
    """

    def __init__(
        self,
        k: npt.NDArray[np.float64],
        shape: tuple[int, ...],
        eps: float,
        maps: Optional[npt.NDArray[Any]],
        name: Optional[str] = None,
    ) -> None:
        self._name = name
        self._k, self._shape, self._eps, self._maps = k, shape, eps, maps
        # The emulator's has no number.
        self._plans: dict[Optional[int], _warpstride.DeviceNufft] = {}
        self._moved: dict[tuple[str, int], Any] = {}

    def _plan(self, device: Optional[int], images: int) -> _warpstride.DeviceNufft:
        plan = self._plans.get(device)
        if plan is None or plan.images < images:
            plan = _warpstride.DeviceNufft(list(self._shape), self._k, self._eps, images, device)
            self._plans[device] = plan
        return plan

    def _maps_on(self, device: int, like: Any) -> Any:
        key = (_library(like)[1], device)
        if key not in self._moved:
            assert self._maps is not None
            self._moved[key] = moved("maps", self._maps.astype(np.complex64), like, device)
        return self._moved[key]

    def _run(self, way: str, array: Any, device: int, shape: Sequence[int], out: Any) -> Any:
        plan = self._plan(device, max(1, array.shape[0]))
        if out is None:
            out = _empty(array, shape, device)
        found = getattr(plan, way)(array, out, _stream(array, device))
        return _converted(array, found) if out is None else out

    def forward_of_host(self, images: npt.NDArray[Any], device: Optional[int]) -> npt.NDArray[Any]:
        """Samples (image, sample) of images (image, *shape), complex64, by a GPU; without its number by the emulator."""
        return self._plan(device, max(1, len(images))).forward_of_host(images)

    def adjoint_of_host(self, samples: npt.NDArray[Any], device: Optional[int]) -> npt.NDArray[Any]:
        """Images (image, *shape) of samples (image, sample), complex64, by a GPU; without its number by the emulator."""
        return self._plan(device, max(1, len(samples))).adjoint_of_host(samples)

    def forward(self, x: Any, device: int, out: Any = None) -> Any:
        """Samples of images on a GPU, in the library of `x`, in `out` if it is given."""
        axes = len(self._shape)
        if self._maps is not None:
            _expect(self._name or "x", x, self._shape)
            x = self._maps_on(device, x) * x
        several = len(x.shape) == axes + 1
        images = x if several else x[None]
        _expect(self._name or "x", images, (images.shape[0], *self._shape))
        shape = (images.shape[0], len(self._k))
        if out is not None:
            self._run("forward", images, device, shape, _given(out, x, device, shape, several))
            return out
        found = self._run("forward", images, device, shape, None)
        return found if several else found[0]

    def adjoint(self, y: Any, device: int, out: Any = None) -> Any:
        """Images of samples on a GPU, in the library of `y`, in `out` if it is given."""
        several = len(y.shape) == 2
        samples = y if several else y[None]
        _expect(self._name or "y", samples, (samples.shape[0], len(self._k)))
        if self._maps is not None:
            _expect(self._name or "y", samples, (len(self._maps), len(self._k)))
        shape = (samples.shape[0], *self._shape)
        if out is not None:
            self._run("adjoint", samples, device, shape, _given(out, y, device, shape, several))
            return out
        images = self._run("adjoint", samples, device, shape, None)
        if self._maps is not None:
            return (self._maps_on(device, images).conj() * images).sum(0)
        return images if several else images[0]


def _given(out: Any, like: Any, device: int, shape: Sequence[int], several: bool) -> Any:
    """An array for results of this shape, which has an axis for several of them that `out` may lack."""
    library = library_of(like)
    if device_of(out) != device or library_of(out) != library:
        found = "a NumPy array" if isinstance(out, np.ndarray) else f"one of {library_of(out)}"
        raise _warpstride.DataError(f"out: expected an array of {library} on GPU {device}, found {found}")
    if library == "jax":
        raise _warpstride.DataError("out: expected no array for the result, as those of JAX cannot be written to")
    _expect("out", out, shape if several else shape[1:])
    return out if several else out[None]


def _expect(name: str, array: Any, shape: Sequence[int]) -> None:
    if tuple(array.shape) != tuple(shape):
        raise _warpstride.DataError(f"{name}: expected shape {tuple(shape)}, found {tuple(array.shape)}")
