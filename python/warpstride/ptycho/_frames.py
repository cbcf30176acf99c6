"""Frames in the memory of a GPU, prepared there by the library that they belong to."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, Callable, ContextManager, Optional

import numpy as np
import numpy.typing as npt

from .. import _warpstride
from .._gpu import device_of, in_double, library_of, module_of, moved, on_host, type_of

# Pixels that are worked on together: 64 MiB in single precision.
_BLOCK_PIXELS = 1 << 24


class _Operations:
    """The operations of a library with the names and the order of arguments of NumPy."""

    def __init__(self, array: Any, device: Optional[int]) -> None:
        self._library, self._name = module_of(array), library_of(array)
        if self._name not in ("numpy", "cupy", "torch", "jax"):
            found = type(array).__name__
            raise _warpstride.DataError(f"frames: expected an array of CuPy, PyTorch or JAX on a GPU, found {found}")
        self._numpy = self._library.numpy if self._name == "jax" else self._library
        self._device = device

    def here(self) -> ContextManager[Any]:
        """In which new arrays are on the GPU of the frames, and sums in double precision are what they say."""
        if self._name == "cupy":
            return self._library.cuda.Device(self._device)  # type: ignore[no-any-return]
        if self._name == "jax":
            return in_double(self._library)
        return nullcontext()

    def single(self, array: Any) -> Any:
        """In single precision."""
        return array.to(self._library.float32) if self._name == "torch" else array.astype(np.float32)

    def truths(self, array: Any) -> Any:
        return array.to(self._library.bool) if self._name == "torch" else array.astype(bool)

    def sum(self, array: Any, axes: tuple[int, ...]) -> Any:
        """In double precision."""
        if self._name == "torch":
            return array.sum(dim=axes, dtype=self._library.float64)
        return array.sum(axis=axes, dtype=np.float64)

    def chosen(self, mask: Any, array: Any, other: float) -> Any:
        """The array where the mask is true, in single precision."""
        if self._name == "torch":
            return self._library.where(mask, array, array.new_full((), other))
        return self._numpy.where(mask, array, np.float32(other))

    def root(self, array: Any) -> Any:
        return self._numpy.sqrt(array)

    def finite(self, array: Any) -> Any:
        return self._numpy.isfinite(array)

    def whole(self, array: Any) -> Any:
        return (self._numpy.floor(array) == array).all()

    def rolled(self, array: Any, rows: int, columns: int) -> Any:
        if self._name == "torch":
            return self._library.roll(array, (rows, columns), (1, 2))
        return self._numpy.roll(array, (rows, columns), (1, 2))

    def joined(self, arrays: list[Any]) -> Any:
        return arrays[0] if len(arrays) == 1 else self._numpy.concatenate(arrays)

    def stacked(self, arrays: list[Any]) -> npt.NDArray[Any]:
        """Scalars on the host, in double precision."""
        if self._name == "torch":
            return np.asarray(on_host("frames", self._library.stack([one.to(self._library.float64) for one in arrays])))
        return np.asarray(on_host("frames", self._numpy.stack([one.astype(np.float64) for one in arrays])))

    def empty(self, like: Any, shape: tuple[int, ...]) -> Any:
        """A new array in single precision; None where arrays cannot be written to."""
        if self._name == "torch":
            return self._library.empty(shape, dtype=self._library.float32, device=like.device)
        return None if self._name == "jax" else self._library.empty(shape, dtype=np.float32)


class Prepared:
    """Frames as the engines of a GPU take them, and what the host needs to know of them.

    √counts are computed where the frames lie, in blocks, by the operations of their library. The mask is copied to the host, as are
    the sums over frames and over pixels, and single frames by `read`.

    Parameters
    ----------
    frames : array
        Counts (frame, row, column), integers or floats, on a GPU.
    mask : array, optional
        Valid pixels (row, column) or (frame, row, column).

    Raises
    ------
    DataError
        Arrays of other shapes, types or libraries; a valid count that is negative or not finite.
    """

    def __init__(self, frames: Any, mask: Any) -> None:
        self.device = device_of(frames)
        operations = _Operations(frames, self.device)
        kind = type_of(frames)
        shape = tuple(frames.shape)
        if len(shape) != 3 or 0 in shape or not kind.rstrip("0123456789") in ("int", "uint", "float"):
            raise _warpstride.DataError(
                f"frames: expected an array (frame, row, column) of numbers, found one of shape {shape} and type {kind}"
            )
        self._frames: Any = frames
        self._operations = operations
        with operations.here():
            self.mask, valid = self._masks(mask, shape)
            self._prepare(frames, valid, shape)

    def _masks(self, mask: Any, shape: tuple[int, ...]) -> tuple[Optional[npt.NDArray[np.bool_]], Any]:
        """The mask on the host, and where the frames lie."""
        if mask is None:
            return None, None
        host = np.asarray(on_host("mask", mask)).astype(bool, copy=False)
        if host.shape not in (shape, shape[1:]):
            raise _warpstride.DataError(
                f"mask: expected an array (row, column) or (frame, row, column), found shape {host.shape}"
            )
        if self.device is None:
            return host, host
        same = device_of(mask) == self.device and library_of(mask) == library_of(self._frames)
        return host, self._operations.truths(mask) if same else moved("mask", host, self._frames, self.device)

    def _prepare(self, frames: Any, valid: Any, shape: tuple[int, ...]) -> None:
        operations = self._operations
        count, rows, columns = shape
        together = max(1, _BLOCK_PIXELS // (rows * columns))
        out = operations.empty(frames, shape)
        blocks: list[Any] = []
        of_frames: list[Any] = []
        facts: list[Any] = []
        of_pixels: Any = None
        for first in range(0, count, together):
            end = min(count, first + together)
            counts = operations.single(frames[first:end])
            here = None if valid is None else valid[first:end] if len(valid.shape) == 3 else valid
            if here is not None:
                counts = operations.chosen(here, counts, 0.0)
            facts.append((~(operations.finite(counts) & (counts >= 0))).any())
            facts.append(operations.whole(counts))
            facts.append(counts.max())
            of_frames.append(operations.sum(counts, (1, 2)))
            sums = operations.sum(counts, (0,))
            of_pixels = sums if of_pixels is None else of_pixels + sums
            roots = operations.root(counts)
            if here is not None:
                roots = operations.chosen(here, roots, -1.0)
            block = operations.rolled(roots, -(rows // 2), -(columns // 2))
            if out is None:
                blocks.append(block)
            else:
                out[first:end] = block
        # The host waits here, so that the frames have been written when they are read one by one.
        bad, whole, largest = operations.stacked(facts).reshape((-1, 3)).T
        if bad.any():
            self._refuse(frames, valid, int(np.flatnonzero(bad)[0]) * together, together)
        self.magnitudes = operations.joined(blocks) if out is None else out
        self.of_frames = np.concatenate([np.asarray(on_host("frames", one)) for one in of_frames])
        self.of_pixels = np.ascontiguousarray(on_host("frames", of_pixels))
        self.largest, self.whole = float(largest.max()), bool(whole.all())

    def _refuse(self, frames: Any, valid: Any, first: int, together: int) -> None:
        """Names the first count that is refused."""
        for number in range(first, min(len(frames), first + together)):
            counts = self.read(number)
            wrong = ~(np.isfinite(counts) & (counts >= 0))
            if self.mask is not None:
                wrong &= self.mask[number] if self.mask.ndim == 3 else self.mask
            for row, column in np.argwhere(wrong):
                found = counts[row, column]
                raise _warpstride.DataError(
                    f"frame {number}, row {row}, column {column}: expected a finite count >= 0 (at most 3.4e38, the f32 "
                    f"range) on every unmasked pixel, found {found}"
                )

    def read(self, number: int) -> npt.NDArray[np.float32]:
        """The counts of a frame (row, column) on the host."""
        if self._frames is None:
            raise _warpstride.DataError("expected frames in host memory, as the preparation has ended")
        with self._operations.here():
            return np.ascontiguousarray(on_host("frames", self._operations.single(self._frames[number])), dtype=np.float32)

    def close(self) -> None:
        """Let go of the frames and of √counts."""
        self._frames = self.magnitudes = None

    def options(self) -> dict[str, Any]:
        """What the extension module needs."""
        read: Callable[[int], npt.NDArray[np.float32]] = self.read
        return {
            "magnitudes": self.magnitudes,
            "device": self.device,
            "of_frames": self.of_frames,
            "of_pixels": self.of_pixels,
            "largest": self.largest,
            "whole": self.whole,
            "read": read,
        }
