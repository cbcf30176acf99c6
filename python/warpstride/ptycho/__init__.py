"""Ptychography: a specimen and its illumination from overlapping diffraction patterns.

`docs/ptychography.md` of the project has the mathematics, the engines and all options of a recipe.
"""

from ._engines import AP, DM, EPIE, LSQML, ML, RAAR, RPIE, Engine
from ._pty_chi import from_pty_chi
from ._result import Iteration, Result, read
from ._run import Reconstruction, reconstruct
from ._scan import Scan, read_scan
from ._simulate import Simulation, simulate

__all__ = [
    "AP",
    "DM",
    "EPIE",
    "LSQML",
    "ML",
    "RAAR",
    "RPIE",
    "Engine",
    "Iteration",
    "Reconstruction",
    "Result",
    "Scan",
    "Simulation",
    "from_pty_chi",
    "read",
    "read_scan",
    "reconstruct",
    "simulate",
]
