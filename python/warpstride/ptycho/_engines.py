"""Engines of a reconstruction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping, Sequence, Union

Option = Union[float, int, bool, str, Sequence[float]]
"""The value of an option of an engine."""


@dataclass(frozen=True)
class Engine:
    """An engine of a recipe: its name, its iterations and its options.

    `DM`, `RAAR`, `AP`, `LSQML`, `EPIE`, `RPIE` and `ML` make one.
    """

    name: str
    iterations: int
    options: Mapping[str, Option] = field(default_factory=dict)

    def _table(self) -> dict[str, Any]:
        return {"name": self.name, "iterations": self.iterations, **self.options}


def DM(iterations: int, **options: Option) -> Engine:  # noqa: N802
    """Difference map; options such as ``alpha``.

    Examples
    --------
    >>> import warpstride as ws
    >>> ws.ptycho.DM(100, alpha=0.9)
    Engine(name='dm', iterations=100, options={'alpha': 0.9})
    """
    return Engine("dm", iterations, options)


def RAAR(iterations: int, **options: Option) -> Engine:  # noqa: N802
    """Relaxed averaged alternating reflections; options such as ``beta``."""
    return Engine("raar", iterations, options)


def AP(iterations: int, **options: Option) -> Engine:  # noqa: N802
    """Alternating projections."""
    return Engine("ap", iterations, options)


def LSQML(iterations: int, **options: Option) -> Engine:  # noqa: N802
    """Least squares by mini-batches with optimal step lengths; options such as ``batch`` and ``momentum``."""
    return Engine("lsqml", iterations, options)


def EPIE(iterations: int, **options: Option) -> Engine:  # noqa: N802
    """The extended ptychographic iterative engine; options such as ``object_step`` and ``probe_step``."""
    return Engine("epie", iterations, options)


def RPIE(iterations: int, **options: Option) -> Engine:  # noqa: N802
    """The regularised ptychographic iterative engine; options such as ``object_alpha`` and ``batch``."""
    return Engine("rpie", iterations, options)


def ML(iterations: int, **options: Option) -> Engine:  # noqa: N802
    """Maximum likelihood by conjugate gradients; options such as ``noise``."""
    return Engine("ml", iterations, options)
