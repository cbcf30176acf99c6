"""Engines of a reconstruction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping, Sequence, Union

from .._arguments import whole
from .._warpstride import DataError

Option = Union[float, int, bool, str, Sequence[float]]
"""The value of an option of an engine."""

_MOST_ITERATIONS = 10_000_000
"""The library's limit."""


@dataclass(frozen=True)
class Engine:
    """An engine of a recipe: its name, its iterations and its options.

    `DM`, `RAAR`, `AP`, `LSQML`, `EPIE`, `RPIE` and `ML` make one.

    Parameters
    ----------
    name : str
        Name in a recipe.
    iterations : int
        Largest number of iterations, 1 to 10⁷.
    options : mapping of str to values
        Options with the names that a recipe has for them.

    Raises
    ------
    DataError
        Another number of iterations.

    Examples
    --------
    >>> import warpstride as ws
    >>> ws.ptycho.Engine("dm", 100) == ws.ptycho.DM(100)
    True
    """

    name: str
    iterations: int
    options: Mapping[str, Option] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "iterations", whole("iterations", self.iterations, 1, _MOST_ITERATIONS))
        if not isinstance(self.options, Mapping):
            raise DataError(f"options: expected a mapping, found {type(self.options).__name__}")

    def _table(self) -> dict[str, Any]:
        return {"name": self.name, "iterations": self.iterations, **self.options}


def DM(iterations: int, **options: Option) -> Engine:  # noqa: N802
    """Difference map; options such as ``alpha``.

    Parameters
    ----------
    iterations : int
        Largest number of iterations, 1 to 10⁷.
    **options
        Options of the engine, with the names that a recipe has for them.

    Returns
    -------
    Engine
        For `reconstruct`, which checks the options.

    Raises
    ------
    DataError
        Another number of iterations.

    Examples
    --------
    >>> import warpstride as ws
    >>> ws.ptycho.DM(50, alpha=0.9)
    Engine(name='dm', iterations=50, options={'alpha': 0.9})
    """
    return Engine("dm", iterations, options)


def RAAR(iterations: int, **options: Option) -> Engine:  # noqa: N802
    """Relaxed averaged alternating reflections; options such as ``beta``.

    Parameters
    ----------
    iterations : int
        Largest number of iterations, 1 to 10⁷.
    **options
        Options of the engine, with the names that a recipe has for them.

    Returns
    -------
    Engine
        For `reconstruct`, which checks the options.

    Raises
    ------
    DataError
        Another number of iterations.

    Examples
    --------
    >>> import warpstride as ws
    >>> ws.ptycho.RAAR(50, beta=0.8)
    Engine(name='raar', iterations=50, options={'beta': 0.8})
    """
    return Engine("raar", iterations, options)


def AP(iterations: int, **options: Option) -> Engine:  # noqa: N802
    """Alternating projections.

    Parameters
    ----------
    iterations : int
        Largest number of iterations, 1 to 10⁷.
    **options
        Options of the engine, with the names that a recipe has for them.

    Returns
    -------
    Engine
        For `reconstruct`, which checks the options.

    Raises
    ------
    DataError
        Another number of iterations.

    Examples
    --------
    >>> import warpstride as ws
    >>> ws.ptycho.AP(50)
    Engine(name='ap', iterations=50, options={})
    """
    return Engine("ap", iterations, options)


def LSQML(iterations: int, **options: Option) -> Engine:  # noqa: N802
    """Least squares by mini-batches with optimal step lengths; options such as ``batch`` and ``momentum``.

    Parameters
    ----------
    iterations : int
        Largest number of iterations, 1 to 10⁷.
    **options
        Options of the engine, with the names that a recipe has for them.

    Returns
    -------
    Engine
        For `reconstruct`, which checks the options.

    Raises
    ------
    DataError
        Another number of iterations.

    Examples
    --------
    >>> import warpstride as ws
    >>> ws.ptycho.LSQML(50, batch=50)
    Engine(name='lsqml', iterations=50, options={'batch': 50})
    """
    return Engine("lsqml", iterations, options)


def EPIE(iterations: int, **options: Option) -> Engine:  # noqa: N802
    """The extended ptychographic iterative engine; options such as ``object_step`` and ``probe_step``.

    Parameters
    ----------
    iterations : int
        Largest number of iterations, 1 to 10⁷.
    **options
        Options of the engine, with the names that a recipe has for them.

    Returns
    -------
    Engine
        For `reconstruct`, which checks the options.

    Raises
    ------
    DataError
        Another number of iterations.

    Examples
    --------
    >>> import warpstride as ws
    >>> ws.ptycho.EPIE(50, object_step=0.5)
    Engine(name='epie', iterations=50, options={'object_step': 0.5})
    """
    return Engine("epie", iterations, options)


def RPIE(iterations: int, **options: Option) -> Engine:  # noqa: N802
    """The regularised ptychographic iterative engine; options such as ``object_alpha`` and ``batch``.

    Parameters
    ----------
    iterations : int
        Largest number of iterations, 1 to 10⁷.
    **options
        Options of the engine, with the names that a recipe has for them.

    Returns
    -------
    Engine
        For `reconstruct`, which checks the options.

    Raises
    ------
    DataError
        Another number of iterations.

    Examples
    --------
    >>> import warpstride as ws
    >>> ws.ptycho.RPIE(50, batch=50)
    Engine(name='rpie', iterations=50, options={'batch': 50})
    """
    return Engine("rpie", iterations, options)


def ML(iterations: int, **options: Option) -> Engine:  # noqa: N802
    """Maximum likelihood by conjugate gradients; options such as ``noise``.

    Parameters
    ----------
    iterations : int
        Largest number of iterations, 1 to 10⁷.
    **options
        Options of the engine, with the names that a recipe has for them.

    Returns
    -------
    Engine
        For `reconstruct`, which checks the options.

    Raises
    ------
    DataError
        Another number of iterations.

    Examples
    --------
    >>> import warpstride as ws
    >>> ws.ptycho.ML(50, noise="poisson")
    Engine(name='ml', iterations=50, options={'noise': 'poisson'})
    """
    return Engine("ml", iterations, options)
