"""The command ``confidently``, or ``python -m confidently``.

Signals are handled before anything else is imported, so that they end the command in order from its first moments on.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
from contextlib import suppress
from types import FrameType

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


def main() -> None:
    """Run the command line; a signal ends it like Ctrl-C, unless it is ignored."""
    gc.disable()  # until a command runs: what modules define is no garbage
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    try:
        from .cli import main as run

        _end(run())
    except KeyboardInterrupt as interrupt:  # while it is imported, or in the end
        sys.stderr.write("confidently: interrupted\n")
        sys.exit(128 + interrupt.args[0])
    except MemoryError:
        sys.stderr.write("confidently: error: not enough memory to start\n")
        sys.exit(2)


def _end(code: int) -> None:
    """End the process without freeing every object by itself, which takes longer than to start Python.

    The normal way is taken where something else goes on in the process: threads, a debugger, a profiler.
    """
    if threading.active_count() > 1 or sys.gettrace() or sys.getprofile() or sys.flags.inspect:
        sys.exit(code)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(
            OSError, ValueError, AttributeError
        ):  # no longer read, or closed; what matters was written before
            stream.flush()
    os._exit(code)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt(number)


if __name__ == "__main__":
    main()
