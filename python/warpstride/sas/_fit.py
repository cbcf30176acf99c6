"""Fits of models to data."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, Callable, Literal, Mapping, NamedTuple, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from .. import _warpstride
from .._arguments import optional_whole, text, texts, truth, whole
from .._arrays import floats, real
from .._files import write_json
from .._progress import EVERY, Progress
from .._representation import Summarised
from .._types import Path
from ._data import Data
from ._model import Model, _points, _Value

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Fitted:
    """A fitted parameter.

    Attributes
    ----------
    value : float
        At the minimum.
    uncertainty : float or None
        Standard uncertainty; ``None`` at a bound and where the data do not determine it.
    low, high : float
        Bounds.
    start : float
        Where the search began.
    at_bound : str or None
        The bound where it stopped.
    units : str
        Units.

    Examples
    --------
    >>> import numpy as np
    >>> import warpstride as ws
    >>> model, q = ws.sas.Model("sphere", backend="cpu"), np.linspace(0.01, 0.3, 50)
    >>> intensity = model(q, radius=35, background=0.01)
    >>> found = ws.sas.fit(model, (q, intensity, 0.01 * intensity), {"radius": (30, 40)}, background=0.01)
    >>> radius = found.parameters["radius"]
    >>> round(radius.value, 6), radius.high, radius.units
    (35.0, 40.0, 'Ang')
    """

    value: float
    uncertainty: Optional[float]
    low: float
    high: float
    start: float
    at_bound: Optional[str]
    units: str


class Round(NamedTuple):
    """A round of a search.

    Attributes
    ----------
    round : int
        Its number, from 1.
    chi2_per_point : float
        The best χ² so far, divided by the number of points.

    Examples
    --------
    >>> import numpy as np
    >>> import warpstride as ws
    >>> model, q = ws.sas.Model("sphere", backend="cpu"), np.linspace(0.01, 0.3, 50)
    >>> intensity = model(q, radius=35, background=0.01)
    >>> rounds = []
    >>> _ = ws.sas.fit(model, (q, intensity, 0.01 * intensity), {"radius": (30, 40)}, background=0.01, callback=rounds.append)
    >>> rounds[0].round, rounds[-1].chi2_per_point < 1e-6
    (1, True)
    """

    round: int
    chi2_per_point: float


@dataclass(frozen=True, repr=False)
class FittedData(Summarised):
    """A set of data beside the fitted model.

    Attributes
    ----------
    intensity, sigma, model, residuals : ndarray of float64
        Of each fitted point: data and standard deviations, the model's intensities, and (data − model)/σ.

    Examples
    --------
    >>> import numpy as np
    >>> import warpstride as ws
    >>> model, q = ws.sas.Model("sphere", backend="cpu"), np.linspace(0.01, 0.3, 50)
    >>> intensity = model(q, radius=35, background=0.01)
    >>> found = ws.sas.fit(model, (q, intensity, 0.01 * intensity), {"radius": (30, 40)}, background=0.01)
    >>> one = found.sets[0]
    >>> len(one.model), bool(np.abs(one.residuals).max() < 1e-3)
    (50, True)
    """

    intensity: _Floats
    sigma: _Floats
    model: _Floats
    residuals: _Floats


@dataclass(frozen=True, repr=False)
class FitResult:
    """Result of a fit. As text it is a table of the fitted parameters.

    Attributes
    ----------
    parameters : dict of str to Fitted
        The fitted parameters by their names.
    fixed : dict of str to float
        What was not fitted.
    chi2, reduced_chi2 : float
        Σ ((data − model)/σ)², and the same over degrees of freedom (NaN without any).
    converged : bool
        Whether a minimum was found.
    covariance : ndarray of float64
        (parameter, parameter); NaN where it is not determined.
    sets : list of FittedData
        The sets of data beside the model.
    tied : dict of str to float
        Parameters that follow from others.
    problems : list of str
        Doubtful properties of the data and of the fit, as the command warns of them; of several sets with their number.
    notes : list of str
        What was decided about the data, such as points that were left out.
    summary : dict
        What ``warpstride sas fit --summary`` writes, without what belongs to the command or is in `sets` and the model: ``command``,
        ``curves``, ``resolution`` and ``polydispersity``.

    Examples
    --------
    >>> import numpy as np
    >>> import warpstride as ws
    >>> model, q = ws.sas.Model("sphere", backend="cpu"), np.linspace(0.01, 0.3, 50)
    >>> intensity = model(q, radius=35, background=0.01)
    >>> found = ws.sas.fit(model, (q, intensity, 0.01 * intensity), {"radius": (30, 40)}, background=0.01)
    >>> found.converged, sorted(found.parameters), found.covariance.shape
    (True, ['radius'], (1, 1))
    """

    parameters: dict[str, Fitted]
    fixed: dict[str, float]
    chi2: float
    reduced_chi2: float
    converged: bool
    covariance: _Floats
    sets: list[FittedData]
    tied: dict[str, float]
    problems: list[str]
    notes: list[str]
    summary: dict[str, Any]

    def __repr__(self) -> str:
        minimum = "converged" if self.converged else "not converged"
        lines = [f"warpstride.sas.FitResult: χ² {self.chi2:.6g}, reduced {self.reduced_chi2:.4g}, {minimum}"]
        width = max((len(name) for name in (*self.parameters, *self.tied)), default=0)
        for name, one in self.parameters.items():
            spread = "" if one.uncertainty is None else f" ± {one.uncertainty:.2g}"
            bound = "" if one.at_bound is None else f", at its {one.at_bound} value"
            units = f" {one.units}" if one.units else ""
            lines.append(f"  {name:{width}}  {one.value:.8g}{spread}{units}  ({one.low:g} to {one.high:g}{bound})")
        lines += [f"  {name:{width}}  {value:.8g}  (tied)" for name, value in self.tied.items()]
        lines += [f"  {sentence}" for sentence in (*self.problems, *self.notes)]
        return "\n".join(lines)

    @property
    def intensity(self) -> _Floats:
        """The data of all sets, one after another, 1/cm."""
        return np.concatenate([of.intensity for of in self.sets])

    @property
    def sigma(self) -> _Floats:
        """Their standard deviations."""
        return np.concatenate([of.sigma for of in self.sets])

    @property
    def model(self) -> _Floats:
        """The intensities of the fitted model."""
        return np.concatenate([of.model for of in self.sets])

    @property
    def residuals(self) -> _Floats:
        """(data − model)/σ."""
        return np.concatenate([of.residuals for of in self.sets])

    def save(self, path: Path) -> None:
        """Write `summary` as JSON (``.json``); the file is absent or complete.

        Parameters
        ----------
        path : path
            The file.

        Raises
        ------
        DataError
            A name with another ending.
        OSError
            The file cannot be written.
        """
        _warpstride.check_ending(path, ["json"])
        write_json(path, self.summary)

    def to_xarray(self) -> Any:
        """Data, model and residuals of all sets as an ``xarray.Dataset`` over points; xarray must be installed."""
        import xarray

        counts = [len(of.model) for of in self.sets]
        columns = {
            "intensity": self.intensity,
            "sigma": self.sigma,
            "model": self.model,
            "residuals": self.residuals,
        }
        return xarray.Dataset(
            {name: (("point",), column) for name, column in columns.items()},
            coords={"set": (("point",), np.repeat(np.arange(1, len(counts) + 1), counts))},
            attrs={"chi2": self.chi2, **{name: one.value for name, one in self.parameters.items()}},
        )


def fit(
    model: Model,
    data: Union[Path, Data, tuple[Any, ...], Sequence[Any]],
    free: Union[Sequence[str], Mapping[str, Optional[tuple[float, float]]]],
    *,
    start: Optional[Mapping[str, float]] = None,
    ties: Optional[Mapping[str, str]] = None,
    shared: Sequence[str] = (),
    each: Optional[Sequence[Mapping[str, _Value]]] = None,
    method: Literal["lm", "de"] = "lm",
    starts: Optional[int] = None,
    iterations: int = 200,
    population: Optional[int] = None,
    generations: int = 300,
    seed: int = 1,
    q_range: Optional[tuple[float, float]] = None,
    positive: bool = False,
    weights: Literal["data", "root", "relative", "unit"] = "data",
    resolution: bool = True,
    callback: Optional[Callable[[Round], Optional[bool]]] = None,
    progress: Optional[bool] = None,
    **parameters: _Value,
) -> FitResult:
    """Fit parameters of a model to one or several sets of data, so that χ² = Σ ((data − model)/σ)² is least.

    Parameters
    ----------
    model : Model
        The model, and where it is computed.
    data : path, Data or tuple
        A file that ``warpstride sas`` reads, or what `read` has read; or (q, intensity), (q, intensity, σ) or (q, intensity, σ, σ of q), with
        q an array or a tuple (qx, qy), and the others of its shape. A list of these is several sets, which are fitted together.
        A few points of arrays with NaN, q ≤ 0 or σ ≤ 0 are left out, as those of files are, and a note says so.
    free : mapping of str to (low, high), or sequence of str
        The parameters to fit with their bounds; ``None`` for the limits of the parameter. ``p_pd`` is the width of the
        distribution of p. Of several sets, each has its own value, ``"radius.1"``, ``"radius.2"``, …, unless it is
        ``shared``; ``"radius.2"`` is fitted in the second set only.
    start : mapping of str to float, optional
        Where the search begins; by default at the value of the parameter if it is within the bounds, else in their
        middle.
    ties : mapping of str to str, optional
        Parameters that follow from others, as ``{"thickness": "2*radius"}``.
    shared : sequence of str
        Fitted parameters that have one value for all sets of data.
    each : sequence of mapping, optional
        Values of parameters in each set, where they differ from ``parameters``.
    method : {"lm", "de"}
        Levenberg–Marquardt, or differential evolution before it.
    starts : int, optional
        Starts of Levenberg–Marquardt, spread over the bounds, 1 by default; none beside ``"de"``, after which it begins at the best
        of the population.
    iterations : int
        Maximum number of iterations of Levenberg–Marquardt from each start.
    population, generations : int, optional
        Size and number of generations of the evolution.
    seed : int
        Seed of the starts and of the population.
    q_range : tuple of two float, optional
        Least and greatest \\|q\\| that is fitted, 1/Å.
    positive : bool
        Whether points are left out whose intensity is not above 0.
    weights : {"data", "root", "relative", "unit"}
        Standard deviations: those of the data (√|I| if there are none), √|I|, |I| or 1.
    resolution : bool
        Whether intensities are smeared with the resolution of the data, if they have one. Standard deviations of q are given with
        the data.
    callback : callable, optional
        Called after each round with its `Round`; the search ends if it returns ``True``.
    progress : bool, optional
        Whether a bar is shown; by default in terminals and notebooks.
    **parameters
        Values of the other parameters, as for `Model`.

    Returns
    -------
    FitResult
        Parameters with uncertainties, and the fitted curve.

    Raises
    ------
    DataError
        Data that cannot be read or fitted, or names and bounds that do not suit the model.
    DeviceError, OutOfMemoryError
        A GPU that cannot be used; too little memory.

    Examples
    --------
    >>> import numpy as np
    >>> import warpstride as ws
    >>> model = ws.sas.Model("sphere", backend="cpu")
    >>> q = np.linspace(0.01, 0.3, 50)
    >>> intensity = model(q, radius=35, scale=0.02, background=0.01)
    >>> data = (q, intensity, 0.01 * intensity)
    >>> found = ws.sas.fit(model, data, {"radius": (10, 60), "scale": (0, 1)}, starts=8, background=0.01)
    >>> round(found.parameters["radius"].value, 6), found.converged
    (35.0, True)

    Two contrasts of the same spheres:

    >>> second = model(q, radius=35, scale=0.02, background=0.03, sld_solvent=1)
    >>> found = ws.sas.fit(
    ...     model,
    ...     [data, (q, second, 0.01 * second)],
    ...     {"radius": (10, 60), "scale": (0, 1), "background": (0, 1)},
    ...     shared=["radius", "scale"],
    ...     each=[{"sld_solvent": 6}, {"sld_solvent": 1}],
    ...     starts=8,
    ... )
    >>> round(found.parameters["background.2"].value, 6), len(found.sets)
    (0.03, 2)
    """
    if not isinstance(model, Model):
        raise _warpstride.DataError(f"model: expected a Model, found {type(model).__name__}")
    bounds = _bounds(free)
    for name, given in (("start", start), ("ties", ties)):
        if given is not None and not isinstance(given, Mapping):
            raise _warpstride.DataError(f"{name}: expected a mapping, found {type(given).__name__}")
    begin = {name: real(f"start of {name}", value) for name, value in (start or {}).items()}
    for name in begin.keys() - bounds.keys():
        raise _warpstride.DataError(f"start: expected fitted parameters, found {name}")
    fitted = [
        (name, None if limits is None else _limits(name, limits), begin.get(name))
        for name, limits in bounds.items()
    ]
    sets: list[Any] = [data]
    if isinstance(data, list) and data and all(isinstance(one, (str, os.PathLike, tuple, Data)) for one in data):
        sets = list(data)
    if each is not None and not (isinstance(each, (list, tuple)) and all(isinstance(one, Mapping) for one in each)):
        raise _warpstride.DataError(f"each: expected a list of mappings, found {each!r:.100}")
    own: list[Mapping[str, _Value]] = [{}] * len(sets) if each is None else list(each)
    if len(own) != len(sets):
        raise _warpstride.DataError(f"each: expected values of {len(sets)} sets of data, found {len(own)}")
    names = [_unnumbered(name, len(sets)) for name, _, _ in fitted]
    tied = {text("ties", name): text("ties", expression) for name, expression in (ties or {}).items()}
    names += [_unnumbered(name, 1) for name in tied]
    split = [model._split({**parameters, **of_set}, names) for of_set in own]
    common = texts("shared", shared)
    distributions = split[0][2]
    if any(of_set[2] != distributions for of_set in split):
        raise _warpstride.DataError("each: expected the same distributions in all sets of data, found others")
    if text("method", method) == "de" and starts is not None:
        raise _warpstride.DataError(
            f'starts: expected none beside method="de", whose population is spread over the bounds, found {starts!r:.100}'
        )
    search = {
        "method": method,
        "starts": 1 if starts is None else whole("starts", starts, 1),
        "iterations": whole("iterations", iterations, 1),
        "population": optional_whole("population", population, 1),
        "generations": whole("generations", generations, 1),
        "seed": whole("seed", seed),
        "q_range": None if q_range is None else _limits("q_range", q_range),
        "positive": truth("positive", positive),
        "weights": text("weights", weights),
        "resolution": truth("resolution", resolution, _WITH_THE_DATA),
    }
    bar = Progress("fit", progress)

    def see(rounds: list[tuple[int, float]]) -> bool:
        number, chi2 = rounds[-1]
        bar.see(number, planned, f"rounds, χ²/point {chi2:.3g}")
        return callback is not None and any(callback(Round(*one)) for one in rounds)

    planned = iterations + (generations if method == "de" else 0)
    with bar:
        document, columns = _warpstride.sas_fit(
            model.name,
            [(_data(one), of[0][0].tolist(), of[1][0].tolist()) for one, of in zip(sets, split)],
            {
                "free": fitted,
                "shared": common,
                "ties": [f"{name}={expression}" for name, expression in tied.items()],
            },
            distributions,
            model._place,
            search,
            see,
            EVERY if callback is None else 0.0,
        )
    summary = json.loads(document)
    for name in ("problems", "notes"):
        summary[name] = [_warpstride.in_python(sentence) for sentence in summary.get(name, ())]
    nan = float("nan")
    covariance = [[nan if cell is None else cell for cell in row] for row in summary["covariance"]]
    return FitResult(
        parameters={
            one["name"]: Fitted(
                value=_number(one["value"], nan),
                uncertainty=one["uncertainty"],
                low=_number(one["low"], -np.inf),
                high=_number(one["high"], np.inf),
                start=_number(one["start"], nan),
                at_bound=one["at_bound"],
                units=one["units"],
            )
            for one in summary["parameters"]
        },
        fixed={one["name"]: one["value"] for one in summary["fixed"]},
        chi2=_number(summary["chi2"], nan),
        reduced_chi2=_number(summary["reduced_chi2"], nan),
        converged=summary["converged"],
        covariance=np.array(covariance, dtype=np.float64),
        sets=[FittedData(*of_set) for of_set in columns],
        tied={one["name"]: one["value"] for one in summary.get("tied", ())},
        problems=list(summary["problems"]),
        notes=list(summary["notes"]),
        summary=summary,
    )


_WITH_THE_DATA = "; standard deviations of q are given with the data, as (q, intensity, sigma, dq)"
"""What `fit` says of another resolution than True and False."""


def _bounds(free: Any) -> Mapping[str, Any]:
    """The parameters to fit with their bounds."""
    if not isinstance(free, (Mapping, str, list, tuple, set, frozenset)):
        raise _warpstride.DataError(
            f'free: expected parameters to fit, such as {{"radius": (10, 60)}}, found {type(free).__name__}'
        )
    names = [free] if isinstance(free, str) else free
    if not names:
        raise _warpstride.DataError(
            'free: expected at least one parameter to fit, such as {"radius": (10, 60)} or ["scale"], found none'
        )
    limits = names if isinstance(names, Mapping) else dict.fromkeys(names)
    return {text("free", name): limits[name] for name in limits}


def _unnumbered(name: str, sets: int) -> str:
    """The name without the number of a set of data."""
    plain, dot, number = name.rpartition(".")
    return plain if sets > 1 and dot and number.isdigit() else name


def _limits(name: str, limits: tuple[float, float]) -> tuple[float, float]:
    numbers = floats(name, limits)
    if numbers.shape != (2,):
        raise _warpstride.DataError(f"{name}: expected (low, high), found {limits!r}")
    return float(numbers[0]), float(numbers[1])


def _number(value: Optional[float], otherwise: float) -> float:
    """A number of a JSON document, which has none that are not finite."""
    return otherwise if value is None else value


def _kind(value: Any) -> str:
    return "None" if value is None else f"an object of type {type(value).__name__}"


def _data(data: Union[Path, Data, Sequence[Any]]) -> Any:
    if isinstance(data, (str, os.PathLike)):
        return os.fspath(data)
    if isinstance(data, Data):
        return data._columns()
    columns = list(data) if isinstance(data, (tuple, list)) else []
    if not 2 <= len(columns) <= 4:
        found = f"a {type(data).__name__} of {len(columns)}" if isinstance(data, (tuple, list)) else _kind(data)
        raise _warpstride.DataError(
            f"data: expected a file, what read has read, or arrays (q, intensity[, sigma[, dq]]), found {found}"
        )
    qx, qy, shape = _points(columns[0])
    others: dict[str, Any] = {"intensity": None, "sigma": None, "dq": None}
    for name, column in zip(others, columns[1:]):
        if column is None and name != "intensity":
            continue
        values = floats(name, column)
        if values.shape != shape:
            raise _warpstride.DataError(f"data: {name}: expected shape {shape}, as q has it, found {values.shape}")
        others[name] = values.ravel()
    return {"q": qx, "qy": qy, **others, "slit": None, "pixels": None}
