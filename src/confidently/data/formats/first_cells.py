"""The cells of the first rows, column by column, of any format whose rows have columns."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import closing, suppress
from itertools import islice
from typing import NamedTuple

import numpy as np

from ... import _core
from ..reading import DEFAULT_LABEL, ReaderOptions
from ..request import ReadRequest
from ..sources.source import display_name, is_stored, is_uri, peek_chunks
from .columns import chosen_uses, column_uses, is_feature, use_of
from .csv_text import new_reader, rows_below_header
from .files import Path
from .first_names import first_lines, values_of
from .number_forms import NumberForm, are_times_of_day, date_formats, may_be_times_of_day, number_form

ROWS_TO_INFER = 1000
MAX_VALUES = 1_000_000  # of JSON lines that are looked at
MIN_CODES = 3  # different values that are not numbers, or times of day
MIN_NUMBERS = 5  # that may be codes
MIN_WRITTEN = 10  # numbers that are written as strings
MIN_LIKE_CODES = 0.5  # of the numbers
MIN_TEXTS, MIN_OWN_TEXTS = 20, 0.8  # cells of a column of text, and the part of them that are a text of their own
MIN_TEXT_BYTES, MIN_WORDS = 24, 3  # of a cell that is a text
WORD = re.compile(r"[^\W\d_]{2,}")


class Column(NamedTuple):
    """A column of features, its use, and what its first cells are; ``typed``: strings are known from numbers."""

    name: str
    use: _core.Use
    cells: _core.CellCounts
    form: NumberForm | None  # of the cells that are not numbers as they should be
    typed: bool = False

    @property
    def is_open(self) -> bool:
        """Whether its cells show what it holds."""
        return self.use == _core.Use.value

    @property
    def samples(self) -> list[str]:
        """The first cells that are neither numbers, dates nor missing."""
        return [text.decode(errors="replace") for text in self.cells.samples]

    @property
    def others(self) -> int:
        """Number of cells that are neither numbers nor missing."""
        return self.cells.dates + self.cells.formatted + self.cells.others

    @property
    def holds_dates(self) -> bool:
        """Whether all cells are dates, or times of day, or missing."""
        if self.cells.numbers or not self.others:
            return False
        if self.cells.dates:
            return self.others == self.cells.dates
        return self.others == self.cells.moments and are_times_of_day(self.samples)

    @property
    def may_hold_dates(self) -> bool:
        """Whether at least half of the cells are dates, or several of which most are may be times of day."""
        if self.cells.dates:
            return 2 * self.cells.dates >= self.cells.numbers + self.others
        are_most = self.others == self.cells.others > self.cells.numbers and self.cells.different >= MIN_CODES
        return are_most and may_be_times_of_day(self.samples)

    @property
    def holds_codes(self) -> bool:
        if self.typed:
            return False
        if self.others >= self.cells.numbers and self.cells.different >= MIN_CODES:
            return True
        if self.cells.numbers < MIN_NUMBERS:
            return False
        has_zeros = self.cells.zeros > 0 and self.cells.digits == self.cells.numbers
        return has_zeros or self.cells.codes > MIN_LIKE_CODES * self.cells.numbers

    @property
    def holds_text(self) -> bool:
        """Whether the cells are texts of several words, most of which do not come again."""
        texts = self.samples
        if len(texts) < MIN_TEXTS or self.others > self.cells.others or self.cells.numbers:
            return False
        own = {text for text in texts if is_long(text) and len(WORD.findall(text)) >= MIN_WORDS}
        return len(own) >= MIN_OWN_TEXTS * len(texts)

    @property
    def holds_written_numbers(self) -> bool:
        """Whether its cells are strings, though numbers are known from them, and most are numbers with a fraction."""
        cells = self.cells
        if not (self.typed and cells.first):
            return False
        with_fraction = cells.numbers - cells.digits
        return with_fraction >= MIN_WRITTEN and 2 * with_fraction > cells.numbers + self.others

    @property
    def is_mixed(self) -> bool:
        """Whether several numbers are in it, and few categories in as many cells."""
        several = self.cells.low < self.cells.high
        return several and bool(self.cells.samples) and not (self.holds_codes or self.holds_numbers)

    @property
    def holds_numbers(self) -> bool:
        return not self.typed and self.cells.numbers > self.others and not self.holds_codes

    @property
    def formatted(self) -> float:
        """Number of cells that are numbers in another form, estimated."""
        if self.form is None:
            return self.cells.formatted
        found = self.form.n / len(self.cells.samples) * (self.cells.formatted + self.cells.others)
        if self.form.is_surely_a_number or found >= self.cells.numbers:
            return max(found, self.cells.formatted)
        return self.cells.formatted

    @property
    def holds_formatted_numbers(self) -> bool:
        return not self.typed and self.formatted > 0 and self.cells.numbers + 2 * self.formatted > self.others

    def date_formats(self) -> list[str]:
        """Return the formats in which the cells are dates; none if there are numbers or dates of ISO 8601."""
        others_only = self.cells.others and not self.cells.numbers and not self.cells.dates
        return date_formats(self.samples) if others_only else []


class FirstRows(NamedTuple):
    """The columns of features, that of labels if its cells are text, and the texts of the labels."""

    columns: list[Column]
    label: list[Column]
    texts: list[str]


def is_long(cell: str) -> bool:
    """Return whether a cell is as long as one of text."""
    return len(cell.encode()) >= MIN_TEXT_BYTES


def first_rows_of(path: Path, reading: ReaderOptions) -> FirstRows:
    """Return what the first 1,000 rows of a file show, column by column.

    Raises
    ------
    OSError, ValueError
        If they cannot be read; reading the whole file raises it again.
    """
    if reading.file_format.binary:
        return _of_arrays(path, reading)
    if reading.file_format.columns and not reading.file_format.lines:
        return _of_cells(path, reading)
    if reading.file_format.columns:
        return _of_objects(path, reading)
    return FirstRows([], [], _labels_of_lines(path, reading) if reading.file_format.text else [])


def _of_cells(path: Path, reading: ReaderOptions) -> FirstRows:
    name, uses = display_name(path), list[_core.ColumnUse]()
    label = reading.label or DEFAULT_LABEL
    request = ReadRequest(ignore_labels=True)
    reader = new_reader(reading, request)

    def describe(columns: Sequence[str]) -> None:
        uses.extend(column_uses(name, columns, reading, request))
        reader.describe(uses)

    def counts_of(data: bytes, last: bool) -> list[_core.CellCounts] | None:
        texts = next((k for k, use in enumerate(uses) if use.name == label), None)
        return reader.counts(data, last=last, rows=ROWS_TO_INFER, texts=texts)

    def counted() -> list[_core.CellCounts]:
        with closing(peek_chunks(path, reading.encoding)) as chunks:
            for data, _ in rows_below_header(name, reader, chunks, reading.columns, describe):
                if (counts := counts_of(data, last=False)) is not None:
                    return counts
        return counts_of(b"", last=True) or []

    columns = [_column(use.name, use.use, cells) for use, cells in zip(uses, counted(), strict=True)]
    labels = [column for column in columns if column.name == label]
    return FirstRows(
        [column for column, use in zip(columns, uses, strict=True) if is_feature(use)],
        [column for column in labels if label not in (*reading.units, *reading.category)],
        [text.decode(errors="replace") for column in labels for text in column.cells.texts],
    )


def _column(name: str, use: _core.Use, cells: _core.CellCounts) -> Column:
    return Column(name, use, cells, number_form([text.decode(errors="replace") for text in cells.samples]))


def _of_objects(path: Path, reading: ReaderOptions) -> FirstRows:
    strings, numbers, n = dict[str, list[str]](), dict[str, list[float]](), 0
    for line in islice(first_lines(path, reading.encoding), ROWS_TO_INFER):
        with suppress(ValueError, RecursionError):  # the reader reports it
            for name, value in values_of(json.loads(line)):
                n += 1
                if isinstance(value, str):
                    strings.setdefault(name, []).append(value.encode(errors="replace").decode())  # surrogates
                elif type(value) is int or type(value) is float:
                    with suppress(OverflowError):  # the reader reports it
                        numbers.setdefault(name, []).append(float(value))
        if n > MAX_VALUES:
            break
    uses = chosen_uses([*strings, *numbers], reading, ReadRequest())
    found = [
        Column(name, use_of(name, uses), _core.count_cells(texts, date_format=reading.date_format or ""), None, True)
        for name, texts in strings.items()
        if name not in numbers
    ]
    found += [
        Column(name, use_of(name, uses), _core.count_numbers(np.array(values, dtype=np.float64)), None, True)
        for name, values in numbers.items()
        if name not in strings
    ]
    return FirstRows(found, [], [])  # of several labels there is a list


def _of_arrays(path: Path, reading: ReaderOptions) -> FirstRows:
    if not (is_uri(path) or is_stored(path)):  # a pipe cannot be read twice
        return FirstRows([], [], [])
    from .arrow_tables import first_values

    found, texts = list[Column](), list[str]()
    label = reading.label or DEFAULT_LABEL
    for name, use, values in first_values(path, reading, ROWS_TO_INFER):
        if isinstance(values, np.ndarray):
            cells = _core.count_numbers(values)
        else:
            strings = [value or "" for value in values]
            cells = _core.count_cells(strings, date_format=reading.date_format or "")
            texts = strings if name == label else texts
        found += [] if name == label else [Column(name, use, cells, None, True)]
    return FirstRows(found, [], texts)


def _labels_of_lines(path: Path, reading: ReaderOptions) -> list[str]:
    lines = islice(first_lines(path, reading.encoding), ROWS_TO_INFER)
    return [
        label.decode(errors="replace").strip() for label, tab, _ in (line.partition(b"\t") for line in lines) if tab
    ]


def holds_lists(texts: Sequence[str]) -> bool:
    """Return whether labels are lists separated by commas rather than names with commas.

    Lists combine few labels in many ways. A name with commas brings parts that no other name has.

    Examples
    --------
    >>> holds_lists(["a", "b", "a,b"]), holds_lists(["Boston, MA", "Salem, MA", "Miami, FL"])
    (True, False)
    """
    different = {text for text in texts if text}
    parts = {part.strip() for text in different for part in text.split(",")}
    return len(parts) <= len(different) and any("," in text for text in different)
