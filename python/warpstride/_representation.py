"""How results with arrays are shown."""

from __future__ import annotations

import dataclasses
from typing import Any

_SHOWN = 3
"""Elements of a list that are shown; of a longer one, the number."""


def shown(value: Any) -> str:
    """A value as text: arrays by type and shape, long lists and mappings by their lengths."""
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if isinstance(shape, tuple) and dtype is not None and shape:
        return f"{str(dtype).removeprefix('torch.')} {tuple(shape)}"
    if isinstance(value, (list, dict)) and (len(value) > _SHOWN or dataclasses.is_dataclass(next(iter(value), None))):
        return f"{type(value).__name__} of {len(value)}"
    if isinstance(value, tuple):
        return f"({', '.join(map(shown, value))})"
    return repr(value)


class Summarised:
    """A dataclass that is shown in few lines, whatever its arrays have."""

    def __repr__(self) -> str:
        module = type(self).__module__
        # Without the private module.
        name = ".".join(part for part in module.split(".") if not part.startswith("_"))
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        text = ", ".join(f"{field.name}={shown(getattr(self, field.name))}" for field in fields)
        return f"{name}.{type(self).__name__}({text})"
