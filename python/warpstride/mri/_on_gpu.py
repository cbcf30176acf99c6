"""Reconstructions of samples that lie on a GPU."""

from __future__ import annotations

import json
from numbers import Integral
from typing import Any, Optional, Sequence

import numpy as np
import numpy.typing as npt

from .. import _warpstride
from .._arrays import complexes
from .._gpu import LIBRARIES, device_of, exported, library_of, moved, on_host

# Voxels whose maps are weaker than this share of the strongest Σ|S|² have no image of the adjoint, as on the CPU.
_MIN_INTENSITY = 1e-6


def check_maps(maps: Any, coils: int, shape: Sequence[int]) -> int:
    """The number of sets of coil maps (coil, *shape) or (set, coil, *shape).

    Raises
    ------
    DataError
        Maps of another shape.
    """
    axes, found = len(shape), tuple(maps.shape)
    if len(found) not in (axes + 1, axes + 2) or found[-axes:] != tuple(shape):
        raise _warpstride.DataError(
            f"maps: expected shape {(coils, *shape)} (coil, *matrix), or several sets of them, found {found}"
        )
    return found[0] if len(found) == axes + 2 else 1


class OnGpu:
    """A reconstruction in progress, as `_warpstride.MriRun` is one of samples on the host.

    Samples, maps and image stay in the memory of the GPU; with maps that are to be estimated, the samples are copied to the host,
    which estimates them.

    Parameters
    ----------
    samples : array
        (coil, sample), on the GPU of the number `gpu`.
    gpu : int
        Number of the GPU.
    k : ndarray
        Trajectory (sample, axis).
    maps : array, optional
        Coil maps that are given, of the host or the same GPU.
    weights : ndarray, optional
        Density weights (sample) that are given.
    asked : dict
        The other arguments of a reconstruction.
    """

    def __init__(
        self,
        samples: Any,
        gpu: int,
        k: npt.NDArray[np.float64],
        maps: Any,
        weights: Optional[npt.NDArray[np.float64]],
        asked: dict[str, Any],
    ) -> None:
        if library_of(samples) not in LIBRARIES:
            raise _warpstride.DataError(
                f"samples: expected an array of CuPy, PyTorch, JAX or NumPy, found one of {library_of(samples)} on a GPU"
            )
        if asked["backend"] not in ("auto", "cuda"):
            raise _warpstride.DataError(
                f"samples: expected a NumPy array with backend {asked['backend']}, found an array on GPU {gpu}"
            )
        _expect_device(asked["devices"], gpu)
        self._like, self._gpu, self._shape = samples, gpu, asked["matrix"]
        self._notes: list[str] = []
        coils = samples.shape[0]
        if asked["maps"] == "given":
            self._maps = self._given(maps, coils)
        elif asked["maps"] == "none":
            self._maps = None
        else:
            host = complexes("samples", on_host("samples", samples)).astype(np.complex64, copy=False)
            found, self._notes = _warpstride.mri_coil_maps(host, k, {**asked, "devices": None})
            self._notes.insert(0, "the coil maps were estimated on the host, from a copy of the samples")
            self._maps = moved("maps", found.reshape((*found.shape[:2], *self._shape)), samples, gpu)
        used = self._maps
        if used is not None and asked["intensity_correction"]:
            used = _divided(used, 0.5, 0.0)
        if used is not None and asked["method"] == "adjoint":
            used = _divided(used, 1.0, _MIN_INTENSITY)
        self._run = _warpstride.DeviceMriRun(samples, k, used, weights, {**asked, "devices": None}, gpu)

    def _given(self, maps: Any, coils: int) -> Any:
        """Maps (set, coil, *shape) on the GPU."""
        found = device_of(maps)
        if found is None:
            maps = complexes("maps", maps).astype(np.complex64, copy=False)
        elif found != self._gpu or library_of(maps) != library_of(self._like):
            raise _warpstride.DataError(
                f"maps: expected a NumPy array, or one of {library_of(self._like)} on GPU {self._gpu} as the samples, found "
                f"one of {library_of(maps)} on GPU {found}"
            )
        sets, axes = check_maps(maps, coils, self._shape), len(self._shape)
        if maps.shape[-axes - 1] != coils or sets == 0:
            raise _warpstride.DataError(
                f"maps: expected shape {(coils, *self._shape)} (coil, *matrix), found {tuple(maps.shape)}"
            )
        maps = maps.reshape((sets, coils, *self._shape))
        return moved("maps", maps, self._like, self._gpu) if found is None else maps

    def advance(self, seconds: float) -> tuple[list[tuple[int, float]], int, bool]:
        """Do iterations for about so many seconds, at least one."""
        return self._run.advance(seconds)

    def result(self) -> tuple[Any, Any, npt.NDArray[np.float64], dict[str, Any]]:
        """Image, maps, residuals, and the other attributes of a result."""
        found, residuals, document = self._run.result()
        images = exported(self._like, found)
        # Several sets of maps, or coils without maps, have an image each.
        image = images[0] if images.shape[0] == 1 else _squares(images).sum(0) ** 0.5 + 0j
        maps = self._maps
        if maps is not None and maps.shape[0] == 1:
            maps = maps[0]
        facts: dict[str, Any] = json.loads(document)
        facts["notes"] = self._notes + facts["notes"]
        return image, maps, residuals, facts

    def close(self) -> None:
        """End the thread that computes."""
        self._run.close()


def _squares(values: Any) -> Any:
    """|v|² as real numbers."""
    return (values * values.conj()).real


def _divided(maps: Any, power: float, floor: float) -> Any:
    """S/Iᵖ of maps (set, coil, *shape), with I = Σ|S|² over the coils; 0 where I is at most this share of its largest."""
    intensity = _squares(maps).sum(1)
    signal = intensity > floor * intensity.max()
    return maps * (signal / (intensity + ~signal) ** power)[:, None]


def _expect_device(devices: Any, gpu: int) -> None:
    """Refuse other GPUs than that of the samples."""
    chosen = [devices] if isinstance(devices, Integral) else devices
    if chosen is not None and (isinstance(chosen, str) or list(chosen) != [gpu]):
        raise _warpstride.DataError(
            f"devices: expected None or {gpu}, the GPU on which the samples lie, found {devices!r:.100}"
        )
