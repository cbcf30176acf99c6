"""Models of small-angle scattering for bumps and sasmodels, computed by warpstride.

`load_model` is used in the place of ``sasmodels.core.load_model``: what it returns is a model for
``sasmodels.bumps_model.Model`` and ``sasmodels.direct_model.DirectModel``. sasmodels reads the data, applies their
resolution and makes the meshes of distributions; warpstride computes the intensities. sasmodels must be installed, and
bumps for fits.
"""

from __future__ import annotations

from typing import Any, Optional, Sequence

import numpy as np
import numpy.typing as npt
from sasmodels.core import load_model_info
from sasmodels.kernel import Kernel, KernelModel

from . import sas
from ._types import Backend, Precision
from ._warpstride import DataError

__all__ = ["load_model"]

_COMMON = 2
"""Values before those of the model: scale and background."""


def load_model(
    name: str,
    *,
    backend: Backend = "auto",
    device: Optional[int] = None,
    precision: Precision = "f64",
) -> KernelModel:
    """Load a model for sasmodels and bumps.

    Parameters
    ----------
    name : str
        Name, such as ``"sphere"`` or ``"cylinder@hardsphere"``; all of `warpstride.sas.models`.
    backend : {"auto", "cpu", "cuda", "emulator"}
        Where to compute.
    device : int, optional
        Number of the GPU.
    precision : {"f32", "f64"}
        Precision of form factors and of their sums.

    Returns
    -------
    sasmodels.kernel.KernelModel
        A model whose kernels compute with warpstride.

    Raises
    ------
    DataError
        A name that no model has.

    Examples
    --------
    >>> import numpy as np
    >>> from sasmodels.data import empty_data1D
    >>> from sasmodels.direct_model import DirectModel
    >>> import warpstride.bumps
    >>> model = warpstride.bumps.load_model("sphere", backend="cpu")
    >>> curve = DirectModel(empty_data1D(np.array([0.01, 0.1])), model)
    >>> curve(radius=20, background=0).round(4).tolist()
    [83.1079, 35.7333]
    """
    place: dict[str, Any] = {"backend": backend, "device": device, "precision": precision}
    sas.Model(name, **place)
    return _Model(name, place)


class _Model(KernelModel):  # type: ignore[misc]
    """What sasmodels makes kernels of."""

    dtype = np.dtype(np.float64)

    def __init__(self, name: str, place: dict[str, Any]) -> None:
        self.info = load_model_info(name)
        self._name, self._place = name, place

    def make_kernel(self, q_vectors: Sequence[npt.NDArray[Any]]) -> _Kernel:
        """The model at these points: q, or qx and qy."""
        return _Kernel(self.info, self._name, self._place, q_vectors)


class _Input:
    """The points of a kernel."""

    def __init__(self, q_vectors: Sequence[npt.NDArray[Any]]) -> None:
        self.q = [np.array(q, dtype=np.float64).ravel() for q in q_vectors]
        self.nq = self.q[0].size
        self.is_2d = len(self.q) == 2

    def release(self) -> None:
        """There is nothing to free."""


class _Kernel(Kernel):  # type: ignore[misc]
    """A model at its points."""

    dtype = np.dtype(np.float64)

    def __init__(
        self, info: Any, name: str, place: dict[str, Any], q_vectors: Sequence[npt.NDArray[Any]]
    ) -> None:
        self.info = info
        self.q_input = _Input(q_vectors)
        self.dim = "2d" if self.q_input.is_2d else "1d"
        self._name, self._place = name, place
        self._model = sas.Model(name, **place)
        self._cutoff = 0.0
        # Form factors that have amplitudes are read as (intensity, amplitude) of each point.
        self._each = 2 if info.have_Fq and self.dim == "1d" else 1
        self.result = np.empty(self._each * self.q_input.nq + 4)

    def _call_kernel(
        self,
        call_details: Any,
        values: npt.NDArray[np.float64],
        cutoff: float,
        magnetic: bool,
        radius_effective_mode: int,
    ) -> None:
        """Fill `result` with intensities of scale 1 without background."""
        if magnetic:
            raise DataError(f"{self._name}: expected a model without magnetic moments, found some")
        if cutoff != self._cutoff:
            self._model = sas.Model(self._name, cutoff=cutoff, **self._place)
            self._cutoff = cutoff
        table = self.info.parameters
        parameters: dict[str, Any] = {"scale": 1.0, "background": 0.0}
        begin = table.nvalues
        for at, parameter in enumerate(table.call_parameters[_COMMON : _COMMON + table.npars]):
            name, length = parameter.name, int(call_details.length[at])
            if name in self._model.parameters:
                parameters[name] = float(values[_COMMON + at])
            if length > 1:
                first = begin + int(call_details.offset[at])
                weights = first + int(call_details.num_weights)
                parameters[f"{name}_pd"] = (values[first : first + length], values[weights : weights + length])
        points = tuple(self.q_input.q) if self.q_input.is_2d else self.q_input.q[0]
        each, end = self._each, self._each * self.q_input.nq
        self.result[0:end:each] = self._model(points, **parameters)
        if each == 2:
            # warpstride has no amplitudes of its own to give.
            self.result[1:end:each] = np.nan
        # Weight, volumes of form and shell, effective radius.
        self.result[end:] = (1.0, 1.0, 1.0, 0.0)
