from os import PathLike
from typing import Any, Callable, Optional, Sequence, Union, final

import numpy as np
import numpy.typing as npt

__version__: str

class DataError(ValueError):
    """Data or options with which nothing can be computed; the text names what was expected and what was found."""

class DeviceError(RuntimeError):
    """A GPU that was asked for and cannot be used, or that failed."""

class OutOfMemoryError(MemoryError):
    """A computation that does not fit into the memory of the host or of a device."""

_Path = Union[str, PathLike[str]]
_Floats = npt.NDArray[np.float64]
_Progress = tuple[int, int, bool]
_Entry = tuple[
    int, str, float, Optional[float], Optional[float], Optional[float], Optional[float], float
]
_Geometry = tuple[float, float, list[float]]
_Distribution = tuple[
    str, str, Optional[int], Optional[float], Optional[tuple[list[float], list[float]]]
]
_See = Callable[[list[tuple[int, float]]], bool]

def run_program(arguments: Sequence[str], executable: Optional[str]) -> int: ...
def devices() -> tuple[str, Optional[str]]: ...
def run_selftest(backend: str, device: Optional[int], only: list[str]) -> str: ...
def solve(
    field: npt.NDArray[Any], source: Optional[npt.NDArray[Any]], options: dict[str, Any]
) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint64], _Floats, int, bool, str, list[str], float]: ...
def solve_on_gpu(
    field: Any,
    source: Any,
    options: dict[str, Any],
    double: bool,
    ordinal: int,
    then: Optional[int],
) -> tuple[DeviceArray, npt.NDArray[np.uint64], _Floats, int, bool, str, list[str], float]: ...

@final
class PlannedNufft:
    def __new__(cls, shape: Sequence[int], k: _Floats, eps: float, double: bool) -> PlannedNufft: ...
    def forward(self, images: npt.NDArray[Any]) -> npt.NDArray[Any]: ...
    def adjoint(self, samples: npt.NDArray[Any]) -> npt.NDArray[Any]: ...

_Residual = tuple[int, float]
_Image = tuple[npt.NDArray[Any], Optional[npt.NDArray[Any]], _Floats, str]

@final
class MriRun:
    def __new__(
        cls,
        samples: npt.NDArray[Any],
        k: _Floats,
        maps: Optional[npt.NDArray[np.complex128]],
        weights: Optional[_Floats],
        asked: dict[str, Any],
    ) -> MriRun: ...
    def advance(self, seconds: float) -> tuple[list[_Residual], int, bool]: ...
    def result(self) -> _Image: ...
    def close(self) -> None: ...

def density_weights(shape: Sequence[int], k: _Floats, steps: int) -> _Floats: ...
def mri_save(
    path: _Path,
    image: npt.NDArray[np.complex128],
    maps: Optional[npt.NDArray[np.complex128]],
    residuals: _Floats,
    facts: dict[str, Any],
) -> list[str]: ...
def mri_simulate(
    options: dict[str, Any],
) -> tuple[
    npt.NDArray[np.complex64],
    _Floats,
    list[int],
    npt.NDArray[np.complex128],
    npt.NDArray[np.complex128],
]: ...

@final
class PtychoRun:
    def __new__(
        cls,
        frames: Optional[npt.NDArray[Any]],
        positions: _Floats,
        mask: Optional[npt.NDArray[np.bool_]],
        probe: Optional[npt.NDArray[np.complex128]],
        options: dict[str, Any],
    ) -> PtychoRun: ...
    @property
    def setup(self) -> str: ...
    @property
    def notes(self) -> list[str]: ...
    def step(self) -> Optional[_Entry]: ...
    def advance(self, seconds: float) -> _Progress: ...
    def progress(self) -> _Progress: ...
    def object(self) -> npt.NDArray[Any]: ...
    def probe(self) -> npt.NDArray[Any]: ...
    def on_gpu(self) -> Optional[tuple[DeviceArray, DeviceArray]]: ...
    def result(self) -> PtychoResult: ...
    def checkpoint(self, path: _Path) -> None: ...
    def close(self) -> None: ...

@final
class PtychoResult:
    @property
    def object(self) -> npt.NDArray[Any]: ...
    @property
    def probe(self) -> npt.NDArray[Any]: ...
    @property
    def mode_power(self) -> _Floats: ...
    @property
    def pixel(self) -> list[float]: ...
    @property
    def positions(self) -> _Floats: ...
    @property
    def corners(self) -> npt.NDArray[np.uint32]: ...
    @property
    def frame_scales(self) -> _Floats: ...
    @property
    def fluence(self) -> _Floats: ...
    @property
    def history(self) -> list[_Entry]: ...
    @property
    def recipe(self) -> str: ...
    @property
    def setup(self) -> tuple[str, str]: ...
    @property
    def geometry(self) -> tuple[float, float]: ...
    def save(self, path: _Path) -> None: ...
    @staticmethod
    def read(path: _Path) -> PtychoResult: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> PtychoResult: ...

def resolved_recipe(json: str) -> str: ...
def simulate_scan(
    frame: int,
    positions: int,
    photons: float,
    seed: int,
    near_field: bool,
    focus_to_sample: Optional[float],
) -> tuple[
    npt.NDArray[np.float32], _Floats, _Geometry, npt.NDArray[np.complex128], npt.NDArray[np.complex128]
]: ...
def sas_models() -> list[str]: ...
def sas_parameters(model: str) -> list[tuple[str, str, float, float, float, str, bool]]: ...

@final
class SasEngine:
    def __new__(
        cls,
        model: str,
        q: _Floats,
        qy: Optional[_Floats],
        distributions: list[_Distribution],
        place: dict[str, Any],
    ) -> SasEngine: ...
    @property
    def setup(self) -> str: ...
    def unsolved(self, values: _Floats, widths: _Floats) -> tuple[list[int], str]: ...
    def evaluate(self, values: _Floats, widths: _Floats) -> _Floats: ...
    def evaluate_on_gpu(self, values: _Floats, widths: _Floats) -> Optional[DeviceArray]: ...

def sas_fit(
    model: str,
    sets: list[tuple[Any, list[float], list[float]]],
    parameters: dict[str, Any],
    distributions: list[_Distribution],
    place: dict[str, Any],
    search: dict[str, Any],
    see: _See,
    every: float,
) -> tuple[str, list[list[_Floats]]]: ...

@final
class Table:
    """Points, or aggregates of buckets: a table for any library with the Arrow PyCapsule interface.

    ``table["name"]`` is a column: times as datetime64[ns], numbers as float64 with NaN for null, labels as a list.
    ``polars.DataFrame(table)``, ``pyarrow.table(table)`` and others take the whole.
    """

    def save(self, path: _Path) -> None:
        """Write an Arrow IPC file, which polars, pyarrow and others read; it is absent or complete."""
    def to_xarray(self) -> Any:
        """The columns as an ``xarray.Dataset`` over rows; xarray must be installed."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...
    @property
    def column_names(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, name: str) -> Any: ...
    @staticmethod
    def of_points(
        times: npt.NDArray[np.int64], values: _Floats, labels: list[tuple[str, list[Optional[str]]]]
    ) -> Table: ...
    @staticmethod
    def from_ipc(bytes: bytes) -> Table: ...

def resample(
    capsule: Any, every: list[str], agg: list[str], options: dict[str, Any]
) -> tuple[list[Table], int]: ...

@final
class DeviceArray:
    """An array in the memory of a GPU, for ``cupy.from_dlpack``, ``torch.from_dlpack`` and the like."""

    @property
    def shape(self) -> list[int]: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Optional[tuple[int, int]] = None,
        dl_device: Optional[tuple[int, int]] = None,
        copy: Optional[bool] = None,
    ) -> Any: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def to_numpy(self) -> npt.NDArray[Any]: ...

@final
class DeviceNufft:
    def __new__(
        cls, shape: list[int], k: _Floats, eps: float, images: int, device: int
    ) -> DeviceNufft: ...
    @property
    def images(self) -> int: ...
    def forward(self, images: Any, out: Any, then: Optional[int]) -> Optional[DeviceArray]: ...
    def adjoint(self, samples: Any, out: Any, then: Optional[int]) -> Optional[DeviceArray]: ...
