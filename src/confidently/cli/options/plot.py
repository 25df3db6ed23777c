"""The option ``--plot``, and whether a plot can be drawn, checked before any work."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click

from ...extras import install
from .files import OUTPUT

PLOT_SUFFIXES = (".png", ".svg", ".pdf")

plot_option = click.option(
    "--plot", metavar="FILE", type=OUTPUT, help="Also draw a plot to FILE.png, FILE.svg or FILE.pdf. Needs matplotlib."
)


def check_plot(path: str | None) -> None:
    """Reject, before any work, a plot that cannot be drawn."""
    if path is None:
        return
    if Path(path).suffix.lower() not in PLOT_SUFFIXES:
        raise click.UsageError(f"--plot: unknown file type, got {path}; expected one of {', '.join(PLOT_SUFFIXES)}")
    if not can_plot():
        raise click.UsageError(f"--plot: matplotlib is not installed; run {install('plots')}")


def can_plot() -> bool:
    """Return whether matplotlib is installed, without importing it."""
    try:
        return find_spec("matplotlib") is not None
    except ValueError:  # an entry of sys.modules that is no module
        return False
