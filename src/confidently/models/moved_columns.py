"""The names of the columns of a table that moved, since learners know their numbers only."""

from __future__ import annotations

from collections.abc import Iterable

from ..data.reading import ReaderOptions
from ..tasks.moved_columns import moved_near
from ..views.pairs import column_of
from .model import Model

Column = str | int


def moved_columns(model: Model) -> dict[Column, int] | None:
    """Return at which row each column moved last, of those that did; None where columns are not compared.

    Categories have the name of their column. Columns without names have the numbers that they have in rows.
    """
    if (moved := model.learner.moved) is None:
        return None
    found: dict[Column, int] = {}
    for column, row in zip(_named(model, moved.last_rows), moved.last_rows.values(), strict=True):
        found[column] = max(row, found.get(column, 0))
    return found


def alarm_columns(model: Model) -> list[Column] | None:
    """Return the columns that moved near the last drift alarm; None if there was none, or where that is not known."""
    if model.learner.moved is None or not model.learner.conformal.alarms:
        return None
    near = moved_near(model.learner.moved, model.learner.conformal.rows_since_alarm)
    return None if near is None else list(dict.fromkeys(_named(model, near)))


def _named(model: Model, columns: Iterable[int]) -> list[Column]:
    known = {} if model.features is None else model.features.name_of()
    first = ReaderOptions.from_dict(model.source).first_index if model.source else 0
    return [column_of(known[k]) if k in known else k + first for k in columns]
