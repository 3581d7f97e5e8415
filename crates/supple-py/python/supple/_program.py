"""The `supple` command."""

from __future__ import annotations

import signal
import sys

from . import _native


def main() -> int:
    """Runs the program with the arguments of the process and returns its exit code."""
    # The program handles Ctrl-C itself; Python's handler would wait for it to end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.main(["supple", *sys.argv[1:]])
