"""Warnings about data that can be read but may not be meant as they are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from .. import _core
from ..printable import printable
from ..wording import first_of, typed
from .batch import Batch
from .formats.delimiters import first_rows, usual_cells
from .formats.files import Path
from .formats.first_cells import is_long
from .formats.inference import warn_of_mixed
from .formats.number_forms import date_formats, number_form
from .reading import ReaderOptions
from .sources.source import display_name, is_stored
from .warning import warn

MIN_TEXT_FRACTION = 0.5  # of the rows
MIN_CATEGORY_ROWS = 100  # fewer do not show what a column of categories is
MIN_NAMED_ROWS, MIN_NAMED_FRACTION = 1000, 0.95  # of rows that each have a value of their own
MAX_TEXT_CELLS = 2  # a label and a text
MIN_DATES = 10  # different ones, in the first rows
MAX_CELLS, MIN_FORM_FRACTION = 100, 0.9  # of a column, and of those that are numbers of one form
MIN_ID_ROWS = 200  # fewer may have a class each
MAX_LABEL_FRACTION = 0.5  # of the rows
MIN_SORTED_ROWS = 1000  # fewer are sorted only if each label has one block of rows
MIN_EXPECTED_CHANGES = 100  # of the label, in random order
MIN_CHANGES_OF_FEW, MAX_BLOCKS = 10, 0.5  # the same of few rows, and blocks as a fraction of it
MAX_SORTED_FRACTION = 0.02  # of the changes expected in random order
NAMES = ("none", "missing", "unknown", "unavailable")  # of classes, though the words mean a missing value elsewhere
SHUFFLE_ROWS = "shuffle the rows"
MIN_ROWS = 10  # of the first batch, one of which should have a feature that the model knows


def warn_of_categories(batch: Batch, reading: ReaderOptions) -> None:
    """Warn of columns of the first batch that are read as categories but look like dates, text or ids."""
    if len(batch) < MIN_CATEGORY_ROWS or batch.new_features is None:
        return
    names = batch.new_features.names
    found, long, dates = Counter[str](), Counter[str](), Counter[str]()
    cells = dict[str, list[str]]()
    for name in names.take(names.having("=")):
        column, _, cell = name.partition("=")
        found[column] += 1
        long[column] += is_long(cell)
        dates[column] += _core.is_date(cell, "")
        if len(first := cells.setdefault(column, [])) < MAX_CELLS:
            first.append(cell)
    for column, values in found.items():
        own = typed(column)
        shown = f"in the first {len(batch):,} rows, each read as a category"
        if column in reading.category:
            continue
        if dates[column] >= MIN_DATES and dates[column] == values:
            warn(
                f"column {column!r} has {values:,} different dates {shown}; use --dates {own} to read them as "
                f"numbers, or --category {own} to leave them"
            )
        elif reading.file_format.delimiter is None and (option := _option_of_forms(column, cells[column])):
            warn(
                f"column {column!r} ({cells[column][0]}) has {values:,} different values {shown}; use {option}, or "
                f"--category {own} to leave them"
            )
        elif long[column] >= MIN_TEXT_FRACTION * len(batch):
            warn(
                f"column {column!r} has {long[column]:,} different long values {shown}; use --text {own} to read their "
                f"words, or --drop {own} to leave the column out"
            )
        elif len(batch) >= MIN_NAMED_ROWS and values >= MIN_NAMED_FRACTION * len(batch):
            warn(
                f"column {column!r} has {values:,} different values {shown}; if they only name the rows, use --drop "
                f"{own} to leave the column out"
            )


def warn_of_odd_cells(batch: Batch, reading: ReaderOptions, told: set[str]) -> None:
    """Warn of columns of numbers and dates with cells of another kind, which are categories; ``told`` are known."""
    found = {column: cell for column, cell in batch.odd if column not in told and column not in reading.mixed}
    told.update(found)
    warn_of_mixed(found)


def _option_of_forms(column: str, cells: list[str]) -> str:
    """Return the options that read strings as numbers or dates; without groups and units, they may be codes."""
    if len(cells) < MIN_DATES:
        return ""
    form = number_form(cells)
    if form is not None and form.n >= MIN_FORM_FRACTION * len(cells) and (form.unit or (".", "") not in form.marks):
        marks = form._replace(unit="").options(form.marks[0], column)
        return " ".join(filter(None, [marks, f"--units {typed(column)} to read them as numbers"]))
    formats = date_formats(cells)
    return f"--dates {typed(column)} --date-format '{formats[0]}' to read them as dates" if formats else ""


def warn_if_table(path: Path, reading: ReaderOptions) -> None:
    """Warn if the lines of a text file all have as many tabs, more than the one behind a label."""
    if is_stored(path) and (n := usual_cells(first_rows(path, reading, "\t"))) > MAX_TEXT_CELLS:
        warn(
            f"the first lines of {display_name(path)} have {n - 1} tabs each, of which the first one ends the label; "
            "if it is a table, use --format tsv"
        )


def warn_if_featureless(batch: Batch, reading: ReaderOptions) -> None:
    """Warn if no row of the first batch has a feature."""
    has_columns = bool(reading.header) or not reading.file_format.header
    if has_columns and len(batch) >= MIN_ROWS and not len(batch.columns):
        warn(
            f"none of the {first_of(len(batch), 'row')} has a feature; if the data are not {reading.format}, name "
            "their format with --format"
        )


def warn_if_ids(batch: Batch) -> None:
    """Warn if most rows of the first batch have a label of their own."""
    rows, labels = len(batch), len(batch.new_labels)
    if rows >= MIN_ID_ROWS and labels > MAX_LABEL_FRACTION * rows:
        warn(
            f"{labels:,} of the first {rows:,} rows have a new label; is it an id? Training takes memory and time in "
            "proportion to the number of classes; in tables, name the column of labels with --label"
        )


def warn_of_odd_labels(batch: Batch, reading: ReaderOptions, is_inferred: bool) -> None:
    """Warn of new labels that are words for a missing value, as other programs write it, and of lists of labels."""
    for label in batch.new_labels:
        if not isinstance(label.name, str):
            continue
        if _core.is_missing(label.name) and label.name not in NAMES and label.name == label.name.strip("-."):
            tables = reading.file_format.columns
            remedy = f"use --missing {typed(label.name)}" if tables else "leave the cell empty"
            warn(
                f"the label {label.name!r} ({printable(str(label.location))}) is a class of its own; if it means that "
                f"the label is missing, {remedy} and --missing-label skip; to predict numbers, use --regression"
            )
    lists = (label.name for label in batch.new_labels if isinstance(label.name, str) and "," in label.name)
    if is_inferred and (shown := next(lists, None)) is not None:
        warn(f"a label with commas, such as {shown!r}, is one class; use --multilabel if it is a list of labels")


def warn_if_unknown(batch: Batch, known: int) -> None:
    """Warn if the model knows no feature of the first batch; it knows the first ``known`` columns."""
    if len(batch) >= MIN_ROWS and len(batch.columns) and batch.columns.min() >= known:
        warn(
            f"the model knows none of the features of the {first_of(len(batch), 'row')}; are these rows like those "
            "that it was trained on?"
        )


def _expected_changes(order: _core.LabelOrder) -> float:
    """Return how often the label changes in random order, about."""
    return float(order.rows * (1.0 - sum((count / order.rows) ** 2 for count in order.counts.tolist())))


def _is_sorted(order: _core.LabelOrder) -> bool:
    """Return whether the label hardly ever changes."""
    if not order.rows:
        return False
    expected = _expected_changes(order)
    if order.rows < MIN_SORTED_ROWS:
        labels = int(np.count_nonzero(order.counts))
        return bool(expected >= MIN_CHANGES_OF_FEW and order.changes < min(labels, MAX_BLOCKS * expected))
    return bool(expected >= MIN_EXPECTED_CHANGES and order.changes < MAX_SORTED_FRACTION * expected)


def are_sorted(labels: np.ndarray) -> bool:
    """Return whether rows with these label numbers are sorted by class."""
    order = _core.LabelOrder()
    order.add(labels)
    return _is_sorted(order)


def warn_of_order(order: _core.LabelOrder, remedy: str, is_part: bool = False) -> None:
    """Warn if the label hardly ever changes; few rows that are a part of others may be of one label."""
    if not (is_part and order.rows < MIN_SORTED_ROWS) and _is_sorted(order):
        expected = _expected_changes(order)
        times = "once" if order.changes == 1 else f"{order.changes:,} times"
        warn(
            f"rows are sorted by label, which changes {times} in {order.rows:,} rows, compared with about "
            f"{expected:,.0f} times in random order; {remedy}, because the last ones count most"
        )


def warn_if_labels_sorted(labels: np.ndarray, is_part: bool) -> None:
    """Warn if rows with these label numbers are sorted by class; a part of all rows only if there are many."""
    order = _core.LabelOrder()
    order.add(labels)
    warn_of_order(order, SHUFFLE_ROWS, is_part)


def warn_if_sorted(batches: Iterable[Batch], remedy: str = SHUFFLE_ROWS) -> Iterator[Batch]:
    """Yield the same batches; warn at the end if their rows are sorted by class."""
    order = _core.LabelOrder()
    for batch in batches:
        if batch.label_start is None and batch.targets is None:
            order.add(batch.labels)
        yield batch
    warn_of_order(order, remedy)
