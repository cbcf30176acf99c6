"""The command ``warpstride``."""

import os
import signal
import sys
import sysconfig
from typing import Optional

from . import _warpstride


def main() -> int:
    """Run the command line of this process and return its exit code."""
    # The command has its own handling of Ctrl-C; Python's would wait for the end of the command.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _warpstride.run_program(["warpstride", *sys.argv[1:]], _script())


def _script() -> Optional[str]:
    """The script that starts the command, which ``warpstride demo`` runs again."""
    candidates = [sys.argv[0], os.path.join(sysconfig.get_path("scripts"), "warpstride")]
    found = (os.path.abspath(path) for path in candidates if os.access(path, os.X_OK))
    return next(found, None)
