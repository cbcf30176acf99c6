"""Types of arguments."""

import os
from typing import Literal, Sequence, Union

Backend = Literal["auto", "cpu", "cuda", "emulator"]
"""Where to compute: on a GPU if there is one (``auto``), on the CPU, on a GPU, or with the kernels of GPUs in an emulator
on the CPU, which is slow and meant for tests."""

Precision = Literal["f32", "f64"]
"""Single or double precision."""

Path = Union[str, "os.PathLike[str]"]
"""The name of a file."""

Devices = Union[None, int, Sequence[int], Literal["all"]]
"""The number of a GPU, those of several, or all; with the emulator the number of emulated ones."""
