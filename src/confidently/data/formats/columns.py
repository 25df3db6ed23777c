"""What the columns of a table become: labels, weights, features of some kind, or nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ... import _core
from ..batch import DataError
from ..demands import Demands
from ..reading import DEFAULT_LABEL, MAX_LISTED, ReaderOptions


def column_uses(name: str, columns: Sequence[str], reading: ReaderOptions, demands: Demands) -> list[_core.ColumnUse]:
    """What each column of the table called ``name`` is used for.

    Raises
    ------
    DataError
        If a column that is asked for is missing, or two columns that are used have the same name.
    """
    label = reading.label or DEFAULT_LABEL
    _check_presence(name, columns, reading, demands, label)
    uses = {label: _core.Use.label}
    codes = [*(reading.codes or ()), *reading.category]
    uses |= dict.fromkeys(codes, _core.Use.category) | dict.fromkeys(reading.text, _core.Use.text)
    if reading.weight is not None:
        uses[reading.weight] = _core.Use.none if demands.ignore_labels else _core.Use.weight
    uses |= dict.fromkeys(reading.drop, _core.Use.none)
    if demands.ignore_labels:
        uses[label] = _core.Use.none
    kept = [[k for k, what in enumerate(demands.keep) if what == column] for column in columns]
    chosen = [
        _core.ColumnUse(column, _use_of(column, uses), which) for column, which in zip(columns, kept, strict=True)
    ]
    counts = Counter(use.name for use in chosen if use.use != _core.Use.none or use.kept)
    if twice := [column for column, n in counts.items() if n > 1]:
        raise DataError(f"{name} has {counts[twice[0]]} columns called {twice[0]!r}: rename them, or drop them")
    return chosen


def _use_of(column: str, uses: dict[str, _core.Use]) -> _core.Use:
    """The use of a column, or of what it is a part of: ``a.b`` is a part of ``a``."""
    parts = column.split(".")
    for n in range(len(parts), 0, -1):
        if (use := uses.get(".".join(parts[:n]))) is not None:
            return use
    return _core.Use.value


def _if_headless(reading: ReaderOptions) -> str:
    """What to do if the first line is a row and no header."""
    delimiter = reading.file_format.delimiter
    if delimiter is None or reading.columns:
        return ""
    short_cut = ", or read a label, a tab and text with --format text" if delimiter == "\t" else ""
    return f" (if that is a row and no header: name the columns with --columns{short_cut})"


def _check_presence(name: str, columns: Sequence[str], reading: ReaderOptions, demands: Demands, label: str) -> None:
    there = {".".join(column.split(".")[:n]) for column in columns for n in range(1, column.count(".") + 2)}
    listed = ", ".join(columns[:MAX_LISTED]) + (", ..." if len(columns) > MAX_LISTED else "")
    if label not in there:
        listed += _if_headless(reading)
    if not demands.ignore_labels:
        if label not in there:
            raise DataError(f"{name} has no column {label!r} of labels; say which it is (--label); there are {listed}")
        if reading.weight is not None and reading.weight not in there:
            raise DataError(f"{name} has no column {reading.weight!r} of weights; there are {listed}")
    wanted = [*reading.category, *reading.text, *demands.keep]
    if not demands.freeze:  # to predict, what was dropped in training need not be there
        wanted += reading.drop
    if missing := [column for column in wanted if column not in there]:
        raise DataError(f"{name} has no column {missing[0]!r}; there are {listed}")
