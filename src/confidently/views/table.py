"""The table of views, the only place where their names are looked up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..rules.ranges import UnknownChoice
from .bins import Bins
from .categories import Categories
from .center import Center
from .chain import Chain
from .cosines import Cosines
from .first import First
from .idf import Idf
from .naive_bayes import NaiveBayesScale
from .pairs import Pairs
from .ranks import Ranks
from .standard import Standard
from .trees import Trees
from .unit import Unit
from .view import View

# In the order of core/views/table.hpp.
VIEWS: dict[str, type[View]] = {
    cls.name: cls
    for cls in (Unit, Standard, Center, Ranks, Bins, Idf, NaiveBayesScale, Pairs, Cosines, First, Categories, Trees)
}
NONE = "none"
AUTO = "auto"  # instead of a view: the first rows choose it


def make_view(view: str | View | Sequence[str | View] | None, **parameters: Any) -> View | None:
    """Return a view, from its name, from another view, or from several that follow each other.

    Parameters
    ----------
    view : str, View, sequence of these, or None
        A name in ``confidently.VIEWS`` or several, separated by commas; "none" and None: rows stay as they are.
    **parameters
        Parameters to set; of several views, as ``pairs__max_terms``.

    Raises
    ------
    ValueError, TypeError
        For an unknown name, a parameter that is unknown or out of range, and views that cannot follow each other.

    Examples
    --------
    >>> make_view("cosines", n=500)
    Cosines(n=500, scale=4.0, seed=0, unit_norm=True, max_columns=None)
    >>> make_view("standard,pairs")
    [Standard(unit_norm=True), Pairs(columns=None, max_terms=1048576, unit_norm=True)]
    """
    parts = _parts(view)
    if not parts:
        if parameters:
            raise ValueError(f"without a view there is no parameter {next(iter(parameters))!r}")
        return None
    made = parts[0] if len(parts) == 1 else Chain(tuple(parts))
    return made.with_params(**parameters) if parameters else made


def view_of(header: Sequence[dict[str, Any]]) -> View | None:
    """Return the view of a :meth:`confidently.View.header`."""
    return make_view([_named(part["name"]).with_params(**part["parameters"]) for part in header])


def _parts(view: Any) -> list[View]:
    if view is None:
        return []
    if isinstance(view, str):
        view = [name.strip() for name in view.split(",") if name.strip() != NONE]
        return [_named(name) for name in view]
    if isinstance(view, View):
        return list(view.views)
    if isinstance(view, Sequence):  # of views and names
        return [part for one in view for part in _parts(one)]
    raise TypeError(f"view: expected a view such as Standard(), or of {', '.join(VIEWS)}, got {view!r}")


def _named(name: str) -> View:
    if name not in VIEWS:
        raise UnknownChoice.of("view", name, (NONE, *VIEWS))
    return VIEWS[name]()
