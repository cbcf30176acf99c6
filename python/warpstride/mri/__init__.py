"""Images from k-space samples that lie on no grid, and non-uniform Fourier transforms.

`reconstruct` makes an image of the samples of several coils, which `read` reads from files. `nufft2d1`, `nufft2d2`, `nufft3d1`
and `nufft3d2` have the names and conventions of FINUFFT; `NUFFT` is the same as an operator with its adjoint. Transforms
compute where their arrays lie, NumPy's on the CPU in their own precision, unless ``backend`` says otherwise. All take arrays
of CuPy, PyTorch and JAX on a GPU. `docs/mri.md` of the project has the mathematics.
"""

from ._kspace import KSpace, read, read_all, read_field, read_image, read_maps, read_off_resonance
from ._nufft import NUFFT, nufft2d1, nufft2d2, nufft3d1, nufft3d2
from ._reconstruct import reconstruct, reconstruct_all
from ._result import Iteration, Result
from ._simulate import Simulation, simulate

__all__ = [
    "NUFFT",
    "Iteration",
    "KSpace",
    "Result",
    "Simulation",
    "nufft2d1",
    "nufft2d2",
    "nufft3d1",
    "nufft3d2",
    "read",
    "read_all",
    "read_field",
    "read_image",
    "read_maps",
    "read_off_resonance",
    "reconstruct",
    "reconstruct_all",
    "simulate",
]
