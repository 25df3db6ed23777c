"""The command ``confidently``, or ``python -m confidently``.

Signals are handled before anything else is imported, so that they end the command in order from its first moments on.
"""

from __future__ import annotations

import gc
import signal
import sys
from types import FrameType

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


def main() -> None:
    """Run the command line; a signal ends it like Ctrl-C, unless it is ignored."""
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    try:
        from .cli import main as run

        code = run()
        gc.freeze()  # otherwise Python's end takes .03 s to search all that was imported for garbage
        sys.exit(code)
    except KeyboardInterrupt as interrupt:  # while it is imported, or in the end
        sys.stderr.write("confidently: interrupted\n")
        sys.exit(128 + interrupt.args[0])
    except MemoryError:
        sys.stderr.write("confidently: error: not enough memory to start\n")
        sys.exit(2)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt(number)


if __name__ == "__main__":
    main()
