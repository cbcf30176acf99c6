"""The command ``warpstride``."""

import os
import signal
import sys
from typing import Optional

from . import _warpstride


def main() -> int:
    """Run the command line of this process and return its exit code."""
    # The command has its own handling of Ctrl-C; Python's would wait for the end of the command.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    script: Optional[str] = os.path.abspath(sys.argv[0])
    if script is not None and not os.access(script, os.X_OK):
        script = None
    return _warpstride.run_program(["warpstride", *sys.argv[1:]], script)
