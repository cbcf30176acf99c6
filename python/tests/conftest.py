"""Ctrl-C in tests, also where they run in the background of a shell, which ignores the signal."""

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
