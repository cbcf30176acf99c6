"""Scientific computing on NVIDIA GPUs and on the CPU.

The package has five sciences, each a module of its own:

- `warpstride.ptycho`: ptychography
- `warpstride.mri`: non-uniform Fourier transforms of magnetic resonance imaging
- `warpstride.sas`: models of small-angle scattering, and their fits to data
- `warpstride.series`: aggregation of time series
- `warpstride.jacobi`: Jacobi relaxation of Laplace's and Poisson's equation

Each computes with ``backend="auto"`` on a GPU if there is one, else on the CPU. A CUDA toolkit is not needed.
"""

from . import jacobi, mri, ptycho, sas, series
from ._devices import Device, Selftest, SelftestCase, devices, selftest, why_no_devices
from ._warpstride import DataError, DeviceError, ForkError, OutOfMemoryError, __version__

__all__ = [
    "DataError",
    "Device",
    "DeviceError",
    "ForkError",
    "OutOfMemoryError",
    "Selftest",
    "SelftestCase",
    "__version__",
    "devices",
    "jacobi",
    "mri",
    "ptycho",
    "sas",
    "selftest",
    "series",
    "why_no_devices",
]
