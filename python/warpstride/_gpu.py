"""Arrays of CuPy, PyTorch, JAX and other libraries in the memory of a GPU."""

from __future__ import annotations

import importlib
import sys
from typing import Any, ContextManager, Optional, Sequence

import numpy as np
import numpy.typing as npt

from . import _warpstride

__all__ = ["Transforms", "device_of", "exported", "in_double", "library_of", "moved", "on_host", "stream_of", "type_of", "with_nan"]

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
    name = type(array).__module__.partition(".")[0]
    return sys.modules.get("jax" if name == "jaxlib" else name), "jax" if name == "jaxlib" else name


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


def _moved(values: npt.NDArray[Any], like: Any, device: int) -> Any:
    """An array of the host in the memory of a GPU, by the library of `like`."""
    library, name = _library(like)
    if name == "torch":
        return library.as_tensor(values, device=like.device)
    if name == "cupy":
        with library.cuda.Device(device):
            return library.asarray(values)
    if name == "jax":
        return library.device_put(values, next(iter(like.devices())))
    raise _warpstride.DataError(
        f"maps: expected arrays of CuPy, PyTorch or JAX beside coil maps, found one of {name}"
    )


def type_of(array: Any) -> str:
    """NumPy's name of the type of an array's elements."""
    if hasattr(array, "dtype"):
        return str(array.dtype).rpartition(".")[2]
    return str(np.dtype(array.__cuda_array_interface__["typestr"]).name)


def library_of(array: Any) -> tuple[Any, str]:
    """The library of an array as a module, and its name."""
    library, name = _library(array)
    return library, name


def stream_of(array: Any, device: int) -> Optional[int]:
    """The handle of the current stream of an array's library, if it tells."""
    return _stream(array, device)


def exported(like: Any, found: _warpstride.DeviceArray) -> Any:
    """A result on a GPU as an array of the library of ``like``, without a copy; of an unknown library as it is."""
    library, name = _library(like)
    if name in ("torch", "cupy"):
        return library.from_dlpack(found)
    return _converted(like, found)


def moved(name: str, values: npt.NDArray[Any], like: Any, device: int) -> Any:
    """An array of the host in the memory of a GPU, by the library of ``like``."""
    if _library(like)[1] not in ("torch", "cupy", "jax"):
        found = type(like).__name__
        raise _warpstride.DataError(f"{name}: expected an array of CuPy, PyTorch or JAX, found {found}")
    return _moved(values, like, device)


def on_host(array: Any) -> Any:
    """An array on a GPU as one of NumPy; anything else as it is."""
    device = device_of(array)
    if device is None:
        return array
    library, name = _library(array)
    if name == "torch":
        return array.detach().cpu().numpy()
    if name == "cupy":
        with library.cuda.Device(device):
            return array.get()
    if name == "jax":
        return np.asarray(array)
    if isinstance(array, _warpstride.DeviceArray):
        return array.to_numpy()
    found = type(array).__name__
    raise _warpstride.DataError(f"expected an array in host memory, or one of CuPy, PyTorch or JAX, found {found}")


def with_nan(array: Any, rows: Sequence[int]) -> Any:
    """An array on a GPU with NaN in these rows."""
    if not rows:
        return array
    if _library(array)[1] == "jax":
        return array.at[np.asarray(rows)].set(np.nan)
    array[list(rows)] = np.nan
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
    """

    def __init__(
        self,
        k: npt.NDArray[np.float64],
        shape: tuple[int, ...],
        eps: float,
        maps: Optional[npt.NDArray[Any]],
    ) -> None:
        self._k, self._shape, self._eps, self._maps = k, shape, eps, maps
        self._plans: dict[int, Any] = {}
        self._moved: dict[tuple[str, int], Any] = {}

    def _plan(self, device: int, images: int) -> Any:
        plan = self._plans.get(device)
        if plan is None or plan.images < images:
            plan = _warpstride.DeviceNufft(list(self._shape), self._k, self._eps, images, device)
            self._plans[device] = plan
        return plan

    def _maps_on(self, device: int, like: Any) -> Any:
        key = (_library(like)[1], device)
        if key not in self._moved:
            assert self._maps is not None
            self._moved[key] = _moved(self._maps.astype(np.complex64), like, device)
        return self._moved[key]

    def _run(self, way: str, array: Any, device: int, shape: Sequence[int]) -> Any:
        plan = self._plan(device, max(1, array.shape[0]))
        out = _empty(array, shape, device)
        found = getattr(plan, way)(array, out, _stream(array, device))
        return _converted(array, found) if out is None else out

    def forward(self, x: Any, device: int) -> Any:
        """Samples of images on a GPU, in the library of `x`."""
        axes = len(self._shape)
        if self._maps is not None:
            _expect("x", x, self._shape)
            x = self._maps_on(device, x) * x
        several = len(x.shape) == axes + 1
        images = x if several else x[None]
        _expect("x", images, (images.shape[0], *self._shape))
        found = self._run("forward", images, device, (images.shape[0], len(self._k)))
        return found if several else found[0]

    def adjoint(self, y: Any, device: int) -> Any:
        """Images of samples on a GPU, in the library of `y`."""
        several = len(y.shape) == 2
        samples = y if several else y[None]
        _expect("y", samples, (samples.shape[0], len(self._k)))
        if self._maps is not None:
            _expect("y", samples, (len(self._maps), len(self._k)))
        images = self._run("adjoint", samples, device, (samples.shape[0], *self._shape))
        if self._maps is not None:
            return (self._maps_on(device, images).conj() * images).sum(0)
        return images if several else images[0]


def _expect(name: str, array: Any, shape: Sequence[int]) -> None:
    if tuple(array.shape) != tuple(shape):
        raise _warpstride.DataError(f"{name}: expected shape {tuple(shape)}, found {tuple(array.shape)}")
