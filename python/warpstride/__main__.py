"""``python -m warpstride`` is the command ``warpstride``."""

import sys

from ._program import main

if __name__ == "__main__":
    sys.exit(main())
