"""The parameter ``coverage_by``: the column by whose values sets and intervals cover."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..similar import hint
from ..tasks.groups import Groups
from ..tasks.task import Task
from ..wording import listed


def check_coverage_by(estimator: Any) -> None:
    """Raise ``TypeError`` or ``ValueError`` unless it can be the column of an estimator."""
    column = estimator.coverage_by
    if column is None:
        return
    if isinstance(column, bool) or not isinstance(column, str | numbers.Integral):
        raise TypeError(f"coverage_by must be the name or the number of a column, got {column!r}")
    if estimator.calibration is None:
        raise ValueError("coverage_by needs calibration='progressive', since None learns no scores; use that")


def new_groups(column: Any, task: Task) -> Groups | None:
    """Return groups before training, if there is a column."""
    if column is None:
        return None
    return Groups(column if isinstance(column, str) else int(column), of_numbers=task.regression)


def column_of(groups: Groups | None) -> str | int | None:
    """Return the parameter of an estimator with these groups."""
    return None if groups is None else groups.column


def check_same_groups(groups: Groups | None, column: Any) -> None:
    """Raise ``ValueError`` if training continues with another column."""
    if (before := column_of(groups)) != column:
        raise ValueError(
            f"coverage_by cannot change after training has begun, from {before!r} to {column!r}; call fit to train "
            "from scratch, or restore it"
        )


def kept(column: Any, others: Sequence[str] = ()) -> tuple[str, ...]:
    """Return what to keep of rows whose columns have names: others, and the column of groups if there is one."""
    if not isinstance(column, str | None):
        raise ValueError(f"coverage_by={column} is the number of a column, as arrays have; use the column's name")
    return tuple(others) if column is None or column in others else (*others, column)


def values_of_array(X: Any, groups: Groups, names: Sequence[str] | None) -> list[str]:
    """Return the values of rows of an array or sparse matrix in a column, as text."""
    column, width = groups.column, X.shape[1]
    if isinstance(column, str):
        if names is None:
            raise ValueError(f"coverage_by={column!r} is the name of a column, and X has no names; use its number")
        if column not in (names := list(names)):
            meant = hint(column, names)
            raise ValueError(f"coverage_by: X has no column {column!r}{meant}; there are {listed(names)}")
        column = names.index(column)
    elif not 0 <= column < width:
        raise ValueError(f"coverage_by must be the number of a column, from 0 to {width - 1}, got {column}")
    cells = X[:, [column]]
    dense = np.asarray(cells.toarray() if hasattr(cells, "toarray") else cells, np.float64)
    return [str(int(value)) if value.is_integer() else repr(value) for value in dense.ravel().tolist()]
