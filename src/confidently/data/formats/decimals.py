"""The decimal mark and the separator of groups in the numbers of a table, where its first rows leave no doubt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ...wording import listed_columns, typed
from ..reading import ReaderOptions
from ..warning import warn
from .files import Path
from .first_cells import Column, FirstRows, first_rows_of
from .number_forms import FORMS, MIN_FRACTION, number_form

OF_GROUPS = {"": "", ".": " and points between thousands", " ": " and spaces between thousands"}


def with_decimal(path: Path, reading: ReaderOptions, rows: FirstRows) -> tuple[ReaderOptions, FirstRows]:
    """Return the options with the marks of numbers, and the first rows as these read them, with a warning.

    They are those of all columns of numbers in another form, with one decimal mark in question, if no column loses
    numbers by them. A unit needs an option, and so do cells such as ``1,200``, which may be 1.2 or 1200.
    """
    columns = [*_formatted(rows.columns, reading), *(column for column in rows.label if is_no_set(column))]
    forms = [(column, column.form) for column in columns if column.form is not None and not column.form.unit]
    is_given = (reading.decimal, reading.thousands) != FORMS[0]
    if is_given or not forms or reading.file_format.delimiter is None:
        return reading, rows
    common = [marks for marks in FORMS if all(marks in form.marks for _, form in forms)]
    if len({decimal for decimal, _ in common}) != 1:
        return reading, rows
    decimal, thousands = common[0]
    found = replace(reading, decimal=decimal, thousands=thousands)
    again = first_rows_of(path, found)
    if any(now.cells.numbers < before.cells.numbers for now, before in zip(again.columns, rows.columns, strict=True)):
        return reading, rows
    if features := [(column, form) for column, form in forms if column in rows.columns]:
        shown = listed_columns([f"{column.name!r} ({form.example})" for column, form in features])
        mark = "a decimal comma" if decimal == "," else "a decimal point"
        groups = OF_GROUPS.get(thousands, f" and {thousands!r} between thousands")
        warn(
            f"{shown}: numbers with {mark}{groups}, read as such; use --category {typed(features[0][0].name)} to read "
            "every value as a category"
        )
    return found, again


def with_decimal_of(texts: Sequence[str], reading: ReaderOptions) -> ReaderOptions:
    """Return the options with the marks of these numbers, if most are in one form that leaves no doubt."""
    form = number_form(texts)
    if form is None or form.unit or form.n < MIN_FRACTION * len(texts) or not _are_no_sets(texts):
        return reading
    is_given, decimals = (reading.decimal, reading.thousands) != FORMS[0], {decimal for decimal, _ in form.marks}
    if is_given or len(decimals) != 1:
        return reading
    return replace(reading, decimal=form.marks[0][0], thousands=form.marks[0][1])


def _formatted(columns: Sequence[Column], reading: ReaderOptions) -> list[Column]:
    """Return columns of numbers in another form; between commas, cells such as 1,2 may be lists."""
    found = [column for column in columns if column.is_open and column.holds_formatted_numbers]
    return [column for column in found if reading.delimiter not in (None, ",") or is_no_set(column)]


def is_no_set(column: Column) -> bool:
    """Return whether cells are numbers in another form rather than lists of numbers, which are mostly of one digit."""
    texts = [text.decode(errors="replace") for text in column.cells.samples]
    return column.holds_formatted_numbers and _are_no_sets(texts)


def _are_no_sets(texts: Sequence[str]) -> bool:
    return 2 * sum(re.search(r"[0-9][.,' ][0-9]{2,}", text) is not None for text in texts) >= len(texts)
