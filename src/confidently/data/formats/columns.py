"""Uses of the columns of a table: labels, weights, features of some kind, or none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest

from ... import _core
from ...similar import hint
from ..batch import DataError
from ..reading import DEFAULT_LABEL, MAX_LISTED, ReaderOptions, date_features
from ..request import ReadRequest

SEPARATORS = ";\t|,"  # of cells


def column_uses(
    name: str, columns: Sequence[str], reading: ReaderOptions, request: ReadRequest, dates: Sequence[str] = ()
) -> list[_core.ColumnUse]:
    """Return the use of each column of the table called ``name``, of which ``dates`` are declared as such.

    Raises
    ------
    DataError
        If a column with a use is missing, or two columns with a use have the same name.
    """
    _check_presence(name, columns, reading, request, reading.label or DEFAULT_LABEL)
    uses, chosen = chosen_uses(columns, reading, request, dates), _Chosen(reading)
    kept: dict[str, list[int]] = {}
    for k, kept_name in enumerate(request.keep):
        kept.setdefault(kept_name, []).append(k)
    found = [
        _core.ColumnUse(
            column,
            use_of(column, uses),
            kept.get(column, []),
            _parts_of(column, chosen),
            reading.date_format or "",
            *chosen.numbers_of(column),
        )
        for column in columns
    ]
    counts = Counter(use.name for use in found if use.use != _core.Use.none or use.kept)
    if twice := [column for column, n in counts.items() if n > 1]:
        in_text = reading.file_format.delimiter is not None and not reading.columns
        headless = in_text and twice[0].replace(".", "").isdigit()
        hint = "; if the first line is a row and not a header, name the columns with --columns" * headless
        raise DataError(f"{name} has {counts[twice[0]]} columns called {twice[0]!r}; rename or drop them{hint}")
    if request.expected is not None:
        if hint := if_separated_otherwise(reading, columns):
            raise DataError(f"{name} has one column, {columns[0]!r}{hint}")
        request.expected.check_header(name, [use.name for use in found if is_feature(use)], request.keep)
    return found


def chosen_uses(
    columns: Sequence[str], reading: ReaderOptions, request: ReadRequest, dates: Sequence[str] = ()
) -> dict[str, _core.Use]:
    """Return the uses that options name, by column; :func:`use_of` has those of all."""
    label = reading.label or DEFAULT_LABEL
    uses = dict.fromkeys(reading.only, _core.Use.value)
    if reading.file_format.delimiter is not None:
        uses |= dict.fromkeys(reading.numbers, _core.Use.number)
    uses |= dict.fromkeys([*dates, *reading.dates], _core.Use.date) | dict.fromkeys(reading.units, _core.Use.number)
    uses[label] = _core.Use.target if request.targets else _core.Use.label
    codes = [*(reading.codes or ()), *reading.category]
    uses |= dict.fromkeys(codes, _core.Use.category) | dict.fromkeys(reading.text, _core.Use.text)
    if reading.weight is not None:
        uses[reading.weight] = _core.Use.none if request.ignore_labels else _core.Use.weight
    uses |= dict.fromkeys(reading.drop, _core.Use.none)
    uses |= dict.fromkeys(_left_out(columns, reading, label), _core.Use.none)
    if request.ignore_labels:
        uses[label] = _core.Use.none
    return uses


def is_feature(use: _core.ColumnUse) -> bool:
    """Return whether a column becomes features."""
    return use.use not in (_core.Use.none, _core.Use.label, _core.Use.target, _core.Use.weight)


def _left_out(columns: Sequence[str], reading: ReaderOptions, label: str) -> list[str]:
    """Return the columns of features that are not among those to read, nor parts of these."""
    if not reading.only:
        return []
    chosen = {label, reading.weight, *reading.only}
    return [column for column in columns if not chosen & {*_containing(column), *date_features(column)}]


def _parts_of(column: str, chosen: _Chosen) -> list[_core.PartUse]:
    """Return the use of each feature of a column, if it is one of dates."""

    def use_of(part: str) -> _core.PartUse:
        if part in chosen.drop or (chosen.only and not {part, *_containing(column)} & chosen.only):
            return _core.PartUse.none
        return _core.PartUse.category if part in chosen.category else _core.PartUse.number

    return [use_of(part) for part in date_features(column)]


class _Chosen:
    """Options of columns by name, for tables with many."""

    def __init__(self, reading: ReaderOptions) -> None:
        self.drop, self.only, self.category = {*reading.drop}, {*reading.only}, {*reading.category}
        self.units = dict(zip_longest(reading.units, reading.unit_names, fillvalue=""))
        self.strict = {*reading.numbers}.difference(reading.mixed)
        self.with_unit, self.loose = reading.number_format(units=True), reading.number_format()
        self.plain = reading.number_format(strict=True)

    def numbers_of(self, column: str) -> tuple[_core.NumberFormat, str]:
        """Return how a column writes numbers, and their unit."""
        if (unit := self.units.get(column)) is not None:
            return self.with_unit, unit
        return self.plain if column in self.strict else self.loose, ""


def _containing(column: str) -> list[str]:
    """Return a column and those that contain it, the outermost last: ``a.b`` is a part of ``a``, ``.a`` of none."""
    parts = column.split(".")
    return [column, *filter(None, (".".join(parts[:n]) for n in range(len(parts) - 1, 0, -1)))]


def use_of(column: str, uses: dict[str, _core.Use]) -> _core.Use:
    """Return the use of a column, or of the one that contains it."""
    for name in _containing(column):
        if (use := uses.get(name)) is not None:
            return use
    return _core.Use.value


def _if_headless(reading: ReaderOptions, columns: Sequence[str]) -> str:
    """Return a hint for files whose first line is a row and not a header, or whose cells are separated otherwise."""
    delimiter = reading.delimiter or reading.file_format.delimiter
    if delimiter is None or reading.columns:
        return ""
    if columns and columns[0].lstrip().startswith("{"):
        return f" (this line is JSON: use --format jsonl; for a model that reads {reading.format}, convert the file)"
    if hint := if_separated_otherwise(reading, columns):
        return hint
    short_cut = ", or read a label, a tab and text with --format text" if delimiter == "\t" else ""
    return f" (if this is a row and not a header, name the columns with --columns{short_cut})"


def if_separated_otherwise(reading: ReaderOptions, columns: Sequence[str]) -> str:
    """Return a hint for files with one column, whose name has a mark that may stand between cells."""
    delimiter = reading.delimiter or reading.file_format.delimiter
    marks = [mark for mark in SEPARATORS if mark != delimiter]
    other = next((mark for mark in marks if mark in columns[0]), None) if len(columns) == 1 else None
    if delimiter is None or other is None or reading.columns:
        return ""
    typed = "tab" if other == "\t" else repr(other)
    return f" (cells seem to be separated by {other!r}, expected {delimiter!r}; use --delimiter {typed})"


def _check_presence(
    name: str, columns: Sequence[str], reading: ReaderOptions, request: ReadRequest, label: str
) -> None:
    there = {name for column in columns for name in [*_containing(column), *date_features(column)]}
    listed = ", ".join(columns[:MAX_LISTED]) + (", ..." if len(columns) > MAX_LISTED else "")
    if label not in there:
        listed += _if_headless(reading, columns)
    if not request.ignore_labels:
        if label not in there:
            noun = "targets" if request.targets else "labels"
            raise DataError(
                f"{name} has no column {label!r} of {noun}{hint(label, columns)}; name it with --label; there are "
                f"{listed}"
            )
        if reading.weight is not None and reading.weight not in there:
            meant = hint(reading.weight, columns)
            raise DataError(f"{name} has no column {reading.weight!r} of weights{meant}; there are {listed}")
    wanted = [*reading.category, *reading.text, *reading.units, *request.keep]
    if not request.freeze:  # to predict, what was dropped in training need not be there
        wanted += [*reading.drop, *reading.only]
        wanted += [column for column in reading.dates if column not in (reading.header or ())]  # others were found
    if missing := [column for column in wanted if column not in there]:
        column = next((date for date in reading.dates if missing[0] in date_features(date)), missing[0])
        raise DataError(f"{name} has no column {column!r}{hint(column, columns)}; there are {listed}")
