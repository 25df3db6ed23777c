"""The view that options name, and the default view of tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from .arguments import names_of
from .reading import chosen_reading
from .sections import LEARNER, adding

if TYPE_CHECKING:
    from ...data.reading import ReaderOptions
    from ...views.view import View

STANDARDIZED = "numeric columns are standardized (view standard; --view none to keep them as they are)"
SCALED = "rows have unit norm (view unit; --view none to keep them as they are)"
VIEW_OPTIONS = [
    click.option(
        "--view",
        metavar="NAME,...",
        help="View: none, unit, standard, ranks, bins, idf, nb, pairs, cosines, first, categories, trees.  "
        "[default: standard for numbers]",
    ),
    click.option(
        "--pairs",
        metavar="A,B",
        multiple=True,
        help="Multiply the features of two columns or namespaces; A,A multiplies those of one. Repeatable.",
    ),
]
view_options = adding(VIEW_OPTIONS, LEARNER)


def chosen_view_and_reading(
    options: dict[str, Any], data: Sequence[str], standardize: bool = True
) -> tuple[View | None, ReaderOptions, str]:
    """Return the view that the options name, how to read the data for it, and a message for the user.

    If no view is named, numeric columns of tables are standardized, or with ``standardize=False`` read as they are.
    Rows that ``--normalize l2`` scales are not. Other rows of named features have unit norm: they are read so, or have
    the view ``unit`` if a cache has them as they are.

    Raises
    ------
    click.UsageError
        If there is no such view, views cannot follow each other, or ``--pairs`` does not name two columns.
    """
    from ...data.sources.paths import expand_paths
    from ...data.stream import cached_reading
    from ...learner.tables import view_of_files
    from ...views.unit import Unit

    named, scaled = options["view"] is not None, options["normalize"] == "l2"
    view, files = _view(options, None), expand_paths(data)
    reading = chosen_reading(options, data, view)
    if named or scaled:
        return view, reading, ""
    default, reading = view_of_files(files, reading)
    if default is None and reading.named and reading.normalize == "none" and cached_reading(files, None) is not None:
        return _view(options, Unit()), reading, SCALED
    if default is None or not standardize:
        return view, reading, ""
    return _view(options, default), reading, STANDARDIZED


def _view(options: dict[str, Any], first: View | None) -> View | None:
    """Return the view that the options name, with ``first`` in place of a missing ``--view``."""
    if not (options["view"] or options["pairs"]):
        return first
    from ...views.pairs import Pairs
    from ...views.table import make_view

    pairs = [names_of(text) for text in options["pairs"]]
    for text, pair in zip(options["pairs"], pairs, strict=True):
        if len(pair) != 2 or not all(pair):
            raise click.UsageError(f"--pairs: expected two columns or namespaces separated by a comma, got {text!r}")
    try:
        view = make_view(options["view"]) if options["view"] else first
        return make_view([*(view.views if view else ()), Pairs(columns=pairs)]) if pairs else view
    except ValueError as error:
        raise click.UsageError(f"--view: {error}") from None
