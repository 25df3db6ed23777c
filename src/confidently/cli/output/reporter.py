"""The choice of a progress report."""

from __future__ import annotations

import sys

from .progress import JsonLines, Kind, Lines, Quiet


def reporter(kind: Kind, quiet: bool = False, as_json: bool = False) -> Quiet:
    """Return the report that the options choose, or that suits standard error."""
    if quiet:
        return Quiet()
    if as_json:
        return JsonLines(kind)
    if sys.stderr.isatty():
        from .live import Live  # rich takes long to import

        return Live(kind)
    return Lines(kind)
