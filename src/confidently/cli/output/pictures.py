"""Pictures of commands: whether one can be drawn, asked before any work, and a file that is whole or not there."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...data.sources.whole_files import new_file
from ..common import check_output

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg", ".pdf")

picture_option = click.option(
    "--picture", metavar="FILE", help="Draw a picture as well: FILE.png, .svg or .pdf (needs matplotlib)."
)


def check_picture(path: str | None, inputs: Sequence[str]) -> None:
    """Refuse, before any work, a picture that cannot be drawn or written."""
    if path is None:
        return
    if Path(path).suffix.lower() not in SUFFIXES:
        raise click.UsageError(f"--picture takes a name that ends in {', '.join(SUFFIXES)}; got {path}")
    if not drawing_is_possible():
        raise click.UsageError("--picture needs matplotlib, which is not installed: pip install 'confidently[plots]'")
    check_output(path, inputs, option="--picture")


def drawing_is_possible() -> bool:
    """Whether matplotlib is there; it is not imported."""
    try:
        return find_spec("matplotlib") is not None
    except ValueError:  # an entry of sys.modules that is no module
        return False


def save_picture(figure: Figure, path: str) -> None:
    """Write a figure; the format is that of the suffix."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    suffix = Path(path).suffix.lower()
    with new_file(path) as temporary:
        figure.savefig(temporary, dpi=120, format=suffix[1:])
