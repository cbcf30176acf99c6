"""A line of progress in terminals and notebooks."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Optional

from ._arguments import truth

EVERY = 0.1
"""Seconds between two looks at a computation."""

_PATIENCE = 0.5
"""Seconds after which a computation is shown."""

_WIDTH = 30
"""Characters of the bar."""


class Progress:
    """A bar on the terminal of standard error, or below the cell of a notebook; nothing anywhere else.

    Parameters
    ----------
    name : str
        What is computed.
    shown : bool, optional
        Whether there is a bar; by default in terminals and notebooks.
    """

    def __init__(self, name: str, shown: Optional[bool]) -> None:
        self._name = name
        self._begun = time.monotonic()
        self._display: Any = None
        self._length = 0
        self._notebook = _in_notebook()
        self.shown = (self._notebook or _is_terminal()) if shown is None else truth("progress", shown)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        if self._length:
            sys.stderr.write("\n")
            sys.stderr.flush()

    def see(self, done: int, planned: int, remark: str) -> None:
        """Show what is done, after the first half second."""
        seconds = time.monotonic() - self._begun
        if not self.shown or seconds < _PATIENCE:
            return
        share = min(1.0, done / planned) if planned else 0.0
        full = int(share * _WIDTH)
        left = f", {seconds / done * (planned - done):.0f} s left" if 0 < done < planned else ""
        text = f"{self._name} [{'=' * full}{' ' * (_WIDTH - full)}] {done}/{planned} {remark}{left}"
        if self._notebook:
            self._show_in_notebook(text)
            return
        sys.stderr.write("\r" + text.ljust(self._length))
        sys.stderr.flush()
        self._length = len(text)

    def _show_in_notebook(self, text: str) -> None:
        from IPython.display import display

        content = {"text/plain": text}
        if self._display is None:
            self._display = display(content, raw=True, display_id=True)
        else:
            self._display.update(content, raw=True)


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False


def _in_notebook() -> bool:
    """Whether this is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")
