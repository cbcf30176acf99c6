"""The GPUs of this machine."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Iterable, Literal, Optional, Sequence, Union

from . import _warpstride
from ._arguments import device_number, text
from ._representation import Summarised
from ._warpstride import DataError


@dataclass(frozen=True)
class Device:
    """A GPU.

    Attributes
    ----------
    ordinal : int
        Its number, for arguments ``device``.
    name : str
        Name of the model.
    memory_bytes, memory_free_bytes : int
        Memory, and what of it was free at the time of the call.
    multiprocessors : int
        Number of multiprocessors.
    compute_capability : tuple of int
        Major and minor number.
    driver_version : tuple of int
        Newest version of CUDA that the driver supports.

    Examples
    --------
    >>> import warpstride as ws
    >>> all(device.memory_free_bytes <= device.memory_bytes for device in ws.devices())
    True
    """

    ordinal: int
    name: str
    memory_bytes: int
    memory_free_bytes: int
    multiprocessors: int
    compute_capability: tuple[int, int]
    driver_version: tuple[int, int]


def devices() -> list[Device]:
    """List the GPUs; the list is empty without any.

    Returns
    -------
    list of Device
        In the order of their numbers.

    Examples
    --------
    >>> import warpstride as ws
    >>> all(device.memory_bytes > 0 for device in ws.devices())
    True
    """
    found = json.loads(_warpstride.devices()[0])
    return [
        Device(
            ordinal=one["ordinal"],
            name=one["name"],
            memory_bytes=one["memory_bytes"],
            memory_free_bytes=one["memory_free_bytes"],
            multiprocessors=one["multiprocessors"],
            compute_capability=divmod(one["compute_capability"], 10),
            driver_version=(one["driver_version"] // 1000, one["driver_version"] % 1000 // 10),
        )
        for one in found
    ]


def why_no_devices() -> Optional[str]:
    """Say why `devices` lists none.

    Returns
    -------
    str or None
        No driver, no GPU, or an error of the driver; ``None`` if there is a GPU.

    Examples
    --------
    >>> import warpstride as ws
    >>> (ws.why_no_devices() is None) == bool(ws.devices())
    True
    """
    return _warpstride.devices()[1]


@dataclass(frozen=True)
class SelftestCase:
    """A kernel or an engine, compared with its definition.

    Attributes
    ----------
    kernel : str
        Name of the kernel, or what is compared in a case that is not about a single kernel.
    shape : str
        Sizes and options.
    error, tolerance : float
        Relative error, and the largest that passes. The error is NaN if the result is not finite.
    passed : bool
        Whether the error is within the tolerance.

    Examples
    --------
    >>> import warpstride as ws
    >>> cases = ws.selftest("jacobi", backend="emulator").cases
    >>> all(case.error <= case.tolerance for case in cases)
    True
    """

    kernel: str
    shape: str
    error: float
    tolerance: float
    passed: bool


@dataclass(frozen=True, repr=False)
class Selftest(Summarised):
    """Result of `selftest`.

    Attributes
    ----------
    backend, device : str
        Where it was computed.
    passed : bool
        Whether all cases have passed.
    cases : list of SelftestCase
        What was compared.

    Examples
    --------
    >>> import warpstride as ws
    >>> found = ws.selftest("jacobi", backend="emulator")
    >>> found.backend, found.passed
    ('emulator', True)
    """

    backend: str
    device: str
    passed: bool
    cases: list[SelftestCase]


def selftest(
    only: Union[str, Sequence[str]] = (),
    *,
    backend: Literal["auto", "cuda", "emulator"] = "auto",
    device: Optional[int] = None,
) -> Selftest:
    """Compare every kernel with its definition, and every engine with the CPU's.

    All sciences take several minutes on a GPU, as most of its results are compared with the CPU's.

    Parameters
    ----------
    only : str or sequence of str
        One or several sciences (``jacobi``, ``mri``, ``ptycho``, ``sas``, ``series``); all if empty.
    backend : {"auto", "cuda", "emulator"}
        ``auto`` takes a GPU if there is one, else the emulator, with small sizes.
    device : int, optional
        Number of the GPU.

    Returns
    -------
    Selftest
        A case that fails does not raise an exception: see `Selftest.passed`. After Ctrl-C the self-test goes on in the background.

    Raises
    ------
    DataError
        An unknown science or back end.
    DeviceError
        The GPU cannot be used, or has failed.

    Examples
    --------
    >>> import warpstride as ws
    >>> ws.selftest("jacobi", backend="emulator").passed
    True
    """
    number, names = device_number(device), _sciences(only)
    found = json.loads(_warpstride.run_selftest(text("backend", backend), number, names))
    cases = [
        SelftestCase(
            case["kernel"],
            case["shape"],
            # JSON has no numbers that are not finite.
            float("nan") if case["error"] is None else case["error"],
            case["tolerance"],
            case["passed"],
        )
        for case in found["cases"]
    ]
    return Selftest(found["backend"], found["device"], found["passed"], cases)


_SCIENCES = ("jacobi", "mri", "ptycho", "sas", "series")


def _sciences(only: Any) -> list[str]:
    """The names of sciences, each of which must be known."""
    if not isinstance(only, Iterable):
        raise DataError(f"only: expected names among {', '.join(_SCIENCES)}, found {only!r:.100}")
    names = [only] if isinstance(only, str) else list(only)
    for name in names:
        if not isinstance(name, str) or name not in _SCIENCES:
            raise DataError(f"only: expected names among {', '.join(_SCIENCES)}, found {name!r:.100}")
    return names
