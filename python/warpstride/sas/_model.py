"""Models and their intensities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Optional, Sequence, Union, cast

import numpy as np
import numpy.typing as npt

from .. import _warpstride
from .._arguments import device_number, device_numbers, text, truth, whole
from .._arrays import any_array, floats, real
from .._gpu import device_of, exported, on_host, with_value
from .._types import Backend, Devices, Precision

_Floats = npt.NDArray[np.float64]
_Q = Union[npt.ArrayLike, tuple[npt.ArrayLike, npt.ArrayLike]]
_Resolution = Union[float, npt.ArrayLike, tuple[npt.ArrayLike, npt.ArrayLike]]
_Pairs = tuple[list[float], list[float]]
_Distribution = tuple[str, str, Optional[int], Optional[float], Optional[_Pairs]]
_Value = Union[float, int, str, tuple[npt.ArrayLike, npt.ArrayLike]]


_MOST_POINTS = 100_000
"""The library's limit on the points of a distribution."""


def models() -> list[str]:
    """Names of all models: form factors, and structure factors for products such as ``cylinder@hardsphere``.

    Returns
    -------
    list of str
        For `Model`.

    Examples
    --------
    >>> import warpstride as ws
    >>> "sphere" in ws.sas.models()
    True
    """
    return _warpstride.sas_models()


@dataclass(frozen=True)
class Parameter:
    """A parameter of a model.

    Attributes
    ----------
    name, units : str
        Name, and units as in sasmodels.
    default, low, high : float
        Default value and limits.
    description : str
        What it is.
    polydisperse : bool
        Whether it can have a distribution.

    Examples
    --------
    >>> import warpstride as ws
    >>> radius = ws.sas.Model("sphere", backend="cpu").parameters["radius"]
    >>> radius.default, radius.units, radius.polydisperse
    (50.0, 'Ang', True)
    """

    name: str
    units: str
    default: float
    low: float
    high: float
    description: str
    polydisperse: bool


class Model:
    """A model of scattering: a form factor, a product ``P@S`` with a structure factor, or a sum ``A+B``.

    Parameters
    ----------
    name : str
        Name, such as ``"sphere"``, ``"cylinder@hardsphere"`` or ``"sphere+cylinder"``.
    backend : {"auto", "cpu", "cuda", "emulator"}
        Where to compute.
    device : int, optional
        Number of the GPU.
    devices : int, sequence of int or "all", optional
        GPUs that share the points and sets of parameters; with ``emulator`` the number of emulated ones.
    precision : {"f32", "f64"}
        Precision of form factors and of their sums.
    cutoff : float
        Points of the mesh of distributions whose weight is not above it are left out.
    magnetic : bool
        Whether scattering length densities have magnetic parts (``sld_M0``, ``sld_mtheta``, ``sld_mphi``, …) and neutrons are
        polarised (``up_frac_i``, ``up_frac_f``, ``up_theta``, ``up_phi``), for images (qx, qy).

    Raises
    ------
    DataError
        A name that no model has, or options that contradict each other.

    Examples
    --------
    >>> import warpstride as ws
    >>> model = ws.sas.Model("sphere", backend="cpu")
    >>> model([0.01, 0.1], radius=20, background=0).round(4).tolist()
    [83.1079, 35.7333]

    A distribution of a parameter is given as in sasmodels:

    >>> broad = model([0.01, 0.1], radius=20, radius_pd=0.2, radius_pd_type="schulz", background=0)
    >>> bool((broad != model([0.01, 0.1], radius=20, background=0)).all())
    True

    As an instrument would see it whose standard deviation of q is 5 % of q:

    >>> smeared = model([0.01, 0.1], radius=20, background=0, resolution=0.05)
    >>> bool((smeared != model([0.01, 0.1], radius=20, background=0)).all())
    True
    """

    def __init__(
        self,
        name: str,
        *,
        backend: Backend = "auto",
        device: Optional[int] = None,
        devices: Devices = None,
        precision: Precision = "f64",
        cutoff: float = 0.0,
        magnetic: bool = False,
    ) -> None:
        self.name = text("name", name)
        self._place: dict[str, Any] = {
            "backend": text("backend", backend),
            "device": device_number(device),
            "devices": device_numbers(devices),
            "precision": text("precision", precision),
            "cutoff": real("cutoff", cutoff),
            "magnetic": truth("magnetic", magnetic),
        }
        self.parameters: dict[str, Parameter] = {
            row[0]: Parameter(*row) for row in _warpstride.sas_parameters(name, self._place["magnetic"])
        }
        """The parameters by their names, in the order of the model's table."""
        self._engine: Optional[tuple[Any, _warpstride.SasEngine]] = None

    def __repr__(self) -> str:
        return f"Model({self.name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_model, (self.name, self._place))

    @property
    def defaults(self) -> dict[str, float]:
        """The default values."""
        return {name: row.default for name, row in self.parameters.items()}

    def __call__(
        self,
        q: _Q,
        *,
        resolution: Optional[_Resolution] = None,
        slit: Optional[tuple[float, float]] = None,
        **parameters: _Value,
    ) -> Any:
        """Intensities at q.

        Parameters
        ----------
        q : array_like or tuple of two array_like
            Scattering vectors, 1/Å, 0 or more; or components (qx, qy) of the pixels of an image. With arrays of CuPy, PyTorch or
            JAX on a GPU, which computes then, q is copied to the host, and the intensities stay on the GPU.
        resolution : float, array_like or tuple of two array_like, optional
            Resolution of the instrument: the standard deviation of q over q, above 0 and below 1; or those of the points, 1/Å, in
            the shape of q, of an image those parallel and perpendicular to q. The model is computed at more points then, which
            resolve the fringes of particles of its size.
        slit : tuple of two float, optional
            Resolution of a slit in the place of a pinhole: half of its length, across q, and half of its width, along q, 1/Å.
        **parameters
            Values of parameters, by default the model's. For a distribution of a parameter p, ``p_pd`` is its relative
            width (degrees for angles), and ``p_pd_type``, ``p_pd_n`` and ``p_pd_nsigma`` are its shape (``gaussian``,
            ``rectangle``, ``uniform``, ``lognormal``, ``schulz``, ``boltzmann``), points and reach. A pair ``(values,
            weights)`` as ``p_pd`` is a distribution of its own, of values of p or, for an angle, of offsets from it.

        Returns
        -------
        ndarray of float64
            Intensities in the shape of q, 1/cm, infinite at q = 0 if the model diverges there; an array of the library of q if
            that is on a GPU.

        Raises
        ------
        DataError
            A parameter that the model does not have, a value outside its limits, or no solution of a structure factor; for q on
            a GPU also another back end and a sum of models.
        """
        values, widths, distributions = self._split(parameters)
        q, like, device = self._place_of(q)
        engine, shape = self._engine_at(q, distributions, device, self._smearing(q, resolution, slit, values))
        unsolved, sentence = engine.unsolved(values, widths)
        if unsolved:
            raise _warpstride.DataError(sentence)
        if like is not None:
            return self._on_gpu(engine, q, values, widths, like)[0].reshape(shape)
        intensity: _Floats = self._evaluated(engine, values, widths)[0].reshape(shape)
        return intensity

    def batch(
        self,
        q: _Q,
        values: Mapping[str, npt.ArrayLike],
        *,
        resolution: Optional[_Resolution] = None,
        slit: Optional[tuple[float, float]] = None,
        **parameters: _Value,
    ) -> Any:
        """Intensities for many sets of parameters in one call, as a population or a Jacobian needs them.

        Parameters
        ----------
        q : array_like or tuple of two array_like
            As for a single evaluation.
        values : mapping of str to array_like
            Values (set) of parameters and of widths ``p_pd``, all of the same length.
        resolution, slit
            As for a single evaluation; the additional points are those for the largest particles of all sets.
        **parameters
            Values that all sets have.

        Returns
        -------
        ndarray of float64
            (set, *shape of q), 1/cm; NaN where a structure factor has no solution. As for a single evaluation an array on the
            GPU of q.

        Examples
        --------
        >>> import warpstride as ws
        >>> model = ws.sas.Model("sphere", backend="cpu")
        >>> model.batch([0.01, 0.1, 0.2], {"radius": [20, 30]}, background=0).shape
        (2, 3)
        """
        if not isinstance(values, Mapping):
            raise _warpstride.DataError(f"values: expected a mapping, found {type(values).__name__}")
        columns = {text("values", name): floats(name, column) for name, column in values.items()}
        for name in columns:
            if name not in self.parameters and self._width(name) is None:
                raise _warpstride.DataError(
                    f"{name}: expected a parameter of {self.name} or the width p_pd of its distribution"
                )
        lengths = {column.shape for column in columns.values()}
        if len(lengths) != 1 or len(next(iter(lengths))) != 1 or (0,) in lengths:
            raise _warpstride.DataError(
                "values: expected arrays of one length above 0, found shapes "
                + ", ".join(f"{name} {column.shape}" for name, column in columns.items())
            )
        for name in columns.keys() & parameters.keys():
            raise _warpstride.DataError(f"{name}: expected in values or as a keyword, found both")
        single: dict[str, _Value] = {
            # Any width above 0 asks for a distribution.
            name: float(column.max()) if self._width(name) else float(column[0])
            for name, column in columns.items()
        }
        one, widths, distributions = self._split({**parameters, **single})
        (count,) = lengths.pop()
        sets, spread = np.repeat(one, count, axis=0), np.repeat(widths, count, axis=0)
        names = list(self.parameters)
        spread_names = [distribution[0] for distribution in distributions]
        for name, column in columns.items():
            of = self._width(name)
            if of is None:
                sets[:, names.index(name)] = column
            elif of in spread_names:
                spread[:, spread_names.index(of)] = column
        q, like, device = self._place_of(q)
        engine, shape = self._engine_at(q, distributions, device, self._smearing(q, resolution, slit, sets))
        unsolved = engine.unsolved(sets, spread)[0]
        if like is not None:
            return with_value(self._on_gpu(engine, q, sets, spread, like), (list(unsolved),), np.nan).reshape((count, *shape))
        found = self._evaluated(engine, sets, spread)
        found[unsolved] = np.nan
        return found.reshape((count, *shape))

    def _place_of(self, q: _Q) -> tuple[_Q, Any, Optional[int]]:
        """Points on the host; an array of their library and their GPU, if they lie on one."""
        if isinstance(q, tuple) and len(q) == 0:
            raise _warpstride.DataError("q: expected at least one element, found an empty tuple")
        parts = q if isinstance(q, tuple) else (q,)
        devices = {device_of(part) for part in parts}
        if devices == {None}:
            return q, None, None
        if len(devices) > 1:
            raise _warpstride.DataError("qx and qy: expected both on one GPU, found them in different places")
        (device,) = devices
        backend, chosen = self._place["backend"], self._place["device"]
        if backend not in ("auto", "cuda"):
            raise _warpstride.DataError(f"backend: expected auto or cuda for q on a GPU, found {backend}")
        if chosen not in (None, device):
            raise _warpstride.DataError(
                f"device: expected {device}, the GPU whose memory q lies in, found {chosen}"
            )
        if self._place["devices"] is not None:
            raise _warpstride.DataError("devices: expected none beside q on a GPU, which computes")
        host = tuple(on_host("q", part) for part in parts)
        return (host if isinstance(q, tuple) else host[0]), parts[0], device

    def _evaluated(self, engine: _warpstride.SasEngine, values: _Floats, widths: _Floats) -> _Floats:
        try:
            return engine.evaluate(values, widths)
        except KeyboardInterrupt:
            # It may still be computing.
            self._engine = None
            raise

    def _on_gpu(self, engine: _warpstride.SasEngine, q: Any, values: _Floats, widths: _Floats, like: Any) -> Any:
        """Intensities (set, point) at these points of the host as an array of the library of ``like``."""
        found = engine.evaluate_on_gpu(values, widths)
        if found is None:
            raise _warpstride.DataError(f"q: expected an array in host memory for {self.name}, a sum, found one on a GPU")
        array = exported(like, found)
        parts = q if isinstance(q, tuple) else (q,)
        if np.any(np.all([np.asarray(part) == 0 for part in parts], axis=0)):
            # Where the model diverges at q = 0 its kernels have another value.
            array = with_value(array, np.nonzero(np.isinf(self._evaluated(engine, values, widths))), np.inf)
        return array

    def _width(self, name: str) -> Optional[str]:
        """The parameter of which ``name`` is the width of its distribution."""
        of = name.removesuffix("_pd")
        return of if name not in self.parameters and of != name and of in self.parameters else None

    def _split(
        self, parameters: Mapping[str, _Value], free: Sequence[str] = ()
    ) -> tuple[_Floats, _Floats, list[_Distribution]]:
        """Values (1, parameter), widths (1, distribution) and distributions of keywords; those of ``free`` are there
        with a width of 0, too."""
        values = self.defaults
        widths: dict[str, float] = {of: 0.0 for of in map(self._width, free) if of is not None}
        options: dict[str, dict[str, Any]] = {}
        for name, value in parameters.items():
            of, suffix = text("parameters", name), ""
            if name not in self.parameters:
                for known in ("_pd_nsigma", "_pd_type", "_pd_n", "_pd"):
                    if name.endswith(known):
                        of, suffix = name.removesuffix(known), known
                        break
            if of not in self.parameters:
                known_names = ", ".join(self.parameters)
                if of in _warpstride.sas_magnetic_names(self.name):
                    raise _warpstride.DataError(f"{name}: expected a model with magnetic=True, found one without")
                raise _warpstride.DataError(f"{name}: expected a parameter of {self.name}: {known_names}")
            if suffix == "_pd" and isinstance(value, tuple):
                widths[of] = 1.0
                options.setdefault(of, {})["pairs"] = _pairs(name, value)
                continue
            if suffix == "_pd_type":
                options.setdefault(of, {})[suffix] = text(name, value)
                continue
            if suffix == "_pd_n":
                count = int(value) if isinstance(value, float) and value.is_integer() else value
                options.setdefault(of, {})[suffix] = whole(name, count, 1, _MOST_POINTS)
                continue
            number = real(name, value)
            if suffix == "":
                values[of] = number
            elif suffix == "_pd":
                if not (np.isfinite(number) and number >= 0):
                    raise _warpstride.DataError(f"{name}: expected a width, 0 or more, found {number}")
                if number > 0:
                    widths[of] = number
            else:
                options.setdefault(of, {})[suffix] = number
        distributions: list[_Distribution] = []
        for of in widths:
            given = options.get(of, {})
            kind = given.get("_pd_type", "gaussian")
            pairs = given.get("pairs")
            distributions.append((of, kind, given.get("_pd_n"), given.get("_pd_nsigma"), pairs))
        one = np.array([list(values.values())], dtype=np.float64)
        spread = np.array([list(widths.values())], dtype=np.float64).reshape((1, len(widths)))
        return one, spread, distributions

    def _smearing(
        self, q: _Q, resolution: Optional[_Resolution], slit: Optional[tuple[float, float]], sets: _Floats
    ) -> Optional[dict[str, Any]]:
        """The resolution of an instrument for the largest particles of these values (set, parameter)."""
        if resolution is None and slit is None:
            return None
        found: dict[str, Any] = {"share": None, "dq": None, "pixels": None, "slit": None}
        image, shape = _points(q)[1:]
        if slit is not None:
            if resolution is not None:
                raise _warpstride.DataError("slit: expected none beside resolution")
            if image is not None:
                raise _warpstride.DataError("slit: expected none for an image, as a slit smears curves only")
            extents = floats("slit", slit)
            if extents.shape != (2,) or not extents.any():
                raise _warpstride.DataError(f"slit: expected (half length, half width), one above 0, found {slit!r}")
            found["slit"] = (float(extents[0]), float(extents[1]))
        elif isinstance(resolution, tuple):
            if image is None or len(resolution) != 2:
                raise _warpstride.DataError("resolution: expected a number, or as many as q has; a tuple of two for an image")
            found["pixels"] = tuple(_of_points(part, shape) for part in resolution)
        elif any_array("resolution", resolution).ndim == 0:
            share = real("resolution", resolution)
            if not 0 < share < 1:
                raise _warpstride.DataError(
                    f"resolution: expected a standard deviation of q over q above 0 and below 1, found {share}"
                )
            found["share"] = share
        else:
            found["dq"] = _of_points(cast(npt.ArrayLike, resolution), shape)
        found["diameter"] = _warpstride.sas_diameter(self.name, self._place["magnetic"], sets)
        return found

    def _engine_at(
        self,
        q: _Q,
        distributions: list[_Distribution],
        device: Optional[int] = None,
        smearing: Optional[dict[str, Any]] = None,
    ) -> tuple[_warpstride.SasEngine, tuple[int, ...]]:
        """The engine at these points, which is kept for the next call, and the shape of q; on a GPU, if one is given."""
        qx, qy, shape = _points(q)
        key = (qx, qy, smearing, distributions, device)
        if self._engine is not None and _same(self._engine[0], key):
            return self._engine[1], shape
        place = self._place if device is None else {**self._place, "backend": "cuda", "device": device}
        engine = _warpstride.SasEngine(self.name, qx, qy, distributions, place, smearing)
        self._engine = (key, engine)
        return engine, shape


def _same(one: Any, other: Any) -> bool:
    """Whether two keys of engines are equal."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and np.array_equal(one, other)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return _same(tuple(one.values()), tuple(other.values()))
    return bool(one == other)


def _of_points(resolution: npt.ArrayLike, shape: tuple[int, ...]) -> _Floats:
    """Standard deviations of q of all points."""
    found = floats("resolution", resolution)
    if found.shape != shape:
        raise _warpstride.DataError(f"resolution: expected the shape of q, {shape}, or one number, found {found.shape}")
    # A copy, because it is compared with that of the next call.
    return found.flatten()


def _model(name: str, place: dict[str, Any]) -> Model:
    return Model(name, **place)


def _pairs(name: str, pairs: tuple[npt.ArrayLike, npt.ArrayLike]) -> _Pairs:
    """Values and weights of a distribution."""
    columns = [floats(name, column) for column in pairs]
    if len(columns) != 2 or columns[0].ndim != 1 or columns[0].shape != columns[1].shape or not columns[0].size:
        shapes = ", ".join(str(column.shape) for column in columns)
        raise _warpstride.DataError(f"{name}: expected (values, weights) of one length above 0, found shapes {shapes}")
    return columns[0].tolist(), columns[1].tolist()


def _points(q: _Q) -> tuple[_Floats, Optional[_Floats], tuple[int, ...]]:
    if isinstance(q, tuple) and len(q) == 2 and any_array("qx", q[0]).ndim > 0:
        qx, qy = floats("qx", q[0]), floats("qy", q[1])
        if qx.shape != qy.shape:
            raise _warpstride.DataError(f"qx and qy: expected one shape, found {qx.shape} and {qy.shape}")
        # Copies, because they are compared with those of the next call.
        return qx.flatten(), qy.flatten(), qx.shape
    curve = floats("q", cast(npt.ArrayLike, q))
    return curve.flatten(), None, curve.shape
