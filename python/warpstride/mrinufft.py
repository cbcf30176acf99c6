"""The back end ``warpstride`` of mri-nufft.

Importing this module registers it: ``mrinufft.get_operator("warpstride")``. It computes on the CPU, in the precision of
the trajectory. mri-nufft must be installed.
"""

from __future__ import annotations

from typing import Any, Optional, Sequence

import numpy as np
import numpy.typing as npt
from mrinufft._utils import proper_trajectory
from mrinufft.operators.base import FourierOperatorCPU, _ToggleGradPlanMixin

from . import _warpstride

__all__ = ["MRIWarpstride"]


class _Plan:
    """Transforms between images (transform, *shape) and samples (transform, sample), as mri-nufft calls them."""

    def __init__(self, samples: npt.NDArray[Any], shape: Sequence[int], eps: float) -> None:
        self._shape = [int(axis) for axis in shape]
        self._eps = eps
        self._conjugate = False
        self.set_samples(samples)

    def set_samples(self, samples: npt.NDArray[Any]) -> None:
        """Plan for samples (sample, axis) in radians, whose first axis belongs to the first axis of images."""
        double = samples.dtype == np.float64
        self._dtype = np.complex128 if double else np.complex64
        k = np.asarray(samples[:, ::-1], dtype=np.float64) / (2 * np.pi)
        self._plan = _warpstride.PlannedNufft(self._shape, np.ascontiguousarray(k), self._eps, double)
        self._samples = len(samples)

    def op(self, coefficients: npt.NDArray[Any], image: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Samples of images."""
        images = np.require(image, self._dtype, ["C", "A"]).reshape((-1, *self._shape))
        if self._conjugate:
            found = self._plan.forward(images.conj()).conj()
        else:
            found = self._plan.forward(images)
        coefficients[...] = found.reshape(coefficients.shape)
        return coefficients

    def adj_op(self, coefficients: npt.NDArray[Any], image: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Images of samples."""
        samples = np.require(coefficients, self._dtype, ["C", "A"]).reshape((-1, self._samples))
        image[...] = self._plan.adjoint(samples).reshape(image.shape)
        return image

    def toggle_grad_traj(self) -> None:
        """Change the sign of the exponent of `op`, which gradients by the trajectory need."""
        self._conjugate = not self._conjugate


class MRIWarpstride(FourierOperatorCPU, _ToggleGradPlanMixin):  # type: ignore[misc]
    """Non-uniform Fourier transforms of MRI, computed by warpstride.

    Parameters
    ----------
    samples : ndarray
        Trajectory (sample, axis) in radians or in cycles per pixel, as mri-nufft takes it; float32 or float64.
    shape : tuple of int
        Shape of the image, of two or three axes.
    density : bool or ndarray
        Density compensation, as in mri-nufft.
    n_coils, n_batchs, n_trans : int
        Numbers of coils, batches and simultaneous transforms.
    smaps : ndarray, optional
        Coil maps (coil, *shape).
    squeeze_dims : bool
        Whether axes of one coil or batch are left out.
    eps : float
        Relative l² error that is asked for.

    Examples
    --------
    >>> import mrinufft
    >>> import numpy as np
    >>> import warpstride.mrinufft
    >>> k = np.random.default_rng(1).uniform(-0.5, 0.5, (50, 2)).astype(np.float32)
    >>> operator = mrinufft.get_operator("warpstride")(k, (8, 8))
    >>> operator.op(np.ones((8, 8), dtype=np.complex64)).shape
    (50,)
    """

    backend = "warpstride"
    available = True
    autograd_available = True

    def __init__(
        self,
        samples: npt.NDArray[Any],
        shape: Sequence[int],
        density: Any = False,
        n_coils: int = 1,
        n_batchs: int = 1,
        n_trans: int = 1,
        smaps: Optional[npt.NDArray[Any]] = None,
        squeeze_dims: bool = True,
        eps: float = 1e-6,
    ) -> None:
        samples = _radians(samples)
        super().__init__(
            samples,
            shape,
            density=density,
            n_coils=n_coils,
            n_batchs=n_batchs,
            n_trans=n_trans,
            smaps=smaps,
            raw_op=_Plan(samples, shape, eps),
            squeeze_dims=squeeze_dims,
        )

    def update_samples(self, new_samples: npt.NDArray[Any], *, unsafe: bool = False) -> None:
        """Plan for another trajectory; ``unsafe``: it is in radians, and not checked."""
        self._samples = new_samples if unsafe else _radians(new_samples)
        self.raw_op.set_samples(self._samples)
        self.compute_density(self._density_method)

    @classmethod
    def pipe(
        cls,
        kspace_loc: npt.NDArray[Any],
        volume_shape: Sequence[int],
        max_iter: int = 10,
        osf: float = 2,
        normalize: bool = True,
        **kwargs: Any,
    ) -> npt.NDArray[Any]:
        """Density weights (sample) by Pipe and Menon's iteration, as mri-nufft asks for them with ``density=True``.

        The convolution has the kernel of Johnson and Pipe, which is computed on a grid of twice the shape whatever
        ``osf`` is. If ``normalize``, an image of ones keeps its mean.
        """
        radians = _radians(kspace_loc).reshape((-1, len(volume_shape)))
        k = np.ascontiguousarray(radians[:, ::-1], dtype=np.float64) / (2 * np.pi)
        weights = _warpstride.density_weights([int(axis) for axis in volume_shape], k, max_iter)
        found = weights.astype(radians.dtype)
        if normalize:
            operator = cls(radians, volume_shape, density=found, **kwargs)
            ones = np.ones(tuple(volume_shape), dtype=operator.cpx_dtype)
            found /= np.mean(np.abs(operator.adj_op(operator.op(ones))))
        return found

    def _make_plan_grad(self, **kwargs: Any) -> None:
        """There is nothing to plan: `_Plan.toggle_grad_traj` conjugates."""


def _radians(samples: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The trajectory in radians."""
    return np.asarray(proper_trajectory(np.asarray(samples), normalize="pi"))
